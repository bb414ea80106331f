# needs 3.11
# A comprehension that awaits inside another one that does not by itself.
import types


@types.coroutine
def pause(value):
    yield value
    return value


async def nested(n):
    return [[[await pause(i + j + k) for k in range(n)] for j in range(n)] for i in range(n)]


async def around(n):
    try:
        return [(lambda: i)() for i in [await pause(j) for j in [await pause(k) for k in range(n)]]]
    except KeyError:
        return [{k: {await pause(j) for j in range(n)} for k in range(n)}]


for f in nested, around:
    for sends in range(7):
        c, got = f(2), []
        try:
            for _ in range(sends):
                got.append(c.send(None))
            got.append(c.throw(KeyError(1)))
            while len(got) < 9:
                got.append(c.send(None))
        except (KeyError, StopIteration) as e:
            got.append(repr(e))
        c.close()
        print(f.__name__, sends, got)
