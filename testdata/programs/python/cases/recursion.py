# not saved: calls of checkpoints count for the recursion limit
# not pure: a frame of the pure runtime stands below the script
# Frames of every kind get as deep as without checkpoints, and the first that
# finds no room leaves all others balanced.
import functools
import sys


def plain(n):
    best[0] = n
    return plain(n + 1) + 1


def arguments(n, *args, **kwargs):
    best[0] = n
    return arguments(n + 1, *args, **kwargs)


def guarded(n):
    best[0] = n
    try:
        return guarded(n + 1)
    finally:
        best[1] += 1


def gen(n):
    best[0] = n
    yield n
    yield from gen(n + 1)


class Deep:
    def __init__(self, n):
        best[0] = n
        Deep(n + 1)

    @property
    def prop(self):
        best[0] += 1
        return self.prop

    def __getattr__(self, name):
        best[0] += 1
        return self.missing

    def __eq__(self, other):
        best[0] += 1
        return [self] == [Deep.__new__(Deep)]

    def __repr__(self):
        best[0] += 1
        return repr([self])[:10]


async def awaits(n):
    best[0] = n
    return await awaits(n + 1)


@functools.lru_cache(None)
def cached(n):
    best[0] = n
    return cached(n + 1)


def by_sort(n):
    best[0] = n
    return sorted([1, 2], key=lambda x: by_sort(n + 1))


count = lambda n: (best.__setitem__(0, n), count(n + 1))
best = [0, 0]
# 3.8 counts the call that runs the script
limits = [100, 333] if sys.version_info >= (3, 9) else []
for limit in limits:
    sys.setrecursionlimit(limit)
    for name, f in (("plain", lambda: plain(0)), ("arguments", lambda: arguments(0, 1, k=2)), ("guarded", lambda: guarded(0)),
                    ("gen", lambda: list(gen(0))), ("init", lambda: Deep(0)), ("prop", lambda: Deep.__new__(Deep).prop),
                    ("getattr", lambda: Deep.__new__(Deep).x), ("eq", lambda: Deep.__new__(Deep) == 1), ("repr", lambda: repr(Deep.__new__(Deep))),
                    ("awaits", lambda: awaits(0).send(None)), ("cached", lambda: cached(0)), ("sort", lambda: by_sort(0)), ("lambda", lambda: count(0))):
        best[:] = 0, 0
        try:
            f()
        except RecursionError as e:
            depth = list(best)
        sys.setrecursionlimit(5000)
        print(limit, name, depth)
        sys.setrecursionlimit(limit)
sys.setrecursionlimit(1000)
if limits:
    plain(0)
