# not saved: its lines move
# not pure: a frame of the pure runtime stands below the script
# Tools that look from below, at allocations and at the stacks of all threads,
# find the program's lines.
import faulthandler
import gc
import linecache
import os
import sys
import tempfile
import threading
import traceback
import tracemalloc


class Kept:
    pass


def allocate(n):
    return [bytearray(1000) for _ in range(n)]


def deeper(n):
    return allocate(n) if n < 3 else deeper(n - 1)


def gen():
    yield Kept()
    yield bytearray(50000)


def dumped():
    with tempfile.TemporaryFile("w+") as f:
        faulthandler.dump_traceback(f, all_threads=False)
        f.seek(0)
        return f.read()


def through_lambda():
    return (lambda: dumped())()


class Managed:
    def __enter__(self): return dumped()
    def __exit__(self, *e): pass


def stuck(barrier, done):
    barrier.wait()
    done.wait()


def others():
    barrier, done = threading.Barrier(2), threading.Event()
    t = threading.Thread(target=stuck, args=(barrier, done))
    t.start()
    barrier.wait()
    frames = sys._current_frames()[t.ident]
    names = [(f.name, f.lineno, f.line) for f in traceback.extract_stack(frames) if f.filename == __file__]
    done.set()
    t.join()
    return [n for n in names if n[0] != "<module>"]


tracemalloc.start(10)
kept = deeper(5)
g = gen()
obj, big = next(g), next(g)
for o in kept[0], obj, big, kept:
    where = tracemalloc.get_object_traceback(o)
    print([f.lineno for f in where])
    print(*[linecache.getline(f.filename, f.lineno).strip() for f in where], sep=" | ")
snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
print([(s.traceback[0].lineno, s.count) for s in snapshot.statistics("lineno") if s.size > 40000])
tracemalloc.stop()
print(dumped(), through_lambda())
with Managed() as text:
    print(text)
print(others())
r = gc.get_referrers(obj)
print(sorted(type(x).__name__ for x in r if x is not globals()))
print([type(x).__name__ for x in gc.get_referents(allocate) if not isinstance(x, (dict, str))], sys.getrefcount(allocate.__code__) < 10, gc.is_tracked(allocate))
print(sum(type(o).__module__ == "cgprobe" for o in gc.get_objects()))
faulthandler.enable(sys.stderr)
sys.stdout.flush()
faulthandler._sigabrt if False else None
print(faulthandler.is_enabled())
