# not saved: checkpoints in Python need their builtins
# not pure: the same
# What locals(), vars(), dir() and globals() give, in every kind of frame, and
# names that hide behind others.
import builtins
import sys


def shown(names):
    return sorted(n for n in names if not n.startswith("__") and "codegreen" not in n)


def function(a, *args, k=1, **kw):
    b = 1
    before = sorted(locals())
    for i in range(1):
        pass
    try:
        raise ValueError
    except ValueError as e:
        during = sorted(locals())
    with Manager() as m:
        return before, during, sorted(dir()), sorted(vars())


class Manager:
    def __enter__(self): return sorted(sys._getframe(1).f_locals)
    def __exit__(self, *e): return False


def unpacked(**kw): return "{a}{b}".format(**locals()["kw"]), eval("sorted(locals())"), f"{locals()}"
def written(): exec("x = 1", globals(), locals()); return sorted(locals())
def closure():
    free = 1

    def inner():
        own = free
        return sorted(locals()), (lambda z: sorted(locals()))(1)
    return inner()


def generator():
    x = yield sorted(locals())
    y = yield sorted(locals())


class Names:
    first = 1
    seen = sorted(n for n in locals() if not n.startswith("__"))
    nested = [shown([x]) for x in "ab"]

    def method(self): return sorted(locals()), sorted(vars(self)), __class__.__name__
    lam = lambda self: sorted(locals())

    class __Hidden:
        def __m(self): return self.__m.__name__, Names._Names__Hidden.__name__
        def call(self): return self.__m()
    made = __Hidden()
    def args(self, __x, *, __k=1): return sorted(locals()), [__y for __y in (__x, __k)]
    def __imports(self):
        import sys as __s
        global __g
        __g = __s is sys
        return sorted(locals())
    def imports(self): return self.__imports()


def match_words(match, case, type, _): match, case = case, match; type = type, _; return match, case, type
def shadowed(print, len, list=list): return print, len, list(sorted(locals()))


print(shown(globals()) == shown(dir()) == shown(vars()), "function" in globals())
print(function(1, 2, k=3, z=4), unpacked(a=1, b=2), written(), closure())
g = generator()
print(next(g), g.send(1), sorted(g.gi_frame.f_locals), g.gi_code.co_name, g.gi_running)
print(Names.seen, Names.nested, Names().method(), Names().lam(), Names.made.call(), Names().args(1), Names().imports(), _Names__g)
print(match_words(1, 2, 3, 4), shadowed(1, 2), [n for n in vars(builtins) if "cg" in n.lower() or "\0" in n])
scope = {"__builtins_": {}}
exec("def f(x): return x\nr = [f(i) for i in (1, 2)]", scope)
print(sorted(scope), scope["r"])


def innermost(f):
    return [f() for _ in (1, 2)]


def emptied():
    saved = builtins.__dict__.copy()
    d = builtins.__dict__
    d.clear()
    r = innermost(lambda: 1)
    d.update(saved)
    return r


print(emptied(), innermost.__globals__ is globals(), sys._getframe().f_globals is globals())
