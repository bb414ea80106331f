"""Energies of parts of a series of samples.

Samples holds cumulative energies of all domains at the same instants. From the
updates of the counters that they show, between() computes the energy of a part
of the series, by the rule of cg's own Series.Between (nemb/window.go): by
bracket where the power before and after is steady, else by interpolation.

Units: CLOCK_MONOTONIC in nanoseconds, energies in microjoules unless a name
ends in _j.
"""
from array import array
from bisect import bisect_left, bisect_right
from itertools import compress
from math import ceil, floor, hypot

from ._gpus import use_of
from ._habits import Changes, Habits
from ._spec import (AROUND_NS, FLAG_FAILED, FLAG_GAP, GPU_HELD, GPU_PATIENCE_NS, KIND_GPU, METHOD_BRACKET,
                    METHOD_INTERPOLATION, METHOD_SAMPLED, METHOD_SHARED, OFTEN_NS, PRUNE_NEWEST, PRUNE_ONE_IN,
                    STEADY_PART, STILL_NS)


class Domain:
    """A part of the machine whose energy one counter tells.

    parent is the id of the domain that includes it, "" for none; period_ns the
    time between two updates of its counter, 0 where it is not known; step_uj the
    least by which it moves, 0 where that is not known; lo and hi bound the true
    energy as factors of the figure. The rest tells what it draws whoever runs
    (nemb/RING.md): watts, and parts of its full power; and how its counter follows its power.
    """
    __slots__ = ("id", "kind", "parent", "in_total", "method", "source", "period_ns", "step_uj", "lo", "hi",
                 "program", "base_w", "base_lo_w", "base_hi_w", "idle_share", "idle_share_most", "habits")

    def __init__(self, id, kind="", parent="", in_total=False, method="measured", source="",
                 period_ns=0, step_uj=0, lo=1.0, hi=1.0, program=False,
                 base_w=0.0, base_lo_w=0.0, base_hi_w=0.0, idle_share=0.0, idle_share_most=0.0, habits=None):
        self.id, self.kind, self.parent, self.in_total = id, kind, parent, in_total
        self.method, self.source = method, source
        self.period_ns, self.step_uj, self.lo, self.hi = period_ns, step_uj, lo, hi
        self.program, self.base_w, self.base_lo_w, self.base_hi_w = program, base_w, base_lo_w, base_hi_w
        self.idle_share, self.idle_share_most = idle_share, idle_share_most
        self.habits = Habits(*((habits or {}).get(key, 0) for key in ("period_ns", "window_ns", "delay_ns")))


