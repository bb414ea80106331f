# A comprehension that waits for its values and awaits others besides is suspended
# as a whole; so are those inside it.
import types


@types.coroutine
def pause(value):
    yield value
    return value


class Items:
    def __init__(self, n): self.n = n
    def __aiter__(self): return self
    async def __anext__(self):
        await pause("next")
        self.n -= 1
        if self.n < 0:
            raise StopAsyncIteration
        return self.n


async def both(n):
    return {i: await pause(i) async for i in Items(n) if await pause(i + 1)}


async def first(n):
    return [j async for i in Items(await pause(n)) for j in [await pause(i), (lambda: i)()]]


async def handled(n):
    try:
        return [(await pause(i), [await pause(k) for k in [i]][0]) async for i in Items(n)] if n else None
    except KeyError:
        return [await pause(1)], [i async for i in (await pause(j) for j in [await pause(3)])]


def step(f, sends):
    c, got = f(2), []
    try:
        for _ in range(sends):
            got.append(c.send(None))
        got.append(c.throw(KeyError("k")))
        while True:
            got.append(c.send(None))
    except (KeyError, StopIteration) as e:
        got.append(repr(e))
    finally:
        c.close()
    print(f.__name__, got)


def left(f, sends):
    c, got = f(2), []
    try:
        for _ in range(sends):
            got.append(c.send(None))
    finally:
        c.close()
    print(f.__name__, got)


for f in both, first, handled:
    for sends in range(6):
        step(f, sends)
    for sends in range(4):
        left(f, sends)
