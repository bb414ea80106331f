"""The program's share of the energy in a part of a series of samples.

It is cg's own division (nemb/attribute/windows of cg): of what a domain used from
one sample to a later one, idle power is set aside, and the rest is divided by
processor time among the program, cg and everyone else. Windows are at least
SHARE_WINDOW_NS long.

Units: CLOCK_MONOTONIC in nanoseconds, processor times in nanoseconds, energies in
microjoules.
"""
from array import array
from bisect import bisect_left, bisect_right

from ._spec import FLAG_FAILED, KIND_GPU, SHARE_DEBT_NS, SHARE_WINDOW_NS


class Division:
    """Takes in samples, and keeps what the program used up to the end of each window.

    processors is how many the host has, 0 where that is not known, and grain_ns by
    how much the processor times of two samples may be behind each other.
    """

    def __init__(self, domains, processors, grain_ns):
        self.domains, self.processors, self.grain_ns = domains, processors, grain_ns
        self.at = array("q")  # the end of each window, and the beginning of the first
        # By domain: what it used up to there, what the program did, and the bounds of that.
        self.sums = [[array("d") for _ in range(4)] for _ in domains]
        self.debts = [0.0] * len(domains)
        self.edge = self.newest = None  # samples: (t, processor times, energies)

    def extend(self, times, flags, used, columns):
        """Takes in samples; used has the processor times of the program, of cg and of
        everyone else, columns the energies of each domain."""
        last = None
        for i, t in enumerate(times):
            if flags[i] & FLAG_FAILED:
                continue
            last = i
            if self.edge is None or t >= self.edge[0] + SHARE_WINDOW_NS:
                self._close(self._sample(i, t, used, columns))
                self.newest = last = None
        if last is not None:
            self.newest = self._sample(last, times[last], used, columns)

    @staticmethod
    def _sample(i, t, used, columns):
        return t, [column[i] for column in used], [column[i] for column in columns]

    def _close(self, sample):
        if self.edge is not None:
            grown, self.debts = self._window(sample)
        else:
            grown = [(0.0,) * 4] * len(self.domains)
        self.edge = sample
        self.at.append(sample[0])
        for sums, more in zip(self.sums, grown):
            for column, v in zip(sums, more):
                column.append((column[-1] if column else 0.0) + v)

    def _window(self, sample):
        """What each domain used since the edge, what the program did with its bounds; and
        the debts of the domains after it."""
        wall = sample[0] - self.edge[0]
        used = [max(0, b - a) for a, b in zip(self.edge[1], sample[1])]
        busy = sum(used)
        out, debts = [], []
        for d, domain in enumerate(self.domains):
            e, debt = max(0, sample[2][d] - self.edge[2][d]), self.debts[d]
            if domain.program:
                out.append((e, e, e, e))
            elif domain.kind == KIND_GPU:
                out.append((e, 0.0, 0.0, 0.0))
            else:
                idle, lo, hi, slack, debt = self._idle(domain, e, wall, busy, debt)
                part = (e - idle) * used[0] / busy if busy else 0.0
                hidden = slack * used[0] / busy if busy else 0.0
                out.append((e, part, lo * part, hi * part + hidden))
            debts.append(debt)
        return out, debts

    def _idle(self, domain, e, wall, busy, debt):
        """What a domain draws whoever runs; how much less and more the rest may be, as
        factors, what somebody may have used where there is no rest, and the debt."""
        if domain.base_hi_w > 0:
            due = debt + domain.base_w * wall * 1e-3  # W * ns = 1e-3 uJ
            idle = min(e, due)
            debt, rest = min(due - idle, domain.base_w * SHARE_DEBT_NS * 1e-3), e - idle
            below = idle * (1 - domain.base_lo_w / domain.base_w)
            if rest <= 0:
                return idle, 1.0, 1.0, below, debt
            above = idle * (domain.base_hi_w / domain.base_w - 1)
            return idle, max(0.0, rest - above) / rest, min(e, rest + below) / rest, 0.0, debt
        if domain.base_w > 0:
            return min(e, domain.base_w * wall * 1e-3), 1.0, 1.0, 0.0, debt
        if domain.idle_share <= 0 or self.processors <= 0 or wall <= 0:
            return 0.0, 1.0, 1.0, 0.0, debt
        use = min(1.0, busy / (self.processors * wall))
        running = lambda share: (1 - share) * use / (share + (1 - share) * use)
        part = running(domain.idle_share)
        if part <= 0:
            return e, 1.0, 1.0, 0.0, debt
        most = running(max(domain.idle_share, domain.idle_share_most))
        return e - e * part, most / part, 1 / part, 0.0, debt

    def _until(self, d, t):
        """The four sums of domain d up to t, linear in each window."""
        at, sums = self.at, self.sums[d]
        i = bisect_right(at, t) - 1
        if i < 0:
            return [column[0] for column in sums]
        if i + 1 < len(at):
            part = (t - at[i]) / (at[i + 1] - at[i])
            return [column[i] + (column[i + 1] - column[i]) * part for column in sums]
        out = [column[-1] for column in sums]
        if self.newest and self.newest[0] > at[-1]:  # the window that is still open
            part = min(1.0, (t - at[-1]) / (self.newest[0] - at[-1]))
            out = [a + b * part for a, b in zip(out, self._window(self.newest)[0][d])]
        return out

    def known(self, start, end):
        """Whether there are samples from start to end."""
        last = self.newest or self.edge
        return bool(last and self.at[0] <= start and end <= last[0])

    def part(self, d, pieces, spans):
        """The program's part of the energy of domain d, and the least and the most that it
        may be. pieces are (start, end, weight); they lie in so many spans of time."""
        sums, lasted = [0.0] * 4, 0.0
        for start, end, weight in pieces:
            a, b = self._until(d, start), self._until(d, end)
            sums = [s + (y - x) * weight for s, x, y in zip(sums, a, b)]
            lasted += (end - start) * weight
        if sums[0] <= 0:
            return 0.0, 0.0, 1.0
        part, lo, hi = (min(1.0, max(0.0, s / sums[0])) for s in sums[1:])
        if self.domains[d].program:
            return part, lo, hi
        # At each end of a span the processor times may be late.
        doubt = min(1.0, self.grain_ns * spans / lasted) if lasted > 0 else 1.0
        return part, lo * (1 - doubt), hi + (1 - hi) * doubt

    def prune(self, edges):
        """Leaves out the windows in which no edge lies, but the newest."""
        keep = {len(self.at) - 1}
        for edge in edges:
            i = bisect_left(self.at, edge)
            keep.update(n for n in (i - 1, i, i + 1) if 0 <= n < len(self.at))
        chosen = sorted(n for n in keep if n >= 0)
        self.at = array("q", (self.at[n] for n in chosen))
        self.sums = [[array("d", (column[n] for n in chosen)) for column in sums] for sums in self.sums]
