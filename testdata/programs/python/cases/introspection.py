# not saved: its lines move
# not pure: a frame of the pure runtime stands below the script
# What a program can see of itself: its source, its stack, its names. A
# checkpoint has none of these.
import inspect
import sys


def plain(a, b=2, *c, d: int = 4, **e) -> str:
    """Documented."""
    x = 1
    return sorted(locals())


def names():
    return [f.function for f in inspect.stack(0)], [f.lineno for f in inspect.stack(0)]


class Shape:
    side = 3

    def area(self):
        return self.side ** 2

    def frame(self):
        return inspect.currentframe().f_code.co_name


def generator():
    yield


async def coroutine():
    pass


print(inspect.signature(plain), plain(1), inspect.getdoc(plain))
print(inspect.getsource(plain), inspect.getsource(Shape.area), inspect.getsource(names), sep="")
print(inspect.getsourcelines(Shape)[1], inspect.getsourcefile(plain) == __file__)
print(names(), Shape().frame())
print(inspect.isgeneratorfunction(generator), inspect.iscoroutinefunction(coroutine), inspect.getfullargspec(plain))
print(sorted(globals()), sorted(vars(Shape)), dir() == sorted(globals()))
print(sorted(k for k in vars(sys.modules["__main__"]) if not k.startswith("__")))
c = plain.__code__
print(c.co_name, c.co_argcount, c.co_kwonlyargcount, c.co_varnames, c.co_names, c.co_freevars, c.co_cellvars, c.co_firstlineno, c.co_flags)
print(plain.__defaults__, plain.__kwdefaults__, plain.__annotations__, plain.__module__, plain.__closure__)
print(sorted(n for n in dir(__builtins__) if "cg" in n.lower()))
g = generator()
print(inspect.getgeneratorstate(g), next(g), inspect.getgeneratorstate(g), g.gi_frame.f_lineno)
