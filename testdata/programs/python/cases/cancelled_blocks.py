# Cancellation finds a task inside asynchronous blocks: while the body awaits, the
# next value, or the manager; some managers hide it and the function goes on.
import asyncio


class M:
    async def __aenter__(self): await asyncio.sleep(0); return self
    async def __aexit__(self, *e): await asyncio.sleep(0); return e[0] is asyncio.CancelledError


class N(M):
    async def __aexit__(self, *e): await asyncio.sleep(0); return False


async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


def helper(x): return x


async def swallowed():
    async with M():
        await asyncio.sleep(10)
    helper(1)
    async with N(), M():
        await asyncio.sleep(0)
    return "swallowed"


async def loops():
    try:
        async for x in ticks(100):
            async with N():
                await asyncio.sleep(0.5)
    finally:
        helper(2)
        await asyncio.sleep(0)
        helper(3)


async def handles():
    async with N():
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            helper(4)
            await asyncio.sleep(0)
            helper(5)
    async for x in ticks(2): helper(x)
    return "handled"


async def in_next():
    async for x in slow(): helper(x)


async def slow():
    try:
        await asyncio.sleep(10)
        yield 1
    finally:
        await asyncio.sleep(0)
        helper(6)


async def in_enter():
    async with E(): helper(7)


class E(M):
    async def __aenter__(self): await asyncio.sleep(10)


async def in_exit():
    async with X(): helper(8)


class X(M):
    async def __aexit__(self, *e): await asyncio.sleep(10)


async def comp(): return [x async for x in slow()], helper(1)


async def main():
    for f in swallowed, loops, handles, in_next, in_enter, in_exit, comp:
        t = asyncio.ensure_future(f())
        for _ in range(6): await asyncio.sleep(0)
        t.cancel()
        try:
            print(f.__name__, await t)
        except asyncio.CancelledError:
            print(f.__name__, "cancelled")
    cs = [f() for f in (swallowed, handles, in_enter, in_exit)]
    for c in cs:
        c.send(None)
        try:
            c.close()
        except RuntimeError as e:
            print(c.__name__, e)


asyncio.run(main())
