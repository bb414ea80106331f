# closed late: the interpreter closes what is suspended when it ends, after the report
# A coroutine can be driven by hand, and ends like a generator: closed, thrown
# into, or collected while it waits, with all the frames it waits for.
import gc
import types
import warnings


class Stop:
    def __init__(self, tag): self.tag = tag
    def __await__(self):
        try:
            return (yield self.tag)
        finally:
            print("stop ends", self.tag)


@types.coroutine
def old_style(tag):
    got = yield tag
    return got * 2


def helper(x):
    return x


async def inner(tag):
    try:
        a = await Stop(tag + " 1")
        helper(a)
        b = await old_style(tag + " 2")
        return a, b
    except ValueError as e:
        print("inner caught", e)
        return await Stop("in handler")
    finally:
        helper(tag)
        print("inner finally", tag)


async def outer(tag):
    try:
        return "outer", await inner(tag), await inner(tag + "'")
    except KeyError as e:
        print("outer caught", repr(e))
        await Stop("after")
        raise LookupError("other") from e
    finally:
        print("outer finally", tag)


async def chain(n):
    return await Stop("deep") if n == 0 else 1 + await chain(n - 1)


def step(c, how, *args):
    try:
        return getattr(c, how)(*args)
    except StopIteration as e:
        return "done", e.value
    except BaseException as e:
        return type(e).__name__, str(e), type(e.__context__).__name__


c = outer("sent")
print([step(c, "send", v) for v in (None, 1, 2, 3, 4)], step(c, "send", None))
c = outer("thrown")
print(step(c, "send", None), step(c, "throw", ValueError("v")), step(c, "send", 5), step(c, "throw", KeyError("k")), step(c, "send", 6))
c = outer("closed")
print(step(c, "send", None), c.cr_await.cr_await.__class__.__name__, step(c, "close"), c.cr_frame)
c = outer("dropped")
print(step(c, "send", None))
del c
gc.collect()
c = outer("cycle")
step(c, "send", None)
box = [c]
box.append(box)
helper(box)
del c, box
gc.collect()
c = chain(20)
print(step(c, "send", None), step(c, "send", 7))
c = chain(20)
print(step(c, "send", None), step(c, "throw", ZeroDivisionError("bottom")))
c = chain(20)
step(c, "send", None)
c.close()
c = outer("never")
c.close()
c = inner("reentered")
step(c, "send", None)


async def reenters():
    await Stop("before")
    return step(running, "send", None)


running = reenters()
print(step(running, "send", None), step(running, "send", None))
with warnings.catch_warnings():
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, *rest: print("warned", message)
    outer("forgotten")
    gc.collect()
left = outer("at the end")
step(left, "send", None)
