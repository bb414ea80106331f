# not saved: its lines move
# Every way in which a traceback comes about shows the lines, and from 3.11 the
# columns, that raised, in frames that are left by a checkpoint as well.
import asyncio
import logging
import sys
import threading
import traceback


def divide(a, b):
    return (a
            + divide_all([
                a / b,
            ]))


def divide_all(x):
    return sum(x)


def gen():
    try:
        yield 1
    finally:
        clean = 1
    yield 2


def delegating():
    got = yield from gen()
    return got


def index(data):
    return data["a"][
        "b"]["c"]


def call(f, *args, **kwargs):
    with Manager():
        return f(
            *args,
            **kwargs)


def attribute(): return (lambda: None.x.y)()


def raises():
    raise (
        ValueError
    )("text")


def from_cause():
    try:
        raises()
    except ValueError as e:
        raise KeyError("cause") from e


def from_none():
    try:
        raises()
    except ValueError:
        raise KeyError("none") from None


def in_finally():
    try:
        raises()
    finally:
        None.attribute


def comprehension(x):
    return {k: [v
                / 0 for v in range(1)] for k in x}


def recursing(n):
    if n:
        return recursing(n - 1)
    raises()


def annotated(x: "int" = 1, *, y=2):
    return 1 if (
        x
    ) is None else (1).missing


class Manager:
    def __enter__(self): return self
    def __exit__(self, *e): return False


class Property:
    @property
    def prop(self):
        return self.missing

    def __getattr__(self, name):
        raise AttributeError("no " + name)

    def __len__(self):
        return "x"

    def __iter__(self):
        yield raises()

    __call__ = lambda self, x: x + 1 + ""


def thrown():
    g = delegating()
    next(g)
    g.throw(OSError("thrown in"))


def stops():
    def g():
        yield next(iter(()))
    list(g())


async def waits(n):
    await asyncio.sleep(0)
    if n:
        return await waits(n - 1)
    async with AsyncManager():
        raises()


class AsyncManager:
    async def __aenter__(self): await asyncio.sleep(0)
    async def __aexit__(self, *e): await asyncio.sleep(0)


def asserts(x):
    assert x == (
        2), "message " + str(x)


def unpack():
    a, b = (1,
            2, 3)


def reraised():
    for _ in range(2):
        try:
            raises()
        except ValueError as e:
            kept = e
    raise kept


def noted():
    try:
        raises()
    except ValueError as e:
        if hasattr(e, "add_note"):
            e.add_note("a note")
            e.add_note("another")
        raise


def grouped():
    errors = []
    for f in raises, attribute:
        try:
            f()
        except Exception as e:
            errors.append(e)
    raise ExceptionGroup("group", [errors[0], ExceptionGroup("inner", errors[1:])])


cases = [lambda: divide(1, 0), lambda: index({"a": {"b": 0}}), lambda: call(divide, b=0, a=2), attribute, raises, from_cause, from_none,
         in_finally, lambda: comprehension("k"), lambda: recursing(8), annotated, lambda: Property().prop, lambda: len(Property()), lambda: list(Property()),
         lambda: Property()(1), thrown, stops, lambda: asyncio.run(waits(2)), lambda: asserts(1), unpack, reraised, noted, lambda: call(1, 2), lambda: raises(1),
         lambda: [*map(raises, "ab")], lambda: exec("raises()\n"), lambda: eval("1 +\\\n raises()"), lambda: compile("x = (", "<made>", "exec"), lambda: undefined_name]
if sys.version_info >= (3, 11):
    cases.append(grouped)
for f in cases:
    try:
        f()
    except Exception as e:
        print("".join(traceback.format_exception(type(e), e, e.__traceback__)).replace(__file__, "FILE"))


def walk(tb):
    while tb:
        yield tb.tb_frame.f_code.co_name, tb.tb_lineno, sys.version_info < (3, 11) or tb.tb_frame.f_lineno, sorted(tb.tb_frame.f_locals)
        tb = tb.tb_next


try:
    call(divide, 1, 0)
except ZeroDivisionError as e:
    print(*walk(e.__traceback__), sep="\n")
    for kind in {"capture_locals": False}, {"limit": 2, "capture_locals": False}, {"lookup_lines": False}:
        print("".join(traceback.TracebackException(type(e), e, e.__traceback__, **kind).format()).replace(__file__, "FILE"))
    logging.basicConfig(stream=sys.stdout, format="%(funcName)s %(lineno)d %(message)s")
    logging.exception("logged")


class Finalized:
    def __repr__(self): return "Finalized()"
    def __del__(self): raises()


class Unraisable:
    def __call__(self, args):
        names = [n for n, *_ in walk(args.exc_traceback)]
        print("unraisable", args.exc_type.__name__, args.exc_value, names, args.object is not None)


sys.unraisablehook = Unraisable()
Finalized()
sys.unraisablehook = sys.__unraisablehook__
t = threading.Thread(target=recursing, args=(2,), name="named")
t.start()
t.join()
sys.excepthook = lambda kind, value, tb: print("hook", kind.__name__, value, [n for n, *_ in walk(tb)])
threading.excepthook = lambda a: print("thread hook", a.exc_type.__name__, [n for n, *_ in walk(a.exc_traceback)], a.thread.name)
t = threading.Thread(target=from_cause, name="second")
t.start()
t.join()
sys.excepthook = sys.__excepthook__
if sys.version_info >= (3, 11):
    grouped()
in_finally()
