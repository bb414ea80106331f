"""powercap counters, read by the program itself where cg is not there and they
may be read (kernel documentation: power/powercap/powercap.rst).

A thread reads them; counters that wrap are continued. The
program never reads a counter itself: a file of a sensor may block for ever, and
what does not answer in ANSWER is given up.
"""
import os
import stat
import threading
import time

from ._source import Source
from ._spec import ANSWER_NS, FLAG_FAILED, FLAG_GAP, MIRROR_UJ, RAPL_PERIOD_NS, SUPPORTS
from ._zones import FOLDER, Zone, arranged, more

ANSWER = ANSWER_NS * 1e-9  # seconds


def _open(path):
    """A descriptor of a sensor's file. A pipe in its place would never give a number."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise OSError("%s: not a regular file" % path)


def _text(path):
    fd = _open(path)
    try:
        return os.read(fd, 4096).decode("utf-8", "replace").strip()
    finally:
        os.close(fd)


def _answers(f, paths):
    """Yields (path, f(path)) for each path, all asked at a time, in threads that are given
    up after ANSWER. The OSError or ValueError of one is in the place of what it gives."""
    got = {}

    def ask(path):
        try:
            got[path] = f(path)
        except (OSError, ValueError) as e:
            got[path] = e
    threads = [threading.Thread(target=ask, args=(p,), name="codegreen-powercap-open", daemon=True) for p in paths]
    until = time.monotonic() + ANSWER
    for t in threads:
        t.start()
    for t in threads:
        t.join(max(0, until - time.monotonic()))
    for path in paths:
        yield path, got[path] if path in got else OSError("%s: no answer in %g s" % (path, ANSWER))


def _zone(path):
    """A Zone, None for one of power limits only."""
    if not os.path.exists(os.path.join(path, "energy_uj")):
        return None
    name = _text(os.path.join(path, "name"))
    if not name:
        raise ValueError("%s/name: no name" % path)
    try:
        wrap = int(_text(os.path.join(path, "max_energy_range_uj"))) + 1
    except (FileNotFoundError, ValueError):
        wrap = 0
    return Zone(path, name, wrap if wrap > 1 else 0)


def zones(root, why):
    """The zones that make up the machine's energy; why takes in what hides one."""
    folder = root + "/sys/class/powercap"
    (_, names), = _answers(os.listdir, [folder])
    if isinstance(names, OSError):
        return []
    found = []
    for _, zone in _answers(_zone, [os.path.join(folder, n) for n in sorted(names) if FOLDER.fullmatch(n)]):
        if isinstance(zone, Exception):
            why.append("powercap: %s" % zone)
        elif zone is not None:
            found.append(zone)
    return arranged(found)


def _counter(path):
    """(descriptor, what it shows) of a counter that can be read."""
    fd = _open(path)
    try:
        return fd, int(os.pread(fd, 64, 0))
    except BaseException as e:
        os.close(fd)
        if isinstance(e, ValueError):
            raise ValueError("%s: %s" % (path, e))
        raise


def _value(path):
    fd, value = _counter(path)
    os.close(fd)
    return value


def processor(root):
    """(vendor, family, model) of a machine, by its /proc/cpuinfo."""
    found = {}
    try:
        with open((root if os.path.isdir(root + "/proc") else "") + "/proc/cpuinfo") as f:
            for line in f:
                key, _, value = line.partition(":")
                found[key.strip()] = value.strip()
    except OSError:
        pass
    return found.get("vendor_id"), found.get("cpu family"), found.get("model")


def _shown_by(zone, value, others):
    """Whether a die shows the counter of another of its package: some Threadripper do,
    and the sum would count it twice. others are (zone, value) of those that are read."""
    for other, before in others:
        if zone.die and zone.die == other.die and before <= value:
            (_, again), = _answers(_value, [os.path.join(other.path, "energy_uj")])
            if not isinstance(again, Exception) and value <= again and 0 < again < before + MIRROR_UJ:
                return True
    return False


