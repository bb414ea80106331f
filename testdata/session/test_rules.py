"""Seed sentences about behaviour: threads, forks, signals, exits, and what goes wrong."""
import asyncio
import contextlib
import glob
import inspect
import io
import json
import os
import pathlib
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest
import warnings

import codegreen
from codegreen import _energy, _neighbours, _report, _ring, _session, _signals
from sessions import CG, Case, Exact, WATTS, busy, gone, until


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
        self.assertIsNotNone(self.load("x.json")["tasks"][0]["energy_j"])
        self.assertEqual([str(w.message) for w in kept], [])

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


class Signals(Case):
    """Signals while a session ends."""

    NAMES = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: SystemExit, signal.SIGALRM: TimeoutError}

    def setUp(self):
        super().setUp()
        self.exactly(lambda *_: _ring.Source())  # there is no sample to wait for
        said = contextlib.redirect_stderr(io.StringIO())
        said.__enter__()
        self.addCleanup(said.__exit__, None, None, None)
        self.addCleanup(setattr, os, "fsync", os.fsync)
        os.fsync = lambda fd: None
        for number, error in self.NAMES.items():
            self.addCleanup(signal.signal, number, signal.signal(number, self.raising(error)))

    @staticmethod
    def raising(error):
        def handler(number, frame):
            raise error(number)
        return handler

    def ended(self, end, at, numbers):
        """Ends a session by end(session), with a signal at the line of the package that
        runs for the first time after at others did, and the next ones behind it. Gives the session, what was raised, and
        whether one of them came."""
        left, seen = list(numbers), set()

        def trace(frame, event, _):
            if frame.f_globals.get("__package__") != "codegreen":
                return None
            if event == "line":
                seen.add((frame.f_code.co_filename, frame.f_lineno))
                if len(seen) > at and left:
                    signal.raise_signal(left.pop(0))
            return trace
        s, _ = self.quiet(output_file="x.json", warn_on_concurrent=False)
        s.start()
        with s.task("t"):
            pass
        raised = None
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            end(s)
        except BaseException as e:
            raised = e
        finally:
            sys.settrace(before)
        return s, raised, len(left) < len(numbers)

    def at_every_line(self, end, *numbers):
        handlers = [signal.getsignal(n) for n in self.NAMES]
        for at in range(1 << 20):
            with open("x.json", "w") as f:
                f.write("old")
            s, raised, came = self.ended(end, at, numbers)
            if not came:
                break
            self.assertIn(type(raised), [self.NAMES[n] for n in numbers], "line %d" % at)
            if not s._over:  # the signal was faster: the session goes on until the program ends
                self.assertIs(_session._active, s)
                os.remove("x.json")
                _signals._exit()
            self.assertEqual([t["name"] for t in self.load("x.json")["tasks"]], ["t"], "line %d" % at)
            self.assertEqual(self.files(), ["x.json"])
            self.assertEqual([signal.getsignal(n) for n in self.NAMES], handlers, "line %d" % at)
        self.assertGreater(at, 100)

    def test_a_signal_at_any_line_of_the_end_leaves_the_whole_file(self):
        self.at_every_line(codegreen.Session._finish, signal.SIGALRM)

    def test_a_second_signal_leaves_the_whole_file_too(self):
        self.at_every_line(codegreen.Session._finish, signal.SIGTERM, signal.SIGALRM)

    def test_a_signal_at_any_line_of_the_exit_leaves_the_whole_file(self):
        self.at_every_line(lambda s: _signals._exit(), signal.SIGINT)

    PIECES = """
from codegreen import _report
before = _report.chunks
def chunks(session):
    for piece in before(session):
        for n in %s: os.kill(os.getpid(), n)
        yield piece
_report.chunks = chunks
s = codegreen.Session(output_file='x.json', save_to_file=True).start()
with s.task('t'): pass
"""

    def test_signals_while_the_file_is_written(self):
        # As the system sends them, and with what a session does itself on SIGTERM.
        text = self.PIECES + "%s\ntry: %s\nexcept BaseException as e: print(type(e).__name__)\n"
        alarm = "def alarm(*_): raise TimeoutError\nsignal.signal(signal.SIGALRM, alarm)"
        for numbers, before, end, want in (
            ("[signal.SIGINT]", "", "s.stop()", (0, "KeyboardInterrupt\n")),
            ("[signal.SIGALRM]", alarm, "s.stop()", (0, "TimeoutError\n")),
            ("[signal.SIGTERM]", "", "s.stop()", (-signal.SIGTERM, "")),
            ("[signal.SIGTERM]", "", "os.kill(os.getpid(), signal.SIGTERM)", (-signal.SIGTERM, "")),
            ("[signal.SIGINT, signal.SIGTERM]", "", "os.kill(os.getpid(), signal.SIGTERM)", (-signal.SIGTERM, "")),
            ("[signal.SIGINT]", "", "pass", (0, "")),  # the program's end
        ):
            p = self.program(text % (numbers, before, end))
            self.assertEqual((p.returncode, p.out), want, p.err)
            self.assertEqual([t["name"] for t in self.load("x.json")["tasks"]], ["t"])
            self.assertEqual(self.files(), ["x.json"])
            os.remove("x.json")

    def test_a_signal_while_another_thread_writes_the_file(self):
        p = self.program(self.PIECES.replace("        for n in %s: os.kill(os.getpid(), n)\n", "        os.kill(os.getpid(), signal.SIGTERM)\n        reached.wait()\n") + """
reached, finish = threading.Event(), s._finish
def reach(*args):
    if threading.current_thread() is threading.main_thread(): reached.set()  # the handler's
    return finish(*args)
s._finish = reach
t = threading.Thread(target=s.stop, daemon=True)
t.start()
t.join()
""")
        self.assertEqual((p.returncode, p.out), (-signal.SIGTERM, ""), p.err)
        self.assertEqual([t["name"] for t in self.load("x.json")["tasks"]], ["t"])
        self.assertEqual(self.files(), ["x.json"])


