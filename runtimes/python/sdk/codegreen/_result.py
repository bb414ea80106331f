"""Tasks of a session, and where they are open."""
import time
from _thread import get_native_id
from time import monotonic_ns

from . import _units

UNKNOWN = object()  # the energy of a task that was not computed yet
WINDOWS = 4096      # of a task that is suspended, before neighbours are joined

_nan = float("nan")


def cpu_time(thread):
    """Processor time of a thread of this process in ns, None where it is gone:
    the kernel's clock of a thread is its number turned over, type 6
    (clock_getcpuclockid(3), CPUCLOCK_SCHED of one thread)."""
    try:
        return time.clock_gettime_ns(~thread << 3 | 6)
    except (OSError, OverflowError, AttributeError):
        return None


class Stack:
    """The open tasks of a thread or a coroutine, the innermost last.

    base is the task of the thread inside of which a coroutine's are, or None, and
    sharer the stack that shares for them: base's, or this one.
    """
    __slots__ = "tasks", "thread", "base", "around"

    def __init__(self, around=None):
        self.tasks, self.thread = [], get_native_id()
        self.base, self.around = around.tasks[-1] if around else None, around

    @property
    def sharer(self):
        if self.base is not None and self.base.ended_at_mono_ns is not None and not self.tasks:
            self.base = self.around = None  # it is over, and what begins here is at depth 0
        return self.around or self


class TaskResult:
    """A task, open or over.

    name, depth and parent (name of the enclosing task) are known at once, and
    when it is over duration_s, suspended_s, started_at and ended_at (Unix time),
    started_at_mono_ns and ended_at_mono_ns (CLOCK_MONOTONIC).

    energy_j, program_energy_j and their bounds (energy_lo_j, energy_hi_j, program_energy_lo_j, program_energy_hi_j),
    energy_kind, avg_power_w, domains (J by domain), domains_power_w (W), timeseries
    and noise are computed when they are asked for, some 20 ms after the end at
    the earliest. Energies that are not known are nan, in the file null.
    units are the units of work that count was told of.
    """
    __slots__ = ("name", "depth", "parent", "thread", "forgotten", "ended_at_mono_ns", "started_at_mono_ns",
                 "_session", "_since", "_windows", "_energy", "_gpus", "_aside", "_within", "_counts", "__weakref__")

    def __init__(self, session, name, depth, within, thread):
        self.name, self.depth, self.parent, self.thread = name, depth, within.name if within else None, thread
        self.forgotten = False
        self.started_at_mono_ns = self.ended_at_mono_ns = None
        self._session, self._windows, self._energy, self._gpus = session, [], UNKNOWN, []
        self._since = self._aside = None
        self._within, self._counts = within, None  # the task around it; by unit, how many

    def __repr__(self):
        if self.ended_at_mono_ns is None:
            return "<codegreen task %s, open>" % self.name
        return "<codegreen task %s, %.6g J in %.6g s>" % (self.name, self.energy_j, self.duration_s)

    # Work

    def count(self, n, unit="unit"):
        """Tells that the task has done n units of work: tokens, requests, frames, rows.

        The file says what one takes. Counts of a unit add up, from any thread, also after the
        end of the task; the file is without those after the end of the session. ValueError
        where n is no number above 0, or the unit no word.
        """
        n, unit = _units.checked(n, unit)
        with self._session._edges:
            counts = dict(self._counts or ())
            _units.add(counts, n, unit)
            self._counts = counts

    @property
    def units(self):
        """How many units of work were counted, by unit."""
        return dict(self._counts or ())

    # Times

    def _close(self, now, stack):
        windows, since = self._windows, self._since
        if since is None:  # another thread was faster
            return
        windows.append((since, now, stack, now - since))
        self._since = None
        if len(windows) >= WINDOWS:
            pairs = zip(windows[::2], windows[1::2])
            self._windows = [(a[0], b[1], a[2], a[3] + b[3]) for a, b in pairs] + windows[len(windows) & ~1:]

    @property
    def _active_ns(self):
        return sum(w[3] for w in self._windows)

    @property
    def duration_s(self):
        return self._active_ns * 1e-9

    @property
    def suspended_s(self):
        if self.ended_at_mono_ns is None:
            return 0.0
        return max(0, self.ended_at_mono_ns - self.started_at_mono_ns - self._active_ns) * 1e-9

    @property
    def started_at(self):
        return self._session._wall(self.started_at_mono_ns)

    @property
    def ended_at(self):
        return self._session._wall(self.ended_at_mono_ns)

    # Energies

    def _resolved(self):
        if self._energy is UNKNOWN:
            self._session._resolve(self)
        return None if self._energy is UNKNOWN else self._energy

    @property
    def energy_j(self):
        e = self._resolved()
        return e.total * 1e-6 if e else _nan

    @property
    def energy_lo_j(self):
        e = self._resolved()
        return e.lo * 1e-6 if e else _nan

    @property
    def energy_hi_j(self):
        e = self._resolved()
        return e.hi * 1e-6 if e else _nan

    @property
    def energy_kind(self):
        """measured, derived, estimated or unavailable."""
        from ._report import kind_of
        return kind_of(self._session) if self._resolved() else "unavailable"

    def _program(self, i):
        e = self._resolved()
        return e.program[i] * 1e-6 if e and e.program else _nan

    @property
    def program_energy_j(self):
        return self._program(0)

    @property
    def program_energy_lo_j(self):
        return self._program(1)

    @property
    def program_energy_hi_j(self):
        return self._program(2)

    @property
    def avg_power_w(self):
        return self.energy_j / self.duration_s if self._active_ns else _nan

    @property
    def domains(self):
        e = self._resolved()
        return {d: round(v * 1e-6, 6) for d, v in e.domains.items()} if e else {}

    @property
    def gpus(self):
        """Whose the energy of each GPU was meanwhile: a list of dictionaries, as in the file."""
        self._resolved()
        return [use.entry() for use in self._gpus]

    @property
    def domains_power_w(self):
        seconds = self.duration_s
        return {d: v / seconds for d, v in self.domains.items()} if seconds else {}

    # Samples

    @property
    def timeseries(self):
        return self._session._series(self)

    @property
    def noise(self):
        return self._session._noise(self)


class Context:
    """The context of Session.task."""
    __slots__ = "session", "name", "result"

    def __init__(self, session, name):
        self.session, self.name, self.result = session, str(name), None

    def __enter__(self):
        self.result = self.session._begin(self.name)
        return self.result

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.session._stop(monotonic_ns(), self.name, self.result)
        else:
            self.session._leave(monotonic_ns(), self.result)  # an error is on its way: no other in its place
