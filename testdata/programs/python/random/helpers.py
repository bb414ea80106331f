"""What random programs share. They print what they do: values on standard
output, what depends on lines on standard error."""
import asyncio
import contextlib
import functools
import gc
import logging
import sys
import threading
import traceback
import warnings

gc.disable()  # when it comes by itself depends on how much is allocated
warnings.simplefilter("always")
left = 300


class Boom(Exception):
    pass


class Spent(Exception):
    pass


def unraisable(u):  # the interpreter's own words have an address in them
    E("unraisable", show(u.object), u.exc_type.__name__, show(u.exc_value))
    traceback.print_exception(u.exc_type, u.exc_value, u.exc_traceback)


sys.unraisablehook = unraisable
logging.getLogger("asyncio").addFilter(lambda r: E("log", r.getMessage()[:30]))  # so have asyncio's


def F(value):
    """What is handed to each call: it ends programs that would run for long."""
    global left
    left -= 1
    if left < 0:
        raise Spent
    return I(value)


def I(value):
    if value is None:
        return 0
    if isinstance(value, (int, float)):
        return int(value) % 97
    try:
        return len(value)
    except TypeError:
        return 1


def show(value, depth=3):
    if value is None or isinstance(value, (int, float, str, bytes)):
        return repr(value)
    if depth and isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(show(v, depth - 1) for v in value)
    if depth and isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (show(k), show(v, depth - 1)) for k, v in value.items())
    if isinstance(value, BaseException):
        inner = getattr(value, "exceptions", None)
        return "%s(%s)" % (type(value).__name__, show(inner or [a for a in value.args if isinstance(a, (int, str))], depth - 1))
    return getattr(value, "__qualname__", "<%s>" % type(value).__name__)


def T(*values):
    print(*map(show, values))
    return len(values)


def E(*values):
    print(*values, file=sys.stderr, flush=True)


def names(frame):
    found = []
    while frame:
        found.append(frame.f_code.co_name)
        if found[-1] == "<module>":
            break
        frame = frame.f_back
    return found


def where(value=0):
    E("line", sys._getframe(1).f_lineno)
    T("frames", names(sys._getframe(1)))
    return value


def warn(value=0):
    warnings.warn("warned", stacklevel=2)
    return value


def maybe(value):
    if I(value) % 3 == 0:
        raise ValueError("no %s" % show(value))
    return value


def pause_line(g):
    for name in "gi_frame", "cr_frame", "ag_frame":
        frame = getattr(g, name, None)
        if frame is not None:
            E(name, frame.f_lineno, frame.f_code.co_name)


def drive(g, n=0):
    """Advances a generator, in ways that depend on n."""
    T("drive", n)
    try:
        for step in range(7):
            how = (n + step * 3) % 7
            if step == 0 or how < 3:
                T("next", next(g))
            elif how < 5:
                T("sent", g.send(step))
            elif how == 5:
                T("thrown", g.throw(Boom("thrown")))
            else:
                T("closed", g.close())
            pause_line(g)
    except StopIteration as e:
        T("value", e.value)
    return n


async def adrive(g, n=0):
    T("adrive", n)
    try:
        for step in range(7):
            how = (n + step * 3) % 7
            if step == 0 or how < 3:
                T("next", await g.__anext__())
            elif how < 5:
                T("sent", await g.asend(step))
            elif how == 5:
                T("thrown", await g.athrow(Boom("thrown")))
            else:
                T("closed", await g.aclose())
            pause_line(g)
    except StopAsyncIteration:
        T("end")
    finally:
        await g.aclose()
    return n


def step(c, n):
    """Advances a coroutine by hand, and leaves it somewhere."""
    try:
        for k in range(n % 5):
            T("step", c.send(None) is None)
            pause_line(c)
        if n % 2:
            c.throw(Boom("thrown"))
    except StopIteration as e:
        T("value", e.value)
    finally:
        c.close()
    return n


def thread(f, value):
    got = []

    def work():
        got.append(f(value))

    t = threading.Thread(target=work, name="worker")
    t.start()
    t.join()
    return got[0] if got else 0


class Ctx:
    def __init__(self, n, swallow=False):
        self.n, self.swallow = n, swallow

    def __enter__(self):
        T("in", self.n)
        return I(self.n)

    def __exit__(self, kind, error, tb):
        T("out", self.n, kind and kind.__name__)
        if tb is not None:
            E("at", tb.tb_lineno)
        return self.swallow

    async def __aenter__(self):
        await asyncio.sleep(0)
        return self.__enter__()

    async def __aexit__(self, *error):
        await asyncio.sleep(0)
        return self.__exit__(*error)


@contextlib.contextmanager
def managed(n):
    try:
        yield n
    except ValueError:
        T("managed")
    finally:
        T("left", n)


@contextlib.asynccontextmanager
async def amanaged(n):
    try:
        await asyncio.sleep(0)
        yield n
    except ValueError:
        T("managed")
    finally:
        await asyncio.sleep(0)
        T("left", n)


class Items:
    """Iterable both ways."""

    def __init__(self, n):
        self.n = n % 4

    def __iter__(self):
        return iter(range(self.n))

    def __aiter__(self):
        return self

    async def __anext__(self):
        await asyncio.sleep(0)
        self.n -= 1
        if self.n < 0:
            raise StopAsyncIteration
        return self.n


async def nap(value=0):
    for _ in range(I(value) % 3):
        await asyncio.sleep(0)
    return value


async def cancelled(c, n=0):
    """Starts a task and cancels it after a while."""
    t = asyncio.ensure_future(c)
    for _ in range(n % 4):
        await asyncio.sleep(0)
    t.cancel()
    try:
        return await t
    except asyncio.CancelledError:
        T("cancelled")
        return n


def deco(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        T("call", f.__qualname__)
        return f(*args, **kwargs)
    return inner


def tagged(tag):
    T("tag", tag)

    def decorate(f):
        return f if I(tag) % 2 else lambda *args: f(*args)
    return decorate


class Field:
    """A descriptor."""

    def __init__(self, f):
        self.f = f

    def __set_name__(self, owner, name):
        T("named", owner.__name__, name)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return self.f(instance, 1)

    def __set__(self, instance, value):
        T("set", value)


class Meta(type):
    def __new__(mcs, name, bases, space, **kwargs):
        T("class", name, sorted(k for k in space if not k.startswith("__")))
        return super().__new__(mcs, name, bases, space)

    def __call__(cls, *args):
        T("make", cls.__qualname__)
        return super().__call__(*args)
