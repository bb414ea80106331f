# not alike: which thread of a pool gets what is up to chance
# Many threads of short lives, each with a stack of its own.
import concurrent.futures
import threading


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def gen(n):
    for i in range(n):
        yield work(i)


class Own(threading.Thread):
    def run(self):
        self.result = sum(gen(6))


results = []
lock = threading.Lock()


def collect(n):
    r = work(n)
    with lock:
        results.append(r)


for _ in range(5):
    ts = [threading.Thread(target=collect, args=(i,)) for i in range(8)]
    for t in ts: t.start()
    for t in ts: t.join()
print(sorted(results))
o = Own()
o.start()
o.join()
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    print(o.result, list(pool.map(work, range(10))), pool.submit(lambda: work(5)).result())
shared = gen(4)
next(shared)
t = threading.Thread(target=lambda: results.append(list(shared)))
t.start()
t.join()
print(results[-1])
local = threading.local()
local.x = 1
timer = threading.Timer(0, collect, (3,))
timer.start()
timer.join()
