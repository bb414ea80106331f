# A lambda has room for an expression only. One that raises leaves no mark of
# its end: its caller, which catches, must be found running.
import functools


def caught():
    try:
        return (lambda: 1 / 0)()
    except ZeroDivisionError as e:
        return "caught " + str(e)


def passed():
    with Suppress():
        (lambda x: x.missing)(1)
    return "suppressed"


class Suppress:
    enter = lambda self: self
    __enter__ = enter
    __exit__ = lambda self, *e: e[0] is AttributeError


class Table:
    size = 3
    rows = [(lambda n: lambda: n)(i) for i in range(size)]
    key = lambda self, k=lambda: "default": k()


add = lambda a, *rest, b=2, **kw: (a, rest, b, kw)
nested = lambda x: (lambda y: (lambda z: x + y + z))
none = lambda: None
zero = lambda: 0
empty = lambda: ()
conditional = lambda x: "yes" if x else "no"
walrus = lambda: (n := 10) + n
starred = lambda *a: (*a, *a)
generator = lambda: (yield 1)
either = lambda a, b: a or b
print(caught(), passed(), [r() for r in Table.rows], Table().key(), Table().key(lambda: "own"))
print(add(1, 2, 3, b=4, c=5), nested(1)(2)(3), none(), zero(), empty(), conditional(0), walrus(), starred(1, 2))
print(list(generator()), either(0, ""), either("", 0), sorted([3, 1, 2], key=lambda v: -v))
print(functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]), max("abc", key=lambda c: ord(c)))
print([f.__name__ + f.__qualname__ for f in (add, nested(1), Table.key)], (lambda: 0).__doc__, add.__code__.co_varnames)
try:
    (lambda: (lambda: {}["key"])())()
except KeyError as e:
    print("key", e)
