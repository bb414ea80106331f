"""The energy that a test may use, and what runs of it tell (docs/session.md of cg)."""
from math import sqrt

BUDGET_RUNS = 5        # at most, of a test that says nothing else
BUDGET_RUNS_MOST = 10  # at most at all
BUDGET_LEAST_RUNS = 3  # from which on a mean has an interval

# By how many standard errors it reaches at 95 % (Student's t), for that many runs and each one more.
BUDGET_STUDENT = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]

UNITS = {"mJ": 1e-3, "J": 1.0, "kJ": 1e3, "MJ": 1e6, "mWh": 3.6, "Wh": 3.6e3, "kWh": 3.6e6}
FORM = 'a budget is a number above 0 and %s or %s: "2 J", "500 mJ", "0.1 Wh"' % (
    ", ".join(list(UNITS)[:-1]), list(UNITS)[-1])

WITHIN, EXCEEDED, OPEN, REPEAT = "within", "exceeded", "not told", "repeat"


def parse(text):
    """A budget in joules; ValueError for a text that is none."""
    if not isinstance(text, str):
        raise ValueError("%r: %s" % (text, FORM))
    number = text.strip(" ")
    unit = number.lstrip("0123456789. ")
    number = number[:len(number) - len(unit)].rstrip(" ")
    whole, dot, part = number.partition(".")
    if unit not in UNITS or not whole.isdigit() or dot and not part.isdigit() or not float(number):
        raise ValueError("%r: %s" % (text, FORM))
    return float(number) * UNITS[unit]


class Judged:
    """What runs tell: energy, lo and hi are of their mean in joules, and verdict is one
    of the words above. REPEAT asks for one run more."""

    def __init__(self, runs, budget, limit):
        n = len(runs)
        energies, los, his = zip(*runs)
        self.energy, lo, hi = sum(energies) / n, sum(los) / n, sum(his) / n
        self.lo, self.hi = lo, hi
        if n == 2:
            self.lo, self.hi = min(los), max(his)
        elif n >= BUDGET_LEAST_RUNS:
            spread = sqrt(sum((e - self.energy) ** 2 for e in energies) / (n - 1))
            slack = BUDGET_STUDENT[min(n - BUDGET_LEAST_RUNS, len(BUDGET_STUDENT) - 1)] * spread / sqrt(n)
            self.lo, self.hi = max(0.0, lo - slack), hi + slack
        if self.hi <= budget:
            self.verdict = WITHIN
        elif n < min(limit, BUDGET_LEAST_RUNS):
            self.verdict = REPEAT
        elif self.lo > budget:
            self.verdict = EXCEEDED
        elif n >= limit or lo <= budget <= hi:  # more runs do not make the bounds of one narrower
            self.verdict = OPEN
        else:
            self.verdict = REPEAT
