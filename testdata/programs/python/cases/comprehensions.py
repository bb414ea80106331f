# not pure: a frame of the pure runtime stands below the script
# not saved: its lines move
# A comprehension is a function of its own before 3.12 and part of the one around
# it since (PEP 709); its names, cells and frames must come out the same either way.
import sys


def names(): return sys._getframe(1).f_code.co_name, sys._getframe(2).f_code.co_name
def inlined(xs): return [names() for x in xs], {x: names() for x in xs}, {names() for x in xs}, list(names() for x in xs)


def cells(xs):
    fs = [lambda: x for x in xs]
    gs = [lambda x=x: x for x in xs]
    x = "outer"
    hs = {i: (lambda: (i, x)) for i in range(2)}
    return [f() for f in fs], [g() for g in gs], [h() for h in hs.values()], x


def hidden():
    x = 1
    y = [(x, [x for x in range(x)]) for x in range(3)]
    return x, y, sorted(locals()) == ["x", "y"]


def escaping():
    if any((last := n) > 1 for n in range(5)): pass
    total = 0
    partial = [total := total + v for v in range(4)]
    return last, total, partial


def raising(xs):
    try:
        return [1 / x for x in xs]
    except ZeroDivisionError as e:
        tb, lines = e.__traceback__, []
        while tb:
            lines.append(tb.tb_lineno)
            tb = tb.tb_next
        return set(lines), "x" in locals()


def generators(n):
    yield from [(yield_ for yield_ in range(n)) for n in range(n)]
    got = [x for x in (yield "first") if x]
    yield [y for y in got] or (z for z in "z")


class Body:
    a = 3
    b = [a for a in range(2)]
    c = [i for i in range(a)]
    d = [lambda self, i=i: (i, self.a) for i in range(2)]
    e = {k: v for k, v in zip("ab", [lambda: 1, lambda: 2])}
    f = [__name__ for _ in "x"]
    def m(self): return [__class__.__name__ for _ in "x"], [super(Body, self).__hash__() is not None for _ in "x"], [self.a for self in [self]]


def deleted(xs):
    r = [x for x in xs if x]
    try:
        return x
    except NameError as e:
        return type(e).__name__


def conditional(xs): return [[y if y else -1 for y in range(x) if y % 2] or x for x in xs if x if x > 1]
def within_lambda(): return (lambda xs: [(lambda: x)() for x in xs])("ab")
def unpacking(d): return {**{k: v for k, v in d.items()}, **{"z": [*(i for i in "q")]}}


table = [[(lambda: (i, j))() for j in range(2)] for i in range(2)]
print(inlined("a"), cells("ab"), hidden(), escaping(), raising([1, 0]), table)
g = generators(2)
print([list(next(g)) for _ in range(2)], next(g), g.send([0, 1, 2]))
print(Body.b, Body.c, [d(Body()) for d in Body.d], Body.e["b"](), Body.f, Body().m(), deleted([1]), conditional(range(5)), within_lambda(), unpacking({1: 2}))
