"""Joules in pytest-benchmark (docs/hooks.md of cg): --benchmark-energy."""
from time import monotonic_ns

from . import _measured


class Rounds:
    """The rounds of a benchmark as a task of the session: from the first one that counts to the end of the last.
    What is run before, to calibrate and to warm up, is not in it."""

    def __init__(self, fixture, session, name):
        self.session, self.name = session, name
        self.task = self.end = None
        self.begun = 0      # when the newest round began
        self.iterations = self.count = 0
        self.timed = 0.0    # s, of the rounds
        make_runner, make_stats = fixture._make_runner, fixture._make_stats

        def runner_of(*args, **kwargs):
            runner = make_runner(*args, **kwargs)

            def runner_that_tells(*args, **kwargs):
                self.begun = monotonic_ns()
                if self.iterations and not self.count:
                    self._begin()
                return runner(*args, **kwargs)
            return runner_that_tells

        def stats_of(iterations, *args, **kwargs):
            stats = make_stats(iterations, *args, **kwargs)
            update = stats.update

            def counted(duration):
                self.end = monotonic_ns()
                self.count += 1
                self.timed += duration
                update(duration)
            stats.update = counted
            self.iterations = iterations
            return stats

        fixture._make_runner, fixture._make_stats = runner_of, stats_of

    def _begin(self):
        """Begins the task, or begins it anew: the round before was to warm up."""
        if self.task is None:
            self.task = self.session._begin(self.name)
            self.begun = self.task.started_at_mono_ns
        else:
            self.task._since = self.task.started_at_mono_ns = self.begun

    def leave(self):
        if self.task is not None:
            self.session._leave(self.end or monotonic_ns(), self.task)

    def figures(self):
        """Of one iteration, in joules; {} without a round.

        What pytest-benchmark does between two rounds is in the task's energy. It is taken to draw the same power as the
        rounds, and in the upper bound none.
        """
        if not self.count:
            return {}
        energy, kind = _measured.energy(self.task)
        figures = {"energy_j": None, "energy_lo_j": None, "energy_hi_j": None, "energy_kind": kind}
        if energy is not None:
            n = self.count * self.iterations
            part = min(1.0, self.timed / self.task.duration_s) if self.task.duration_s else 1.0
            figures.update(energy_j=energy[0] * part / n, energy_lo_j=energy[1] * part / n, energy_hi_j=energy[2] / n)
        return figures


def can_tell(fixture):
    """Whether this version of pytest-benchmark has what Rounds looks at."""
    return all(callable(getattr(fixture, name, None)) for name in ("_make_runner", "_make_stats"))


def words(figures):
    if figures["energy_j"] is None:
        return "energy not known"
    return "%s per iteration, %s" % (
        _measured.words(figures["energy_j"], figures["energy_lo_j"], figures["energy_hi_j"]), figures["energy_kind"])
