"""Seed sentences about how a session ends: signals, exits and forks."""
import contextlib
import io
import os
import signal
import sys
import unittest

import codegreen
from codegreen import _current, _signals, _source
from sessions import Case, gone, until


class Signals(Case):
    """Signals while a session ends."""

    NAMES = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: SystemExit, signal.SIGALRM: TimeoutError}

    def setUp(self):
        super().setUp()
        self.exactly(lambda *_: _source.Source())  # there is no sample to wait for
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
                self.assertIs(_current.session, s)
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


if __name__ == "__main__":
    unittest.main()
