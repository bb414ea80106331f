"""Checkpoints in plain Python, for interpreters that cannot load the native
module: the same events in the same channel (checkpoint/FORMAT.md), some twenty
times slower. Chunks are taken by cg on request: Python has no atomic
operations. Words are sums of an event and the time, which cg takes apart.

Between any two bytecodes of this file a signal handler, a finaliser or another
thread may run and pass checkpoints of its own. What it may not come between is
one call of next() on an iterator in C: it claims the place of a word. A place
is claimed after the time was read, and filled although an exception of a
handler comes between.
"""
import mmap
import os
import struct
from sys import _getframe
from _thread import _local, get_native_id
from time import monotonic_ns as now

from .server import take, tell

HEAD = 8            # words in the header of a chunk
CHUNK = 8192        # words in a chunk
SPARE = 1024        # the last of them, for what handlers record while cg is asked for the next
AHEAD = 6           # chunks that a busy thread takes at a time, since asking costs as much as hundreds of events
RETRY = 512         # events that are lost before a chunk is asked for again
FORK = 7 << 61      # kind 7, site 0
MANY = 1 << 60

lossy = {}          # states that have lost events, by id: what they know of it


def start(path):
    global words, states, first_chunk, local, pid
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        memory = mmap.mmap(fd, 0)
    finally:
        os.close(fd)
    magic, version, chunks, size = struct.unpack_from("4I", memory)
    if magic != 0x48434743 or version != 4 or size != 8 * CHUNK:
        raise ValueError("not a channel of this version")
    words = memoryview(memory).cast("Q")
    states = memoryview(memory).cast("I")
    first_chunk = (4096 + (chunks * 4 + 4095) // 4096 * 4096) // 8
    local = _local()
    pid = os.getpid()
    calibrate()
    os.register_at_fork(before=before_fork, after_in_parent=in_parent, after_in_child=in_child)
    return Checkpoint


def calibrate():
    """Measures what an event costs, in sixteenths of a nanosecond: the least of
    some batches, since whatever comes between makes a batch longer."""
    global words, cost
    channel, words = words, memoryview(bytearray(8 * 128)).cast("Q")
    least = MANY
    try:
        checkpoint = Checkpoint(1)
        for _ in range(12):
            local.places = iter(range(128))
            begin = now()
            for _ in range(128):
                -checkpoint
            least = min(least, now() - begin)
    finally:
        words = channel
        del local.places
    cost = min(least * 16 // 128, (1 << 28) - 1)


class State:
    """What the calling thread knows beside local.places, where its next words
    go. It ends with the thread."""

    __slots__ = ("pid", "chunk", "ahead", "kept", "spare", "started", "busy", "parent", "fork", "losses", "resumed",
                 "wait", "reported")

    def __init__(self, parent):
        self.pid = pid
        self.chunk = 0          # index of its first word
        self.ahead = []         # offsets of chunks that come behind it, or from it on
        self.kept = []          # chunks that were left with a place not filled yet
        self.spare = iter(())   # the places behind those of local.places
        self.started = False
        self.busy = False       # cg is being asked for a chunk
        self.parent = parent    # pid, tid and fork time of the thread that forked this one
        self.fork = ()          # the same of this one, while it forks
        self.losses = iter(range(MANY))
        self.resumed = 0        # lost events before the last chunk
        self.wait = 0           # lost events before cg is asked again
        self.reported = [0]     # lost events that cg knows of

    def lost(self):
        return MANY - self.losses.__length_hint__()

    def release(self, chunk, spare):
        kept, self.kept = self.kept, []
        if chunk:
            kept.append((chunk, 0, spare.__length_hint__()))
        for k in kept:
            if hole(*k):
                self.kept.append(k)
            else:
                states[1024 + (k[0] - first_chunk) // CHUNK] = 2

    def __del__(self):
        try:
            # In a child the states of other threads end before in_child: what
            # they hold is the parent's.
            if self.pid != os.getpid():
                return
            for chunk in [self.chunk] + [k[0] for k in self.kept] + [offset // 8 for offset in self.ahead]:
                if chunk:
                    states[1024 + (chunk - first_chunk) // CHUNK] = 2
            if lossy.pop(id(self), None):
                confess([(self.pid, self.losses, self.reported)])
        except Exception:  # the interpreter is ending, and cg reads what is left
            pass

    def room(self):
        """Gets a chunk, if there are no places left."""
        if left():
            return True  # a handler's event has got it meanwhile
        lost = self.lost()
        if lost < self.wait or self.busy and asking():
            return False
        try:
            self.busy = True
            new, self.reported[0] = lost - self.reported[0], lost
            try:
                if self.ahead and self.ahead[0] // 8 == self.chunk:
                    del self.ahead[0]
                if lost > self.resumed:
                    # What comes next has to say that some are lost.
                    while self.ahead:
                        states[1024 + (self.ahead.pop(0) // 8 - first_chunk) // CHUNK] = 2
                if not self.ahead:
                    self.ahead = take(not self.started, () if self.started else self.parent, lost - self.resumed, new,
                                      AHEAD if self.started else 1)
                offset = self.ahead[0] if self.ahead else -1
            except Exception as e:
                at = e.__traceback__
                while at.tb_next:
                    at = at.tb_next
                if at.tb_frame.f_globals is not globals() and at.tb_frame.f_globals is not take.__globals__:
                    raise  # by a handler of the program's
                # cg is gone, or too little of the stack is left
                offset, self.reported[0] = -1, lost - new
            if offset < 0:
                self.spare = iter(())
                self.wait = lost + RETRY
                return False
            states[offset // 4 + 7] = cost
            chunk, spare, end = self.chunk, self.spare, offset // 8 + CHUNK
            local.places = iter(range(offset // 8 + HEAD, end - SPARE))
            self.spare = iter(range(end - SPARE, end))
            self.chunk, self.started, self.parent, self.resumed, self.wait = offset // 8, True, (), lost, 0
            self.release(chunk, spare)
            return True
        finally:
            self.busy = False

    def aside(self, event):
        """Records an event that finds no place, or counts it."""
        word = now() + event
        place = next(self.spare, 0)
        if place:
            words[place] = word
            return
        if id(self) not in lossy:
            if not lossy:
                import atexit
                atexit.register(confess_all)
            lossy[id(self)] = self.pid, self.losses, self.reported
        next(self.losses)


def asking():
    """Whether this thread is in the middle of room: an exception of a handler
    may have come between its end and the note of it."""
    frame = _getframe(2)
    while frame:
        if frame.f_code is State.room.__code__:
            return True
        frame = frame.f_back
    return False


def own():
    try:
        return local.state
    except AttributeError:
        return local.__dict__.setdefault("state", State(()))  # a handler's may be there now


def left():
    try:
        return local.places.__length_hint__()
    except AttributeError:
        return 0


def hole(chunk, free, spare):
    """The last place that is claimed and not filled, or 0, in a chunk where so
    many places are free and spare."""
    end = chunk + CHUNK
    for first, limit in (end - SPARE, end - spare), (chunk + HEAD, end - SPARE - free):
        if bytes(words[first:limit]).find(bytes(8)) >= 0:
            for n in range(limit - 1, first - 1, -1):
                if not words[n]:
                    return n
    return 0


def confess(of):
    """Reports to cg how many events were lost since the last report."""
    new = 0
    for process, losses, reported in of:
        if process == pid:
            lost = MANY - losses.__length_hint__()
            new, reported[0] = new + lost - reported[0], lost
    if new:
        tell("lost", str(new))


def confess_all():
    confess(list(lossy.values()))


def before_fork():
    """Tells the stack's owner, so that the child begins with the same."""
    state = getattr(local, "state", None)
    if state is None:
        return
    state.fork = ()
    # A forked child that has written nothing yet needs a chunk for the fork
    # word, or its own child could not tell the stack they share.
    if not left() and (state.chunk or state.parent):
        state.room()
    if left():
        at = now()
        words[next(local.places)] = at + FORK
        state.fork = pid, get_native_id(), at


def in_parent():
    state = getattr(local, "state", None)
    if state is not None:
        state.fork = ()


def in_child():
    global local, pid
    state = getattr(local, "state", None)
    pid = os.getpid()
    lossy.clear()
    local = _local()
    if state is not None and state.fork:
        local.state = State(state.fork)


def slow(event, e):
    """Records an event whose fast path was left by e. True if that exception
    is not ours: the program's signal handlers may raise anything anywhere."""
    at = e.__traceback__
    line = at.tb_lineno - at.tb_frame.f_code.co_firstlineno
    state = own()
    if at.tb_next is None and line == CLAIM and type(e) in (StopIteration, AttributeError):
        found = False
        try:
            found = state.room()
        finally:
            if not found:
                state.aside(event)
        if found:
            -event
        return False
    place = 0
    for k in state.kept + [(state.chunk, left(), state.spare.__length_hint__())]:
        place = k[0] and hole(*k) or place
    if place:
        words[place] = now() + event
    elif line <= CLAIM:
        -event
    return True


class Checkpoint(int):
    """An event: kind << 21 | site, where it stands in a word."""
    __slots__ = ()

    def __new__(cls, bits):
        return int.__new__(cls, bits << 40)

    # Globals alone: in 3.8 to 3.10 calls are slower with defaults or cells. The
    # two are the same, since a call of one by the other would cost as much again.
    def __neg__(self):
        try:
            word = now() + self
            place = next(local.places)
            words[place] = word
        except BaseException as e:
            if slow(self, e):
                raise

    def __getitem__(self, value):
        try:
            word = now() + self
            place = next(local.places)
            words[place] = word
        except BaseException as e:
            if slow(self, e):
                raise
        return value

    __lshift__ = __getitem__


CLAIM = 3  # the line of these functions where a place is claimed
