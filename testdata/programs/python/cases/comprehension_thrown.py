# closed late: the interpreter closes what is suspended when it ends, after the report
# A comprehension that awaits has a frame of its own before 3.12. Whoever throws
# into the coroutine, or closes it, meets it there, and the function behind.
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


async def listed(n):
    return [shown(await pause(i)) for i in range(n)]


async def chosen(n):
    return {i: await pause(i) for i in range(n) if await pause(-i) is not None}


async def caught(n):
    try:
        return {await pause(x) + 1 for x in [await pause("first")] for x in range(n)}
    except KeyError as e:
        return await pause("caught"), shown(e)
    finally:
        await pause("left")


async def mixed(n):
    return [await pause(i) async for i in Items(n)], [i async for i in Items(await pause(n))], (lambda: shown(n))()


async def lazy(n):
    return [j async for j in (await pause(i) for i in [await pause("lazy")])]


def shown(x):
    return repr(x)


def drive(f, sends, error=None):
    c, got = f(2), []
    try:
        for _ in range(sends):
            got.append(c.send(None))
        if error:
            got.append(c.throw(error))
            while True:
                got.append(c.send(None))
    except BaseException as e:
        got.append(shown(e))
    c.close()
    print(f.__name__, sends, got)


for f in listed, chosen, caught, mixed, lazy:
    for sends in range(5):
        drive(f, sends)
        drive(f, sends, KeyError("k"))
        drive(f, sends, GeneratorExit())
    drive(f, 50)
