# not saved: checkpoints are global names there
# Tools that send functions by value take them apart and put them together, in
# this process or another.
import io
import pickle
import subprocess
import sys
import types


def work(x, y=2):
    """Documented."""
    return [helper(i) for i in range(x)] + [y]


def helper(i):
    return i * 2


def adder(n):
    return lambda x: x + n


def gen(n):
    try:
        yield from range(n)
    finally:
        print("end")


class Box:
    def get(self): return work(1)


FIELDS = [n for n in ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize", "co_flags", "co_code", "co_consts",
                      "co_names", "co_varnames", "co_filename", "co_name", "co_qualname", "co_firstlineno",
                      "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab", "co_exceptiontable", "co_freevars", "co_cellvars")
          if hasattr(work.__code__, n)]


def make_code(fields):
    return types.CodeType(*fields)


def make_function(code, names, defaults, cells):
    return types.FunctionType(code, {"__builtins__": __builtins__, **names}, code.co_name, defaults, tuple(types.CellType(c) for c in cells) or None)


class Pickler(pickle._Pickler):
    """By value, as libraries for distributed work do it."""
    dispatch = dict(pickle._Pickler.dispatch)

    def save_code(self, code):
        self.save_reduce(make_code, (tuple(getattr(code, f) for f in FIELDS),), obj=code)
    dispatch[types.CodeType] = save_code

    def save_function(self, f):
        if f in (make_code, make_function):
            return self.save_global(f)
        names = {n: globals()[n] for n in ("helper",) if f.__name__ == "work"}
        self.save_reduce(make_function, (f.__code__, names, f.__defaults__, [c.cell_contents for c in f.__closure__ or ()]), obj=f)
    dispatch[types.FunctionType] = save_function


def consumed(r):
    return r if isinstance(r, int) else list(r)


def dumps(f):
    out = io.BytesIO()
    Pickler(out, 4).dump(f)
    return out.getvalue()


print(work(2), adder(3)(4), list(gen(2)), Box().get())
rebuilt = make_code([getattr(work.__code__, f) for f in FIELDS])
print(types.FunctionType(rebuilt, globals())(2, 3), rebuilt == work.__code__)
functions = [(work, (2,)), (adder(5), (6,)), (gen, (3,))]
for f, args in functions:
    g = pickle.loads(dumps(f))
    print(g.__name__, g.__doc__, g.__code__ == f.__code__, consumed(g(*args)))
    g = pickle.loads(dumps(g))
    print(g.__name__, consumed(g(*args)))
ELSEWHERE = """
import pickle, sys
sys.path[:] = []
import __main__
__main__.__dict__.update(types=__import__("types"), make_code=lambda f: types.CodeType(*f),
    make_function=lambda code, names, defaults, cells: types.FunctionType(code, {"__builtins__": __builtins__, **names}, code.co_name, defaults, tuple(types.CellType(c) for c in cells) or None))
while True:
    try:
        f, args = pickle.load(sys.stdin.buffer), pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    r = f(*args)
    print("elsewhere", f.__name__, list(r) if hasattr(r, "__iter__") else r)
"""
data = b"".join(dumps(f) + pickle.dumps(args) for f, args in functions)
for options in [], ["-S"], ["-I"]:
    print(subprocess.run([sys.executable, *options, "-c", ELSEWHERE], input=data, stdout=subprocess.PIPE).stdout.decode())
