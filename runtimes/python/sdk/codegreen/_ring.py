"""Samples that cg takes: the run's (CG_SAMPLES), or those of a sidecar.

nemb/RING.md and docs/session.md of cg are the specification. The ring is mapped
for reading; nothing of cg's runs in this process.
"""
import json
import mmap
import os
import struct
import time

from ._division import Division
from ._energy import Domain
from ._gpus import Reader
from ._neighbours import gone
from ._source import Source
from ._spec import (READY_NS, RING_DOMAIN_BYTES, RING_ENDED_OFFSET, RING_FIXED_WORDS, RING_HEADER_BYTES,
                    RING_HEAD_OFFSET, RING_KEPT_BEFORE_NS, RING_KEPT_BEFORE_SLOTS, RING_MAGIC, RING_VERSION)

HEAD, ENDED = RING_HEAD_OFFSET // 8, RING_ENDED_OFFSET // 8


class Ring:
    """A ring of samples at a path; OSError or ValueError where there is none."""

    def __init__(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would let wait for its writer
        try:
            size = os.fstat(fd).st_size
            if size < RING_HEADER_BYTES:
                raise ValueError("%s: not a sample ring" % path)
            self.memory = mmap.mmap(fd, size, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)
        version, self.at, _, domains, self.slots, bytes_ = struct.unpack_from("6I", self.memory, 8)
        header = RING_HEADER_BYTES + RING_DOMAIN_BYTES * domains
        fits = self.slots and bytes_ == 8 * (RING_FIXED_WORDS + domains) and self.at % 8 == 0 and \
            header <= self.at <= size and self.slots <= (size - self.at) // bytes_
        if self.memory[:8] != RING_MAGIC.encode() or version != RING_VERSION or not fits:
            raise ValueError("%s: not a sample ring of version 1" % path)
        self.version = version
        self.interval_ns, self.pid = struct.unpack_from("2Q", self.memory, 32)
        self.stride = bytes_ // 8
        self.words = memoryview(self.memory)[:size // 8 * 8].cast("Q")
        about = self.memory[header:self.at].rstrip(b"\0")
        about = json.loads(about.decode()) if about else {}
        self.writer = about.get("writer", "")
        self.topology, self.support = about.get("domain_topology"), about.get("domain_support")
        if "domains" in about:
            self.domains = [Domain(**{k: v for k, v in d.items() if k in Domain.__slots__}) for d in about["domains"]]
        else:
            self.domains = [self._record(i) for i in range(domains)]
        if len(self.domains) != domains:
            raise ValueError("%s: a damaged sample ring" % path)
        self.division = about.get("division")
        if self.division is not None:
            self.division = Division(self.domains, *(int(self.division[k]) for k in ("processors", "grain_ns")))
        self.gpus = Reader(self.words, about.get("gpus"), domains, size)
        head = self.words[HEAD]
        # Numbers of the sample that was read first, and of the one that is read next.
        self.first = self.next = max(0, head - self.slots)
        self.lost = 0
        self.fill = 0.0  # part of the ring that the last read found new

    def _record(self, i):
        at = RING_HEADER_BYTES + RING_DOMAIN_BYTES * i
        text = lambda a, n: self.memory[at + a:at + a + n].split(b"\0")[0].decode("utf-8", "replace")
        return Domain(text(0, 64), text(64, 32), "", self.memory[at + 112] & 1 == 1, text(96, 16))

    def skip(self):
        """Leaves what is there but for the last few milliseconds, which tell the power before."""
        kept = RING_KEPT_BEFORE_NS // max(1, self.interval_ns) + RING_KEPT_BEFORE_SLOTS
        self.next = max(self.next, self.words[HEAD] - kept, 0)
        self.first = self.next

    def read(self, samples):
        """Brings what is new to samples (see _energy.Samples)."""
        self.gpus.read()
        words, slots, stride = self.words, self.slots, self.stride
        head = words[HEAD]
        if head - self.next > slots:
            self.lost += head - slots - self.next
            self.next = head - slots
        if head <= self.next:
            self.fill = 0.0
            return
        self.fill = (head - self.next) / slots
        base, first, n = self.at // 8, self.next % slots, head - self.next
        k = min(n, slots - first)
        there = words[base + first * stride:base + (first + k) * stride], words[base:base + (n - k) * stride]
        raw = b"".join(map(bytes, there))
        # The writer may have come round meanwhile: a sample is whole whose number
        # was right before it was copied and is right still.
        copied = memoryview(raw).cast("Q")
        numbers, still = copied[::stride].tolist(), [number for part in there for number in part[::stride]]
        whole = list(range(2 * self.next + 2, 2 * head + 2, 2))
        if not numbers == still == whole:
            good = [i for i in range(n) if numbers[i] == still[i] == whole[i]]
            self.lost += n - len(good)
            copied = memoryview(b"".join(raw[8 * stride * i:8 * stride * (i + 1)] for i in good)).cast("Q")
        samples.add(copied, stride)
        self.next = head

    def ended(self):
        """Whether no more samples will come: the writer said so, or is gone."""
        if self.words[ENDED]:
            return True
        return gone(self.pid)

    def close(self):
        self.words.release()
        try:
            self.memory.close()
        except BufferError:
            pass


def find_cg(writer=""):
    """The path of cg, "" where there is none."""
    for path in os.environ.get("CODEGREEN_CG", ""), writer:
        if path and os.access(path, os.X_OK):
            return path
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, "cg")
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


class Run(Source):
    """The samples of the run in which this program is measured."""
    via = "run"

    def __init__(self, ring):
        self.ring = ring
        self.interval_ns, self.domains, self.division = ring.interval_ns, ring.domains, ring.division
        self.gpus = ring.gpus.of
        self.version, self.slots = ring.version, ring.slots
        self.topology, self.support, self.cg = ring.topology, ring.support, find_cg(ring.writer)
        ring.skip()

    def read(self, samples):
        self.ring.read(samples)
        self.lost, self.fill = self.ring.lost, self.ring.fill

    def ended(self):
        return self.ring.ended()


def _readable(fd, until):
    """Whether there is something to read, or an end, before that time of
    time.monotonic(). select(2) would refuse a number from 1024 on."""
    import select
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0, until - time.monotonic()) * 1000))


