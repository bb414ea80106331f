# An exception thrown into a frame that waits inside an async with or async for
# leaves their bodies, and the frame goes on; an await binds before a power.
import asyncio


class Hides:
    async def __aenter__(self): await asyncio.sleep(0)
    async def __aexit__(self, kind, *rest):
        await asyncio.sleep(0)
        print(kind and kind.__name__)
        return True


async def within():
    async with Hides():
        yield 1
    async with Hides():
        async for i in numbers():
            yield i
    yield 4


async def numbers():
    yield 2
    yield 3


async def two(n=2):
    await asyncio.sleep(0)
    return n


async def main():
    g = within()
    print(await g.__anext__(), await g.athrow(KeyError("k")), await g.athrow(ValueError("v")))
    await g.aclose()
    print(-await two() ** 2, await two() ** await two(3) ** 2, [await two(i) ** 2 for i in range(3)])


asyncio.run(main())
