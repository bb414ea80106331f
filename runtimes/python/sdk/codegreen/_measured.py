"""What measures a piece of work for pytest, jouleit and Jupyter: the session that runs, or one of its own."""
from . import _current
from ._budget import WITHIN, Judged

NAN = float("nan")


def session_for(name, **settings):
    """The session of the process and False, or a new one and True: who gets that stops it."""
    if _current.session is not None and _current.session._running:
        return _current.session, False
    from ._session import Session
    return Session(name, **settings).start(), True


def energy(task):
    """((J, lo, hi) or None, kind): of the program where cg is around it, else of the machine."""
    e = task._resolved() if task is not None else None
    if e is None:
        return None, "unavailable"
    micro = e.program or (e.total, e.lo, e.hi)
    return tuple(v / 1e6 for v in micro), task.energy_kind


def mean(runs):
    """(J, lo, hi) of the mean of runs, each of which is (J, lo, hi), by the rule of budgets."""
    judged = Judged(runs, float("inf"), len(runs))
    assert judged.verdict == WITHIN
    return judged.energy, judged.lo, judged.hi


PREFIXES = (1e6, "MJ"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ")


def words(joules, lo, hi):
    """An energy with its interval, in a unit of its size."""
    if joules != joules:
        return "energy not known"
    scale, unit = next((p for p in PREFIXES if max(abs(joules), hi) >= p[0]), PREFIXES[-1])
    return "%.4g %s [%.4g, %.4g]" % (joules / scale, unit, lo / scale, hi / scale)
