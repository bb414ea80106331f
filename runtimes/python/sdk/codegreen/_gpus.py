"""What a program used of GPUs, as cg tells it behind the samples of a ring (nemb/RING.md of cg).

cg divides the energy of each GPU by what its driver tells of processes, in pieces of time, and tells it about a second
late. A task has of a GPU what the program used while nobody else had a part.

Units: CLOCK_MONOTONIC in nanoseconds, energies in microjoules unless a name ends in _j.
"""
import time
from bisect import bisect_left, bisect_right
from math import ceil, floor, sqrt
from time import monotonic_ns

from ._spec import (ALONE_ZERO_PART, GPU_ASKED, GPU_ASKED_OFFSET, GPU_AWAITED, GPU_BY_PROCESS, GPU_HEADER_BYTES,
                    GPU_HELD, GPU_LATE, GPU_LATE_WHY, GPU_NOT_ASKED, GPU_NOT_ASKED_WHY, GPU_PATIENCE_NS,
                    GPU_REASON_SHIFT, GPU_TASKS, GPU_TASKS_WHY, GPU_UNATTRIBUTED, GPU_WORDS)

# Whose the energy of a time is: all of it, the program's, others', idle, nobody's; the bounds of the program's, and the
# squares of what it may be off by besides; ns of which it is told.
TOTAL, PROGRAM, OTHER, IDLE, NOBODYS, LO, HI, SQUARES, NS = range(9)
NOTHING = [0.0] * 9


def _plus(a, b, by=1):
    return [x + y * by for x, y in zip(a, b)]


class Gpu:
    """What cg tells of one GPU."""

    def __init__(self, reasons=()):
        self.state, self.asked, self.reasons = 0, 0, reasons
        self.starts, self.ends, self.sums, self.before, self.numbers = [], [], [], [], []

    def add(self, start, end, sums, number):
        """Takes in a piece of time; number is that of the reason why something is nobody's, 0 for none."""
        before = _plus(self.before[-1], self.sums[-1]) if self.sums else NOTHING
        self.starts.append(start)
        self.ends.append(end)
        self.sums.append(sums + [float(end - start)])
        self.before.append(before)
        self.numbers.append(number)

    def why(self, number):
        """(name, text) of a reason."""
        if 0 < number <= len(self.reasons):
            return self.reasons[number - 1]["name"], self.reasons[number - 1]["why"]
        return "", ""

    def _piece(self, k, start, end, curve):
        """The part of a piece that lies in a time. Idle power is the same all the time; the rest is divided as that of
        the whole piece."""
        a, b = max(start, self.starts[k]), min(end, self.ends[k])
        p = self.sums[k]
        part = (b - a) / p[NS]
        if part >= 1:
            return p
        e = min(max(0.0, curve(b) - curve(a)), p[TOTAL])
        active = p[TOTAL] - p[IDLE]
        used = e - min(e, p[IDLE] * part)
        share = min(1.0, used / active) if active > 0 else part
        program, other, nobodys = (p[i] * share for i in (PROGRAM, OTHER, NOBODYS))
        lo = min(program, max(0.0, p[LO] - (active - used)))
        hi = max(program, min(p[HI], used + max(0.0, p[HI] - active) * part))
        return [e, program, other, max(0.0, e - program - other - nobodys), nobodys, lo, hi, p[SQUARES], p[NS] * part]

    def meets(self, start, end):
        """The first and the last piece that have a part of a time; none where the last is less."""
        return bisect_right(self.ends, start), bisect_left(self.starts, end) - 1

    def between(self, start, end, curve):
        """Whose the energy was, as far as it is told, and the number of a reason."""
        i, j = self.meets(start, end)
        if i > j:
            return NOTHING, 0
        number = 0
        for n in self.numbers[i:j + 1]:
            number = n or number
        sums = self._piece(i, start, end, curve)
        if i < j:
            sums = _plus(_plus(sums, self._piece(j, start, end, curve)), self.before[j])
            sums = _plus(_plus(sums, self.before[i], -1), self.sums[i], -1)
        return sums, number

    def held(self, end):
        """Whether the program may have used it up to then. That it held no context is known up to the moment at which
        the driver was asked last."""
        return bool(self.state & GPU_HELD) or self.asked < end

    def uses(self):
        """Whether its driver is asked, and has told that the program may use it."""
        return bool(self.state & GPU_ASKED and self.state & GPU_HELD)

    def may_use(self, end):
        """Whether its driver is asked, and the program may have used it up to then."""
        return bool(self.state & GPU_ASKED) and self.held(end)

    def is_awaited(self):
        """Whether the program may use it and cg will tell more."""
        return bool(self.state & GPU_HELD and self.state & GPU_AWAITED)

    def awaited(self, end):
        """Whether cg has not told yet who used it up to then, and will."""
        if not self.state & GPU_ASKED:
            return False
        return self.asked < end or self.is_awaited() and (not self.ends or self.ends[-1] < end)

    def prune(self, edges):
        """Leaves out the pieces in which no edge lies, but the newest."""
        keep = {len(self.ends) - 1}
        for edge in edges:
            i = bisect_left(self.ends, edge)
            keep.update((i - 1, i, i + 1))
        chosen = sorted(n for n in keep if 0 <= n < len(self.ends))
        for name in "starts", "ends", "sums", "before", "numbers":
            column = getattr(self, name)
            setattr(self, name, [column[n] for n in chosen])


