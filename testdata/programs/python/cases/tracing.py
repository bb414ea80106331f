# needs 3.11
# not saved: its lines move
# not pure: checkpoints in Python are traced like any Python
# A program that traces itself sees its own lines. (Before 3.11 an instruction
# cannot be without a line: the enter and the exit of a function repeat the
# line events of its first and last statement.)
import sys

seen = []


def traced(x):
    """Documented."""
    y = x + 1
    for i in range(2):
        y += i
    try:
        y /= 0
    except ZeroDivisionError:
        y = 0
    return y


def generator():
    yield 1
    x = yield 2
    return x


def simple():
    pass


def fails():
    raise ValueError


def lines(frame, event, arg):
    seen.append((frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno, event))
    return lines


sys.settrace(lines)
traced(1)
list(generator())
simple()
try:
    fails()
except ValueError:
    pass
(lambda: 1)()
sys.settrace(None)
for s in seen:
    print(s)
calls = []
sys.setprofile(lambda f, e, a: calls.append((f.f_code.co_name, e)))
traced(1)
simple()
sys.setprofile(None)
print(calls)
print(sorted(set(l for _, _, l in traced.__code__.co_lines() if l)) if hasattr(traced.__code__, "co_lines") else "")
