# needs 3.11
# A group cancels the tasks beside the one that failed, a timeout its own task;
# both turn the cancellation into another exception on the way out.
import asyncio


def helper(x):
    return x


async def nap(n, tag=None):
    try:
        for _ in range(n):
            await asyncio.sleep(0)
        return helper(tag)
    except asyncio.CancelledError:
        print("cancelled", tag)
        raise


async def fails(n):
    await nap(n)
    raise ValueError(n)


async def group(*coroutines):
    async with asyncio.TaskGroup() as g:
        tasks = [g.create_task(c) for c in coroutines]
        await asyncio.sleep(0)
        helper(tasks)
    return [t.result() for t in tasks]


async def main():
    print(await group(nap(2, "a"), nap(3, "b")))
    try:
        await group(nap(9, "beside"), fails(2), fails(2))
    except* ValueError as e:
        print("group", [str(x) for x in e.exceptions])
    try:
        async with asyncio.TaskGroup() as g:
            g.create_task(nap(9, "left"))
            await nap(1)
            raise KeyError("body")
    except* KeyError as e:
        print("body", e.exceptions)
    try:
        async with asyncio.timeout(0.005):
            await asyncio.Event().wait()
    except TimeoutError:
        print("timeout", asyncio.current_task().cancelling())
    async with asyncio.timeout(None) as t:
        await nap(2)
    print(t.expired())
    outer = asyncio.create_task(group(nap(90, "in the group"), nap(90, "too")))
    await nap(3)
    outer.cancel()
    try:
        await outer
    except asyncio.CancelledError:
        print("whole group")
    print(await group(group(nap(1, "nested")), nap(1)))
    await group(fails(1), group(nap(9, "inner")))


asyncio.run(main())
