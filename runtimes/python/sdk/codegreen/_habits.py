"""How the counter of a GPU follows its power (nemb/RING.md of cg): by how much an energy may be off for that.

Units: nanoseconds of CLOCK_MONOTONIC, joules.
"""
from bisect import bisect_left, bisect_right
from math import hypot, sqrt

from ._spec import GPU_COUNTER_MOST_NS


class Habits:
    """Each update of a counter counts the mean power over window_ns, which ended delay_ns before it, for all of
    period_ns. Without any of these it follows at once."""
    __slots__ = "period", "window", "delay"

    def __init__(self, period_ns=0, window_ns=0, delay_ns=0):
        self.period, self.window, self.delay = float(period_ns), float(window_ns), float(delay_ns)

    @property
    def reach(self):
        """How far from a moment lag() looks."""
        return 2 * int(self.period + self.window + self.delay)

    @property
    def ahead(self):
        """How long after a moment a counter that is late has told what was used before; 0 for one that is not."""
        if self.period <= 0 or self.delay <= 0 and self.window <= self.period:
            return 0
        return min(GPU_COUNTER_MOST_NS, int(self.window + self.delay + 2 * self.period))

    def lag(self, at, joules, start, end):
        """By how much an energy between two moments may be off since the counter is late, in J: the rule of cg's own
        Habits.Lag (nemb/habits.go). at and joules are the counter's updates."""
        longer = max(0.0, self.window - self.period)
        late = self.delay + longer / 2
        if late <= 0 or self.period <= 0 or end <= start or len(at) < 2:
            return 0.0

        def told(t):
            return _joules_at(at, joules, t)

        def lacks(t):
            return told(t + late) - told(t)

        def hides(t):
            if not longer:
                return 0.0
            middle = t + late
            after, before = told(middle + longer) - told(middle), told(middle) - told(middle - longer)
            return hypot((after - before) / 4, self._wavers(told, middle))

        off = abs(lacks(end) - lacks(start)) + hypot(hides(start), hides(end))
        if longer and end - start < 2 * self.window:
            off = max(off, self._alone(told, start, end))
        return off

    def _alone(self, told, start, end):
        """By how much an energy may be off where the power was another one between two moments than around them: until
        all of it is told, around them at least the lowest power is drawn that is told from then to there, and at most
        the highest."""
        settled = self.window + self.delay + self.period
        own, total = told(end) - told(start), told(end + settled) - told(start)
        least, most, t = float("inf"), 0.0, start  # in J a period
        while t < end + settled:
            joules = told(t + self.period) - told(t)
            least, most, t = min(least, joules), max(most, joules), t + self.period
        return max(total - least * settled / self.period - own, own - total + most * settled / self.period)

    def _wavers(self, told, middle):
        """By how much a counter of means may be off at a moment since power changes faster than they show (95 %)."""
        n, squares, steps = self.window / self.period, 0.0, 0
        t = middle - self.window
        while t < middle + self.window:
            change = told(t + 2 * self.period) - 2 * told(t + self.period) + told(t)
            squares, steps, t = squares + change * change, steps + 1, t + self.period
        return 2.3 * n * sqrt(squares / steps / 2) * sqrt(n / 12)


def _joules_at(at, joules, t):
    """What a counter told at a moment: linear between its updates, and on either side of all of them with the mean
    power of the outermost second."""
    n = len(at)
    i = bisect_right(at, t)
    a, b = max(0, i - 1), min(i, n - 1)
    if i == 0:
        b = bisect_left(at, at[0] + 1e9, 0, n - 1)
    elif i == n:
        a, b = max(0, min(bisect_right(at, at[-1] - 1e9, 0, n - 1), n - 2)), n - 1
        if at[b] <= at[a]:
            return joules[b]
        return joules[b] + (joules[b] - joules[a]) * (t - at[b]) / (at[b] - at[a])
    if at[b] <= at[a]:
        return joules[a]
    return joules[a] + (joules[b] - joules[a]) * (t - at[a]) / (at[b] - at[a])


class Changes:
    """Adds up, update by update, what a counter may hide that samples a part of the time alone: cg's own nemb.Changes.
    squares are its sums, in J, up to each update."""
    __slots__ = "habits", "last", "sum"

    def __init__(self, habits):
        self.habits, self.last, self.sum = habits, [], 0.0

    def _before(self, i):
        """The last update that was a period before another, -1 where there is none."""
        if i < 0:
            return -1
        end = self.last[i][0] - 0.95 * self.habits.period
        i -= 1
        while i >= 0 and self.last[i][0] > end:
            i -= 1
        return i

    def add(self, at, joules):
        """Takes the next update, and gives the squares of what is hidden up to it (95 %)."""
        window, period = self.habits.window, self.habits.period
        if not 0 < window < period:
            return 0.0
        last = self.last
        last.append((at, joules))
        i = self._before(len(last) - 1)
        j = self._before(i)
        if j < 0:
            return self.sum
        now = (joules - last[i][1]) * period / (at - last[i][0])
        was = (last[i][1] - last[j][1]) * period / (last[i][0] - last[j][0])
        hides = 2 * (1 - window / period) * (now - was)
        self.sum += hides * hides * min(1.0, (at - last[-2][0]) / period)
        del last[:j]
        return self.sum
