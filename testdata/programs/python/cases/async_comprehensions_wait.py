# Between two values of an asynchronous comprehension the frame around it does
# not run; it is back before the next statement, also after an exception.
import asyncio


async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
    if n == 5:
        raise ValueError("five")


async def collect(n):
    a = [x async for x in ticks(n)]
    b = {x: y async for x in ticks(n) for y in range(2)}
    c = {x + y for x in range(2) async for y in ticks(2)}
    return a, b, c, [await asyncio.sleep(0, x) async for x in ticks(2)]


async def main():
    print(await collect(3))
    try:
        await collect(5)
    except ValueError as e:
        print(e)
    print(await asyncio.gather(collect(1), collect(2)))


asyncio.run(main())