class Knots:
    """The updates of one counter: each lies between two instants, and tells
    the energy up to it."""
    __slots__ = "last", "first", "at", "joules", "slopes", "hidden", "changes"

    def __init__(self, habits):
        self.slopes = {}  # (update, by): that have all they need
        self.last, self.first = array("q"), array("q")  # ns
        self.at, self.joules = array("d"), array("d")   # ns, the middle; J
        self.hidden, self.changes = array("d"), Changes(habits)

    def add(self, before, t, energy, period):
        behind = t - before
        if 0 < period < behind:
            behind = period
        self.last.append(t)
        self.first.append(t - behind)
        self.at.append(t - behind / 2)
        self.joules.append(energy * 1e-6)
        self.hidden.append(self.changes.add(self.at[-1], self.joules[-1]))

    def slope(self, i, by):
        """Power in W over some time from update i on, or back by -1, and that time."""
        if (i, by) in self.slopes:
            return self.slopes[i, by]
        at, joules = self.at, self.joules
        j, n = i, i + by
        while 0 <= n < len(at) and abs(at[n] - at[i]) <= AROUND_NS:
            j = n
            n += by
        over = abs(at[j] - at[i])
        if over == 0:
            return 0.0, 0.0
        found = abs(joules[j] - joules[i]) / over * 1e9, over
        if 0 <= n < len(at):
            if len(self.slopes) > 4096:
                self.slopes.clear()
            self.slopes[i, by] = found
        return found

    def bracket(self, start, end):
        """(J, J to either side), or None where interpolation errs less."""
        at, joules = self.at, self.joules
        i = bisect_right(self.last, start) - 1  # the last that is surely before
        j = bisect_left(self.first, end)        # the first that is surely after
        if i < 0 or j >= len(at) or end < start:
            return None
        before, w1 = self.slope(i, -1)
        after, w2 = self.slope(j, 1)
        if w1 < AROUND_NS / 4 or w2 < AROUND_NS / 4 or abs(before - after) > STEADY_PART * max(before, after):
            return None
        base = (before * w1 + after * w2) / (w1 + w2)
        outside = (start - at[i]) + (at[j] - end)
        energy = max(0.0, joules[j] - joules[i] - base * outside * 1e-9)
        slack = base * hypot((self.last[i] - self.first[i]) / 2, (self.last[j] - self.first[j]) / 2) * 1e-9
        # Between two updates interpolation takes the mean power for that of the
        # task: it errs by half their distance, at each end by chance.
        apart = (at[i + 1] - at[i] + at[j] - at[j - 1]) / 2
        inside = energy / max(1, end - start) * 1e9
        if abs(inside - base) * apart / 2 * 1e-9 < slack / 3 ** 0.5:
            return None
        # Where power is another after the task, nothing tells when it changed.
        return energy, slack + max(abs(before - base), abs(after - base)) * outside * 1e-9

    def interpolate(self, start, end):
        """(J, J to either side), or None where there is no update before or after."""
        at = self.at
        if len(at) < 2 or end < start or at[0] > start or at[-1] < end:
            return None
        a, slack_a = self.on_line(start)
        b, slack_b = self.on_line(end)
        return b - a, hypot(slack_a, slack_b)

    def on_line(self, t):
        at, joules = self.at, self.joules
        i = min(max(1, bisect_right(at, t)), len(at) - 1)
        watts = (joules[i] - joules[i - 1]) / max(1, at[i] - at[i - 1])
        slack = max(self.last[i - 1] - self.first[i - 1], self.last[i] - self.first[i]) / 2
        return joules[i - 1] + watts * (t - at[i - 1]), watts * slack

    def between(self, start, end):
        found = self.bracket(start, end)
        if found:
            return found + (METHOD_BRACKET,)
        found = self.interpolate(start, end)
        return found and found + (METHOD_INTERPOLATION,)