class Helper:
    """cg sampler, which this program started; line is what it says of itself.

    It is no child of this program: a program that waits for all its children
    does not wait for it. It ends when the pipe to it is closed.
    """

    def __init__(self, cg, flags):
        import subprocess
        command = [cg, "sampler", "--pid", str(os.getpid())] + flags
        process = subprocess.Popen(["/bin/sh", "-c", 'exec 3<&0; "$@" <&3 3<&- &', "sh"] + command,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, bufsize=0)
        self.pipe, self.out = process.stdin, process.stdout
        try:
            process.wait()
            self.line, ready = self._hear(process.stderr)
            if ready != b"READY":
                raise ValueError("%s is no cg" % cg)
        except BaseException:
            self.abandon()
            raise
        finally:
            process.stderr.close()

    def _hear(self, errors):
        heard, until = b"", time.monotonic() + READY_NS * 1e-9
        while heard.count(b"\n") < 2:
            if not _readable(self.out.fileno(), until):
                raise ValueError("cg sampler does not answer")
            more = os.read(self.out.fileno(), 65536)
            if not more:
                said = os.read(errors.fileno(), 4096).decode("utf-8", "replace").strip()
                raise ValueError(said or "cg sampler ended at once")
            heard += more
        first, second = heard.split(b"\n")[:2]
        line = json.loads(first.decode())
        if not isinstance(line, dict) or line.get("cg_sampler") != 1:
            raise ValueError("what answers is no cg sampler")
        return line, second

    def close(self, patience=5):
        """Ends it and waits until it is gone."""
        self.forget()
        try:
            until = time.monotonic() + patience
            while _readable(self.out.fileno(), until):
                if not os.read(self.out.fileno(), 4096):
                    # It is a child of a program that is process 1 of a container.
                    while not os.waitpid(self.line["pid"], os.WNOHANG)[0] and time.monotonic() < until:
                        time.sleep(0.001)
                    break
        except (OSError, ValueError, KeyError, TypeError):
            pass
        self.out.close()

    def forget(self):
        try:
            self.pipe.close()
        except OSError:
            pass

    def abandon(self):
        self.forget()
        self.out.close()


class Sidecar(Run):
    """The samples of a cg sampler."""
    via, last = "sidecar", True

    def __init__(self, cg, interval_ms, buffer):
        flags = ["--buffer", str(buffer)]
        if interval_ms is not None:
            flags += ["-p", "%dus" % round(interval_ms * 1000)]
        self.helper = Helper(cg, flags)
        line = self.helper.line
        try:
            Run.__init__(self, Ring(line["ring"]))
        except BaseException:
            self.helper.abandon()
            raise
        self.cg, self.cg_version, self.cpu_model = cg, line.get("cg_version"), line.get("cpu_model", "")

    def close(self, patience=5):
        self.helper.close(patience)

    def forget(self):
        self.helper.forget()
