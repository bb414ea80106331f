"""Session: what named parts of a program cost (docs/session.md of cg)."""
import os
import sys
import threading
import time
import warnings
import weakref
from itertools import count
from sys import modules
from time import monotonic_ns

from . import _current, _neighbours, _signals
from ._choose import open_source
from ._energy import Samples, Shares, energy_of, no_share
from ._result import UNKNOWN, Context, Stack, TaskResult, cpu_time
from ._settings import check, metrics
from ._gpus import awaits, say_of, wait_for, wait_for_counters, wait_of
from ._spec import (AROUND_NS, DRAIN_CALM_PART, DRAIN_CALM_TIMES, DRAIN_FULL_PART, DRAIN_LEAST_NS, DRAIN_MOST_NS,
                    DRAIN_NS, DRAIN_WARN_PART, GAUGE_PERIOD_NS, PATIENCE_NS, PRUNE_AFTER)

HURRY = 1         # seconds in which samples are waited for in a signal's handler and at the exit


class Session:
    """Measures the tasks of a program and writes a file at its end.

    name               in the file
    output_file        path, by default codegreen_<pid>.json; CSV where it ends in .csv
    output_format      "auto", "json", "csv" or "none"
    save_to_file       False writes no file
    warn_on_concurrent warn when another process has a session: counters are the machine's
    record_time_series keep every sample of every task
    buffer_samples     samples that cg keeps until they are read
    sample_interval_ms 0.1 to 60000; None is the run's, or cg's setting
    sampling_mode      "fixed"
    gauges             metrics of cg track that are no energies, or "all", each gauge_interval_ms (100 to 60000)

    RuntimeError while another session of this process is active. ValueError for
    a parameter that means nothing. Whatever else fails is a RuntimeWarning.
    """

    def __init__(self, name="default", output_file=None, output_format="auto", save_to_file=True,
                 warn_on_concurrent=True, record_time_series=False, buffer_samples=None,
                 sample_interval_ms=None, sampling_mode="fixed", gauges=None,
                 gauge_interval_ms=GAUGE_PERIOD_NS / 1e6):
        if _current.session is not None and (_current.session._running or _current.session._ending):
            raise RuntimeError("a session is active in this process already: %r" % _current.session.name)
        check(output_format, sampling_mode, sample_interval_ms, buffer_samples)
        self._gauges, self.gauge_interval_ms = None, gauge_interval_ms
        self._gauge_names = metrics(gauges, gauge_interval_ms)
        self.name = str(name)
        self.output_format = output_format
        self.save_to_file = bool(save_to_file) and output_format != "none"
        self._by_default = output_file is None
        self.output_file, self._nowhere = None, None  # why there is no place for it
        if output_file is not None:
            output_file = os.fspath(output_file)
            try:
                self.output_file = os.path.abspath(output_file)
            except OSError as e:  # the working directory was removed
                self._nowhere = "%s cannot be written: the working directory: %s" % (output_file, e)
        self.warn_on_concurrent, self.record_time_series = warn_on_concurrent, bool(record_time_series)
        self.buffer_samples, self.sample_interval_ms = buffer_samples, sample_interval_ms
        self.sampling_mode = sampling_mode
        self._running = self._ending = self._over = self._dead = False  # _ending: tasks are over, energies are computed
        self._all, self._pending, self._numbers = [], [], count(1)
        self._warnings = []      # (slug, message)
        self._untold = []        # of them
        self._concurrent = False
        self._until = None       # by when samples are waited for (CLOCK_MONOTONIC)
        self._data = threading.RLock()   # of the samples
        self._edges = threading.RLock()  # of shares
        if warn_on_concurrent:
            self._meet(_neighbours.change(False))
            self._tell()

    # Begin and end
    def start(self):
        """Begins the session; Session() as a context does so itself."""
        if self._dead or self._running or self._ending:
            return self
        if self._over:
            raise RuntimeError("session %r is over: make another" % self.name)
        if _current.session is not None and (_current.session._running or _current.session._ending):
            raise RuntimeError("a session is active in this process already: %r" % _current.session.name)
        # What the end needs is imported now: there may be no time then, and to
        # import while the interpreter ends can change its exit status.
        from . import _noise, _report  # noqa: F401
        if self.output_file and self.output_file.lower().endswith(".csv") or self.output_format == "csv":
            import csv  # noqa: F401
        self._pid = os.getpid()
        if self.output_file is None and not self._nowhere:
            extra = "_%d" % (_current.finished + 1) if _current.finished else ""
            ending = "csv" if self.output_format == "csv" else "json"
            name = "codegreen_%d%s.%s" % (self._pid, extra, ending)
            try:
                self.output_file = os.path.join(os.getcwd(), name)
            except OSError as e:
                self._nowhere = "%s cannot be written: the working directory: %s" % (name, e)
        if self._nowhere and self.save_to_file:
            self.save_to_file = False
            self._note("not-written", self._nowhere)
        self._local, self._coroutines = threading.local(), weakref.WeakKeyDictionary()
        self._shares = Shares(cpu_time)
        try:
            self._source = open_source(self.sample_interval_ms, self.buffer_samples,
                                       self.record_time_series, self._note)
        except Exception as e:  # a session never breaks the program
            from ._source import Source
            self._source = Source()
            self._note("no-backend", "no energy can be measured: %s: %s" % (type(e).__name__, e))
        self._edge = self._source.edge if self._source.via == "powercap" else None
        self._samples = Samples(self._source.domains, self._source.division, self._source.gpus)
        self._source.read(self._samples)
        if self._gauge_names:
            from ._gauges import Gauges
            self._gauges = Gauges(self._gauge_names, self.gauge_interval_ms, self._source.cg, self._note)
        self._woken, self._drain = threading.Event(), None
        self._meet(_neighbours.change(True))
        self._said_unknown, self._still = set(), None
        self._running, _current.session = True, self
        self._mono, self._began = monotonic_ns(), time.time()
        self._stopped_at = None
        self._source.edge(self._samples)
        _signals.catch()
        if self._source.domains or self._gauges:
            self._drain = threading.Thread(target=self._draining, name="codegreen-drain", daemon=True)
            try:
                self._drain.start()
            except RuntimeError:  # the interpreter is ending
                self._drain = None
        if self.save_to_file and not os.access(os.path.dirname(self.output_file), os.W_OK):
            self._note("not-written", "%s: its folder cannot be written; the program goes on" % self.output_file)
        self._tell()
        return self

    def stop(self):
        """Ends the session, writes its file and returns what is in it."""
        if self._dead:
            return {}
        self._finish()
        from ._report import whole
        return whole(self)

    def __enter__(self):
        return self.start()

    def __exit__(self, *exception):
        if not self._dead:
            self._finish()

    def _finish(self, forgotten=False):
        """Ends the session once. Handlers of signals, which may raise, run when its
        file is whole."""
        if (self._running or self._ending) and self._pid != os.getpid():
            return  # a fork that Python knows nothing of
        if not self._running and not self._ending and not self._over:
            self.start()  # stop without start: a file without tasks
        _signals.undisturbed(self, self._conclude, forgotten)

    def _conclude(self, forgotten):
        with self._data:
            if self._over:
                return
            self._stopped_at = now = monotonic_ns()
            self._ending, self._running = True, False
            try:
                self._abandon(now)
                if forgotten:
                    self._note("forgotten", "session %r was not stopped; it ended with the program" % self.name)
                try:
                    self._close(now, HURRY if forgotten else 5)
                    self._settle()
                except Exception as e:
                    self._note("failed", "the session's energies cannot be computed: %s: %s" % (type(e).__name__, e))
                self._woken.set()
                _neighbours.change(False)
                self._save()
            finally:
                self._ending, self._over = False, True
                if _current.session is self:
                    _current.session = None
                if self._by_default:
                    _current.finished += 1
        if self._drain and self._drain is not threading.current_thread():
            self._drain.join(1)
        self._tell(forgotten)

    def _hurry(self):
        """Samples are waited for a little longer only."""
        if self._until is None:
            self._until = monotonic_ns() + int(HURRY * 1e9)

    def _close(self, now, patience):
        """Closes the source; what takes a last sample then need not be waited for
        longer than the power after the last task is looked at."""
        source = self._source
        try:
            if patience == HURRY:
                self._hurry()
            if not source.last:
                self._settle()
            elif source.domains:
                end = max((t.ended_at_mono_ns or 0 for t in self._pending if t._energy is UNKNOWN), default=0)
                time.sleep(max(0, end + AROUND_NS - monotonic_ns()) * 1e-9)
                wait_for_counters(self, end)
        finally:
            source.close(patience + wait_of(source))
            if self._gauges:
                self._gauges.close(patience)
            self._until = 0
        source.read(self._samples)

    def _flush(self):
        """Writes what is known, and goes on."""
        _signals.undisturbed(self, self._write_early)

    def _write_early(self):
        with self._data:
            if self._running:
                self._stopped_at = now = monotonic_ns()
                self._until = now + int(HURRY * 1e9)
                early = [t for t in self._pending if t._energy is UNKNOWN]
                try:
                    self._settle()
                    self._save()
                finally:
                    self._stopped_at = self._until = None
                    for task in early:  # what was not waited for is computed again
                        ended = task.ended_at_mono_ns
                        late = ended is not None and self._due(ended) > self._samples.latest
                        if late or ended is not None and self._samples.awaits_gpu(ended, ended):
                            task._energy = UNKNOWN

    def _settle(self):
        for task in list(self._pending):
            if task.ended_at_mono_ns is not None:
                self._resolve(task)
        if self._source.lost:
            self._note("samples-lost", "%d samples were written over before they were read: "
                                       "use a larger buffer_samples" % self._source.lost)

    def _save(self):
        if self.save_to_file:
            from ._report import write
            try:
                write(self)
            except Exception as e:
                self._note("not-written", "%s cannot be written: %s" % (self.output_file, e))

    def _abandon(self, now):
        """Ends the tasks that are open."""
        left = [t for t in self._all if t.ended_at_mono_ns is None]
        for task in left:
            if task._since is not None:
                task._close(now, task._aside.sharer if task._aside else None)
            task.ended_at_mono_ns = now if task._windows else task.started_at_mono_ns
            task.forgotten = True
        with self._edges:
            self._shares.active.clear()
            self._shares.changed(now)
        if left:
            tasks = ", ".join("task %r" % t.name for t in left[:5])
            self._note("forgotten", "%s was not stopped; it ended with the session" % tasks)

    # Tasks
    def task(self, name):
        """A context in which a task of that name runs; gives its TaskResult."""
        return Context(self, name)

    def _stack(self):
        aio = modules.get("asyncio")
        if aio is not None:
            running = getattr(aio, "_get_running_loop", None)  # another thread may be importing it
            loop = running and running()
            if loop is not None:
                current = aio.current_task(loop)
                if current is not None:
                    stack = self._coroutines.get(current)
                    if stack is None:
                        own = getattr(self._local, "stack", None)  # of the thread, around asyncio.run
                        stack = self._coroutines[current] = Stack(own if own is not None and own.tasks else None)
                    return stack
        try:
            return self._local.stack
        except AttributeError:
            self._local.stack = Stack()
            return self._local.stack

    def start_task(self, name):
        """Begins a task inside the innermost one of this thread, or of this
        coroutine's asyncio task. Returns a number of its own, from 1; -1 in a forked
        child, where nothing begins. stop_task gives the TaskResult."""
        self._begin(name)
        return -1 if self._dead else next(self._numbers)

    def _begin(self, name):
        """Begins a task; its TaskResult."""
        if type(name) is not str:
            name = str(name)  # a path, a number
        if not self._running:
            if self._dead or self._ending:
                return TaskResult(self, name, 0, None, 0)
            self.start()
        try:
            stack = self._local.stack if "asyncio" not in modules else self._stack()
        except AttributeError:
            stack = self._stack()
        tasks = stack.tasks
        depth, within = len(tasks), tasks[-1] if tasks else None
        if stack.base is not None and stack.sharer is not stack:
            depth, within = stack.base.depth + 1 + depth, within or stack.base
        task = TaskResult(self, name, depth, within, stack.thread)
        self._all.append(task)
        self._pending.append(task)
        task._aside = stack
        tasks.append(task)
        if self._edge:
            self._edge(self._samples)
        task._since = task.started_at_mono_ns = now = monotonic_ns()
        if task.depth == 0:
            active = self._shares.active
            active[stack] = stack.thread
            if len(active) > 1:
                self._enter(now, stack)
        return task

    # A stack is entered and left without a lock as long as there is but one.

    def _enter(self, now, stack):
        active = self._shares.active
        active[stack] = stack.thread
        if len(active) > 1:
            with self._edges:
                self._shares.changed(now)

    def _exit(self, now, stack):
        shares = self._shares
        shares.active.pop(stack, None)
        if shares.since is not None:
            with self._edges:
                shares.changed(now)

    def stop_task(self, expected_name=None):
        """Ends the innermost task of this thread and returns its TaskResult.
        RuntimeError, and nothing ends, if it has another name than the expected one."""
        return self._stop(monotonic_ns(), None if expected_name is None else str(expected_name), None)

    def _stop(self, now, expected, which):
        if self._dead:
            return which or TaskResult(self, expected or "", 0, None, 0)
        if not self._running:
            if which is not None:  # the session ended inside it
                return which
            if self._ending:
                return TaskResult(self, expected or "", 0, None, 0)
            raise RuntimeError("session %r is not active: there is no task to stop" % self.name)
        try:
            stack = self._local.stack if "asyncio" not in modules else self._stack()
        except AttributeError:
            stack = self._stack()
        tasks = stack.tasks
        if not tasks:
            other = "" if expected is None else ", not %r either" % (expected,)
            raise RuntimeError("no task is open in this thread" + other)
        task = tasks[-1]
        if which is not None and task is not which or expected is not None and task.name != expected:
            raise RuntimeError("the innermost task is %r, not %r: stop it first" % (task.name, expected))
        self._end(now, stack)
        return task

    def _end(self, now, stack):
        task = stack.tasks.pop()
        since = task._since
        if since is not None:  # else the session ended it meanwhile
            task._windows.append((since, now, stack if stack.base is None else stack.around, now - since))
            task.ended_at_mono_ns = now
        task._since = task._aside = None
        if not stack.tasks:
            shares = self._shares
            shares.active.pop(stack, None)
            if shares.since is not None:
                self._exit(now, stack)
        if self._edge:
            self._edge(self._samples)

    def _leave(self, now, task):
        """Ends a task and those inside it that were left open."""
        if self._dead or not self._running or task.ended_at_mono_ns is not None:
            return
        stack = task._aside
        while task in stack.tasks:
            stack.tasks[-1].forgotten = stack.tasks[-1] is not task
            self._end(now, stack)

    # A decorated generator or coroutine is not running while it is suspended.

    def _suspend(self, task):
        if self._dead or not self._running or task._since is None:
            return None
        now = monotonic_ns()
        stack = task._aside
        if task not in stack.tasks:
            return None
        i = stack.tasks.index(task)
        aside = stack.tasks[i:]
        del stack.tasks[i:]
        for t in aside:
            t._close(now, stack.sharer)
        if not stack.tasks:
            self._exit(now, stack)
        return aside

    def _resume(self, aside):
        if not aside or self._dead or not self._running:
            return
        stack = self._stack()
        first = not stack.tasks
        stack.tasks.extend(aside)
        now = monotonic_ns()
        for t in aside:
            t._since, t._aside = now, stack
        if first and stack.sharer is stack:
            self._enter(now, stack)

    @property
    def tasks(self):
        """The TaskResults so far, in the order in which they began."""
        return list(self._all)

    # Energies
    def _wall(self, mono):
        return None if mono is None else self._began + (mono - self._mono) * 1e-9

    def _due(self, end):
        """When all is there that tells the energy of a task that ended then."""
        return end + AROUND_NS + 2 * self._source.interval_ns

    def _resolve(self, task, wait=True):
        with self._data:
            end = task.ended_at_mono_ns
            if end is None or task._energy is not UNKNOWN or self._dead:
                return
            samples, source = self._samples, self._source
            if (self._running or self._ending) and wait and source.domains:
                due = self._due(end)
                limit = max(due, monotonic_ns()) + PATIENCE_NS
                if samples.latest < due:
                    source.read(samples)
                # One that stands still is waited for once, and not for every task.
                while samples.latest < due and samples.latest != self._still and not source.ended():
                    if self._until is not None and monotonic_ns() >= self._until:
                        break
                    if monotonic_ns() > limit:
                        self._still = samples.latest
                        break
                    time.sleep(0.002)
                    source.read(samples)
                if samples.latest < due:
                    source.read(samples)  # what it wrote before it ended
                wait_for(self, end)
            if self._shares.since is not None and self._shares.since < end:
                with self._edges:
                    self._shares.changed(monotonic_ns())
            task._energy = None
            if task._windows and any(d.in_total for d in source.domains):
                task._energy, task._gpus = energy_of(samples, self._shares, task._windows)
                say_of(self, task)
                if task._energy is None:
                    if self._ending or self._until is None:
                        self._unknown(task, samples)
                    return
                if task._energy.program is None and source.via == "run":
                    self._once("share-unknown", "the program's share of the energy of task %r is not known: %s" % (
                        task.name, no_share(samples)))

    def _once(self, slug, message):
        if slug not in self._said_unknown:
            self._said_unknown.add(slug)
            self._note(slug, message)

    def _unknown(self, task, samples):
        """Says once of each reason why the energy of a task is not known."""
        start, end = task._windows[0][0], task._windows[-1][1]
        why = []
        if end <= samples.latest:
            why = [w for w in (samples.silent(d, start, end) for d in range(len(samples.domains))) if w]
        if why:
            self._once("energy-unknown", "the energy of task %r is not known: %s" % (task.name, "; ".join(why)))
        elif not task._gpus:  # else only GPUs are measured, of which a warning tells why it is not known
            self._once("sampler-ended", "the samples end before task %r does: its energy is not known" % task.name)

    def _draining(self):
        """Empties the ring before it is full; the period follows how full it was."""
        period, calm, warned = DRAIN_NS * 1e-9, 0, False
        most = max(0.001, (self._source.slots * self._source.interval_ns or DRAIN_MOST_NS * 8) * 1e-9 / 8)
        while not self._woken.wait(min(period, most)):
            with self._data:
                if self._dead or not self._running:
                    return
                self._source.read(self._samples)
                if self._gauges:
                    self._gauges.read()
                fill = self._source.fill
                if fill > DRAIN_WARN_PART and not warned:
                    warned = True
                    self._note("buffer-full", "the ring of samples was %.0f %% full when it was read: "
                                              "use a larger buffer_samples" % (100 * fill))
                if fill > DRAIN_FULL_PART:
                    period, calm = max(DRAIN_LEAST_NS * 1e-9, period / 2), 0
                elif fill < DRAIN_CALM_PART:
                    calm += 1
                    if calm >= DRAIN_CALM_TIMES:
                        period, calm = min(DRAIN_MOST_NS * 1e-9, period * 2), 0
                else:
                    calm = 0
                if not self.record_time_series and len(self._samples.times) > self._samples.pruned_at + PRUNE_AFTER:
                    self._prune()

    def _prune(self):
        latest, begun = self._samples.latest, list(self._pending)
        for task in begun:
            ended = task.ended_at_mono_ns
            if ended is not None and self._due(ended) < latest and not awaits(self._samples, ended):
                self._resolve(task, wait=False)
        pending = [t for t in begun if t._energy is UNKNOWN]
        self._pending[:len(begun)] = pending  # start_task adds at the end meanwhile
        edges = [self._mono]
        for task in self._pending[:]:
            for a, b, _, _ in task._windows:
                edges += (a, b)
            edges += [e for e in (task.started_at_mono_ns, task._since, task.ended_at_mono_ns) if e]
        for a, b, _ in self._shares.parts:
            edges += (a, b)
        self._samples.prune(edges, self._samples.reach(self._source.interval_ns))

    # Samples

    def _range(self, task):
        from bisect import bisect_left, bisect_right
        times = self._samples.times
        return bisect_left(times, task.started_at_mono_ns), bisect_right(times, task.ended_at_mono_ns)

    def _series(self, task):
        if not self.record_time_series or self._dead:
            return None
        if task.ended_at_mono_ns is None:
            return []
        task._resolved()
        from ._report import samples_of
        with self._data:
            return list(samples_of(self, *self._range(task)))

    def _noise(self, task):
        if not self.record_time_series or self._dead or task.ended_at_mono_ns is None or not self._source.domains:
            return None
        task._resolved()
        from ._noise import Limits, noise_of, stretch_of
        with self._data:
            part = stretch_of(self._samples, self._range(task), task._active_ns, self._source.interval_ns)
            return noise_of(part, Limits())

    # Words

    def _meet(self, others):
        if others and self.warn_on_concurrent and not self._concurrent:
            self._concurrent = True
            self._note("concurrent", "another session is active on this machine (process %s): "
                                     "counters are the machine's, and each session has the other's energy"
                       % ", ".join(str(p) for p in others[:5]))

    def _note(self, slug, message):
        if (slug, message) not in self._warnings:
            self._warnings.append((slug, message))
            self._untold.append(message)

    def _tell(self, ending=False):
        untold, self._untold = self._untold, []
        for message in map(_signals.plain, untold):
            if ending:
                print("codegreen: " + message, file=sys.stderr)
                continue
            try:
                warnings.warn("codegreen: " + message, RuntimeWarning, stacklevel=_signals.level() - 1)
            except Exception:  # python -W error
                print("codegreen: " + message, file=sys.stderr)

    def export_plot(self, path):
        """Draws power over time of the tasks so far into a file: .html, .svg or
        .png. True if it was drawn. cg draws it; without cg, or without
        record_time_series, there is a warning and no file. ValueError for another
        ending."""
        from ._report import plot
        if self._dead:
            return False
        try:
            return plot(self, os.path.abspath(os.fspath(path)))
        finally:
            self._tell()
