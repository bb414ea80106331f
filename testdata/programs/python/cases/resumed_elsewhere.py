# not alike: threads that follow one another may have one number in the saved text
# A frame that was suspended on one thread goes on, ends, or is collected on
# another one.
import asyncio
import gc
import threading


class Stop:
    def __await__(self):
        return (yield "stop")


def helper(x):
    return x


def gen(n):
    try:
        for i in range(n):
            helper(i)
            yield i
    finally:
        helper("end")


async def coroutine():
    a = await Stop()
    helper(a)
    b = await deeper()
    return a, b


async def deeper():
    return [await Stop(), await Stop()]


async def agen():
    yield await Stop()
    yield 2


def elsewhere(f, *args):
    out = []

    def run():
        try:
            out.append(f(*args))
        except BaseException as e:
            out.append((type(e).__name__, getattr(e, "value", str(e))))
    t = threading.Thread(target=run)
    t.start()
    t.join()
    return out[0]


g = gen(6)
print(next(g), elsewhere(next, g), next(g), elsewhere(lambda: helper(next(g))), elsewhere(list, g))
g = gen(3)
next(g)
print(elsewhere(g.close))
g = gen(3)
next(g)
print(elsewhere(g.throw, KeyError("thrown")))
g = elsewhere(gen, 3)
print(elsewhere(next, g), next(g), elsewhere(next, g), elsewhere(next, g))
c = coroutine()
print(c.send(None), elsewhere(c.send, 1), elsewhere(c.send, 2), elsewhere(c.send, 3))
c = coroutine()
print(elsewhere(c.send, None), c.send(4), elsewhere(c.close))
a = agen()
s = a.__anext__()
print(s.send(None), elsewhere(s.send, 5), elsewhere(lambda: a.aclose().send(None)))
box = [gen(3)]
next(box[0])
elsewhere(box.clear)
box = [coroutine()]
box[0].send(None)
elsewhere(box.clear)
cycle = gen(2)
next(cycle)
ring = [cycle]
ring.append(ring)
del cycle, ring
elsewhere(gc.collect)


def generations(n):
    g = gen(n * 2)
    lock = threading.Lock()
    seen = []

    def take():
        while True:
            with lock:
                try:
                    seen.append(next(g))
                except StopIteration:
                    return
    ts = [threading.Thread(target=take) for _ in range(n)]
    for t in ts: t.start()
    for t in ts: t.join()
    return sorted(seen) == list(range(n * 2))


print(generations(4))


async def in_threads():
    loop = asyncio.get_running_loop()
    g = gen(4)
    return [await loop.run_in_executor(None, next, g) for _ in range(4)]


print(asyncio.run(in_threads()), elsewhere(asyncio.run, in_threads()))
