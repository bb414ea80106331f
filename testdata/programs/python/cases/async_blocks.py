# Every part of an asynchronous block may raise, and each leaves the frame in
# another state: awaiting the manager, inside the body, or between two values.
import asyncio


class Manager:
    def __init__(self, enters=None, leaves=None, hides=False):
        self.enters, self.leaves, self.hides = enters, leaves, hides

    async def __aenter__(self):
        await asyncio.sleep(0)
        if self.enters:
            raise self.enters
        return self

    async def __aexit__(self, kind, value, tb):
        await asyncio.sleep(0)
        print("aexit", kind and kind.__name__)
        if self.leaves:
            raise self.leaves
        return self.hides


class NoWait:
    def __aenter__(self): return 1
    def __aexit__(self, *e): return 2


class Values:
    def __init__(self, *values): self.values = list(values)
    def __aiter__(self): return self
    async def __anext__(self):
        await asyncio.sleep(0)
        if not self.values:
            raise StopAsyncIteration
        v = self.values.pop(0)
        if isinstance(v, Exception):
            raise v
        return v


class BadIterator:
    def __aiter__(self): return 5


class BadNext:
    def __aiter__(self): return self
    def __anext__(self): return 5


class Raising:
    def __aiter__(self): raise LookupError("aiter")


def helper(x):
    return x


async def within(manager, body=None):
    async with manager as m:
        helper(m)
        if body:
            raise body
        return "left by return"
    return "behind"


async def over(values):
    seen = []
    async for v in values:
        seen.append(helper(v))
        if v == "stop":
            break
        if v == "raise":
            raise KeyError(v)
        if v == "return":
            return seen, "returned"
        if v == "continue":
            continue
        seen.append(await asyncio.sleep(0, "slept"))
    else:
        seen.append("else")
    return seen


async def both():
    out = []
    async with Manager(hides=True) as a, Manager(leaves=OSError("second")) as b:
        async for x in Values(1, 2, 3):
            async with Manager(hides=True):
                async for y in Values("a", "b"):
                    if x == 2:
                        raise ValueError("inside")
                    if y == "b":
                        break
                    out.append((x, y))
                else:
                    out.append("not here")
        else:
            out.append("outer else")
    out.append("after")
    return out


async def in_handler():
    try:
        async with Manager(enters=KeyError("entering")):
            print("not here")
    except KeyError as e:
        async with Manager():
            helper(1)
        try:
            async for v in Values(1, OSError("next")):
                helper(v)
        except OSError as f:
            return repr(e), repr(f), repr(f.__context__)
        finally:
            async with Manager():
                helper(2)


async def shown(what):
    try:
        print(await what)
    except BaseException as e:
        print(type(e).__name__, e, repr(e.__context__))


async def main():
    for m in (Manager(), Manager(hides=True), Manager(enters=KeyError("in")), Manager(leaves=KeyError("out"))):
        for body in None, ValueError("body"):
            await shown(within(m, body))
    await shown(over(Values(1, 2)))
    for word in "stop", "raise", "return", "continue":
        await shown(over(Values(1, word, 3)))
    await shown(over(Values(1, OSError("anext"), 2)))
    await shown(over(Raising()))
    for what in within(NoWait()), over(BadIterator()), over(BadNext()):
        try:
            await what
        except TypeError as e:
            print(type(e).__name__)
    await shown(both())
    await shown(in_handler())


asyncio.run(main())
