# not saved: marshal writes the code of functions, and saved text has checkpoints in it
# Other interpreters of the process import what lies beside the script, and run
# functions that are sent to them.
import marshal
import sys
import types

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

import beside


def sent():
    import sys

    def within(n):
        return [i for i in range(n)]
    print("sent", within(3), flush=True)


def numbers(n):
    while n:
        yield n
        n -= 1


first = lambda x: x + 1
second = lambda x: x + 2
interpreter = interpreters.create()
if sys.version_info >= (3, 12):
    interpreters.run_string(interpreter, "import sys; print(sys.path[0], flush=True)\n"
                            "import beside; print(beside.double(3), flush=True)")
if hasattr(interpreters, "run_func"):
    interpreters.run_func(interpreter, sent)
    interpreters.exec(interpreter, sent)
    interpreters.exec(interpreter, sent.__code__)
again = marshal.loads(marshal.dumps((sent.__code__, {"numbers": numbers.__code__}, [second.__code__, first.__code__])))
types.FunctionType(again[0], globals())()
print(list(types.FunctionType(again[1]["numbers"], globals())(3)))
print([types.FunctionType(c, globals())(1) for c in again[2]])
try:
    marshal.dumps(object())
except ValueError as e:
    print(e)
print(marshal.loads(marshal.dumps(beside.double.__code__)).co_name, list(numbers(2)), first(1))
interpreters.destroy(interpreter)
