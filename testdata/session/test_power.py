"""Seed sentences about energy, samples over time and plots, against known power."""
import json
import os
import re
import subprocess
import sys
import threading
import time
import unittest
import warnings

import codegreen
from codegreen import _energy
from sessions import CG, Case, Exact, WATTS, busy, until

SECONDS = float(os.environ.get("CG_TEST_SECONDS", "3"))


class Series(Case):
    def integral(self, task):
        series = task.timeseries
        whole = sum((a["power_w"] + b["power_w"]) / 2 * (b["t_ns"] - a["t_ns"]) * 1e-9 for a, b in zip(series, series[1:]))
        # The samples begin and end up to an interval inside of the task.
        whole += series[0]["power_w"] * (series[0]["t_ns"] - task.started_at_mono_ns) * 1e-9
        return whole + series[-1]["power_w"] * (task.ended_at_mono_ns - series[-1]["t_ns"]) * 1e-9

    def test_integrating_power_by_the_trapezoidal_rule_recovers_energy_j_within_0_2_percent(self):
        self.exactly()
        with codegreen.Session(save_to_file=False, record_time_series=True) as s:
            with s.task("t"):
                time.sleep(2)
        task = s.tasks[0]
        self.assertLess(abs(self.integral(task) / task.energy_j - 1), 0.002)
        self.assertLess(abs(task.energy_j / (WATTS * task.duration_s) - 1), 0.001)
        self.assertEqual(task.noise["drop_ratio"], 0)
        self.assertLess(abs(len(task.timeseries) - task.duration_s * 1000), 2)

    def test_the_integral_is_the_energy_where_samples_are_far_apart_and_power_changes(self):
        class Ragged(Exact):
            def read(self, samples):
                now = time.monotonic_ns() // 1000000
                times = [n * 1000000 for n in range(self.next, now) if n % 7 in (0, 1) and n % 41 < 25]
                self.next = max(self.next, now)
                samples.extend(times, [0] * len(times), [[Exact.counter(self, w, t) + w * (t - self.begin) ** 2 // 10 ** 13 for t in times] for w in (20, 8, 3)])
        self.exactly(Ragged)
        with codegreen.Session(save_to_file=False, record_time_series=True) as s:
            with s.task("t"):
                time.sleep(1.5)
        task = s.tasks[0]
        self.assertLess(len(task.timeseries), 500)
        self.assertLess(abs(self.integral(task) / task.energy_j - 1), 0.01)

    def test_no_sample_of_a_long_task_is_lost(self):
        """60 s at 1 ms with CG_TEST_SECONDS=60, and the trapezoid within 0.2 %."""
        with codegreen.Session(save_to_file=False, record_time_series=True, sample_interval_ms=1) as s:
            time.sleep(0.1)
            with s.task("long"):
                time.sleep(SECONDS)
        task, ring = s.tasks[0], s._source.ring
        # The ring numbers its samples.
        self.assertEqual((s._source.lost, s._samples.count), (0, ring.next - ring.first))
        self.assertEqual(len(s._samples.times), s._samples.count)
        off, truth = self.integral(task) / task.energy_j - 1, task.energy_j / (WATTS * task.duration_s) - 1
        print("%.0f s: %d of %d samples, none lost, trapezoid off by %+.3f %%, energy by %+.3f %%" % (
            SECONDS, task.noise["samples_captured"], task.noise["samples_expected"], 100 * off, 100 * truth), file=sys.stderr)
        self.assertEqual(task.noise["samples_captured"], len(task.timeseries))
        if SECONDS >= 30:  # else the ends count for too much where the machine is busy
            self.assertLess(abs(off), 0.002)
            self.assertLess(abs(truth), 0.002)
        self.near(task.energy_j, WATTS * task.duration_s)

    def test_a_long_task_keeps_its_ends_when_samples_are_not_recorded(self):
        with codegreen.Session(save_to_file=False, sample_interval_ms=0.2) as s:
            from codegreen import _session
            before, _session.PRUNE_AFTER = _session.PRUNE_AFTER, 500
            try:
                with s.task("long"):
                    for _ in range(5):
                        with s.task("inner"):
                            time.sleep(0.2)
                        time.sleep(0.1)
                    self.assertTrue(until(lambda: s._samples.pruned_at))
            finally:
                _session.PRUNE_AFTER = before
        self.assertLess(len(s._samples.times), s._samples.count)
        for t in s.tasks:
            self.near(t.energy_j, WATTS * t.duration_s, 0.03)

    def test_the_drain_warns_of_a_ring_that_is_nearly_full(self):
        s, kept = self.quiet(save_to_file=False, buffer_samples=16, sample_interval_ms=1, record_time_series=True)
        with s:
            for _ in range(200):
                with s._data:  # nobody empties it
                    time.sleep(0.03)
                time.sleep(0.005)
                if s._source.lost and any("buffer_samples" in m for _, m in s._warnings):
                    break
        self.assertIn("use a larger buffer_samples", " ".join(str(w.message) for w in kept))
        self.assertGreater(s._source.lost, 0)

    def test_a_task_with_very_many_steps_takes_little_memory(self):
        from codegreen import _result
        task = _result.TaskResult(None, "t", 0, None, 0)
        for n in range(100000):  # runs 10 ns of each 30
            task._since = 30 * n
            task._close(30 * n + 10, "stack")
        self.assertLess(len(task._windows), _result.WINDOWS)
        self.assertEqual((task._active_ns, task._windows[0][0], task._windows[-1][1]), (1000000, 0, 2999980))

    def test_pruning_keeps_energies_between_edges_exact(self):
        samples = _energy.Samples([_energy.Domain("d", in_total=True, period_ns=1000000)])
        ms = 1000000
        samples.extend([i * ms for i in range(20000)], [0] * 20000, [[i * i // 7 for i in range(20000)]])
        edges = [3000 * ms + 123456, 11000 * ms + 1, 15000 * ms + 777777]
        before = [samples.between(0, a, b) for a in edges for b in edges if a < b]
        samples.prune(edges, 100 * ms)
        self.assertLess(len(samples.times), 2000)
        self.assertEqual([samples.between(0, a, b) for a in edges for b in edges if a < b], before)


class Sharing(Case):
    def test_overlapping_tasks_of_two_threads_do_not_exceed_the_total(self):
        in_a, in_b, a_over = threading.Event(), threading.Event(), threading.Event()

        def a():
            with s.task("a"):
                busy(0.05)
                in_a.set()
                in_b.wait()
                busy(0.2)
            a_over.set()

        def b():
            in_a.wait()
            with s.task("b"):
                in_b.set()
                busy(0.2)
                a_over.wait()
                busy(0.05)

        self.exactly()
        with codegreen.Session(output_file="x.json") as s:
            threads = [threading.Thread(target=f) for f in (a, b)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        report = self.load("x.json")
        a, b = report["tasks"]
        self.assertGreater(report["totals"]["concurrent_overlap_s"], 0.1)
        covered = (max(t["ended_at_mono_ns"] for t in report["tasks"]) - min(t["started_at_mono_ns"] for t in report["tasks"])) * 1e-9
        self.assertLess(report["totals"]["energy_j"], WATTS * covered * 1.005)
        self.assertGreater(report["totals"]["energy_j"], WATTS * covered * 0.995)
        for t in a, b:
            self.assertEqual(t["energy_method"], "shared")
            self.near(t["machine_energy_j"], WATTS * t["duration_s"])
            self.assertLess(t["energy_j"], t["machine_energy_j"])
            self.assertTrue(t["energy_lo_j"] <= t["energy_j"] <= t["energy_hi_j"])
            self.assertEqual(round(t["energy_j"] * 1e6), round(t["domains"]["package-0"] * 1e6) + round(t["domains"]["dram"] * 1e6))

    def test_who_waits_has_a_small_part(self):
        go = threading.Event()

        def wait():
            with s.task("waits"):
                go.wait()

        with codegreen.Session(save_to_file=False) as s:
            t = threading.Thread(target=wait)
            t.start()
            with s.task("works"):
                busy(0.3)
                with s.task("inner"):
                    busy(0.1)
            go.set()
            t.join()
        by = {t.name: t for t in s.tasks}
        self.assertLess(by["waits"].energy_j, 0.3 * by["works"].energy_j)
        self.assertLessEqual(by["inner"].energy_j, by["works"].energy_j)

    def test_shares_on_virtual_time(self):
        used = {1: 0, 2: 0}
        shares = _energy.Shares(lambda thread: used[thread])
        a, b = "a", "b"
        shares.active[a] = 1
        shares.changed(100)
        shares.active[b] = 2
        shares.changed(200)
        used.update({1: 30, 2: 10})
        shares.changed(300)  # wanted in between
        used.update({1: 30, 2: 10})
        shares.active.pop(a)
        shares.changed(400)
        self.assertEqual(list(shares.within(0, 1000, a)), [(200, 300, 0.75), (300, 400, 0.5)])
        self.assertEqual(list(shares.within(250, 350, b)), [(250, 300, 0.25), (300, 350, 0.5)])
        samples = _energy.Samples([_energy.Domain("d", in_total=True)])
        samples.extend(list(range(0, 1001, 10)), [0] * 101, [[1000 * i for i in range(101)]])
        x, _ = _energy.energy_of(samples, shares, [(100, 400, a, 300)])
        y, _ = _energy.energy_of(samples, shares, [(200, 400, b, 200)])
        # 100 uJ a ns: a has 10 mJ alone, 7.5 and 5 of what is shared.
        self.assertEqual([round(v, -2) for v in (x.total, y.total, x.machine, y.machine)], [22500, 7500, 30000, 20000])
        self.assertLessEqual(x.total + y.total, 30000)


class Plots(Case):
    def test_export_plot_renders_a_power_vs_time_chart(self):
        with codegreen.Session("training", save_to_file=False, record_time_series=True) as s:
            with s.task("epoch1"):
                time.sleep(0.1)
            with s.task("epoch2"):
                time.sleep(0.1)
            for name in "training.html", "training.png", "training.svg":
                self.assertTrue(s.export_plot(name))
        self.assertEqual(self.files(), ["training.html", "training.png", "training.svg"])
        with open("training.html", encoding="utf-8") as f:
            self.assertIn("epoch2", f.read())
        with open("training.png", "rb") as f:
            self.assertEqual(f.read(8), b"\x89PNG\r\n\x1a\n")
        with self.assertRaises(ValueError):
            s.export_plot("training.pdf")
        os.unlink("training.png")
        self.assertTrue(s.export_plot("training.png"))  # also when it is over

    def test_without_cg_or_samples_there_is_one_warning_and_no_plot(self):
        p = self.program("with codegreen.Session(save_to_file=False, record_time_series=True) as s:\n"
                         "    with s.task('t'): pass\n    print(s.export_plot('x.html'), s.export_plot('x.html'))\n", cg="")
        self.assertEqual((p.returncode, p.out), (0, "False False\n"), p.err)
        self.assertEqual(p.err.count("x.html is not drawn"), 1, p.err)
        s, kept = self.quiet(save_to_file=False)
        with s:
            self.assertFalse(s.export_plot("x.html"))
        self.assertIn("record_time_series=True", str(kept[0].message))
        self.assertEqual(self.files(), [])


class UnderCg(Case):
    TEXT = ("with codegreen.Session(output_file='x.json'%s) as s:\n    with s.task('t'): time.sleep(0.3)\n"
            "print(s._source.via, codegreen.__file__, codegreen.__version__)\n")

    def under(self, command, text, **env):
        return self.program(text, command=command, PYTHONPATH=None, **env)

    def test_under_measure_and_run_it_is_importable_and_uses_the_run_s_samples(self):
        for command in [CG, "measure", "--python", sys.executable], [CG, "run", "-n", "1", "-w", "0", "--show-output", "--", sys.executable]:
            p = self.under(command, self.TEXT % "")
            self.assertEqual(p.returncode, 0, p.err)
            said = [line for line in (p.out + p.err).splitlines() if "__init__.py" in line][0].split()
            self.assertEqual((said[0], said[2]), ("run", "0.1.0"))
            self.assertIn("/python-", said[1])
            report = self.load("x.json")
            self.assertEqual((report["meta"]["sampler"]["via"], report["totals"]["sample_interval_ms"]), ("run", 10))
            self.near(report["totals"]["energy_j"], WATTS * report["totals"]["duration_s"])

    def test_another_interval_takes_a_sidecar(self):
        p = self.under([CG, "measure", "--python", sys.executable], self.TEXT % ", sample_interval_ms=2")
        self.assertEqual(p.returncode, 0, p.err)
        self.assertEqual(self.load("x.json")["meta"]["sampler"]["via"], "sidecar")
        p = self.under([CG, "measure", "--python", sys.executable, "-p", "2ms"], self.TEXT % ", sample_interval_ms=2")
        self.assertEqual(self.load("x.json")["meta"]["sampler"]["via"], "run")

    def test_the_package_itself_is_not_instrumented(self):
        p = self.under([CG, "measure", "-g", "fine", "-o", "run.json", "--python", sys.executable],
                       "@codegreen.task\ndef f(): time.sleep(0.02)\nwith codegreen.Session(save_to_file=False) as s:\n    f()\n")
        self.assertEqual(p.returncode, 0, p.err)
        self.assertEqual({f["name"] for f in self.load("run.json")["functions"]}, {"__main__.f", "__main__.<module>"})

    def test_a_path_of_samples_that_is_none_any_more_takes_a_sidecar(self):
        with open("garbage", "wb") as f:
            f.write(b"CGSAMPLE" + bytes(1000))
        for path in "/proc/1/fd/999", self.path("garbage"), self.folder, "":
            p = self.program("s = codegreen.Session(save_to_file=False).start()\nprint(s._source.via)\n", CG_SAMPLES=path)
            self.assertEqual((p.returncode, p.out), (0, "sidecar\n"), p.err)

    def test_it_does_not_shadow_one_that_the_user_installed(self):
        os.mkdir("installed")
        with open("installed/codegreen.py", "w") as f:
            f.write("Session = None\n__version__ = 'the user\\'s'\n")
        text = "print(codegreen.__version__)\n"
        site = "import sys; sys.path.append(%r)\n" % self.path("installed")
        with open("sitecustomize.py", "w") as f:
            f.write(site)
        for command in [CG, "measure", "--python", sys.executable], [CG, "run", "-n", "1", "-w", "0", "--show-output", "--", sys.executable]:
            name = self.path("program.py")
            p = self.program("", command=[sys.executable, "-c", "pass"])
            with open(name, "w") as f:
                f.write("import codegreen\n" + text)
            p = subprocess.run(command + [name], cwd=self.folder, env=dict(os.environ, PYTHONPATH=self.folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
            self.assertIn("the user's\n", p.stdout)

    HAND = """
from codegreen_runtime import checkpoint
def work():
    checkpoint(checkpoint_id="1", name="my_function", checkpoint_type="enter")
    time.sleep(0.05)
    checkpoint(checkpoint_id="2", name="my_function", checkpoint_type="exit")
for _ in range(3): work()
codegreen.checkpoint("3", "other", "enter")
codegreen.measure_checkpoint("4", "exit", "other", 7, "x")
"""

    def test_checkpoints_by_hand_are_words_of_the_run_under_cg(self):
        p = self.under([CG, "measure", "-o", "run.json", "--python", sys.executable], self.HAND)
        self.assertEqual((p.returncode, p.out), (0, ""), p.err)
        functions = {f["name"]: f for f in self.load("run.json")["functions"]}
        self.assertEqual((functions["my_function"]["calls"], functions["other"]["calls"]), (3, 1))
        self.assertGreater(functions["my_function"]["inclusive_time_s"], 0.15)

    def test_checkpoints_by_hand_print_a_block_at_exit_when_alone(self):
        p = self.program(self.HAND)
        lines = p.out.splitlines()
        self.assertEqual((lines[0], lines[2]), ("--- CODEGREEN_RESULT_START ---", "--- CODEGREEN_RESULT_END ---"))
        ids = [m["checkpoint_id"].partition("_t")[0] for m in json.loads(lines[1])["measurements"]]
        self.assertEqual(ids, ["enter:my_function:1#inv_1", "exit:my_function:2#inv_1", "enter:my_function:1#inv_2", "exit:my_function:2#inv_2",
                               "enter:my_function:1#inv_3", "exit:my_function:2#inv_3", "enter:other:3#inv_1", "exit:other:4#inv_1"])


class Sdk(Case):
    def test_pip_install_works_without_a_network_and_dependencies(self):
        subprocess.run([CG, "sdk", "python", "sdk"], check=True, stdout=subprocess.DEVNULL)
        p = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--quiet", "--disable-pip-version-check", "--target", "site", "./sdk"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, env=dict(os.environ, PYTHONPATH=""))
        if "No module named pip" in p.stdout:
            self.skipTest("this Python has no pip")
        self.assertEqual(p.returncode, 0, p.stdout)
        with open("use.py", "w") as f:
            f.write("import codegreen, codegreen_runtime\nprint(codegreen.__file__, codegreen_runtime.__file__)\n")
        out = subprocess.run([sys.executable, "use.py"], env=dict(os.environ, PYTHONPATH="site"), stdout=subprocess.PIPE, universal_newlines=True).stdout
        self.assertEqual(out.split(), [self.path("site/codegreen/__init__.py"), self.path("site/codegreen_runtime.py")])

    def test_the_example_runs(self):
        subprocess.run([CG, "sdk", "python", "sdk"], check=True, stdout=subprocess.DEVNULL)
        p = subprocess.run([sys.executable, "sdk/example.py"], stdout=subprocess.PIPE, universal_newlines=True, check=True)
        self.assertRegex(p.stdout, r"(?s)^by hand: 0\.\d+ s, \d+\.\d+ J\ncontext: .*\n  squares: .*written to .*codegreen_\d+\.json\n$")


if __name__ == "__main__":
    unittest.main()
