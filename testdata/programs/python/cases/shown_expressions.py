# not alike: saved text has no checkpoints in an expression that is shown
# A string can show the text of an expression beside its value.
import asyncio


def values(x):
    return f"{x=} {(lambda: x)() = } {[(lambda n=n: n)() for n in range(x)]=!s:>{(lambda: 20)()}}"


def gen(x):
    got = f"{(yield x)=} {x:{(yield 5)}}"
    yield got, f"""{
        (yield 1) =}"""


async def waits(x):
    return f"{await asyncio.sleep(0, x)=} {[i async for i in items(x)]=} {await asyncio.sleep(0, 3)}"


async def items(n):
    for i in range(n):
        yield i


print(values(2))
g = gen(1)
print([g.send(v) for v in (None, 4, 6, 7)])
print(asyncio.run(waits(2)))