class Forks(Case):
    def test_forked_children_become_no_ops_and_only_the_parent_reports(self):
        p = self.program("""
s = codegreen.Session(output_file='x.json').start()
with s.task('around'):
    pid = os.fork()
    if not pid:
        with s.task('child'):
            assert s.start_task('more') == -1
        s.stop_task(expected_name='anything')
        s.export_plot('x.html')
        assert s.stop() == {} and s.stop_task().energy_j != 0
        os.kill(os.getpid(), signal.SIGTERM)  # as without a session
        time.sleep(10)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGTERM
    time.sleep(0.05)
s.stop()
""")
        self.assertEqual(p.returncode, 0, p.err)
        self.assertEqual([t["name"] for t in self.load("x.json")["tasks"]], ["around"])
        self.assertEqual(self.files(), ["x.json"])

    def test_a_forked_child_may_have_a_session_of_its_own(self):
        p = self.program("""
with codegreen.Session('parent') as s:
    pid = os.fork()
    if not pid:
        with codegreen.Session('child', warn_on_concurrent=False) as c:
            with c.task('t'): time.sleep(0.05)
        os._exit(0)
    os.waitpid(pid, 0)
""")
        self.assertEqual(p.returncode, 0, p.err)
        self.assertEqual({self.load(n)["meta"]["session_name"]: self.load(n)["meta"]["measurement_quality"] for n in self.files()}, {"parent": "no_tasks", "child": "ok"})

    def test_multiprocessing_by_fork_and_by_spawn(self):
        for method in "fork", "spawn":
            p = self.program("""
import multiprocessing
@codegreen.task('work')
def work(n):
    return n * n
if __name__ == '__main__':
    multiprocessing.set_start_method(%r)
    with codegreen.Session(output_file='x.json') as s:
        with s.task('pool'):
            with multiprocessing.Pool(2) as pool:
                print(pool.map(work, range(4)))
        work(3)
""" % method)
            self.assertEqual((p.returncode, p.out), (0, "[0, 1, 4, 9]\n"), p.err)
            self.assertEqual([t["name"] for t in self.load("x.json")["tasks"]], ["pool", "work"])

    def test_a_child_that_is_terminated_as_it_begins_ends(self):
        text = """
ready, begun = os.pipe()
def first():
    os.write(begun, b'.')
    time.sleep(0.5)
blocked = lambda: print(signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, []), flush=True)
os.register_at_fork(before=blocked, after_in_child=first)
"""
        for before, want in ("", signal.SIGTERM), ("signal.signal(signal.SIGTERM, lambda *_: os._exit(5))\n", 5 << 8):
            p = self.program(before + """
with codegreen.Session(output_file='x.json') as s:
    pid = os.fork()
    if not pid:
        time.sleep(20)
        os._exit(1)
    os.read(ready, 1)
    os.kill(pid, signal.SIGTERM)
    print(os.waitpid(pid, 0)[1])
    blocked()
""", hooks=text)
            self.assertEqual((p.returncode, p.out), (0, "True\n%d\nFalse\n" % want), p.err)
            self.assertNotIn("was not stopped", p.err)
            self.assertEqual(self.load("x.json")["meta"]["measurement_quality"], "no_tasks")

    def test_a_program_that_waits_for_all_its_children_does_not_wait_for_cg(self):
        p = self.program("""
with codegreen.Session(output_file='x.json') as s:
    pid = os.fork()
    if not pid: os._exit(3)
    print(os.wait() == (pid, 3 << 8))
    try: os.wait()
    except ChildProcessError: print('none left')
""")
        self.assertEqual((p.returncode, p.out), (0, "True\nnone left\n"), p.err)

    def test_a_child_that_outlives_the_program_does_not_keep_the_sidecar(self):
        p = self.program("""
s = codegreen.Session(output_file='x.json').start()
print(s._source.ring.pid, flush=True)
if not os.fork():
    os.close(1), os.close(2)
    time.sleep(20)
    os._exit(0)
""")
        self.assertTrue(until(lambda: gone(int(p.out))))


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
            with codegreen._session._active.task("inner"):
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


