# needs 3.12
# not saved: its lines move
# not pure: checkpoints in Python are seen like any Python
# Tools of sys.monitoring get the events of the program's own code. (But for
# those of handlers: the end of a function is told by one.)
import sys

m = sys.monitoring
E = m.events
events = []
twice = sys.version_info < (3, 13)  # a lambda's line may be told twice


def inner(x):
    return x + 1


def gen():
    got = yield 1
    try:
        yield 2
    except ValueError:
        yield inner(3)


def fails():
    try:
        raise KeyError("k")
    except KeyError:
        pass
    return [inner(i) for i in range(2)]


def escapes():
    {}["missing"]


async def coroutine():
    return inner(1)


def main():
    """Documented."""
    g = gen()
    next(g)
    g.send(2)
    g.throw(ValueError)
    g.close()
    fails()
    try:
        escapes()
    except KeyError:
        pass
    (lambda: inner(4))()
    try:
        coroutine().send(None)
    except StopIteration:
        pass
    for i in range(3):
        if i == 1:
            continue
    return "end"


def see(name, keep):
    def callback(code, *args):
        if code.co_filename == __file__ and code.co_name not in ("<module>", "see", "run") and not (twice and code.co_name == "<lambda>" and name == "LINE"):
            events.append((name, code.co_name, *keep(code, *args)))
    return callback


def run(kinds, local=False):
    events.clear()
    m.use_tool_id(3, "program")
    for name, keep in kinds.items():
        m.register_callback(3, getattr(E, name), see(name, keep))
    mask = 0
    for name in kinds:
        mask |= getattr(E, name)
    if local:
        m.set_local_events(3, inner.__code__, mask)
    else:
        m.set_events(3, mask)
    main()
    m.set_events(3, 0)
    m.set_local_events(3, inner.__code__, 0)
    for name in kinds:
        m.register_callback(3, getattr(E, name), None)
    m.free_tool_id(3)
    print(sorted(kinds))
    for e in events:
        print("  ", *e)


none = lambda code, *a: ()
value = lambda code, offset, v: (v if isinstance(v, (int, str)) else type(v).__name__,)
line = lambda code, n: (n - code.co_firstlineno,)
kind = lambda code, offset, e: (type(e).__name__,)
called = lambda code, offset, f, arg: (getattr(f, "__name__", "?"),)
run({"PY_START": none, "PY_RETURN": value, "PY_YIELD": value, "PY_RESUME": none, "PY_THROW": kind, "PY_UNWIND": kind})
run({"LINE": line})
run({"CALL": called})
run({"RAISE": kind, "PY_UNWIND": kind, "STOP_ITERATION": kind})
run({"LINE": line, "PY_START": none, "PY_RETURN": value}, local=True)
print([m.get_tool(i) for i in range(6)])