def gpus_of(about, domains, size):
    """The GPUs of a ring by domain; ValueError where what it says lies outside of it."""
    if about is None:
        return {}
    at, slots, places = about["at"], about["slots"], about["domains"]
    end = at + GPU_HEADER_BYTES + 8 * len(places) + slots * 8 * GPU_WORDS
    if not places or at < 0 or at % 8 or slots <= 0 or end > size or not all(0 <= d < domains for d in places):
        raise ValueError("a damaged sample ring")
    return {d: Gpu(about.get("reasons") or ()) for d in places}


class Reader:
    """Brings what a ring says of GPUs."""

    def __init__(self, words, about, domains, size):
        self.of, self.words, self.about, self.next = gpus_of(about, domains, size), words, about, 0

    def read(self):
        if not self.of:
            return
        words, slots, places = self.words, self.about["slots"], self.about["domains"]
        at = self.about["at"] // 8
        first = at + GPU_HEADER_BYTES // 8
        asked = words[at + GPU_ASKED_OFFSET // 8]  # before the states: they are at least as new
        for i, d in enumerate(places):
            self.of[d].state, self.of[d].asked = words[first + i], asked
        head = words[at]
        for k in range(max(self.next, head - slots), head):
            slot = first + len(places) + k % slots * GPU_WORDS
            row = words[slot:slot + GPU_WORDS].tolist()
            if row[0] != 2 * k + 2 or words[slot] != row[0] or row[1] >= len(places) or row[3] <= row[2]:
                continue  # it was written over: nobody tells of that time
            sums = [float(v) for v in row[4:11]] + [float(row[11]) ** 2]
            self.of[places[row[1]]].add(row[2], row[3], sums, row[12])
        self.next = head


class Use:
    """Whose the energy of a GPU was in a task: whole microjoules that add up to total. known tells whether the
    program's is, and held whether the program may have used the GPU."""
    __slots__ = ("domain", "method", "reason", "why", "total", "program", "other", "idle", "rest", "lo", "hi", "known",
                 "held")

    def entry(self):
        """What the file says of it."""
        j = lambda v: round(v * 1e-6, 6)
        return {
            "domain": self.domain, "gpu_method": self.method, "reason": self.reason, "used_by_program": self.held,
            "energy_j": j(self.total), "program_energy_j": j(self.program) if self.known else None,
            "program_energy_lo_j": j(self.lo) if self.known else None,
            "program_energy_hi_j": j(self.hi) if self.known else None,
            "other_processes_j": j(self.other), "idle_j": j(self.idle), "unattributed_j": j(self.rest),
        }


class _Once:
    """Counts the squares of a piece once for all parts of a task, by the largest weight: what is off in a piece may be
    in one part only."""

    def __init__(self, gpu):
        self.gpu, self.last, self.weight = gpu, -1, 0.0

    def of(self, sums, start, end, weight):
        """The sums of the next part, without what was counted in the parts before."""
        i, j = self.gpu.meets(start, end) if self.gpu else (0, -1)
        if i > j:
            return sums
        again = min(weight, self.weight) if i == self.last else 0.0
        self.weight = max(weight, self.weight) if j == self.last else weight
        self.last = j
        if not again:
            return sums
        sums = list(sums)
        sums[SQUARES] -= self.gpu.sums[i][SQUARES] * again / weight  # it is counted by this part's weight
        return sums


def use_of(samples, d, parts, joules, slack):
    """Whose the energy of domain d was in the parts of a task's time: (start, end, weight, shared), where weight is the
    part of that time in which the task ran, and others had a part if it is shared. joules is that of all parts, give or
    take slack."""
    use = Use()
    use.domain, use.method, use.held, use.known = samples.domains[d].id, GPU_UNATTRIBUTED, True, False
    use.reason, use.why = GPU_NOT_ASKED, GPU_NOT_ASKED_WHY
    use.program = use.other = use.idle = use.lo = 0
    own, shared, untold, why, whole = NOTHING, NOTHING, False, 0, 0.0
    gpu = samples.gpus.get(d)
    once = _Once(gpu)
    for start, end, weight, beside in parts:
        curve = lambda t: samples.curve(d, t)
        sums, number = gpu.between(start, end, curve) if gpu else (NOTHING, 0)
        sums = once.of(sums, start, end, weight)
        why = number or why
        if end - start - sums[NS] > 0.5:  # it is not told to the end
            more = max(0.0, curve(end) - curve(start) - sums[TOTAL])
            untold = untold or more > 0
            sums = list(sums)
            for i in TOTAL, NOBODYS, HI:
                sums[i] += more
        whole += sums[TOTAL]
        if beside:
            shared = _plus(shared, sums, weight)
        else:
            own = _plus(own, sums, weight)
    by = joules * 1e6 / whole if whole > 0 else 0.0
    had = (own[TOTAL] + shared[TOTAL]) / whole if whole > 0 else 1.0
    use.total = use.rest = int(joules * had * 1e6 + 0.5)
    hidden = samples.hidden(d, parts)  # which the counter may have missed
    most = joules * had * 1e6 + (slack + hidden) * 1e6
    use.hi = ceil(most - 1e-6)
    if not gpu or not gpu.state & GPU_ASKED:
        return use
    use.held = gpu.held(max((end for _, end, _, _ in parts), default=0))
    use.program, use.other, use.idle = (int(own[i] * by + 1e-6) for i in (PROGRAM, OTHER, IDLE))
    use.rest = max(0, use.total - use.program - use.other - use.idle)
    if use.held:
        squares = own[SQUARES] + shared[SQUARES]
        if untold:  # pieces have what is hidden in them
            squares = max(own[SQUARES], (hidden * 1e6) ** 2) + shared[SQUARES]
        off = sqrt(max(0.0, squares)) * by + slack * 1e6
        use.lo = min(use.program, floor(max(0.0, own[LO] * by - off) + 1e-6))
        use.hi = max(use.program, ceil(min(most, (own[HI] + shared[HI]) * by + off) - 1e-6))
    else:
        use.hi = 0
    use.method, use.reason, use.why, use.known = GPU_BY_PROCESS, "", "", True
    nothing = own[PROGRAM] + own[OTHER] <= 0 and own[NOBODYS] > own[TOTAL] / 100  # all but idle power is nobody's
    if nothing or not gpu.state & GPU_AWAITED:
        use.method = GPU_UNATTRIBUTED
    alone = shared[TOTAL] <= 0 or own[TOTAL] > ALONE_ZERO_PART * shared[TOTAL]
    if use.method == GPU_UNATTRIBUTED or not alone:
        use.known = not use.held
    if not use.known:
        use.rest, use.program, use.lo = use.rest + use.program, 0, 0
    if use.rest > use.total // 100:
        _because(use, gpu, why, shared[TOTAL] > 0 and use.held, untold)
    return use


def _because(use, gpu, number, shared, untold):
    """Says why there is energy that is nobody's."""
    name, why = gpu.why(number or gpu.state >> GPU_REASON_SHIFT)
    if shared:
        name, why = GPU_TASKS, GPU_TASKS_WHY
    elif not name and untold:
        name, why = GPU_LATE, GPU_LATE_WHY
    use.reason, use.why = name, why


def awaits(samples, end):
    """Whether cg has not told yet who used a GPU up to the end of a task, or what, and may still."""
    return samples.awaits_gpu(end, monotonic_ns())


def wait_for_counters(session, end):
    """Lets the counters of GPUs that the program has used tell what was used up to the end of its last task, before the
    sampler ends."""
    samples, source = session._samples, session._source
    source.read(samples)
    while samples.awaits_counter(end, monotonic_ns()) and not source.ended():
        if session._until is not None and monotonic_ns() >= session._until:
            break
        time.sleep(0.01)
        source.read(samples)


def wait_of(source):
    """For how long a sampler that ends may wait for the last answers of drivers, in seconds."""
    return GPU_PATIENCE_NS * 1e-9 if any(gpu.is_awaited() for gpu in source.gpus.values()) else 0


def wait_for(session, end):
    """Lets cg tell who used GPUs up to the end of a task."""
    samples, source = session._samples, session._source
    while awaits(samples, end) and not source.ended():
        if session._until is not None and monotonic_ns() >= session._until:
            break
        time.sleep(0.01)
        source.read(samples)


def say_of(session, task):
    """Says once of each GPU and reason why energy of it is in no task. Of a file that is written early nothing is said
    where the driver has not told yet: the task is looked at again."""
    if session._until is not None and not session._ending and session._samples.awaits_gpu(
            task.ended_at_mono_ns, task.ended_at_mono_ns):
        return
    for use in task._gpus:
        if not use.reason or not use.held or (use.domain, use.reason) in session._said_unknown:
            continue
        session._said_unknown.add((use.domain, use.reason))
        text = "%s: nothing tells whose all of its energy in task %r is, and the task is without that: %s" % (
            use.domain, task.name, use.why)
        if use.reason == GPU_TASKS:
            text = "%s: what %s used meanwhile is in none of them" % (use.why, use.domain)
        session._note("gpu-unattributed", text)
