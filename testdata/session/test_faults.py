"""Seed sentences about what goes wrong: no counters, bad ones, and files that cannot be written."""
import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
import unittest

import codegreen
from codegreen import _energy, _neighbours
from sessions import CG, Case, Exact, WATTS, gone, until


class Degrades(Case):
    def test_without_cg_powercap_is_read_directly(self):
        for record in "False", "True":
            p = self.program("with codegreen.Session(output_file='x.json', record_time_series=%s) as s:\n"
                             "    with s.task('t'):\n        time.sleep(0.3)\n" % record, cg="")
            self.assertEqual(p.returncode, 0, p.err)
            report = self.load("x.json")
            self.assertEqual((report["meta"]["sampler"]["via"], report["meta"]["measurement_quality"], report["meta"]["cg_version"]), ("powercap", "ok", None))
            self.assertEqual(report["tasks"][0]["domains"].keys(), {"package-0", "dram"})
            self.near(report["totals"]["energy_j"], WATTS * report["totals"]["duration_s"])

    def tree(self, *zones):
        """A CG_SYSROOT of powercap zones: (folder, name)."""
        for folder, name in zones:
            at = self.path("tree", "sys", "class", "powercap", folder)
            os.makedirs(at)
            for file, text in ("name", name), ("energy_uj", "5000000"), ("max_energy_range_uj", "262143328850"):
                with open(os.path.join(at, file), "w") as f:
                    f.write(text + "\n")
        return self.path("tree")

    def test_a_pipe_in_the_place_of_a_counter_is_not_waited_for(self):
        root = self.tree(*[("intel-rapl:%d" % n, "package-%d" % n) for n in range(4)])
        for n, file in enumerate(("energy_uj", "name", "max_energy_range_uj")):
            path = os.path.join(root, "sys/class/powercap/intel-rapl:%d" % n, file)
            os.remove(path)
            os.mkfifo(path)
        p = self.program("with codegreen.Session(output_file='x.json') as s:\n    with s.task('t'): pass\n", cg="", CG_SYSROOT=root)
        self.assertEqual(p.returncode, 0, p.err)
        report = self.load("x.json")
        self.assertEqual(list(report["meta"]["domain_topology"]), ["package-3"])
        self.assertEqual([w["slug"] for w in report["warnings"]], ["sensor-failed", "energy-unknown"])
        for n, file in enumerate(("energy_uj", "name", "max_energy_range_uj")):
            self.assertIn("intel-rapl:%d/%s: not a regular file" % (n, file), report["warnings"][0]["message"])
        self.assertNotIn("package-3", report["warnings"][0]["message"])

    HANGS = """
stuck, before = set(), os.pread
def pread(fd, *rest):
    if os.readlink('/proc/self/fd/%d' % fd).split('/')[-2] in stuck: threading.Event().wait()
    return before(fd, *rest)
os.pread = pread
from codegreen import _powercap
_powercap.ANSWER = 0.2
"""

    def test_a_counter_that_hangs_from_the_start_is_left_out(self):
        root = self.tree(("intel-rapl:0", "package-0"), ("intel-rapl:1", "package-1"))
        p = self.program(self.HANGS + "stuck.add('intel-rapl:1')\nwith codegreen.Session(output_file='x.json') as s:\n    with s.task('t'): pass\n",
                         cg="", CG_SYSROOT=root)
        self.assertEqual(p.returncode, 0, p.err)
        report = self.load("x.json")
        self.assertEqual((list(report["meta"]["domain_topology"]), report["meta"]["measurement_quality"]), (["package-0"], "energy_zero"))
        self.assertIn("intel-rapl:1/energy_uj: no answer in 0.2 s", p.err)

    def test_a_counter_that_hangs_later_holds_neither_a_task_nor_the_end(self):
        root = self.tree(("intel-rapl:0", "package-0"))
        for end in "s.stop()", "os.kill(os.getpid(), signal.SIGTERM)", "":
            p = self.program(self.HANGS + "s = codegreen.Session(output_file='x.json').start()\nwith s.task('before'): pass\n"
                             "print(s.tasks[0].energy_j)\nstuck.add('intel-rapl:0')\nfor _ in range(100):\n    with s.task('t'): pass\n"
                             "print('ended', flush=True)\n" + end + "\n", cg="", CG_SYSROOT=root)
            self.assertEqual((p.returncode, p.out), (-signal.SIGTERM if "kill" in end else 0, "nan\nended\n"), p.err)
            report = self.load("x.json")
            self.assertEqual((report["meta"]["measurement_quality"], report["totals"]["energy_j"]), ("failed", None))
            self.assertEqual([t["energy_j"] for t in report["tasks"]], [None] * 101)

    def test_without_cg_and_counters_the_program_still_runs_and_nothing_is_invented(self):
        p = self.program("with codegreen.Session(output_file='x.json', record_time_series=True) as s:\n"
                         "    with s.task('t') as t: time.sleep(0.05)\n    s.export_plot('x.html')\n"
                         "print('%.3f' % t.energy_j, t.domains, t.noise)\n", cg="", CG_SYSROOT=self.folder)
        self.assertEqual((p.returncode, p.out), (0, "nan {} None\n"), p.err)
        self.assertIn("program.py:3: RuntimeWarning: codegreen: no energy can be measured here", p.err)  # the program's own line
        report = self.load("x.json")
        self.assertEqual((report["meta"]["measurement_quality"], report["meta"]["domain_support"]), ("no_backend", "none"))
        self.assertEqual((report["totals"]["energy_j"], report["tasks"][0]["energy_j"], report["tasks"][0]["energy_kind"]), (None, None, "unavailable"))
        self.assertGreater(report["tasks"][0]["duration_s"], 0.05)
        self.assertEqual(self.files(), ["x.json"])

    def test_where_there_is_no_unix_the_program_runs_all_the_same(self):
        with open("program2.py", "w") as f:
            f.write("import os, sys\nsys.modules['fcntl'] = None\nfor n in 'uname', 'fchmod', 'register_at_fork', 'O_CLOEXEC': delattr(os, n)\nimport time\n"
                    "del time.clock_gettime_ns\nimport codegreen\nwith codegreen.Session(output_file='x.json') as s:\n    with s.task('t'): pass\nprint('ran on')\n")
        p = subprocess.run([sys.executable, "program2.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                           env=dict(os.environ, CODEGREEN_CG="", PATH="/usr/bin:/bin", CG_SYSROOT=self.folder))
        self.assertEqual((p.returncode, p.stdout), (0, "ran on\n"), p.stderr)
        self.assertEqual(self.load("x.json")["meta"]["measurement_quality"], "no_backend")

    def test_something_else_that_is_called_cg_is_none(self):
        with open("cg", "w") as f:
            f.write("#!/bin/sh\necho hello\n")
        os.chmod("cg", 0o755)
        p = self.program("print(codegreen.Session(save_to_file=False).stop()['meta']['measurement_quality'])\n", cg=self.path("cg"), CG_SYSROOT=self.folder)
        self.assertEqual((p.returncode, p.out), (0, "no_backend\n"), p.err)

    def test_no_counter_is_an_estimate_and_says_so(self):
        os.mkdir("sys")
        p = self.program("with codegreen.Session(output_file='x.json') as s:\n    with s.task('t'): time.sleep(0.1)\n", CG_SYSROOT=None)
        meta = self.load("x.json")["meta"]
        if meta["sampler"]["via"] == "sidecar" and self.load("x.json")["totals"]["energy_kind"] == "estimated":
            self.assertEqual(meta["measurement_quality"], "estimated")
            task = self.load("x.json")["tasks"][0]
            self.assertLess(task["energy_lo_j"], 0.6 * task["energy_j"])
        else:  # a machine with counters
            self.assertEqual(meta["measurement_quality"], "ok")

    def test_no_tasks_and_one_domain(self):
        tree = self.path("one", "sys", "class", "powercap", "intel-rapl:0")
        os.makedirs(tree)
        for name, text in ("name", "package-0"), ("energy_uj", "5000000"), ("max_energy_range_uj", "262143328850"):
            with open(os.path.join(tree, name), "w") as f:
                f.write(text + "\n")
        text = "s = codegreen.Session(save_to_file=False).start()\n%sr = s.stop()['meta']\nprint(r['measurement_quality'], r['domain_support'])\n"
        tasks = "with s.task('t'): time.sleep(0.1)\n"
        for cg in CG, "":
            self.assertEqual(self.program(text % "", cg=cg, CG_SYSROOT=self.path("one")).out, "no_tasks scalar_only\n")
            # A counter that stands still tells no energy.
            self.assertEqual(self.program(text % tasks, cg=cg, CG_SYSROOT=self.path("one")).out, "energy_zero scalar_only\n")

    def test_counters_that_wrap_are_continued(self):
        tree = self.path("one", "sys", "class", "powercap", "intel-rapl:0")
        os.makedirs(tree)

        def show(name, text):
            with open(os.path.join(tree, name + ".new"), "w") as f:
                f.write("%s\n" % text)
            with open(os.path.join(tree, name), "w") as f:  # in place: it is kept open
                f.write("%s\n" % text)
        show("name", "package-0")
        show("max_energy_range_uj", 262143328850)
        show("energy_uj", 262143328851 - 1000000)
        p = self.program("s = codegreen.Session(output_file='x.json').start()\ns.start_task('t')\nprint(1, flush=True)\nsys.stdin.read()\n"
                         "time.sleep(0.05)\ns.stop_task()\ns.stop()\n".replace("sys.stdin.read()", "while not os.path.exists('go'): time.sleep(0.01)"),
                         wait=False, cg="", CG_SYSROOT=self.path("one"))
        p.stdout.readline()
        time.sleep(0.05)
        show("energy_uj", 500000)
        open("go", "w").close()
        p.communicate()
        self.assertEqual(self.load("x.json")["totals"]["energy_j"], 1.5)

    def test_a_read_only_directory(self):
        os.mkdir("locked")
        text = "os.chdir('locked')\nwith codegreen.Session(%s) as s:\n    with s.task('t'): pass\nprint('ran on')\n"
        p = self.program(text % "output_file='/proc/nowhere/x.json'")
        self.assertEqual((p.returncode, p.out), (0, "ran on\n"), p.err)
        self.assertIn("cannot be written", p.err)
        os.chmod("locked", 0o555)
        if os.getuid():  # root may write everywhere
            p = self.program(text % "")
            self.assertEqual((p.returncode, p.out), (0, "ran on\n"), p.err)
            self.assertIn("cannot be written", p.err)

    def test_a_working_directory_that_is_gone(self):
        p = self.program("""
os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')
for name in None, 'x.json':
    with codegreen.Session(output_file=name) as s:
        with s.task('t'): pass
    print(len(s.tasks), s._warnings[0][0], s.save_to_file)
""")
        self.assertEqual((p.returncode, p.out), (0, "1 not-written False\n" * 2), p.err)
        self.assertIn("x.json cannot be written: the working directory", p.err)

    def test_names_of_files_and_sensors_do_not_reach_the_terminal_raw(self):
        root = self.path("tree\x1b]0;title\x07")
        zone = os.path.join(root, "sys/class/powercap/intel-rapl:0")
        os.makedirs(zone)
        os.mkfifo(os.path.join(zone, "name"))
        os.mkfifo(os.path.join(zone, "energy_uj"))
        for more in [], ["-W", "error"]:
            p = self.program("s = codegreen.Session(output_file='no\\x1b[2J\\nfake\\u202e/x.json').start()\ns.start_task('\\x1b[31m')\n",
                             cg="", CG_SYSROOT=root, command=[sys.executable] + more)
            self.assertEqual(p.returncode, 0, p.err)
            for want in "no\\x1b[2J\\nfake\\u202e/x.json cannot be written", "tree\\x1b]0;title\\x07/sys", "task '\\x1b[31m'":
                self.assertIn(want, p.err)
            for raw in "\x1b", "\x07", "\u202e", "\nfake":
                self.assertNotIn(raw, p.err)

    def test_warnings_that_are_errors_do_not_end_the_program(self):
        p = self.program("with codegreen.Session(output_file='no/x.json') as s:\n    print(s._running)\n", command=[sys.executable, "-W", "error"])
        self.assertEqual((p.returncode, p.out), (0, "True\n"), p.err)
        self.assertIn("codegreen: " + self.path("no", "x.json"), p.err)

    def test_modes_of_files(self):
        self.exactly()
        mode = lambda name: os.stat(self.path(name)).st_mode & 0o777
        before = os.umask(0o027)
        self.addCleanup(os.umask, before)
        self.addCleanup(setattr, os, "umask", os.umask)
        os.umask = None  # it is the process's: other threads make files meanwhile
        with open(self.path("own.json"), "w"):
            os.chmod(self.path("own.json"), 0o604)
        for name, want in ("new.json", 0o640), ("own.json", 0o604):
            with codegreen.Session(output_file=name):
                pass
            self.assertEqual(mode(name), want)

    def test_asyncio_that_is_being_imported(self):
        self.exactly()
        self.addCleanup(sys.modules.__setitem__, "asyncio", asyncio)
        with codegreen.Session(save_to_file=False) as s:
            sys.modules["asyncio"] = type(sys)("asyncio")
            with s.task("t") as t:
                pass
        self.assertEqual(t.depth, 0)

    def test_a_device_or_a_pipe_in_the_place_of_the_file_stays(self):
        os.mkfifo("pipe")
        os.mkfifo("unread")
        reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        for name in "pipe", "unread", "/dev/full", "/proc/self/fd/1":
            p = self.program("with codegreen.Session(output_file=%r) as s: pass\n" % name, cg="", CG_SYSROOT=self.folder)
            self.assertEqual(p.returncode, 0, p.err)
            self.assertEqual(" cannot be written" in p.err, name in ("unread", "/dev/full"), p.err)
        self.assertEqual(json.loads(os.read(reader, 1 << 16).decode())["meta"]["measurement_quality"], "no_backend")
        self.assertEqual(json.loads(p.out)["meta"]["measurement_quality"], "no_backend")
        self.assertTrue(all(stat.S_ISFIFO(os.stat(n).st_mode) for n in ("pipe", "unread")))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_a_full_disk_leaves_the_old_file_whole(self):
        with open("x.json", "w") as f:
            f.write("old")
        p = self.program("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
                         "with codegreen.Session(output_file='x.json') as s:\n    with s.task('t'): pass\nprint('ran on')\n")
        self.assertEqual((p.returncode, p.out), (0, "ran on\n"), p.err)
        self.assertIn("x.json cannot be written", p.err)
        with open("x.json") as f:
            self.assertEqual(f.read(), "old")
        self.assertEqual(self.files(), ["x.json"])

    def test_the_sidecar_is_killed_in_the_middle_of_a_task(self):
        s, kept = self.quiet(output_file="x.json", record_time_series=True)
        with s:
            with s.task("before"):
                time.sleep(0.1)
            self.near(s.tasks[0].energy_j, WATTS * s.tasks[0].duration_s, 0.1)
            with s.task("during"):
                time.sleep(0.05)
                os.kill(s._source.ring.pid, signal.SIGKILL)
                self.assertTrue(until(s._source.ended))
                time.sleep(0.05)
        report = self.load("x.json")
        self.assertEqual(report["meta"]["measurement_quality"], "failed")
        self.assertEqual([t["energy_j"] is None for t in report["tasks"]], [False, True])
        self.assertIsNone(report["totals"]["energy_j"])
        self.assertIn("the samples end before task 'during' does", " ".join(str(w.message) for w in kept))

    def test_a_sampler_that_stands_still_is_waited_for_once(self):
        class Still(Exact):
            def read(self, samples):
                if self.next:
                    Exact.read(self, samples)
                    self.next = 0
        self.exactly(Still)
        from codegreen import _session
        before, _session.PATIENCE_NS = _session.PATIENCE_NS, 300000000
        self.addCleanup(setattr, _session, "PATIENCE_NS", before)
        s, kept = self.quiet(save_to_file=False)
        with s:
            for _ in range(200):
                with s.task("t"):
                    pass
            began = time.monotonic()
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(s.stop()["meta"]["measurement_quality"], "failed")

    def test_a_program_with_many_files_has_energies(self):
        p = self.program("""
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
assert hard == resource.RLIM_INFINITY or hard > 1100
resource.setrlimit(resource.RLIMIT_NOFILE, (1100, hard))
files = [os.open('/dev/null', os.O_RDONLY) for _ in range(1040)]
with codegreen.Session(output_file='x.json') as s:
    print(s._source.via, s._source.helper.out.fileno() > 1024)
""")
        self.assertEqual((p.returncode, p.out), (0, "sidecar True\n"), p.err)

    def test_a_program_that_adopts_the_sidecar_leaves_no_zombie(self):
        p = self.program("""
import ctypes
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER, as process 1 is
with codegreen.Session(output_file='x.json') as s:
    pid = s._source.ring.pid
print(os.path.exists('/proc/%d' % pid))
with codegreen.Session(output_file='y.json', sample_interval_ms=1) as s:
    os.kill(s._source.ring.pid, signal.SIGKILL)
    while open('/proc/%d/stat' % s._source.ring.pid).read().rpartition(')')[2].split()[0] != 'Z': time.sleep(0.001)
    print(s._source.ended())
""")
        self.assertEqual((p.returncode, p.out), (0, "False\nTrue\n"), p.err)

    def test_sigkill_of_the_program_leaves_nothing_behind(self):
        p = self.program("s = codegreen.Session(output_file='x.json').start()\ns.start_task('t')\nprint(s._source.ring.pid, flush=True)\ntime.sleep(60)\n", wait=False)
        sidecar = int(p.stdout.readline())
        self.assertFalse(gone(sidecar))
        p.kill()
        p.wait()
        self.assertTrue(until(lambda: gone(sidecar)))
        self.assertEqual(self.files(), [])
        with codegreen.Session(save_to_file=False):  # cleans the list of sessions
            with open(_neighbours.place()) as f:
                self.assertNotIn(str(p.pid), f.read().split())

    def test_a_session_leaves_no_process_and_no_list(self):
        with codegreen.Session(save_to_file=False) as s:
            pid = s._source.ring.pid
        self.assertTrue(gone(pid))
        self.assertFalse(os.path.exists(_neighbours.place()))


class Faulty(Exact):
    """Counters that stand still, or cannot be read, from one time to another (ns)."""
    still = failed = (0, 0)
    watts = (20, 8, 3)

    def read(self, samples):
        now = time.monotonic_ns() // 1000000
        times = [n * 1000000 for n in range(self.next, now)]
        self.next = max(self.next, now)
        within = lambda t, span: span[0] < t < span[1]
        held = lambda t: self.still[0] if within(t, self.still) else self.failed[0] if within(t, self.failed) else t
        flags = [_energy.FLAG_FAILED | _energy.FLAG_GAP if within(t, self.failed) else 0 for t in times]
        samples.extend(times, flags, [[self.counter(w, held(t)) for t in times] for w in self.watts])


class Unknown(Case):
    def tasks(self, still=False, failed=False, mended=False, watts=(20, 8, 3), step=0):
        """Three tasks, in the second of which the counters stand still or fail: what the session wrote, and its warnings."""
        before, _energy.STILL_NS = _energy.STILL_NS, 50000000
        self.addCleanup(setattr, _energy, "STILL_NS", before)
        source = Faulty()
        source.watts = watts
        for d in source.domains:
            d.step_uj = step
        self.exactly(lambda *_: source)
        s, warned = self.quiet(save_to_file=False)
        s.start()
        with s.task("all"):
            with s.task("before"):
                time.sleep(0.1)
            time.sleep(0.03)
            span = (time.monotonic_ns(), 1 << 62)
            source.still, source.failed = span if still else (0, 0), span if failed else (0, 0)
            time.sleep(0.05)
            with s.task("during"):
                time.sleep(0.5)
            if mended:
                time.sleep(0.05)
                span = (span[0], time.monotonic_ns())
                source.still, source.failed = span if still else (0, 0), span if failed else (0, 0)
                time.sleep(0.05)
            with s.task("after"):
                time.sleep(0.05)
        report = s.stop()
        return report, {t["name"]: t for t in report["tasks"]}, [w["message"] for w in report["warnings"] if w["slug"] == "energy-unknown"]

    def unknown(self, task):
        self.assertEqual((task["energy_j"], task["energy_lo_j"], task["energy_hi_j"], task["avg_power_w"]), (None,) * 4, task["name"])
        self.assertEqual((task["energy_kind"], task["domains"]), ("unavailable", {}))

    def test_a_counter_that_never_moves_tells_no_energy(self):
        report, tasks, warned = self.tasks(watts=(0, 0, 0))
        for t in tasks.values():
            self.unknown(t)
        self.assertEqual((report["meta"]["measurement_quality"], report["totals"]["energy_j"], report["totals"]["energy_kind"]), ("energy_zero", None, "unavailable"))
        self.assertEqual(len(warned), 1)
        self.assertIn("the counter of package-0 has not moved; the counter of dram has not moved", warned[0])

    def test_a_part_of_a_package_that_is_off_is_0(self):
        report, tasks, warned = self.tasks(watts=(20, 0, 3))
        self.assertEqual((report["meta"]["measurement_quality"], tasks["all"]["domains"]["core"], warned), ("ok", 0, []))

    def test_one_counter_of_the_total_that_never_moves_takes_the_total_with_it(self):
        report, tasks, warned = self.tasks(watts=(20, 8, 0))
        self.unknown(tasks["all"])
        self.assertEqual(report["meta"]["measurement_quality"], "failed")

    def test_a_counter_that_is_stuck_from_then_on(self):
        report, tasks, warned = self.tasks(still=True)
        self.near(tasks["before"]["energy_j"], WATTS * tasks["before"]["duration_s"])
        for name in "all", "during", "after":
            self.unknown(tasks[name])
        self.assertEqual((report["meta"]["measurement_quality"], report["totals"]["energy_j"]), ("failed", None))
        self.assertEqual(len(warned), 1)
        self.assertRegex(warned[0], "the energy of task .* is not known: the counter of package-0 is stuck: it has not moved for [0-9.]+ s")

    def test_a_counter_that_was_stuck_for_a_while(self):
        report, tasks, warned = self.tasks(still=True, mended=True)
        for name in "before", "after":
            self.near(tasks[name]["energy_j"], WATTS * tasks[name]["duration_s"])
        self.unknown(tasks["during"])
        self.assertEqual(report["meta"]["measurement_quality"], "failed")

    def test_readings_that_fail_to_the_end(self):
        report, tasks, warned = self.tasks(failed=True)
        self.near(tasks["before"]["energy_j"], WATTS * tasks["before"]["duration_s"])
        for name in "all", "during", "after":
            self.unknown(tasks[name])
        self.assertEqual(report["meta"]["measurement_quality"], "failed")
        self.assertIn("the counter of package-0 could not be read to the end", warned[0])

    def test_readings_that_fail_for_most_of_the_time(self):
        report, tasks, warned = self.tasks(failed=True, mended=True)
        self.near(tasks["all"]["energy_j"], WATTS * tasks["all"]["duration_s"])
        self.assertEqual((report["meta"]["measurement_quality"], tasks["all"]["energy_kind"], warned), ("failed", "derived", []))

    def test_the_step_of_a_counter_is_in_the_interval(self):
        _, tasks, _ = self.tasks(step=100000)
        t = tasks["before"]
        self.assertGreaterEqual(t["energy_hi_j"] - t["energy_j"], 0.2)
        self.assertGreaterEqual(t["energy_j"] - t["energy_lo_j"], 0.2)

    def test_a_moment_between_two_updates_is_not_0_for_certain(self):
        samples = _energy.Samples([_energy.Domain("package-0", in_total=True, period_ns=10000000)])
        times = [n * 1000000 for n in range(100)]
        samples.extend(times, [0] * 100, [[t // 10000000 * 200000 for t in times]])  # 20 W
        e, _ = _energy.energy_of(samples, _energy.Shares(lambda _: 0), [(93000000, 95000000, 0, 2000000)])
        self.assertEqual((e.total, e.lo), (0, 0))
        self.assertGreaterEqual(e.hi, 40000)


if __name__ == "__main__":
    unittest.main()
