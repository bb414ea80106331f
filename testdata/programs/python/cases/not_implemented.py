# NotImplemented is a value like any other wherever it is given on: no operator
# gives it, so a checkpoint that a value passes must not be one.
import asyncio


class Odd:
    __lt__ = lambda self, other: NotImplemented if other else Ellipsis
    __add__ = lambda self, other: (NotImplemented)

    def __eq__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return (lambda: NotImplemented)()


def gen():
    got = yield NotImplemented
    print(got)
    got = yield (lambda: got)()
    yield from [got, NotImplemented]
    return NotImplemented


def outer():
    print((yield from gen()))


async def same(x):
    return x


async def main():
    print(await same(NotImplemented), [await same(x) async for x in values()], [x async for x in values()])
    async for x in values():
        print(x)


async def values():
    yield NotImplemented
    yield await same(NotImplemented)


print(Odd() == Odd(), Odd() == 1, Odd().__lt__(1), Odd() < 0)
for f in (lambda: Odd() + 1), (lambda: 1 + Odd()), (lambda: Odd() < 1):
    try:
        print(f())
    except TypeError as e:
        print(e)
g = outer()
print(next(g), g.send(NotImplemented), g.send(1), next(g), next(g, "end"))
asyncio.run(main())
print((lambda *a: a)(*[NotImplemented]), (lambda: (yield))().send(None), (lambda x: x[NotImplemented])({NotImplemented: 1}))
