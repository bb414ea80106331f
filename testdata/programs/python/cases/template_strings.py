# needs 3.14
# not saved: the grammar does not know PEP 750
from string.templatelib import Interpolation, Template


def shown(t):
    return [p if isinstance(p, str) else (p.value, p.expression, p.conversion, p.format_spec) for p in t]


def made(name, width):
    return t"<{name!r:>{width}}> {(lambda s: s * 2)(name)} {[n for n in range(width)]}" t" and {width=}"


def waiting():
    got = yield t"{(yield 1)}"
    return t"{got}"


def parsed(text):
    try:
        return int(text)
    except ValueError, TypeError:
        return t"not {text}"
    finally:
        parsed.last = text


print(shown(made("ab", 3)))
g = waiting()
print(next(g), shown(g.send(2)))
try:
    g.send(3)
except StopIteration as e:
    print(shown(e.value))
print(parsed("1"), shown(parsed("x")), shown(parsed(None)), parsed.last)
print(rt"\{made(1, 2).strings}".strings, type(t"") is Template, Interpolation.__name__)
