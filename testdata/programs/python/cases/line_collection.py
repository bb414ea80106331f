# needs 3.11
# not saved: its lines move
# not by line: tables of lines tell some lines again where a block begins
# not pure: checkpoints in Python are traced like any Python
# not alike: how many calls of threading are traced depends on who waits for whom
# A tool like coverage finds the same lines to run, and the same jumps between
# them, opcodes apart; the tracer of a frame may be set and taken away anywhere.
import itertools
import sys
import threading
import types


def code_objects(code):
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from code_objects(c)


def branches(x):
    if x > 1:
        return "many"
    elif x:
        r = "one"
    else:
        r = "none"
    while x:
        x -= 1
        if x == 5:
            break
    else:
        r += " else"
    with open(__file__) as f:
        r += f.readline()[:1]
    try:
        r.missing
    except (AttributeError,
            KeyError) as e:
        r += e.name
    else:
        r = 0
    return [
        r
        for r in r
        if r
    ][0]


def one(): return 1
def two(x=lambda: 2): return x() if x else x; print("never")


async def coroutine(m):
    async with m as x:
        for y in x:
            await y
    async for z in m:
        yield z


def decorate(f):
    return f


@decorate
@decorate
def decorated(
    a,
    b=one(),
):

    # a comment

    return (
        a +
        b
    )


arcs = set()
last = {}


def tracer(frame, event, arg):
    if frame.f_code.co_filename != __file__:
        return None
    key = id(frame)
    if event == "call":
        last[key] = -frame.f_code.co_firstlineno
    elif event == "line":
        arcs.add((frame.f_code.co_name, last[key], frame.f_lineno))
        last[key] = frame.f_lineno
    elif event == "return":
        arcs.add((frame.f_code.co_name, last.pop(key), -frame.f_code.co_firstlineno))
    return tracer


sys.settrace(tracer)
threading.settrace(tracer)
for i in 0, 1, 2:
    branches(i)
one(), two(), decorated(1)
t = threading.Thread(target=branches, args=(0,))
t.start()
t.join()
threading.settrace(None)
sys.settrace(None)
for a in sorted(arcs):
    print(*a)
for f in branches, one, two, coroutine, decorate, decorated:
    for c in code_objects(f.__code__):
        print(c.co_name, [l for l, _ in itertools.groupby(l for _, _, l in c.co_lines() if l is not None)])


def leaves_tracing():
    a = 1
    sys.settrace(None)
    b = 2
    return a + b


def local_tracer(frame, event, arg):
    seen.append((event, frame.f_lineno - frame.f_code.co_firstlineno))
    return local_tracer


def self_traced():
    a = 1
    f = sys._getframe()
    f.f_trace = local_tracer
    sys.settrace(lambda *a: None)
    b = 2
    f.f_trace_lines = False
    c = 3
    f.f_trace_lines = True
    del f.f_trace
    sys.settrace(None)
    return b


def raising_tracer(frame, event, arg):
    if event == "line" and frame.f_lineno == branches.__code__.co_firstlineno + 5:
        raise LookupError("from the tracer")
    return raising_tracer


def jumps():
    x = "skipped"
    x = "not skipped"
    return x


def jumper(frame, event, arg):
    if frame.f_code is jumps.__code__ and event == "line" and frame.f_lineno == jumps.__code__.co_firstlineno + 2:
        frame.f_lineno = jumps.__code__.co_firstlineno + 3
        frame.f_locals
    return jumper


seen = []
sys.settrace(local_tracer)
leaves_tracing()
print(seen)
seen.clear()
self_traced()
print(seen)
sys.settrace(raising_tracer)
try:
    branches(0)
except LookupError as e:
    print(e, sys.gettrace())
sys.settrace(None)
