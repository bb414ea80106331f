"""Seed sentences about behaviour: stacks of tasks, threads, coroutines, and sessions of other processes."""
import asyncio
import contextlib
import inspect
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings

import codegreen
from codegreen import _gpus, _neighbours, _report, _session
from codegreen._spec import GPU_ASKED, GPU_AWAITED, GPU_HELD
from sessions import Case, Exact, WATTS, busy


class Rules(Case):
    def test_constructing_a_second_session_while_one_is_active_raises(self):
        with codegreen.Session("first", save_to_file=False):
            with self.assertRaisesRegex(RuntimeError, "'first'"):
                codegreen.Session("second")
        with codegreen.Session("third", save_to_file=False):
            pass

    def test_two_sessions_one_after_the_other_have_files_of_their_own(self):
        p = self.program("for n in 'ab':\n    with codegreen.Session(n): pass\n")
        self.assertEqual(p.returncode, 0, p.err)
        names = self.files()
        self.assertEqual(len(names), 2)
        self.assertEqual({self.load(n)["meta"]["session_name"] for n in names}, {"a", "b"})

    def test_mismatched_stops_raise_with_the_innermost_name(self):
        with codegreen.Session(save_to_file=False) as s:
            s.start_task("outer")
            s.start_task("inner")
            with self.assertRaisesRegex(RuntimeError, "'inner'"):
                s.stop_task("outer")
            with self.assertRaisesRegex(RuntimeError, "the innermost task is 'inner', not 'outer'"):
                s.stop_task(expected_name="outer")
            s.stop_task("inner")
            s.stop_task("outer")
            with self.assertRaisesRegex(RuntimeError, "no task is open"):
                s.stop_task()
            with self.assertRaisesRegex(RuntimeError, "'left'"):
                with s.task("context"):
                    s.start_task("left")
            s.stop_task("left")
            s.stop_task("context")
        self.assertEqual([t.forgotten for t in s.tasks], [False] * 4)

    def test_a_forgotten_stop_is_recovered_at_exit(self):
        p = self.program("s = codegreen.Session('f', output_file='x.json').start()\ns.start_task('open')\ntime.sleep(0.1)\n")
        self.assertEqual(p.returncode, 0, p.err)
        report = self.load("x.json")
        self.assertEqual([(t["name"], t["forgotten"]) for t in report["tasks"]], [("open", True)])
        self.near(report["totals"]["energy_j"], WATTS * report["totals"]["duration_s"], 0.1)
        self.assertIn("was not stopped", p.err)
        self.assertEqual([w["slug"] for w in report["warnings"]], ["forgotten", "forgotten"])

    SIGNAL = ("s = codegreen.Session('f', output_file='x.json').start()\ns.start_task('open')\n"
              "print('ready', flush=True)\nwhile True: time.sleep(0.01)\n")

    def test_a_forgotten_stop_is_recovered_on_sigterm(self):
        p = self.program(self.SIGNAL, wait=False)
        p.stdout.readline()
        p.terminate()
        p.communicate()
        self.assertEqual(p.returncode, -signal.SIGTERM)
        self.assertEqual(self.load("x.json")["tasks"][0]["name"], "open")

    def test_a_forgotten_stop_is_recovered_on_sigint(self):
        p = self.program(self.SIGNAL, wait=False)
        p.stdout.readline()
        p.send_signal(signal.SIGINT)
        _, err = p.communicate()
        self.assertEqual(p.returncode, -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", err)
        self.assertEqual(self.load("x.json")["tasks"][0]["name"], "open")

    def test_handlers_of_the_program_go_on_to_work(self):
        p = self.program("seen = []\nsignal.signal(signal.SIGTERM, lambda n, f: seen.append(n))\n"
                         "s = codegreen.Session(output_file='x.json').start()\ns.start_task('first')\ns.stop_task()\n"
                         "os.kill(os.getpid(), signal.SIGTERM)\nprint(seen, os.path.exists('x.json'))\n"
                         "s.start_task('second')\ns.stop_task()\ns.stop()\n"
                         "os.kill(os.getpid(), signal.SIGTERM)\nprint(len(seen))\n")
        self.assertEqual((p.returncode, p.out), (0, "[15] True\n2\n"), p.err)
        self.assertEqual([t["name"] for t in self.load("x.json")["tasks"]], ["first", "second"])

    def test_long_intervals_are_not_waited_for_at_the_end(self):
        # The next sample would come in a minute: a program that waits for two is given up.
        for end in "s.stop()", "os.kill(os.getpid(), signal.SIGTERM)", "":
            p = self.program("s = codegreen.Session(output_file='x.json', sample_interval_ms=60000).start()\n"
                             "with s.task('t'): time.sleep(0.2)\n" + end + "\n")
            task, = self.load("x.json")["tasks"]
            self.assertIsNotNone(task["energy_j"], p.err)

    def test_a_handler_of_the_program_does_not_wait_for_samples(self):
        class Late(Exact):
            via, late = "run", True

            def read(self, samples):
                if not self.late or not samples.times:
                    super().read(samples)
        self.exactly(Late)
        before, _session.HURRY = _session.HURRY, 0.05
        self.addCleanup(setattr, _session, "HURRY", before)
        s, kept = self.quiet(output_file="x.json")
        with s:
            with s.task("t") as t:
                busy(0.05)
            s._flush()
            self.assertIsNone(self.load("x.json")["tasks"][0]["energy_j"])
            s._source.late = False
            self.near(t.energy_j, WATTS * t.duration_s)
        task, = self.load("x.json")["tasks"]
        self.assertIsNotNone(task["energy_j"])
        self.assertIsNone(task["program_energy_j"])  # this run tells of no program
        self.assertEqual([w["slug"] for w in self.load("x.json")["warnings"]], ["share-unknown"])

    def with_a_gpu(self):
        """A session on a machine with a GPU whose driver has not told yet; its source and its warnings."""
        class OfGpu(Exact):
            patience = None

            def __init__(self, *_):
                super().__init__()
                self.domains[2].kind = "gpu"
                self.gpus = {2: _gpus.Gpu([{"name": "mig", "why": "it is divided"}])}
                self.gpus[2].state = GPU_ASKED | GPU_HELD | GPU_AWAITED

            def close(self, patience=5):
                self.patience = patience
        self.exactly(OfGpu)
        before, _session.HURRY = _session.HURRY, 0.05
        self.addCleanup(setattr, _session, "HURRY", before)
        s, kept = self.quiet(output_file="x.json")
        s.start()
        self.addCleanup(s.stop)
        return s, s._source, kept

    def test_a_file_that_is_early_does_not_warn_of_what_a_driver_tells_later(self):
        s, source, kept = self.with_a_gpu()
        with s.task("t") as t:
            busy(0.05)
        s._flush()
        task, = self.load("x.json")["tasks"]
        self.assertEqual((task["gpus"][0]["reason"], task["gpus"][0]["program_energy_j"]), ("late", None))
        self.assertEqual(self.load("x.json")["warnings"], [])
        gpu, begin = source.gpus[2], t.started_at_mono_ns - 10**7
        gpu.asked = t.ended_at_mono_ns + 10**7
        gpu.add(begin, gpu.asked, [3e5, 2.5e5, 0.0, 5e4, 0.0, 2.5e5, 2.5e5, 0.0], 0)
        self.assertGreater(t.gpus[0]["program_energy_j"], 0)
        s.stop()
        self.assertEqual((self.load("x.json")["warnings"], list(kept)), ([], []))

    def test_a_forgotten_session_waits_for_the_last_answers_of_drivers(self):
        for state, least, most in ((GPU_ASKED, 0, 1), (GPU_ASKED | GPU_HELD | GPU_AWAITED, 1.2, 2)):
            s, source, _ = self.with_a_gpu()
            source.gpus[2].state, source.gpus[2].asked = state, 2**62
            s._finish(forgotten=True)
            self.assertTrue(least <= source.patience < most, source.patience)

    def test_handlers_of_the_program_are_as_they_were_after_a_session(self):
        before = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)]
        with codegreen.Session(save_to_file=False):
            self.assertNotEqual(signal.getsignal(signal.SIGTERM), before[0])
        self.assertEqual([signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)], before)

    def test_concurrent_threads_each_have_their_own_task_stack(self):
        together = threading.Barrier(3)

        def work(name):
            with s.task(name):
                together.wait()
                with s.task(name + " inner"):
                    together.wait()
                    time.sleep(0.02)

        with codegreen.Session(save_to_file=False) as s:
            threads = [threading.Thread(target=work, args=("thread %d" % i,)) for i in range(3)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        for t in s.tasks:
            self.assertEqual((t.depth, t.parent), (1, t.name[:-6]) if t.name.endswith("inner") else (0, None))
        self.assertEqual(len({t.thread for t in s.tasks}), 3)

    def test_a_session_in_a_thread_that_is_not_the_main_one(self):
        def work():
            with codegreen.Session(save_to_file=False) as s:
                with s.task("t"):
                    time.sleep(0.02)
            self.assertGreater(s.tasks[0].energy_j, 0)
            seen.append(s)
        seen = []
        t = threading.Thread(target=work)
        t.start()
        t.join()
        self.assertEqual(len(seen), 1)


    def test_names_that_are_no_strings(self):
        class Argument:
            def __str__(self):
                return "argument"
        self.exactly()
        before, sys.argv = sys.argv, [Argument()]
        self.addCleanup(setattr, sys, "argv", before)
        with codegreen.Session(pathlib.Path("s"), output_file="x.json") as s:
            with s.task(pathlib.Path("a/b")):
                s.start_task(b"bytes")
                s.stop_task(b"bytes")
                with self.assertRaisesRegex(RuntimeError, "'a/b', not '7'"):
                    s.stop_task(7)
        report = self.load("x.json")
        self.assertEqual((report["meta"]["session_name"], report["meta"]["argv"]), ("s", ["argument"]))
        self.assertEqual([(t["name"], t["parent"]) for t in report["tasks"]], [("a/b", None), ("b'bytes'", "a/b")])

    def test_a_plot_that_cannot_be_drawn_is_a_warning(self):
        self.exactly()
        s, kept = self.quiet("unstarted", save_to_file=False, record_time_series=True)
        self.assertFalse(s.export_plot("x.svg"))
        self.assertIn("was not started", str(kept[-1].message))
        slow = self.path("slow")
        with open(slow, "w") as f:
            f.write("#!/bin/sh\nexec sleep 20\n")
        os.chmod(slow, 0o755)
        before, _report.DRAWING = _report.DRAWING, 0.1
        self.addCleanup(setattr, _report, "DRAWING", before)
        with s:
            s._source.cg = slow
            self.assertFalse(s.export_plot("x.svg"))
            self.assertIn("x.svg is not drawn", str(kept[-1].message))
            with self.assertRaises(ValueError):
                s.export_plot("x.gif")

    def test_tasks_of_other_threads_end_while_the_session_does(self):
        leave, begun, left = threading.Event(), threading.Event(), []

        class Ending(Exact):
            def read(self, samples):
                if getattr(s, "_stopped_at", None):  # energies are computed
                    leave.set()
                    worker.join()
                super().read(samples)

        def work():
            try:
                with s.task("work"):
                    s.start_task("inner")
                    begun.set()
                    leave.wait()
                    s.stop_task("inner")
                    with s.task("late") as late:
                        pass
                left.append(late.depth)
            except Exception as e:
                left.append(e)
        self.exactly(Ending)
        s, _ = self.quiet(output_file="x.json")
        worker = threading.Thread(target=work)
        s.start()
        worker.start()
        begun.wait()
        s.stop()
        self.assertEqual(left, [0])
        tasks = self.load("x.json")["tasks"]
        self.assertEqual([(t["name"], t["forgotten"], t["ended_at_mono_ns"] - t["started_at_mono_ns"] == round(t["duration_s"] * 1e9)) for t in tasks],
                         [("work", True, True), ("inner", True, True)])
        self.assertTrue(all(t["energy_j"] is not None for t in tasks))


class Coroutines(Case):
    def test_a_decorated_generator_does_not_run_while_it_is_suspended(self):
        @codegreen.task("numbers")
        def numbers():
            "doc"
            busy(0.1)
            got = yield 1
            busy(0.1)
            try:
                yield got
            except KeyError:
                yield "thrown"
            return "end"
        self.assertTrue(inspect.isgeneratorfunction(numbers))
        self.exactly()
        with codegreen.Session(save_to_file=False) as s:
            g = numbers()
            self.assertEqual(next(g), 1)
            with s.task("between"):
                time.sleep(0.3)
            self.assertEqual(g.send(5), 5)
            self.assertEqual(g.throw(KeyError("x")), "thrown")
            with self.assertRaises(StopIteration) as e:
                next(g)
            self.assertEqual(e.exception.value, "end")
            with numbers_closed(s) as closed:
                pass
        self.assertEqual([(t.name, t.depth) for t in s.tasks], [("numbers", 0), ("between", 0), ("closed", 0)])
        t = s.tasks[0]
        self.assertGreater(t.duration_s, 0.2)
        self.assertGreater(t.suspended_s, 0.3)
        self.assertLess(abs(t.energy_j - WATTS * t.duration_s), 0.03 * t.energy_j)
        self.assertGreater(s.tasks[2].duration_s, 0)

    def test_a_generator_that_goes_on_elsewhere_leaves_no_stack_behind(self):
        @codegreen.task("g")
        def g():
            yield 1
            yield 2
        self.exactly()
        with codegreen.Session(save_to_file=False) as s:
            with s.task("outer"):
                inside = g()
                next(inside)
            outside = g()
            next(outside)
            self.assertEqual(s._shares.active, {})
            with s.task("other"):
                self.assertEqual(list(outside), [2])
                self.assertEqual(len(s._shares.active), 1)
            self.assertEqual(list(inside), [2])
            self.assertEqual(s._shares.active, {})
        self.assertEqual([(t.name, t.depth, t.parent) for t in s.tasks], [("outer", 0, None), ("g", 1, "outer"), ("g", 0, None), ("other", 0, None)])
        self.assertEqual(s._shares.parts, [])

    def test_coroutines_inside_a_task_of_their_thread(self):
        @codegreen.task("step")
        async def step():
            busy(0.02)
            await asyncio.sleep(0.02)
            busy(0.02)

        async def main():
            with s.task("inner"):
                with s.task("innermost"):
                    busy(0.05)
            await step()
            await later()

        async def later():
            with s.task("later"):
                await asyncio.sleep(0)

        self.exactly()
        with codegreen.Session(save_to_file=False) as s:
            with s.task("outer"):
                asyncio.run(main())
            self.assertEqual((s._shares.active, s._shares.parts), ({}, []))
        outer = s.tasks[0]
        self.assertEqual([(t.name, t.depth, t.parent) for t in s.tasks],
                         [("outer", 0, None), ("inner", 1, "outer"), ("innermost", 2, "inner"), ("step", 1, "outer"), ("later", 1, "outer")])
        for t in outer, s.tasks[1]:
            self.near(t.energy_j, WATTS * t.duration_s)
            self.assertNotEqual(t._energy.method, "shared")

    def test_a_coroutine_that_outlives_the_task_around_it(self):
        self.exactly()
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)

        async def two():
            with s.task("inside"):
                await asyncio.sleep(0)
            await go.wait()
            with s.task("outside"):
                await asyncio.sleep(0)

        async def one():
            return asyncio.Event(), asyncio.ensure_future(both())

        async def both():
            await asyncio.sleep(0)
            await two()

        with codegreen.Session(save_to_file=False) as s:
            with s.task("outer"):
                go, rest = loop.run_until_complete(one())
                loop.run_until_complete(asyncio.sleep(0.01))
            go.set()
            loop.run_until_complete(rest)
        self.assertEqual([(t.name, t.depth, t.parent) for t in s.tasks], [("outer", 0, None), ("inside", 1, "outer"), ("outside", 0, None)])

    def test_decorated_coroutines_that_run_in_turn(self):
        @codegreen.task("a")
        async def a():
            busy(0.1)
            await asyncio.sleep(0.25)
            return 1

        @codegreen.task("b")
        async def b():
            await asyncio.sleep(0.05)
            busy(0.1)
            with codegreen._current.session.task("inner"):
                await asyncio.sleep(0.02)
            return 2

        async def main():
            return await asyncio.gather(a(), b())
        self.assertTrue(inspect.iscoroutinefunction(a))
        self.exactly()
        with codegreen.Session(save_to_file=False) as s:
            self.assertEqual(asyncio.run(main()), [1, 2])
        by = {t.name: t for t in s.tasks}
        self.assertGreater(by["a"].duration_s, 0.1)
        self.assertGreater(by["a"].suspended_s, 0.2)
        self.assertGreater(by["b"].suspended_s, 0.05)
        self.assertEqual((by["inner"].parent, by["inner"].depth), ("b", 1))
        for t in by["a"], by["b"]:
            self.assertLess(abs(t.energy_j - WATTS * t.duration_s), 0.03 * t.energy_j)

    def test_decorated_asynchronous_generators(self):
        @codegreen.task
        async def steps(n):
            try:
                for i in range(n):
                    await asyncio.sleep(0.01)
                    busy(0.02)
                    yield i
            finally:
                ended.append(True)
        ended = []

        async def main():
            got = [i async for i in steps(3)]
            async for i in steps(3):
                break
            g = steps(2)
            await g.__anext__()
            await g.aclose()
            return got
        self.assertTrue(inspect.isasyncgenfunction(steps))
        with codegreen.Session(save_to_file=False) as s:
            self.assertEqual(asyncio.run(main()), [0, 1, 2])
        self.assertEqual(len(ended), 3)
        self.assertEqual([t.ended_at_mono_ns is not None for t in s.tasks], [True] * 3)
        self.assertGreater(s.tasks[0].duration_s, 0.06)
        self.assertGreater(s.tasks[0].suspended_s, 0.03)

    def test_methods_and_exceptions(self):
        class C:
            @codegreen.task
            def plain(self):
                return 1

            @codegreen.task("static")
            @staticmethod
            def static():
                return 2

            @classmethod
            @codegreen.task()
            def of_class(cls):
                raise KeyError("mine")

            @codegreen.task("later")
            async def later(self):
                raise ValueError("his")
        with codegreen.Session(save_to_file=False) as s:
            self.assertEqual((C().plain(), C.static(), C().static()), (1, 2, 2))
            with self.assertRaises(KeyError):
                C.of_class()
            with self.assertRaises(ValueError):
                asyncio.run(C().later())
        qualified = "Coroutines.test_methods_and_exceptions.<locals>.C."
        self.assertEqual([t.name for t in s.tasks], [qualified + "plain", "static", "static", qualified + "of_class", "later"])