class Samples:
    """A series of samples, which grows at its end. division is None where they tell of no
    program; gpus are those of which cg tells who used them, by domain."""

    def __init__(self, domains, division=None, gpus=None):
        self.domains, self.division, self.gpus = domains, division, gpus or {}
        self.times = array("q")
        self.flags = array("Q")
        self.energies = [array("Q") for _ in domains]
        self.knots = [Knots(d.habits) for d in domains]
        self.last_whole = None   # time and energies of the last sample without a failed reading
        self.moved = [0] * len(domains)       # when each counter was seen to move last, or was seen first
        self.still = [[] for _ in domains]    # (start, end): when each did not move for longer than STILL
        self.late = 0                         # ns whose energy only a sum over them has, since readings failed
        self.count = self.gaps = 0
        self.failed = self.failing = False
        self.pruned_at = 0

    def add(self, words, stride):
        """Takes in samples: 64-bit words, stride of them for each (nemb/RING.md)."""
        times, flags = words[2::stride].tolist(), words[3::stride].tolist()
        columns = [words[7 + d::stride].tolist() for d in range(len(self.domains))]
        self.extend(times, flags, columns)
        if self.division:
            used = [words[i::stride].tolist() for i in (4, 5, 6)]
            self.division.extend(times, flags, used, columns)

    def extend(self, times, flags, columns):
        if not times:
            return
        self.times.extend(times)
        self.flags.extend(flags)
        self.count += len(times)
        for d, column in enumerate(columns):
            self.energies[d].extend(column)
        if any(flags):
            self.gaps += sum(f & FLAG_GAP for f in flags)
            whole = [i for i, f in enumerate(flags) if not f & FLAG_FAILED]
            self._made_good(times, flags)
            self.failed = self.failed or len(whole) < len(flags)
            times = [times[i] for i in whole]
            columns = [[column[i] for i in whole] for column in columns]
            if not times:
                return
        for d, column in enumerate(columns):
            add, period = self.knots[d].add, self.domains[d].period_ns
            if self.last_whole is None:
                before, energy = times[0], column[0]
                moved = before
            else:
                before, energy = self.last_whole[0], self.last_whole[1][d]
                moved = self.moved[d]
            for t, e in zip(times, column):
                if e > energy:
                    add(before, t, e, period)
                    if before - moved > STILL_NS:
                        self.still[d].append((moved, t))
                    moved = t
                before, energy = t, e
            self.moved[d] = moved
        self.last_whole = times[-1], [column[-1] for column in columns]

    def _made_good(self, times, flags):
        """Counts the time of failed readings that are followed by a good one."""
        before, failing = self.last_whole[0] if self.last_whole else None, self.failing
        for t, f in zip(times, flags):
            if f & FLAG_FAILED:
                failing = True
                continue
            if failing and before is not None:
                self.late += t - before
            before, failing = t, False
        self.failing = failing

    def silent(self, d, start, end):
        """Why the counter of domain d tells nothing of the time from start to end, "" where
        it does: what is in the total draws something as long as it is on."""
        domain = self.domains[d]
        if not domain.in_total or domain.method == "estimated" or self.last_whole is None:
            return ""
        until = self.last_whole[0]
        if until < end <= self.latest:
            return "the counter of %s could not be read to the end" % domain.id
        if not self.knots[d].at:
            return "the counter of %s has not moved" % domain.id
        if 0 < domain.period_ns <= OFTEN_NS:
            for a, b in self.still[d] + [(self.moved[d], until)]:
                if b - a > STILL_NS and a < end and b > start:
                    return "the counter of %s is stuck: it has not moved for %.1f s" % (domain.id, (b - a) * 1e-9)
        return ""

    @property
    def latest(self):
        """The time of the last sample, 0 before the first."""
        return self.times[-1] if self.times else 0

    def energy_at(self, d, t):
        """uJ of domain d since the first sample, linear between samples; None outside of them."""
        times, energies = self.times, self.energies[d]
        i = bisect_right(times, t) - 1
        if i < 0:
            return None
        if times[i] == t:
            return float(energies[i])
        if i + 1 >= len(times):
            return None
        return energies[i] + (energies[i + 1] - energies[i]) * (t - times[i]) / (times[i + 1] - times[i])

    def curve(self, d, t):
        """uJ of domain d up to t: linear between the updates of its counter."""
        at, joules = self.knots[d].at, self.knots[d].joules
        if len(at) < 2:
            return self.energy_at(d, t) or 0.0
        if t <= at[0]:
            return joules[0] * 1e6
        if t >= at[-1]:
            return joules[-1] * 1e6
        return self.knots[d].on_line(t)[0] * 1e6

    def lag(self, d, start, end):
        """By how much the energy of domain d from start to end may be off since its counter is late, in J."""
        return self.domains[d].habits.lag(self.knots[d].at, self.knots[d].joules, start, end)

    def hidden(self, d, parts):
        """What the counter of domain d, which samples a part of the time alone, may hide of the parts of a task, which
        are in the order of time, in J. The update that shows a change may come after several of them, and is in one
        alone."""
        k, squares, counted = self.knots[d], 0.0, 0
        for start, end, weight, _ in parts:
            i = max(counted, bisect_right(k.at, start))
            j = bisect_left(k.at, end + self.domains[d].habits.period)
            if weight > 0 and j > i:
                squares, counted = squares + k.hidden[j - 1] - (k.hidden[i - 1] if i else 0.0), j
        return max(0.0, squares) ** 0.5

    def reach(self, interval_ns):
        """How far from the ends of tasks samples are looked at, in ns."""
        return max([5 * AROUND_NS, 20 * interval_ns] + [d.habits.reach for d in self.domains])

    def awaits_gpu(self, end, at):
        """Whether cg is waited for at a moment: it has not told yet who used a GPU up to then, or what, and will. A
        driver has GPU_PATIENCE_NS for that, and the counter of a GPU that the program uses as much more as it is
        late."""
        driver = at < end + GPU_PATIENCE_NS and any(
            gpu.awaited(end) or gpu.may_use(end) and self._untold(d, end) for d, gpu in self.gpus.items())
        return driver or self.awaits_counter(end, at)

    def _untold(self, d, end):
        """Whether the counter of domain d is late, and has not told all that was used up to end."""
        ahead = self.domains[d].habits.ahead
        return bool(ahead) and self.latest < end + ahead

    def awaits_counter(self, end, at):
        """Whether the counter of a GPU that the program has used has not told yet what was used up to then, and is
        waited for at a moment."""
        return any(gpu.uses() and self._untold(d, end) and at < end + GPU_PATIENCE_NS + self.domains[d].habits.ahead
                   for d, gpu in self.gpus.items())

    def between(self, d, start, end):
        """(J, J to either side, method) of domain d from start to end; None
        where the samples do not reach so far."""
        found = self.knots[d].between(start, end)
        if found:
            return found
        a, b = self.energy_at(d, start), self.energy_at(d, end)
        if a is None or b is None or end < start:
            return None
        # True is what lies between the samples inside of it and those outside, and a
        # counter may be a period behind.
        times, flags, energies, value = self.times, self.flags, self.energies[d], b - a
        i, j = bisect_right(times, start) - 1, bisect_left(times, end)
        while i > 0 and flags[i] & FLAG_FAILED:
            i -= 1
        while j + 1 < len(times) and flags[j] & FLAG_FAILED:
            j += 1
        most = energies[j] - energies[i]
        least = energies[j if times[j] == end else j - 1] - energies[i if times[i] == start else i + 1]
        behind = value / max(1, end - start) * self.domains[d].period_ns
        known = bisect_right(self.knots[d].last, start) - 1
        if not value and known >= 0:  # as much as before, at most, since the counter was seen to move
            behind = self.knots[d].slope(known, -1)[0] * (end - self.knots[d].at[known]) * 1e-3
        return value * 1e-6, (max(most - value, value - max(0, least)) + behind) * 1e-6, METHOD_SAMPLED

    def prune(self, edges, reach):
        """Leaves out samples that are further than reach from every edge, but
        for one in 64 and the newest. Energies between edges stay exact."""
        self.pruned_at = len(self.times)
        if not self.times:
            return
        keep = bytearray(len(self.times))
        keep[::PRUNE_ONE_IN] = b"\1" * len(keep[::PRUNE_ONE_IN])
        keep[-PRUNE_NEWEST:] = b"\1" * len(keep[-PRUNE_NEWEST:])
        for edge in edges:
            i, j = bisect_left(self.times, edge - reach), bisect_right(self.times, edge + reach)
            i, j = max(0, i - 1), min(len(keep), j + 1)
            keep[i:j] = b"\1" * (j - i)
        newest = self.times[-PRUNE_NEWEST:][0]
        self._select(keep, newest)
        if self.division:
            self.division.prune(edges)
        for gpu in self.gpus.values():
            gpu.prune(edges)
        self.pruned_at = len(self.times)

    def _select(self, keep, newest):
        kept = array("q", compress(self.times, keep))
        self.flags = array("Q", compress(self.flags, keep))
        self.energies = [array("Q", compress(e, keep)) for e in self.energies]
        present = set(kept)
        self.times = kept
        for k in self.knots:
            k.slopes.clear()
            chosen = bytearray(t in present or t >= newest or i % PRUNE_ONE_IN == 0 for i, t in enumerate(k.last))
            k.last, k.first = array("q", compress(k.last, chosen)), array("q", compress(k.first, chosen))
            k.at, k.joules = array("d", compress(k.at, chosen)), array("d", compress(k.joules, chosen))
            k.hidden = array("d", compress(k.hidden, chosen))


