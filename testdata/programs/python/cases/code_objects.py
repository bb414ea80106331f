# not saved: its lines move
# A function's code tells of its names, arguments and flags what was written;
# its twin with other constants, copied or renamed, works the same.
import copy
import inspect
import itertools
import marshal
import sys
import types


def decorate(f):
    return f


def plain(a, b=2, /, c=3, *args, d, e=5, **kwargs) -> "int":
    """Documented."""
    x = a
    return [x for x in args], {y: c for y in kwargs}


def cells(a):
    b = c = a

    def inner(d):
        nonlocal b
        b += d
        return a, b, lambda: (b, d)
    return inner


@decorate
def generator(n):
    while n:
        n = yield n
    yield from ()


async def coroutine(x):
    async with x as y:
        async for z in y:
            await z
    return [z async for z in y]


async def agen(x):
    yield await x


@types.coroutine
def old_style():
    yield


class Shape:
    """A shape."""
    __slots__ = ("__side",)

    def __init__(self, side=1): self.__side = side
    def __private(self): return self.__side, __class__
    def via(self): return self.__private()
    static = staticmethod(lambda x: x)
    key = lambda self, *, k=None: super().__hash__()

    @property
    def side(self):
        "The side."
        return self.__side

    @classmethod
    def made(cls): return cls()


def docstring_only():
    """Nothing else."""


def empty(): pass
def global_user(): global fresh; fresh = 1
def deleter(x): del x
def importer():
    import os.path as p, sys
    from os import sep
    return p, sys, sep


def handler():
    try:
        pass
    except (KeyError, ValueError) as e:
        return e
    finally:
        with open(__file__) as f: f.read()


inner = cells(1)
functions = [plain, cells, inner, inner(1)[2], generator, coroutine, agen, old_style, Shape.__init__, Shape._Shape__private, Shape.via,
             Shape.static, Shape.key, Shape.side.fget, Shape.made.__func__, docstring_only, empty, global_user, deleter, importer, handler]
names = [n for n in dir(plain.__code__) if n in ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals", "co_flags",
         "co_firstlineno", "co_name", "co_qualname", "co_varnames", "co_names", "co_freevars", "co_cellvars")]
for f in functions:
    c = f.__code__
    print(f.__qualname__, f.__doc__, f.__defaults__, f.__kwdefaults__, f.__annotations__, f.__module__, sorted(f.__dict__), f.__closure__ and len(f.__closure__))
    print("  ", [getattr(c, n) for n in names], c.co_filename == __file__)
    print("  ", inspect.signature(f), inspect.isgeneratorfunction(f), inspect.iscoroutinefunction(f), inspect.isasyncgenfunction(f), inspect.isroutine(f))
    v = inspect.getclosurevars(f)
    print("  ", sorted(v.nonlocals), sorted(v.globals), sorted(v.builtins), sorted(v.unbound))
    lines, at = inspect.getsourcelines(f)
    print("  ", at, lines[0].rstrip(), len(lines))
    if hasattr(c, "co_lines"):
        lines_run = [l for _, _, l in c.co_lines() if l is not None and l >= 0]
        print("  ", [l for l, _ in itertools.groupby(lines_run)] if sys.version_info >= (3, 11) else sorted(set(lines_run)))
    if hasattr(c, "co_positions"):
        print("  ", sorted({p for p in c.co_positions() if None not in p and p[0] > c.co_firstlineno})[:4])
    if sys.version_info >= (3, 13):
        print("  ", f.__firstlineno__ if hasattr(f, "__firstlineno__") else "", Shape.__firstlineno__, Shape.__static_attributes__)

print(plain == plain, plain != cells, len({plain, plain, cells}), copy.copy(plain) is plain, copy.deepcopy([plain])[0] is plain)
print(cells(1).__code__ is cells(2).__code__, cells(1) == cells(2), hash(plain.__code__) == hash(plain.__code__), plain.__code__ == plain.__code__.replace())
print(plain.__code__ == plain.__code__.replace(co_name="other"), plain.__code__.replace(co_name="other").co_name)
again = types.FunctionType(plain.__code__, {"__builtins__": __builtins__}, "again", (7,))
print(again.__name__, again(1, 2, 3, d=4, e=5), again.__defaults__)
g = types.FunctionType(inner.__code__, globals(), "g", None, inner.__closure__)
print(g(5)[:2], inner.__closure__[1].cell_contents)
h = types.FunctionType(inner.__code__, globals(), "h", None, (types.CellType("cell a"), types.CellType(40)))
print(h(2)[:2])


def other(a, b=2, /, c=3, *args, d, e=5, **kwargs): return "other", a
plain.__code__, kept = other.__code__, plain.__code__
print(plain(1, d=1), kept.co_name, plain.__name__)
plain.__code__ = kept
print(plain(1, d=1))


class Substitute(dict):
    def __missing__(self, k): return "missing " + k


def free(): return unknown_name
print(eval(free.__code__, Substitute({"__builtins__": {}})))
exec(empty.__code__)
print(free.__code__.co_consts[0], docstring_only.__code__.co_consts[0], [c for c in plain.__code__.co_consts if isinstance(c, types.CodeType)] == [] or "code within")
try:
    Shape().other = 1
except AttributeError as e:
    print(type(e).__name__)
print(Shape().via()[1].__name__, Shape.__dict__.keys() >= {"via", "_Shape__private"}, sorted(k for k in vars(Shape)))
