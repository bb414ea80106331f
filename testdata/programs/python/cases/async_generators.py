# Asynchronous generators suspend twice over: at their yields and their awaits.
import asyncio


async def ticks(n):
    try:
        for i in range(n):
            await asyncio.sleep(0)
            got = yield i
            if got:
                print("got", got)
    except ValueError as e:
        print("caught", e)
        yield "after"
    finally:
        await asyncio.sleep(0)
        print("closed")


async def bare():
    yield
    x = yield
    print("x", x)


async def relay():
    async for t in ticks(3):
        yield t * 10


async def main():
    print([t async for t in ticks(3)], [t async for t in relay()], [t async for t in bare()])
    g = ticks(5)
    print(await g.__anext__(), await g.asend("sent"), await g.athrow(ValueError("thrown")))
    await g.aclose()
    g = ticks(5)
    async for t in g:
        break
    await g.aclose()
    g = ticks(5)
    try:
        await g.asend(None)
        await g.athrow(KeyError("through"))
    except KeyError as e:
        print("out", e)
    print(await asyncio.gather(*(collect(i) for i in range(3))))
    left = ticks(2)
    await left.__anext__()


async def collect(n):
    return [t async for t in ticks(n)]


asyncio.run(main())
