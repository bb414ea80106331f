"""Checkpoints in plain Python, for interpreters that cannot load the native
module: the same words in the same channel (checkpoint/FORMAT.md), some fifty
times slower. Chunks are taken by cg on request: Python has no atomic
operations.
"""
import mmap
import os
import struct
import time
from _thread import _local, get_native_id

ROOM = 8192 - 8     # words in a chunk behind its header
CHUNK = 65536
RETRY = 512         # events that are lost before a chunk is asked for again
FORK = 7 << 21      # kind 7, site 0

parent = 0, 0, 0    # pid, tid and fork tick of the thread that forked this process


def start(path):
    global memory, words, cycles, first_chunk, local
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        memory = mmap.mmap(fd, 0)
    finally:
        os.close(fd)
    magic, version, chunks, size, clock, _ = struct.unpack_from("6I", memory)
    if magic != 0x48434743 or version != 1 or size != CHUNK:
        raise ValueError("not a channel of this version")
    words = memoryview(memory).cast("Q")
    cycles = clock == 1
    first_chunk = 4096 + (chunks * 4 + 4095) // 4096 * 4096
    local = _local()
    os.register_at_fork(before=before_fork, after_in_child=in_child)
    return Checkpoint


def relation():
    """(tick, nanoseconds, ticks per nanosecond), as cg last wrote them."""
    if not cycles:
        return 0, 0, 1
    while True:
        stamp = words[4]
        now = words[5], words[6], words[7] / 4294967296
        if stamp == words[4] and not stamp & 1:
            return now


class State:
    """Where the calling thread writes next; it ends with the thread."""

    __slots__ = "pid", "chunk", "next", "end", "tick", "nanos", "rate", "started", "lost"

    def __init__(self):
        self.pid, self.chunk, self.next, self.end = os.getpid(), 0, 0, 0
        self.tick, self.nanos, self.rate = 0, 0, 1
        self.started, self.lost = False, 0

    def release(self):
        chunk, self.chunk = self.chunk, 0
        if chunk and self.pid == os.getpid():  # not in a child: it is the parent's
            struct.pack_into("I", memory, 4096 + (chunk - first_chunk) // CHUNK * 4, 2)

    def __del__(self):
        try:
            self.release()
        except Exception:  # the interpreter is ending, and cg reads what is left
            pass

    def room(self):
        """Gets a chunk; without one the next events are counted as lost."""
        global parent
        new = 0
        if self.chunk:
            self.release()
        else:
            new = self.next
            self.lost += new
        offset = -1
        try:
            offset = take(not self.started, () if self.started else parent, self.lost, new)
        except OSError:
            pass
        if offset < 0:
            self.next, self.end = 0, RETRY
            return
        if not self.started:
            parent = 0, 0, 0
        self.started, self.lost, self.chunk = True, 0, offset
        self.next = offset // 8 + 8
        self.end = self.next + ROOM
        self.tick, self.nanos, self.rate = relation()

    def now(self):
        return self.tick + int((time.monotonic_ns() - self.nanos) * self.rate)


def before_fork():
    """Tells the stack's owner, so that the child begins with the same."""
    global parent
    parent = 0, 0, 0
    state = getattr(local, "state", None)
    if state is None or not state.chunk:
        return
    if state.next >= state.end:
        state.room()
    if state.chunk:
        tick = state.now()
        words[state.next] = (tick & 0xffffffffff) << 24 | FORK
        state.next += 1
        parent = os.getpid(), get_native_id(), tick


def in_child():
    global local
    local = _local()


class Checkpoint:
    __slots__ = ("bits",)

    def __init__(self, bits):
        self.bits = bits

    def __neg__(self, now=time.monotonic_ns):
        try:
            state = local.state
        except AttributeError:
            state = local.state = State()
        n = state.next
        if n >= state.end:
            state.room()
            n = state.next
        state.next = n + 1
        if state.chunk:
            words[n] = (state.tick + int((now() - state.nanos) * state.rate) & 0xffffffffff) << 24 | self.bits

    def __lshift__(self, value):
        -self
        return value
