"""What an execution of a statement takes, in the form of timeit."""
from time import monotonic_ns, perf_counter
from timeit import Timer

from . import _measured

REPEAT = 5  # as in timeit


class Jouleit:
    """Joules of one execution: energy_j, energy_lo_j and energy_hi_j of the mean of the runs (nan where they are not
    known), energy_kind, seconds of one execution, number of executions in a run, repeat (how many runs there were), and
    runs: (J, lo, hi) of each run whose energy is known."""

    def __init__(self, runs, kind, number, seconds):
        self.number, self.repeat, self.runs, self.energy_kind = number, len(seconds), runs, kind
        self.seconds = sum(seconds) / len(seconds) / number
        nan = _measured.NAN
        mean = _measured.mean(runs) if len(runs) == self.repeat else (nan, nan, nan)
        self.energy_j, self.energy_lo_j, self.energy_hi_j = (v / number for v in mean)

    def __float__(self):
        return self.energy_j

    def __repr__(self):
        what = _measured.words(self.energy_j, self.energy_lo_j, self.energy_hi_j)
        return "%s per loop, %s (mean of %d runs of %d loops; %.4g s per loop)" % (
            what, self.energy_kind, self.repeat, self.number, self.seconds)


def jouleit(stmt="pass", setup="pass", number=None, repeat=REPEAT, globals=None):
    """The energy that one execution of stmt takes: a text, or something to call, as in timeit.

    Each of repeat runs executes setup once, which is not measured, and then stmt number times. Without a number it is
    such that a run takes 0.2 s or more. As in timeit, the garbage collector is off meanwhile. The energy is the
    program's share where cg is around it, else the machine's, and idle power is in that.
    """
    for value, name in ((number, "number"), (repeat, "repeat")):
        if value is not None and (type(value) is not int or value < 1):
            raise ValueError("jouleit: %s %r: use a whole number from 1 on" % (name, value))
    if number is None:
        number = Timer(stmt, setup, globals=globals).autorange()[0]
    session, own = _measured.session_for("jouleit", save_to_file=False)
    open_, tasks = [], []

    def edge():  # called where the statement begins and where it ends, as timeit's clock is
        if open_:
            now = perf_counter()
            session._leave(monotonic_ns(), open_.pop())
            return now
        open_.append(session._begin("jouleit"))
        tasks.append(open_[0])
        return perf_counter()

    timer = Timer(stmt, setup, edge, globals)
    try:
        seconds = [timed(timer, number, session, open_) for _ in range(repeat)]
        measured = [_measured.energy(t) for t in tasks]
    finally:
        if own:
            session.stop()
    return Jouleit([e for e, _ in measured if e], measured[0][1], number, seconds)


def timed(timer, number, session, open_):
    try:
        return timer.timeit(number)
    finally:
        if open_:  # the statement failed
            session._leave(monotonic_ns(), open_.pop())
