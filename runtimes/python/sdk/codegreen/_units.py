"""Units of work that a task counts, and what one of them takes (docs/session.md of cg)."""
from math import inf

UNNAMED = "unit"


def checked(n, unit):
    """A count as a float, and its unit; ValueError or TypeError for what is none."""
    if not isinstance(unit, str):
        raise TypeError("count: the unit %r is no text" % (unit,))
    letters = unit.replace("_", "a").replace("-", "0")
    if not (letters.isascii() and letters.isalnum() and letters[0].isalpha()):
        raise ValueError("count: the unit %r: use letters, digits, _ and -, with a letter or _ in front" % unit)
    if isinstance(n, (str, bytes, bytearray)):
        raise TypeError("count: %r is no number" % (n,))
    try:
        n = float(n)
    except OverflowError:
        n = inf
    if not 0 < n < inf:
        raise ValueError("count: %r %s: a count is a number above 0" % (n, unit))
    return n, unit


def add(counts, n, unit):
    """Adds to counts by unit; ValueError where that is no number any more."""
    total = counts.get(unit, 0.0) + n
    if total == inf:
        raise ValueError("count: %r %s more are too many" % (n, unit))
    counts[unit] = total


def _per(part, whole):
    """A quotient of figures that may be None, None where it is no number."""
    if part is None or not whole:
        return None
    out = part / whole
    return None if out == inf else out


def entries(counts, energy):
    """The units of a task, or of several: counts by unit, and energies by unit as
    Energy has them (None where one is not known)."""
    out = []
    for unit, n in counts.items():
        e = energy[unit]
        total, lo, hi = (e.total / 1e6, e.lo / 1e6, e.hi / 1e6) if e else (None, None, None)
        program = [v / 1e6 for v in e.program] if e and e.program else [None] * 3
        out.append({
            "name": unit, "count": n,
            "energy_j": _per(total, n), "energy_lo_j": _per(lo, n), "energy_hi_j": _per(hi, n),
            "count_per_j": _per(n, total), "count_per_j_lo": _per(n, hi), "count_per_j_hi": _per(n, lo),
            "program_energy_j": _per(program[0], n), "program_energy_lo_j": _per(program[1], n),
            "program_energy_hi_j": _per(program[2], n),
        })
    return out


def of_task(task):
    counts = task.units
    return entries(counts, dict.fromkeys(counts, task._energy))


def of_tasks(tasks, total):
    """The units of all tasks together. A task inside another that counts the same unit
    is left out: its energy is in that one's. total adds up energies."""
    counts, parts = {}, {}
    for task in tasks:
        for unit, n in task.units.items():
            around = task._within
            while around is not None and unit not in around.units:
                around = around._within
            if around is None:
                counts[unit] = counts.get(unit, 0.0) + n
                parts.setdefault(unit, []).append(task._energy)
    counts = {unit: n for unit, n in counts.items() if n < inf}
    return entries(counts, {unit: None if None in parts[unit] else total(parts[unit]) for unit in counts})
