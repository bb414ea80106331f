# Functions that never stood in a file have no checkpoints and need none.
import ast
import collections
import types


def template(n):
    scope = {}
    exec("def made(x):\n    return x + %d\n" % n, scope)
    return scope["made"]


def computed():
    a = 2
    return eval("a * 3"), eval(compile("[x for x in (1, 2)]", "<made>", "eval"))


def copied(f):
    g = types.FunctionType(f.__code__, f.__globals__, "copied", f.__defaults__, f.__closure__)
    g.__kwdefaults__ = f.__kwdefaults__
    return g


def renamed(f):
    return types.FunctionType(f.__code__.replace(co_name="renamed"), globals())


tree = ast.parse("def t(): return 'tree'")
exec(compile(tree, "<tree>", "exec"))
print(template(3)(4), computed(), copied(template)(1)(1), renamed(computed)(), t(), collections.namedtuple("N", "a b")(1, 2))
try:
    exec("1 / 0")
except ZeroDivisionError as e:
    print(e.__traceback__.tb_next.tb_frame.f_code.co_filename)
exec("raise KeyError('from exec')")