class Degrades(Case):
    def test_without_cg_powercap_is_read_directly(self):
        for record in "False", "True":
            p = self.program("with codegreen.Session(output_file='x.json', record_time_series=%s) as s:\n"
                             "    with s.task('t'):\n        time.sleep(0.3)\n" % record, cg="")
            self.assertEqual(p.returncode, 0, p.err)
            report = self.load("x.json")
            self.assertEqual((report["meta"]["sampler"]["via"], report["meta"]["measurement_quality"], report["meta"]["cg_version"]), ("powercap", "ok", None))
            self.assertEqual(report["tasks"][0]["domains"].keys(), {"package-0", "dram-0"})
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
        show("max_energy_range_uj", 9999999)
        show("energy_uj", 9000000)
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
    print(s._source.via, s._source.out.fileno() > 1024)
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
        self.assertIn("the counter of package-0 has not moved; the counter of dram-0 has not moved", warned[0])

    def test_a_part_of_a_package_that_is_off_is_0(self):
        report, tasks, warned = self.tasks(watts=(20, 0, 3))
        self.assertEqual((report["meta"]["measurement_quality"], tasks["all"]["domains"]["core-0"], warned), ("ok", 0, []))

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
        e = _energy.energy_of(samples, _energy.Shares(lambda _: 0), [(93000000, 95000000, 0, 2000000)])
        self.assertEqual((e.total, e.lo), (0, 0))
        self.assertGreaterEqual(e.hi, 40000)


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
            f.write("import codegreen, time, sys\nwith codegreen.Session(warn_on_concurrent=True) as s:\n    with s.task('t'): time.sleep(0.5)\n")
        all_ = [subprocess.Popen([sys.executable, "-W", "ignore", "program.py"], stderr=subprocess.PIPE) for _ in range(100)]
        for p in all_:
            _, err = p.communicate(timeout=300)
            self.assertEqual((p.returncode, err), (0, b""))
        names = self.files()
        self.assertEqual(len(names), 100)
        for n in names:
            report = self.load(n)
            self.assertEqual((report["meta"]["measurement_quality"], report["totals"]["n_tasks"]), ("ok", 1))
        self.assertFalse(os.path.exists(_neighbours.place()))


if __name__ == "__main__":
    unittest.main()
