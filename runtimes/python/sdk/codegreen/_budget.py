"""The energy that a test may use, and what runs of it tell (docs/budgets.md of cg)."""
from math import sqrt

from ._spec import (BUDGET_EXCEEDED as EXCEEDED, BUDGET_LEAST_RUNS, BUDGET_OPEN as OPEN, BUDGET_REPEAT as REPEAT,
                    BUDGET_STUDENT, BUDGET_UNIT_J, BUDGET_UNITS, BUDGET_WITHIN as WITHIN)

JOULES = dict(zip(BUDGET_UNITS, BUDGET_UNIT_J))
FORM = 'a budget is a number above 0 and %s or %s: "2 J", "500 mJ", "0.1 Wh"' % (
    ", ".join(BUDGET_UNITS[:-1]), BUDGET_UNITS[-1])


def parse(text):
    """A budget in joules; ValueError for a text that is none."""
    if not isinstance(text, str):
        raise ValueError("%r: %s" % (text, FORM))
    number = text.strip(" ")
    unit = number.lstrip("0123456789. ")
    number = number[:len(number) - len(unit)].rstrip(" ")
    whole, dot, part = number.partition(".")
    if unit not in JOULES or not whole.isdigit() or dot and not part.isdigit() or not float(number):
        raise ValueError("%r: %s" % (text, FORM))
    return float(number) * JOULES[unit]


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