class Shares:
    """Who shares the machine's energy: the stacks that have a task open, by the
    processor time of their threads.

    active has them, by their thread; changed() is called at each change of it that
    leaves, or had, more than one. Between two changes parts has what each has
    of the whole.
    """

    def __init__(self, cpu_time):
        self.cpu_time = cpu_time  # thread's number -> ns, or None where it is gone
        self.active = {}          # stack -> number of its thread
        self.starts, self.parts = array("q"), []  # (start, end, {stack: part})
        self.since = None         # since when the same ones share, None while nobody does
        self.sharing = self.before = {}

    def changed(self, t):
        """At t others share than before, or what was shared until then is wanted."""
        if self.since is not None and t > self.since:
            self._close(t)
        elif self.since is not None:
            t = self.since  # another thread was faster
        if len(self.active) > 1:
            self.since, self.sharing = t, dict(self.active)
            self.before = {thread: self.cpu_time(thread) for thread in set(self.sharing.values())}
        else:
            self.since = None

    def _close(self, t):
        used, stacks = {}, {}
        for stack, thread in self.sharing.items():
            stacks.setdefault(thread, []).append(stack)
        for thread in stacks:
            a, b = self.before.get(thread), self.cpu_time(thread)
            used[thread] = max(0, b - a) if a is not None and b is not None else 0
        total = sum(used.values())
        parts = {}
        for thread, of in stacks.items():
            for stack in of:
                parts[stack] = used[thread] / total / len(of) if total else 1 / len(self.sharing)
        self.starts.append(self.since)
        self.parts.append((self.since, t, parts))

    def within(self, start, end, stack):
        """Yields (start, end, part) of the times in which a stack shared."""
        i = max(0, bisect_right(self.starts, start) - 1)
        while i < len(self.parts) and self.parts[i][0] < end:
            a, b, parts = self.parts[i]
            if b > start and stack in parts:
                yield max(a, start), min(b, end), parts[stack]
            i += 1


