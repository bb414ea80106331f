# not saved: its modules are made when it runs
# Modules and functions of sizes that nobody writes by hand: thousands of
# functions, of names and constants beyond what one byte counts, jumps over more
# code than two bytes measure.
import importlib
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))


def made(name, text):
    with open(os.path.join(here, name + ".py"), "w") as f:
        f.write(text)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def lines(n, text):
    return "".join(text % ((i,) * text.count("%d")) for i in range(n))


many = made("many", lines(3000, "def f%d(x):\n    return x + %d\n"))
print(sum(getattr(many, "f%d" % i)(1) for i in range(3000)))

# Behind hundreds of constants and names, the checkpoints have extended operands.
constants = made("constants", "def f(x):\n    t = [" + lines(700, "%d.5, ") + "]\n    try:\n        return sum(t) + x\n    except TypeError as e:\n        return 'caught'\n"
                 "def names(o):\n    return (" + lines(300, "o.a%d, ") + ")\ndef g(n):\n    t = [" + lines(300, "'%d', ") + "]\n    x = yield len(t)\n    yield from t[:n]\n"
                 "async def c(x):\n    t = [" + lines(300, "'%d', ") + "]\n    return await x, len(t)\n"
                 "l = lambda x: [" + lines(300, "%d.25, ") + "][x]\n")


class Any:
    def __getattr__(self, name): return name[1:]
    def __await__(self): return (yield 1)


print(constants.f(1), constants.f("x"), constants.names(Any())[299], list(constants.g(2)), constants.l(299))
g = constants.g(1)
next(g)
g.close()
c = constants.c(Any())
print(c.send(None))
try:
    c.send(2)
except StopIteration as e:
    print(e.value)
for f, args in (constants.f, ()), (constants.l, ("x",)), (constants.names, (1,)):
    try:
        f(*args)
    except Exception as e:
        print(type(e).__name__, e, e.__traceback__.tb_lineno)

# Loops and handlers around more than 65536 bytes of code.
long = made("long", "def f(x, n):\n    y = 0\n    for i in range(n):\n        try:\n" + lines(4500, "            y += x + %d\n") + "            if y == 'never': break\n            if x is None: raise KeyError(i)\n"
            "        except KeyError:\n            return 'key'\n        except TypeError as e:\n            y = 0; x = 1\n            continue\n        finally:\n            y += 1\n    else:\n        y += 5\n    return y\n"
            "def g(n):\n    while n:\n        n = yield n\n" + lines(7000, "        if n == %d: n -= 1\n") + "    return 'end'\n")
print(long.f(1, 2), long.f(None, 2), list(zip(range(3), long.g(6999))))
g = long.g(1)
print(next(g), g.send(6000))
try:
    g.send(0)
except StopIteration as e:
    print(e.value)
try:
    long.f(1, None)
except TypeError as e:
    print(e, e.__traceback__.tb_next.tb_lineno)

wide = made("wide", "def f(" + lines(300, "a%d, ") + "*, " + lines(300, "k%d=%d, ") + "):\n    return a0 + a299 + k299, len(locals())\n"
            "def c(" + lines(300, "a%d, ") + "):\n    def inner(): return (" + lines(300, "a%d, ") + ")\n    return inner\n"
            "l = lambda " + lines(300, "a%d, ") + ": (a0, a299)\ndef call(f):\n    return f(" + lines(300, "%d, ") + ")\n")
print(wide.call(wide.f), len(wide.call(wide.c)()), wide.call(wide.l), wide.call(wide.c).__code__.co_freevars[:2])


def nest(depth, head, body):
    return "".join("    " * i + head % i + "\n" for i in range(depth)) + "    " * depth + body + "\n"


deep = made("deep", nest(60, "def f%d():", "x = 1") + nest(19, "for i%d in range(1):", "def in_loops(): return i18") + nest(60, "class C%d:", "def m(self): return __class__.__qualname__")
            + "l = " + "".join("lambda x%d: " % i for i in range(40)) + "x0 + x39\nparen = lambda: " + "(" * 60 + "1" + ")" * 60 + "\n"
            + "def elifs(x):\n    if x == 'a': return 0\n" + lines(200, "    elif x == %d: return %d\n") + "cat = lambda: " + " + ".join("'%d'" % i for i in range(400)) + "\n")
print(deep.f0(), deep.in_loops(), deep.C0.C1.C2.__qualname__, deep.elifs(199), len(deep.cat()), deep.paren())
f = deep.l
for i in range(40):
    f = f(i)
print(f, len(many.__dict__) > 3000, sys.getsizeof(long.f.__code__) > 0)