def numbers_closed(s):
    @codegreen.task("closed")
    def closed():
        busy(0.01)
        yield
    import contextlib
    return contextlib.contextmanager(closed)()


class Neighbours(Case):
    def test_the_constructor_warns_when_another_live_process_has_a_session(self):
        p = self.program("s = codegreen.Session(save_to_file=False).start()\nprint(1, flush=True)\ntime.sleep(60)\n", wait=False)
        p.stdout.readline()
        with warnings.catch_warnings(record=True) as kept:
            warnings.simplefilter("always")
            s = codegreen.Session(save_to_file=False)
            self.assertIn("another session is active on this machine (process %d)" % p.pid, str(kept[0].message))
            self.assertEqual(len(kept), 1)
            codegreen.Session(save_to_file=False, warn_on_concurrent=False)
            self.assertEqual(len(kept), 1)
            with s:
                pass
            self.assertEqual(len(kept), 1)  # once is enough

    def test_stale_pids_are_cleaned(self):
        child = subprocess.Popen([sys.executable, "-c", ""])
        child.wait()
        with open(_neighbours.place(), "w") as f:
            f.write("%d 1\n%d 77\n1 12\nnonsense\n" % (child.pid, os.getpid()))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with codegreen.Session(save_to_file=False):
                with open(_neighbours.place()) as f:
                    self.assertEqual(f.read(), "%d %s\n" % (os.getpid(), _neighbours.started(os.getpid())))
        self.assertFalse(os.path.exists(_neighbours.place()))

    def test_a_link_or_another_user_s_file_is_not_used(self):
        os.symlink(self.path("target"), _neighbours.place())
        try:
            with codegreen.Session(save_to_file=False):
                pass
            self.assertFalse(os.path.exists("target"))
        finally:
            os.unlink(_neighbours.place())

    @unittest.skipUnless(os.environ.get("CG_TEST_MANY"), "one interpreter is enough")
    def test_a_hundred_sessions_at_once(self):
        with open("program.py", "w") as f:
            f.write("import codegreen, time\ncodegreen._ring.READY_NS = 600 * 10**9  # a hundred cg start at once\n"
                    "with codegreen.Session(warn_on_concurrent=True) as s:\n    with s.task('t'): time.sleep(0.5)\n")
        all_ = [subprocess.Popen([sys.executable, "-W", "ignore", "program.py"], stderr=subprocess.PIPE) for _ in range(100)]
        for p in all_:
            _, err = p.communicate()
            self.assertEqual((p.returncode, err), (0, b""))
        names = self.files()
        self.assertEqual(len(names), 100)
        for n in names:
            report = self.load(n)
            self.assertEqual((report["meta"]["measurement_quality"], report["totals"]["n_tasks"]), ("ok", 1))
        self.assertFalse(os.path.exists(_neighbours.place()))


if __name__ == "__main__":
    unittest.main()
