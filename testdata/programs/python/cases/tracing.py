# needs 3.10
# not saved: its lines move
# not pure: checkpoints in Python are traced like any Python
# A program that traces itself sees its own lines. (Before 3.10 an instruction
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


def both(x):
    if x:
        y = 1
    elif x is None:
        return (2,
                x)
    else:
        y = 2


def loops(x):
    global seen
    while x:
        x -= 1


def empty_first(x):
    with open(__file__) as f:
        if x:
            return f.closed


sys.settrace(lines)
traced(1)
for x in 1, None, 0:
    both(x)
    loops(x)
    empty_first(x)
list(generator())
simple()
try:
    fails()
except ValueError as e:
    at = e.__traceback__.tb_next
    print(at.tb_lineno, at.tb_frame.f_lineno)
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
for f in traced, both, loops, fails:
    print(sorted({l for _, _, l in f.__code__.co_lines() if l}), f.__code__.co_firstlineno)
print(sys._getframe().f_code.co_firstlineno)
