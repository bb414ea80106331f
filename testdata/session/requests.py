"""Programs that tell cg monitor of their requests: the first argument says which."""
import asyncio
import os
import sys
import time

from codegreen import annotate_request, dropped_annotations


def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@annotate_request("GET /cheap")
async def cheap():
    spin(0.01)
    await asyncio.sleep(0)
    spin(0.01)


@annotate_request("generated")
def generated():
    yield 1


async def both(times):
    for _ in range(times) if times else iter(int, 1):
        with annotate_request("GET /dear"):
            spin(0.06)
        async with annotate_request("nothing"):
            pass
        await cheap()
        assert list(generated()) == [1]


if sys.argv[1:] == ["requests"]:
    with annotate_request("open at the fork"):
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:
                with annotate_request("forked"):
                    spin(0.01)
                time.sleep(0.05)
            os._exit(0)
    asyncio.run(both(None))
elif sys.argv[1] == "requests":
    asyncio.run(both(int(sys.argv[2])))
elif sys.argv[1] == "flood":
    for _ in range(50_000):
        with annotate_request("GET /flood"):
            pass
    print("dropped:", dropped_annotations())
