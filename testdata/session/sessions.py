"""What the tests of sessions have in common. cg's own test (session_test.go) runs
them on a simulated machine: 20 W in package-0, of which core has 8, and 3 W in
dram. CG_SYSROOT is that machine, CODEGREEN_CG is cg."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import codegreen
from codegreen import _energy, _session, _source

WATTS = 23.0
CG = os.environ["CODEGREEN_CG"]


def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(500))


def gone(pid):
    """Whether a process is over, a zombie or not there."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Exact(_source.Source):
    """A machine of known power with exact samples, whatever else this one does: one
    each millisecond of a counter that is updated each 0.983 ms in steps of 61 uJ."""
    via, version, interval_ns, support = "sidecar", 1, 1000000, "full"
    UPDATE = 983000

    def __init__(self, *_):
        self.domains = [_energy.Domain("package-0", "cpu_package", "", True, period_ns=self.UPDATE),
                        _energy.Domain("core", "nested", "package-0", False, period_ns=self.UPDATE),
                        _energy.Domain("dram", "dram", "", True, period_ns=self.UPDATE)]
        self.next = time.monotonic_ns() // 1000000 - 60
        self.begin = self.next * 1000000

    def counter(self, watts, t):
        updated = (t - self.begin) // self.UPDATE * self.UPDATE
        return int(int(watts * updated / 1000 / 61) * 61)

    def read(self, samples):
        now = time.monotonic_ns() // 1000000
        times = [n * 1000000 for n in range(self.next, now)]
        self.next = max(self.next, now)
        samples.extend(times, [0] * len(times), [[self.counter(w, t) for t in times] for w in (20, 8, 3)])


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def load(self, name):
        with open(self.path(name)) as f:
            return json.load(f)

    def quiet(self, *args, **kwargs):
        """A session whose warnings are kept: (session, list of them)."""
        caught = warnings.catch_warnings(record=True)
        kept = caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("always")
        return codegreen.Session(*args, **kwargs), kept

    def exactly(self, source=Exact):
        """Sessions have exact samples until the end of the test."""
        before, _session.open_source = _session.open_source, source
        self.addCleanup(setattr, _session, "open_source", before)

    def program(self, text, wait=True, cg=CG, command=None, hooks="", **env):
        """Runs a program of its own; with wait what it did, else the process.
        hooks is what it does before it imports codegreen."""
        name = self.path("program.py")
        with open(name, "w") as f:
            f.write("import os, sys, time, signal, threading\n" + hooks + "import codegreen\n" + text)
        full = dict(os.environ, PYTHONWARNINGS="always", **env)
        for variable in [k for k, v in full.items() if v is None]:
            del full[variable]
        full["CODEGREEN_CG"] = cg
        if not cg:
            full["PATH"] = "/usr/bin:/bin"
        process = subprocess.Popen((command or [sys.executable]) + [name], cwd=self.folder, env=full, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        if not wait:
            self.addCleanup(self.end, process)
            return process
        try:
            process.out, process.err = process.communicate(timeout=120)
        finally:
            self.end(process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
            process.communicate()
        for f in process.stdout, process.stderr:
            f.close()

    def files(self):
        return sorted(n for n in os.listdir(self.folder) if n != "program.py")

    def near(self, got, want, part=0.1, least=0.3):
        """As near as a machine that is busy with other things allows; exact figures are on virtual time."""
        part, least = max(part, 0.1), max(least, 1.0)
        self.assertLess(abs(got - want), part * want + least, "%r, want %r" % (got, want))
