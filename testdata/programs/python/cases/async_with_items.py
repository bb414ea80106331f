# The second manager of an async with is made after an await for the first one:
# what it takes may suspend the frame, or fail.
import asyncio


class Manager:
    def __init__(self, n): self.n = n
    async def __aenter__(self):
        await asyncio.sleep(0)
        print("in", self.n)
        return self.n
    async def __aexit__(self, kind, error, tb):
        await asyncio.sleep(0)
        print("out", self.n, kind and kind.__name__)
        return self.n == 3


async def value(n):
    await asyncio.sleep(0)
    return n


async def numbers(n):
    for i in range(n):
        yield await value(i)


async def awaits():
    async with Manager(1), Manager(await value(2)) as x, \
            Manager(len([i async for i in numbers(2)])):
        return x


async def yields():
    async with Manager(4) as x, Manager((yield x)) as y:
        yield y


async def fails():
    async with Manager(3), Manager(await value(1 / 0)):
        print("not here")
    return "hidden"


async def passes():
    async with Manager(1), Manager(1 / 0), Manager(2):
        print("not here")


async def main():
    print(await awaits(), [x async for x in yields()], await fails())
    print(await asyncio.gather(passes(), fails(), return_exceptions=True))
    await passes()


asyncio.run(main())
