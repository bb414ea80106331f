"""Gauges: what cg reads besides energies, such as temperatures, at a period of seconds.

nemb/RING.md of cg is the specification of the memory, docs/session.md that of the sidecar.
"""
import json
import mmap
import os
import struct
from array import array
from bisect import bisect_left, bisect_right

from ._ring import Helper, find_cg
from ._spec import GAUGE_FIXED_WORDS, GAUGE_HEAD_OFFSET, GAUGE_HEADER_BYTES, GAUGE_MAGIC, GAUGE_VERSION


class Rows:
    """The rows of gauges at a path; OSError or ValueError where there are none."""

    def __init__(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            size = os.fstat(fd).st_size
            if size < GAUGE_HEADER_BYTES:
                raise ValueError("%s: no gauges" % path)
            self.memory = mmap.mmap(fd, size, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)
        version, self.at, columns, self.slots = struct.unpack_from("4I", self.memory, 8)
        self.stride = 8 * (GAUGE_FIXED_WORDS + columns)
        fits = self.slots and self.at % 8 == 0 and GAUGE_HEADER_BYTES <= self.at <= size and \
            self.slots <= (size - self.at) // self.stride
        if self.memory[:8] != GAUGE_MAGIC.encode() or version != GAUGE_VERSION or not fits:
            raise ValueError("%s: no gauges of version 1" % path)
        self.period_ns, self.pid = struct.unpack_from("2Q", self.memory, 24)
        about = json.loads(self.memory[GAUGE_HEADER_BYTES:self.at].rstrip(b"\0").decode())
        self.columns = about["columns"]
        if len(self.columns) != columns:
            raise ValueError("%s: damaged gauges" % path)
        self.words = memoryview(self.memory)[:size // 8 * 8].cast("Q")
        self.next, self.lost = 0, 0

    def read(self, times, values):
        """Adds what is new: moments, and an array of values for each column."""
        words, head = self.words, self.words[GAUGE_HEAD_OFFSET // 8]
        if head - self.next > self.slots:
            self.lost += head - self.slots - self.next
            self.next = head - self.slots
        for k in range(self.next, head):
            at = (self.at + k % self.slots * self.stride) // 8
            row = bytes(words[at:at + self.stride // 8])
            number, moment = struct.unpack_from("2Q", row)
            if number != 2 * k + 2 or words[at] != number:  # it was written over meanwhile
                self.lost += 1
                continue
            times.append(moment)
            for column, value in zip(values, struct.unpack_from("%dd" % len(values), row, 8 * GAUGE_FIXED_WORDS)):
                column.append(value)
        self.next = head

    def close(self):
        self.words.release()
        try:
            self.memory.close()
        except BufferError:
            pass


class Gauges:
    """The gauges of a session, read by a cg sampler of their own."""

    def __init__(self, names, interval_ms, cg, note):
        self.times, self.values, self.columns, self.rows = array("q"), [], [], None
        self.interval_ms, self.lost = interval_ms, 0
        self.helper = None
        cg = cg or find_cg()
        try:
            if not cg:
                raise ValueError("cg is not in PATH, and CODEGREEN_CG does not name it")
            flags = ["--gauges", ",".join(names), "-p", "%dus" % round(interval_ms * 1000)]
            self.helper = Helper(cg, flags)
            self.rows = Rows(self.helper.line["ring"])
        except (OSError, ValueError, KeyError, TypeError) as e:
            if self.helper:
                self.helper.abandon()
            note("no-gauges", "no gauges are recorded: %s" % e)
            return
        self.columns = self.rows.columns
        self.values = [array("d") for _ in self.columns]
        without = self.helper.line.get("without")
        if without:
            note("no-gauges", "these gauges are not recorded: " + "; ".join(map(str, without)))

    def read(self):
        if self.rows is not None:
            self.rows.read(self.times, self.values)
            self.lost = self.rows.lost

    def close(self, patience=5):
        if self.rows is not None:
            self.helper.close(patience)
            self.read()
            self.rows.close()
            self.rows = None

    def forget(self):
        if self.rows is not None:
            self.helper.forget()

    def within(self, start, end):
        """What a task's gauges were, by name; a gauge without a reading in that time is absent."""
        i, k = bisect_left(self.times, start), bisect_right(self.times, end)
        out = {}
        for column, values in zip(self.columns, self.values):
            known = [v for v in values[i:k] if v == v]
            if known:
                out[column["name"]] = {"mean": sum(known) / len(known), "min": min(known), "max": max(known),
                                       "readings": len(known)}
        return out

    def meta(self):
        return {"interval_ms": self.interval_ms, "columns": self.columns, "readings": len(self.times),
                "lost": self.lost}

    def series(self):
        """All readings."""
        for n, t in enumerate(self.times):
            yield {"t_ns": t, "values": {c["name"]: v[n] if v[n] == v[n] else None
                                         for c, v in zip(self.columns, self.values)}}
