# Asynchronous generators end by the hands of others: closed, thrown into,
# dropped while suspended at a yield or at an await, finished by the loop.
import asyncio
import gc
import sys


async def ticks(tag, n=3):
    try:
        for i in range(n):
            await asyncio.sleep(0)
            yield i
    except GeneratorExit:
        print(tag, "told to end")
        raise
    finally:
        helper(tag)
        await asyncio.sleep(0)
        print(tag, "finally")


async def quiet(tag):
    try:
        yield 1
        yield 2
    finally:
        helper(tag)
        print(tag, "finally")


async def stubborn():
    try:
        yield 1
    except GeneratorExit:
        yield 2


async def relay(it):
    try:
        async for x in it:
            yield x
    finally:
        await it.aclose()
        print("relay closed")


def helper(tag):
    return tag


async def never_finished():
    left = ticks("left to the loop")
    await left.__anext__()
    globals()["kept"] = left


async def main():
    g = ticks("closed")
    await g.__anext__()
    await g.aclose()
    await g.aclose()
    try:
        await g.__anext__()
    except StopAsyncIteration:
        print("stays closed")
    g = ticks("thrown")
    await g.__anext__()
    try:
        await g.athrow(KeyError("into"))
    except KeyError as e:
        print("out", e)
    g = stubborn()
    await g.__anext__()
    try:
        await g.aclose()
    except RuntimeError as e:
        print(e)
    g = relay(ticks("inner", 5))
    async for x in g:
        if x == 1:
            break
    await g.aclose()
    g = ticks("dropped")
    await g.__anext__()
    del g
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)
    never = ticks("never started")
    await never.aclose()
    await never_finished()


asyncio.run(main())


# Hooks of the program's own, and generators driven without a loop.
class Stop:
    def __await__(self):
        got = yield "waiting"
        return got


async def by_hand():
    try:
        x = await Stop()
        y = yield x
        print("sent", y)
        yield await Stop()
    finally:
        print("by hand finally", helper("x"))


def drive(awaitable, *values):
    out, values = [], [None, *values]
    try:
        for v in values:
            out.append(awaitable.send(v))
    except (StopIteration, StopAsyncIteration) as e:
        return out, type(e).__name__, getattr(e, "value", None)
    return out, "waits"


old = sys.get_asyncgen_hooks()
sys.set_asyncgen_hooks(firstiter=lambda g: print("first", g.__name__), finalizer=lambda g: print("finalize", g.__name__))
g = by_hand()
print(drive(g.asend(None), "one"), drive(g.asend("two"), "three"))
print(drive(g.__anext__()))
g = quiet("hooked")
print(drive(g.__anext__()))
del g
gc.collect()
g = by_hand()
waiting = g.asend(None)
print(waiting.send(None))
waiting.close()
del waiting, g
gc.collect()
sys.set_asyncgen_hooks(*old)
g = quiet("unhooked")
print(drive(g.__anext__()))
del g
gc.collect()
g = quiet("with aclose")
print(drive(g.__anext__()), drive(g.aclose()), g.ag_frame)