class Energy:
    """What a task used, by domain in uJ. method is the weakest of the domains'."""
    __slots__ = "domains", "total", "machine", "lo", "hi", "method", "complete", "program"

    def __init__(self):
        self.program = None  # (uJ, lo, hi) of the program's share, where that is known
        self.domains = {}
        self.total = self.machine = self.lo = self.hi = 0
        self.method, self.complete = METHOD_BRACKET, True


RANK = {METHOD_BRACKET: 0, METHOD_INTERPOLATION: 1, METHOD_SAMPLED: 2}


def energy_of(samples, shares, windows):
    """The energy of a task that ran in windows: (start, end, stack, active ns)
    in the order of time; and whose the energy of each GPU was. Of a GPU a task has what the program used while nobody
    else had a part. The energy is None where that of a domain of the total is not known, and where there is none."""
    start, end = windows[0][0], windows[-1][1]
    whole = len(windows) == 1 and windows[0][3] >= end - start
    shared = [list(shares.within(a, b, stack)) for a, b, stack, _ in windows] if shares.parts else []
    sharing = any(shared)
    out, share = Energy(), _Share(samples, windows, shared)
    lo = hi = machine = known = 0
    gpus = []
    for d, domain in enumerate(samples.domains):
        found = None if samples.silent(d, start, end) else samples.between(d, start, end)
        if found is None:
            out.complete = out.complete and not domain.in_total
            continue
        joules, slack, method = found
        part = least = most = 1.0
        if sharing or not whole:
            part, least, most = _parts(samples, d, windows, shared)
        if domain.kind == KIND_GPU:
            slack = hypot(slack, samples.lag(d, start, end))
        slack += domain.step_uj * 1e-6
        if domain.kind == KIND_GPU:
            use = use_of(samples, d, _stretches(windows, shared), joules, slack)
            gpus.append(use)
            micro, below, above = use.program, use.lo * 1e-6 * domain.lo, use.hi * 1e-6 * domain.hi
            if not use.known:
                if domain.in_total:
                    machine += joules
                    hi += above
                    share.more(above)
                continue
        else:
            micro = int(joules * part * 1e6 + (0 if sharing else 0.5))
            below, above = max(0.0, joules - slack) * least * domain.lo, (joules + slack) * most * domain.hi
        out.domains[domain.id] = micro
        if domain.in_total:
            known += 1
            out.total += micro
            machine += joules
            lo, hi = lo + below, hi + above
            share.add(d, micro, below, above)
            if RANK[method] > RANK[out.method]:
                out.method = method
    if not out.complete:
        return None, []
    if not known:
        return None, gpus
    out.machine = int(machine * 1e6 + 0.5) if sharing or gpus or not whole else out.total
    out.lo = min(out.total, floor(lo * 1e6 + 1e-6))  # outwards, but for what rounding leaves
    out.hi = max(out.total, ceil(hi * 1e6 - 1e-6))
    if sharing:
        out.method = METHOD_SHARED
    out.program = share.sum(out.hi)
    return out, gpus


