# not saved: names and calls of its own
# not pure: checkpoints in Python are traced like any Python
# Profilers beside the checkpoints count the program's calls, the frames under
# them and the lines they pass.
import asyncio
import cProfile
import io
import profile
import pstats
import re
import sys
import threading
import trace


def inner(x):
    return abs(x)


def gen(n):
    for i in range(n):
        yield inner(i)


class Shape:
    def __init__(self, n): self.n = n
    def area(self): return sum(gen(self.n))
    def __add__(self, o): return Shape(self.n + o.n)


async def waits():
    await asyncio.sleep(0)
    return inner(-1)


def fails():
    try:
        inner("x")
    except TypeError:
        return [inner(i) for i in range(2)]


def main():
    shapes = [Shape(i) for i in range(4)]
    total = sum((s.area() for s in shapes), 0)
    fails()
    c = waits()
    while True:
        try:
            c.send(None)
        except StopIteration:
            break
    return total, sorted([3, 1], key=lambda v: -v), (shapes[1] + shapes[2]).area()


def counted(p):
    stats = pstats.Stats(p, stream=io.StringIO())
    for (path, line, name), (cc, nc, _, _, callers) in sorted(stats.stats.items()):
        if path == __file__ or path == "~":
            if "profiler" not in name and "disable" not in name:
                print("  ", name, line, cc, nc, sorted((c[2].split(" at ")[0], c[1], v if isinstance(v, int) else v[:2]) for c, v in callers.items()))


p = cProfile.Profile()
print(p.runcall(main))
counted(p)
p = profile.Profile(bias=0)
print(p.runcall(main))
counted(p)
if sys.version_info >= (3, 11):
    t = trace.Trace(count=1, trace=0, countfuncs=0, countcallers=0)
    t.runfunc(main)
    print(sorted((line, n) for (path, line), n in t.results().counts.items() if path == __file__))
    t = trace.Trace(count=0, trace=1)
    old, sys.stdout = sys.stdout, io.StringIO()
    t.runfunc(fails)
    text, sys.stdout = sys.stdout.getvalue(), old
    print(text)
t = trace.Trace(count=0, trace=0, countfuncs=1)
t.runfunc(main)
print(sorted(k[2] for k in t.results().calledfuncs if k[0] == __file__))
t = trace.Trace(count=0, trace=0, countcallers=1)
t.runfunc(main)
print(sorted((a[2], b[2]) for a, b in t.results().callers if a[0] == b[0] == __file__))
events = []


def profiled(frame, event, arg):
    if frame.f_code.co_filename == __file__:
        events.append((event, frame.f_code.co_name, getattr(arg, "__name__", None) if event.startswith("c_") else arg if isinstance(arg, int) else type(arg).__name__))


threading.setprofile(profiled)
t = threading.Thread(target=lambda: list(gen(2)))
t.start()
t.join()
threading.setprofile(None)
sys.setprofile(profiled)
main()
sys.setprofile(None)
for e in events:
    print(*e)
