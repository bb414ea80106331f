# Tasks take turns: a coroutine that awaits is off the stack, whichever way it
# comes back or ends.
import asyncio
import contextlib
import inspect


async def work(name, n):
    total = 0
    for i in range(n):
        await asyncio.sleep(0)
        total += i
    return name, total


async def fails():
    await asyncio.sleep(0)
    raise ValueError("failed")


async def forever():
    try:
        while True:
            await asyncio.sleep(0)
    except asyncio.CancelledError:
        print("cancelled")
        raise
    finally:
        print("cleaned")


class Manager:
    def __init__(self, swallow=False): self.swallow = swallow
    async def __aenter__(self):
        await asyncio.sleep(0)
        return self
    async def __aexit__(self, kind, *rest):
        await asyncio.sleep(0)
        print("leaves", kind and kind.__name__)
        return self.swallow


class Numbers:
    def __init__(self, n): self.n = n
    def __aiter__(self): return self
    async def __anext__(self):
        await asyncio.sleep(0)
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        return self.n


async def loops():
    async for i in Numbers(3):
        print("item", i)
    else:
        print("else")
    async for i in Numbers(3):
        if i == 1:
            break
        if i == 2:
            continue
    else:
        print("not here")
    async for i in Numbers(2):
        return "returned"


async def managers():
    async with Manager() as a, Manager() as b:
        await asyncio.sleep(0)
        print(a is b)
    async with Manager(True):
        raise KeyError("swallowed")
    try:
        async with Manager():
            raise KeyError("passed")
    except KeyError as e:
        print("handler", e)
    for i in range(3):
        async with Manager():
            if i == 0:
                continue
            break
    async with Manager():
        return "from inside"


@contextlib.asynccontextmanager
async def managed(tag):
    print("begin", tag)
    try:
        yield tag
    finally:
        await asyncio.sleep(0)
        print("end", tag)


async def comprehensions():
    a = [x async for x in Numbers(3)]
    b = {x: y async for x in Numbers(2) async for y in Numbers(2) if x}
    c = [await work(str(i), i) for i in range(3)]
    d = [x async for x in (await_all(y) async for y in Numbers(2))]
    e = (await work("lazy", 1) for _ in range(2))
    return a, b, c, len(d), [x async for x in e]


def await_all(x):
    return x


async def main():
    print(await asyncio.gather(work("a", 3), work("b", 2), fails(), return_exceptions=True))
    task = asyncio.ensure_future(forever())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("was cancelled", task.cancelled())
    print(await loops())
    print(await managers())
    async with managed("one") as tag:
        print(tag)
    try:
        async with managed("two"):
            raise LookupError("inside")
    except LookupError as e:
        print(repr(e))
    print(await comprehensions())
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.001)
    except asyncio.TimeoutError:
        print("timeout")
    try:
        await fails()
    except ValueError as e:
        print(e, (await work("in handler", 2)))
    double = lambda: work("lambda", 2)
    print(await double(), await asyncio.get_running_loop().run_in_executor(None, await_all, 7))


print(inspect.iscoroutinefunction(work), inspect.isasyncgenfunction(managed.__wrapped__), inspect.iscoroutinefunction(Manager.__aenter__))
asyncio.run(main())
