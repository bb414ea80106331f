"""powercap counters, read by the program itself where cg is not there and they
may be read (kernel documentation: power/powercap/powercap.rst).

A thread reads them; energies wrap at max_energy_range_uj and are continued.
"""
import os
import threading
import time

from ._energy import GAP, FAILED, Domain
from ._ring import Source

MOST = 5000  # watts that no domain draws: a counter that fell back and would mean more was reset


def zones(root):
    """(path, name) of the top-level zones that make up the machine's energy, and
    of memory below packages."""
    folder = root + "/sys/class/powercap"
    try:
        names = sorted(n for n in os.listdir(folder) if n.startswith("intel-rapl:"))
    except OSError:
        return []
    found = []
    for n in names:
        path = os.path.join(folder, n)
        try:
            with open(os.path.join(path, "name")) as f:
                found.append((n, path, f.read().strip()))
        except OSError:
            continue
    packages = [z for z in found if z[2].startswith("package")]
    dram = [z for z in found if z[2].startswith("dram")]
    return packages + dram if packages else [z for z in found if z[2] == "psys"][:1]


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
            out.append(Domain(id, kind, in_total=True, source=os.path.join(path, "energy_uj"), period_ns=1000000))
    return out


class Powercap(Source):
    last = True
    via, support = "powercap", "full"

    def __init__(self, domains, files, interval_ns):
        self.domains, self.files, self.interval_ns = domains, files, interval_ns
        self.support = "full" if len(domains) > 1 else "scalar_only"
        self.raw = [None] * len(files)
        self.total = [0] * len(files)
        self.at = 0
        self.kept = []          # samples that were not read yet: (time, flags, energies)
        self.lock = threading.RLock()
        self.stop = threading.Event()
        self.take()
        self.thread = threading.Thread(target=self._loop, name="codegreen-powercap", daemon=True)
        self.thread.start()

    @classmethod
    def open(cls, interval_ms, record, why):
        domains, files, root = [], [], os.environ.get("CG_SYSROOT", "")
        for d in domains_of(zones(root)):
            try:
                fd = os.open(d.source, os.O_RDONLY | os.O_CLOEXEC)
                with open(os.path.join(os.path.dirname(d.source), "max_energy_range_uj")) as f:
                    wrap = int(f.read()) + 1
                int(os.pread(fd, 64, 0))
            except (OSError, ValueError) as e:
                why.append("powercap: %s" % e)
                continue
            domains.append(d)
            files.append((fd, wrap))
        if not domains:
            if not why or not any(w.startswith("powercap") for w in why):
                why.append("there are no powercap counters")
            return None
        if interval_ms is None:
            interval_ms = 1 if record else 10
        return cls(domains, files, int(interval_ms * 1e6))

    def take(self):
        """Takes a sample."""
        with self.lock:
            before = time.monotonic_ns()
            flags = 0
            for i, (fd, wrap) in enumerate(self.files):
                try:
                    value = int(os.pread(fd, 64, 0))
                except (OSError, ValueError):
                    flags |= FAILED
                    continue
                old, self.raw[i] = self.raw[i], value
                if old is None:
                    continue
                more = value - old if value >= old else value - old + wrap
                if 0 <= more <= MOST * 1e-3 * max(1, before - self.at):
                    self.total[i] += more
                else:
                    flags |= GAP  # it was reset: what it had is not known
            self.at = (before + time.monotonic_ns()) // 2
            self.kept.append((self.at, flags, tuple(self.total)))

    edge = lambda self, samples: self.take()

    def _loop(self):
        due = time.monotonic_ns()
        while True:
            due = max(due + self.interval_ns, time.monotonic_ns())
            if self.stop.wait(max(0, due - time.monotonic_ns()) * 1e-9):
                return
            self.take()

    def read(self, samples):
        with self.lock:
            kept, self.kept = self.kept, []
        if kept:
            samples.extend([k[0] for k in kept], [k[1] for k in kept], [list(c) for c in zip(*(k[2] for k in kept))])

    def close(self, patience=5):
        self.stop.set()
        self.thread.join(1)
        self.take()
        self.forget()

    def forget(self):
        for fd, _ in self.files:
            try:
                os.close(fd)
            except OSError:
                pass
        self.files = []