def _stretches(windows, shared):
    """The parts of a task's time from the first window to the last: (start, end, weight, shared)."""
    out, at = [], windows[0][0]
    for n, (start, end, _, active) in enumerate(windows):
        if start > at:
            out.append((at, start, 0.0, False))  # it was suspended
        at, running = start, min(1.0, active / max(1, end - start))
        for s, e, _ in shared[n] if shared else ():
            if s > at:
                out.append((at, s, running, False))
            out.append((s, e, running, True))
            at = e
        if end > at:
            out.append((at, end, running, False))
        at = end
    return out


def no_share(samples):
    """Why the program's share of an energy is not known."""
    if not samples.division:
        return "the samples do not tell of the program"
    return "the samples do not reach from its start to its end"


class _Share:
    """The program's share of a task's energy."""

    def __init__(self, samples, windows, shared):
        self.division = samples.division
        self.total, self.lo, self.hi, self.divided = 0, 0.0, 0.0, False
        if not self.division or not self.division.known(windows[0][0], windows[-1][1]):
            self.division = None
            return
        self.spans, self.pieces = len(windows), []  # times, with their weights
        for n, (start, end, _, active) in enumerate(windows):
            running = active / max(1, end - start)
            self.pieces.append((start, end, running))
            self.pieces += [(s, e, (part - 1) * running) for s, e, part in (shared[n] if shared else ())]

    def add(self, d, micro, below, above):
        """Takes in the task's energy in a domain of the total: uJ, and its bounds in J. That of a GPU is the
        program's."""
        if not self.division:
            return
        part, lo, hi = 1.0, 1.0, 1.0
        if self.division.domains[d].kind != KIND_GPU:
            part, lo, hi = self.division.part(d, self.pieces, self.spans)
        self.total += int(micro * part)
        self.lo, self.hi, self.divided = self.lo + below * lo, self.hi + above * hi, True

    def more(self, above):
        """Takes in what the program may have used of what is nobody's."""
        self.hi += above

    def sum(self, most):
        """(uJ, lo, hi), None where nothing is known. It is no more than most."""
        if not self.divided:
            return None
        lo, hi = floor(self.lo * 1e6 + 1e-6), ceil(self.hi * 1e6 - 1e-6)
        return self.total, min(self.total, lo), max(self.total, min(most, hi))


def _parts(samples, d, windows, shared):
    """The part of the energy from the first window to the last that a task has,
    and the least and the most that it may have."""
    start, end = windows[0][0], windows[-1][1]
    a, b = samples.energy_at(d, start), samples.energy_at(d, end)
    whole = (b - a) if a is not None and b is not None else 0

    def used(s, e):
        if whole <= 0:
            return (e - s) / max(1, end - start)
        return (samples.energy_at(d, e) - samples.energy_at(d, s)) / whole

    part = least = most = 0.0
    for n, (s, e, _, active) in enumerate(windows):
        running = active / max(1, e - s)
        own = used(s, e) * running
        part, least, most = part + own, least + own, most + own
        for s, e, share in shared[n] if shared else ():
            other = used(s, e) * running
            part -= other * (1 - share)
            least -= other
    return max(0.0, part), max(0.0, least), max(0.0, most)
