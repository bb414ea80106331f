# Cancellation arrives at an await and may be refused, delayed or answered by
# another await; a task whose error nobody fetched is told of with its frames.
import asyncio


def helper(x):
    return x


async def nap(n=1):
    for _ in range(n):
        await asyncio.sleep(0)


async def cleans():
    try:
        await asyncio.Event().wait()
    finally:
        helper(1)
        await nap(3)
        print("cleaned")


async def refuses():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("refused", helper(2))
            await nap()
            return "stays"


async def turns():
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError as e:
        await nap()
        raise KeyError("instead") from None


async def passes(inner):
    try:
        return await inner
    except asyncio.CancelledError:
        print("passed on")
        raise


async def protected():
    await nap(4)
    print("protected")
    return "kept"


async def cancelled(coroutine, after=2):
    task = asyncio.ensure_future(coroutine)
    await nap(after)
    task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        return "cancelled"
    except Exception as e:
        return repr(e)


async def waits(timeout, coroutine):
    try:
        return await asyncio.wait_for(coroutine, timeout)
    except asyncio.TimeoutError:
        return "timeout"


async def fails(n):
    await nap(n)
    raise ValueError(n)


async def main():
    print(await cancelled(cleans()), await cancelled(refuses()), await cancelled(turns()))
    print(await cancelled(passes(cleans())), await cancelled(passes(passes(refuses()))))
    print(await cancelled(cleans(), 0))
    inner = asyncio.ensure_future(protected())
    print(await cancelled(asyncio.shield(inner)), await inner)
    print(await waits(0.005, cleans()), await waits(5, protected()), await waits(0, protected()))
    try:
        await asyncio.gather(fails(1), nap(9))
    except ValueError as e:
        print("first", e)
    print(await asyncio.gather(fails(1), fails(3), nap(), return_exceptions=True))
    whole = asyncio.gather(cleans(), cleans())
    await nap(2)
    whole.cancel()
    try:
        await whole
    except asyncio.CancelledError:
        print("whole cancelled")
    done, waiting = await asyncio.wait([asyncio.ensure_future(f) for f in (nap(1), nap(30))], return_when=asyncio.FIRST_COMPLETED)
    print(len(done), len(waiting))
    for f in asyncio.as_completed([fails(1)]):
        try:
            await f
        except ValueError as e:
            print("completed", e)
    queue = asyncio.Queue(1)

    async def produce():
        for i in range(4):
            await queue.put(i)
        await queue.put(None)

    async def consume():
        out = []
        while True:
            x = await queue.get()
            if x is None:
                return out
            out.append(helper(x))

    lock = asyncio.Lock()

    async def locked(tag):
        async with lock:
            await nap()
            return tag
    print(await asyncio.gather(produce(), consume(), locked("a"), locked("b")))
    forgotten = asyncio.ensure_future(fails(1))
    await nap(3)
    del forgotten
    await asyncio.get_running_loop().run_in_executor(None, helper, 3)
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await nap(2)
    last = asyncio.ensure_future(cleans())
    await nap()
    return last.done()


print(asyncio.run(main()))
