"""powercap counters, read by the program itself where cg is not there and they
may be read (kernel documentation: power/powercap/powercap.rst).

A thread reads them; energies wrap at max_energy_range_uj and are continued. The
program never reads a counter itself: a file of a sensor may block for ever, and
what does not answer in ANSWER is given up.
"""
import os
import stat
import threading
import time

from ._energy import Domain
from ._source import Source
from ._spec import ANSWER_NS, FLAG_FAILED, FLAG_GAP, IMPLAUSIBLE_W, RAPL_PERIOD_NS, SUPPORTS

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
        yield path, got.get(path) or OSError("%s: no answer in %g s" % (path, ANSWER))


def zones(root, why):
    """(zone, path, name) of the top-level zones that make up the machine's energy, and
    of memory below packages; why takes in what hides one."""
    folder = root + "/sys/class/powercap"
    (_, names), = _answers(os.listdir, [folder])
    if isinstance(names, OSError):
        return []
    found = []
    for file, name in _answers(_text, [os.path.join(folder, n, "name") for n in sorted(names) if n.startswith("intel-rapl:")]):
        path = os.path.dirname(file)
        if isinstance(name, Exception):
            why.append("powercap: %s" % name)
        else:
            found.append((os.path.basename(path), path, name))
    packages = [z for z in found if z[2].startswith("package")]
    dram = [z for z in found if z[2].startswith("dram")]
    return packages + dram if packages else [z for z in found if z[2] == "psys"][:1]


def _counter(path):
    """(descriptor, what it wraps at) of a counter that can be read."""
    wrap = int(_text(os.path.join(os.path.dirname(path), "max_energy_range_uj"))) + 1
    fd = _open(path)
    try:
        int(os.pread(fd, 64, 0))
    except BaseException:
        os.close(fd)
        raise
    return fd, wrap


def domains_of(found):
    """Ids in cg's names: package-N, dram-N for the memory of package N."""
    package = {n: name.rpartition("-")[2] for n, _, name in found if name.startswith("package")}
    out = []
    for n, path, name in found:
        if name.startswith("package"):
            id, kind = name, "cpu_package"
        elif name.startswith("dram"):
            parent = n.rpartition(":")[0]
            id, kind = "dram-" + (package.get(parent) or name.partition("-")[2] or "0"), "dram"
        else:
            id, kind = name, "psys"
        if all(id != d.id for d in out):
            out.append(Domain(id, kind, in_total=True, source=os.path.join(path, "energy_uj"), period_ns=RAPL_PERIOD_NS, step_uj=62))
    return out


class Powercap(Source):
    last = True
    via, support = "powercap", "full"

    def __init__(self, domains, files, interval_ns):
        self.domains, self.files, self.interval_ns = domains, files, interval_ns
        self.support = SUPPORTS[min(2, len(domains))]
        self.raw = [None] * len(files)
        self.total = [0] * len(files)
        self.at = 0
        self.changed = threading.Condition()  # of what follows
        self.kept = []                        # samples that were not read yet: (time, flags, energies)
        self.asked, self.given, self.late = 1, 0, 0  # numbers of samples that were asked for, are there, did not come in time
        self.over = False
        self.thread = threading.Thread(target=self._loop, name="codegreen-powercap", daemon=True)
        self.thread.start()
        self._wait(1)

    @classmethod
    def open(cls, interval_ms, record, why):
        domains, files = [], []
        said = len(why)
        wanted = domains_of(zones(os.environ.get("CG_SYSROOT", ""), why))
        for d, (_, opened) in zip(wanted, _answers(_counter, [d.source for d in wanted])):
            if isinstance(opened, Exception):
                why.append("powercap: %s" % opened)
                continue
            domains.append(d)
            files.append(opened)
        if not domains:
            if len(why) == said:
                why.append("there are no powercap counters")
            return None
        if interval_ms is None:
            interval_ms = 1 if record else 10
        return cls(domains, files, int(interval_ms * 1e6))

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
            old, self.raw[i] = self.raw[i], value
            if old is None:
                continue
            more = value - old if value >= old else value - old + wrap
            if 0 <= more <= IMPLAUSIBLE_W * 1e-3 * max(1, before - self.at):
                self.total[i] += more
            else:
                flags |= FLAG_GAP  # it was reset: what it had is not known
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