def find(root, why):
    """([(Zone, descriptor)], doubts) of a machine: what makes up its energy, and what
    is wrong with a unit. why takes in what cannot be read."""
    found, left, wanted = [], set(), zones(root, why)
    opened = dict(_answers(_counter, [os.path.join(z.path, "energy_uj") for z in wanted]))
    seen = []
    for zone in wanted:
        answer = opened[os.path.join(zone.path, "energy_uj")]
        if isinstance(answer, Exception):
            why.append("powercap: %s" % answer)
            continue
        fd, value = answer
        if zone.parent in left or _shown_by(zone, value, seen):
            left.add(zone)
            os.close(fd)
            continue
        seen.append((zone, value))
        found.append((zone, fd))
    known = processor(root)
    return found, [d for d in (zone.doubt(known) for zone, _ in found) if d]


class Powercap(Source):
    last = True
    via, support = "powercap", "full"

    def __init__(self, found, doubts, interval_ns):
        """found and doubts are those of find."""
        self.domains, self.files = [zone.domain() for zone, _ in found], [(fd, zone.wrap) for zone, fd in found]
        self.doubts, self.interval_ns = doubts, interval_ns
        self.support = SUPPORTS[min(2, len(found))]
        self.raw = [None] * len(found)  # (reading, when), the last that did not fail
        self.total = [0] * len(found)
        self.at = 0
        self.changed = threading.Condition()  # of what follows
        self.kept = []                        # samples that were not read yet: (time, flags, energies)
        # Numbers of samples: that were asked for, are there, did not come in time.
        self.asked, self.given, self.late = 1, 0, 0
        self.over = False
        self.thread = threading.Thread(target=self._loop, name="codegreen-powercap", daemon=True)
        self.thread.start()
        self._wait(1)

    @classmethod
    def open(cls, interval_ms, record, why):
        said = len(why)
        found, doubts = find(os.environ.get("CG_SYSROOT", ""), why)
        if not found:
            if len(why) == said:
                why.append("there are no powercap counters")
            return None
        if interval_ms is None:
            interval_ms = 1 if record else 10
        return cls(found, doubts, int(interval_ms * 1e6))

    def _take(self):
        """Takes a sample; only the thread does."""
        before = time.monotonic_ns()
        flags = 0
        for i, (fd, wrap) in enumerate(self.files):
            try:
                value = int(os.pread(fd, 64, 0))
            except (OSError, ValueError):
                flags |= FLAG_FAILED
                continue
            now = time.monotonic_ns()
            old, self.raw[i] = self.raw[i], (value, now)
            if old is None:
                continue
            used = more(old[0], value, wrap, now - old[1] + 2 * RAPL_PERIOD_NS)
            if used is None:
                flags |= FLAG_GAP  # what it had is not known
            else:
                self.total[i] += used
        self.at = (before + time.monotonic_ns()) // 2
        return self.at, flags, tuple(self.total)

    def _loop(self):
        due = time.monotonic_ns()
        while True:
            due = max(due + self.interval_ns, time.monotonic_ns())
            with self.changed:
                while not self.over and self.asked == self.given and due > time.monotonic_ns():
                    self.changed.wait(max(0, due - time.monotonic_ns()) * 1e-9)
                if self.over:
                    return
                asked = self.asked
            sample = self._take()
            with self.changed:
                self.kept.append(sample)
                self.given = asked
                self.changed.notify_all()

    def _wait(self, number):
        """Waits for the sample of that number. What is late is not waited for again."""
        with self.changed:
            if self.late <= self.given and not self.changed.wait_for(lambda: self.given >= number, ANSWER):
                self.late = number

    def edge(self, samples):
        with self.changed:
            if self.over:
                return
            self.asked = number = self.asked + 1
            self.changed.notify_all()
        self._wait(number)

    def ended(self):
        with self.changed:
            return self.late > self.given

    def read(self, samples):
        with self.changed:
            kept, self.kept = self.kept, []
        if kept:
            samples.extend([k[0] for k in kept], [k[1] for k in kept], [list(c) for c in zip(*(k[2] for k in kept))])

    def close(self, patience=5):
        self.edge(None)
        with self.changed:
            self.over = True
            self.changed.notify_all()
        if not self.ended():
            self.thread.join(1)
        self.forget()

    def forget(self):
        if self.thread.is_alive():
            return  # in a read, still: the number of its file is not to become another's
        for fd, _ in self.files:
            try:
                os.close(fd)
            except OSError:
                pass
        self.files = []
