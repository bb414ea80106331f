"""Checkpoints of frames that can be suspended, where the native module cannot be
loaded: what python_pausing.h does, on checkpoints in plain Python. It takes
what such a checkpoint sees of its frame, and records the events by which the
frame leaves the thread and comes back, one of each in turn.
"""
import sys

from .events import AGAIN, ALONE, CLOSE, EXIT, OPEN, OVER, OWN, RESUME, SHUT, SUSPEND, UNWIND, WAIT
from .pure import Checkpoint

AWAY, WAITS = 1, 2
pauses = {}  # id of a frame -> [site, flags, bits of open async statements]
types = {Checkpoint}
Generator, Function = type(i for i in ()), type(lambda: 0)


async def generator():
    yield


async def coroutine():
    pass


AsyncGenerator = type(generator())
one = coroutine()
Coroutine = type(one)
one.close()


def tells(value, statement):
    kind = type(value)
    if statement:
        if kind is AsyncGenerator:
            return marked(value.ag_code)
        return method(kind, "__aenter__") and method(kind, "__aexit__")
    return kind is Coroutine and marked(value.cr_code) or kind is Generator and marked(value.gi_code)


def method(kind, name):
    for k in type.__getattribute__(kind, "__mro__"):
        found = type.__getattribute__(k, "__dict__").get(name)
        if found is not None:
            return type(found) is Function and marked(found.__code__)
    return False


def marked(code):
    return any(type(c) in types for c in code.co_consts)


def chain(frame, flags):
    while True:
        frame = frame.f_back
        p = frame and pauses.get(id(frame))
        if frame and not p and frame.f_code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>"):
            continue  # a frame of its own before 3.12
        if not p or p[1] != flags:
            return
        yield p


def event(kind, site):
    -Checkpoint(kind << 21 | site)


def come_back(frame):
    for p in reversed(list(chain(frame, AWAY | WAITS))):
        event(RESUME, p[0])
        p[1] = WAITS


class Pausing:
    __slots__ = "kind", "site", "how", "frame"

    def __init__(self, bits):
        self.kind, self.site, self.how = bits >> 21 & 7, bits & OWN, bits >> 24 & 255
        self.frame = 1 + (bits >> 32)  # of the site, counted from an operator

    def __neg__(self):
        self.look(sys._getframe(self.frame), None)

    def __lshift__(self, value):
        self.look(sys._getframe(self.frame), value)
        return value

    __getitem__ = __lshift__

    def look(self, frame, value):
        if self.kind == SUSPEND:
            suspend(frame, self.site, self.how, value)
        else:
            arrive(frame, self.kind, self.site, self.how)


types.add(Pausing)


def suspend(frame, site, how, value):
    """The frame may leave the thread, and those that wait for it with it."""
    key = id(frame)
    p = pauses.get(key)
    if p and p[1] & AWAY:  # thrown into, and leaves without having come back
        return
    p = pauses[key] = [site, p[1] if p else 0, p[2] if p else 0]
    if how == OPEN:
        p[2] <<= 1
        return
    if how == OVER:
        p[2] |= tells(value, True)
    if tells(value, False) if how == WAIT else how >= OVER and p[2] & 1:
        p[1] = WAITS
        return
    p[1] = AWAY
    event(SUSPEND, site)
    if how != ALONE:
        for p in list(chain(frame, WAITS)):
            event(SUSPEND, p[0])
            p[1] = AWAY | WAITS


def arrive(frame, kind, site, how):
    """The frame runs, or ends."""
    key = id(frame)
    p = pauses.get(key)
    away = p and p[1] & AWAY
    own = p[2] if p else 0
    if kind == RESUME:
        if p and p[1] == WAITS:  # it was never away
            p[1] = 0
            return
        come_back(frame)
    elif kind == UNWIND:
        if away:
            come_back(frame)
            kind = RESUME
        if how == SHUT:
            own >>= 1
    else:
        if kind == EXIT and away:
            kind = CLOSE
        own = 0
    event(kind, site)
    if own:
        p[1:] = 0, own
    elif p:
        pauses.pop(key, None)
