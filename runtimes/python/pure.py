"""Checkpoints in plain Python, for interpreters that cannot load the native
module. The same words in the same channel (checkpoint/FORMAT.md), ten times
slower. Chunks are taken by cg on request: Python has no atomic operations.
"""
import mmap
import os
import struct
import sys
import time
from _thread import get_ident

ROOM = 8192 - 8  # words in a chunk behind its header
states = {}      # thread -> [words, position, tick, nanoseconds, ticks per ns]


def start(path):
    global memory, words, header, cycles
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        memory = mmap.mmap(fd, 0)
    finally:
        os.close(fd)
    magic, version, _, _, clock, _ = struct.unpack_from("6I", memory)
    if magic != 0x48434743 or version != 1:
        raise ValueError("not a channel of this version")
    words = memoryview(memory).cast("Q")
    cycles = clock == 1
    os.register_at_fork(after_in_child=states.clear)
    return Checkpoint


def clock():
    """(tick, nanoseconds, ticks per nanosecond), as cg last wrote them."""
    if not cycles:
        return 0, 0, 1
    while True:
        stamp = words[4]
        now = words[5], words[6], words[7] / 4294967296
        if stamp == words[4] and not stamp & 1:
            return now


def room(ident):
    """A new chunk for the calling thread."""
    state = states.get(ident)
    if state is None:
        state = states[ident] = [None, ROOM, 0, 0, 1]
        first = True
    else:
        first = state[0] is None
    if state[0] is not None:
        at = (state[0] - 8) * 8
        struct.pack_into("I", memory, 4096 + (at - first_chunk()) // 65536 * 4, 2)
    deadline = time.monotonic() + 10
    while True:
        try:
            offset = take(first)
        except OSError:
            offset = -2
        if offset >= 0:
            state[0] = offset // 8 + 8
            state[1] = 0
            state[2:] = clock()
            return state
        if offset == -2 or time.monotonic() > deadline:
            state[0] = None
            state[1] = 0  # a chunk's worth of events goes nowhere
            return state
        time.sleep(0.001)


def first_chunk():
    chunks = struct.unpack_from("I", memory, 8)[0]
    return 4096 + (chunks * 4 + 4095) // 4096 * 4096


class Checkpoint:
    __slots__ = ("bits",)

    def __init__(self, bits):
        self.bits = bits

    def __neg__(self, now=time.monotonic_ns, get_ident=get_ident, states=states):
        ident = get_ident()
        state = states.get(ident)
        if state is None or state[1] >= ROOM:
            state = room(ident)
        base, n, tick, nanos, rate = state
        state[1] = n + 1
        if base is not None:
            words[base + n] = (tick + int((now() - nanos) * rate) & 0xffffffffff) << 24 | self.bits

    def __lshift__(self, value):
        self.__neg__()
        return value
