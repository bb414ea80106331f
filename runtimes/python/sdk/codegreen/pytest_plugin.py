"""Budgets of energy in pytest (docs/budgets.md of cg), and joules in pytest-benchmark (docs/hooks.md).

    @pytest.mark.energy_budget("2 J")
    def test_search(): ...

    pytest --energy-report energy.json
    pytest --benchmark-energy

A test fails where the lower end of its interval exceeds the budget. pip install makes
this a plugin of pytest; elsewhere it is pytest -p codegreen.pytest_plugin.
"""
import pytest

from . import _measured
from ._budget import EXCEEDED, REPEAT, Judged, parse
from ._spec import BUDGET_RUNS, BUDGET_RUNS_MOST, BUDGET_UNKNOWN as UNKNOWN

MARK = "energy_budget"


def pytest_addoption(parser):
    group = parser.getgroup("energy", "energy (codegreen)")
    group.addoption("--energy-report", metavar="FILE",
                    help="measure every test, and write the session with a task for each run into FILE (JSON, or CSV "
                         "where it ends in .csv); cg report shows it")
    group.addoption("--energy-runs", metavar="N", type=int, default=BUDGET_RUNS,
                    help="run a test with a budget at most so often, 1 to %d (default: %d)" % (
                        BUDGET_RUNS_MOST, BUDGET_RUNS))
    group.addoption("--benchmark-energy", action="store_true",
                    help="measure the rounds of pytest-benchmark's benchmarks: joules of an iteration in extra_info, "
                         "and at the end of the output")


def pytest_configure(config):
    config.addinivalue_line("markers", "energy_budget(text, runs=%d): the test fails where it surely uses more energy, "
                                       "such as \"2 J\"; it runs up to so often" % BUDGET_RUNS)
    _limit(config.getoption("--energy-runs"), "--energy-runs")
    if config.getoption("--energy-report") and _workers(config) > 1:
        raise pytest.UsageError("--energy-report: %d workers of pytest-xdist run tests beside each other, which would "
                                "have each other's energy: use -n 1 or -n 0" % _workers(config))
    config.pluginmanager.register(_Energy(config), "codegreen-energy")


def _workers(config):
    """Processes of pytest-xdist that run the tests, 0 where this one does."""
    if hasattr(config, "workerinput"):
        return config.workerinput["workercount"]
    if getattr(config.option, "dist", "no") == "no":
        return 0
    counts = [spec.partition("*")[0] for spec in getattr(config.option, "tx", ())]  # 3*popen
    return sum(int(n) if n.isdigit() else 1 for n in counts)


def _limit(runs, where):
    if type(runs) is not int or not 1 <= runs <= BUDGET_RUNS_MOST:
        raise pytest.UsageError("%s: %r runs: use 1 to %d" % (where, runs, BUDGET_RUNS_MOST))
    return runs


class _Budget:
    """That of a test: joules, the most runs, and (energy, lo, hi) of each so far."""

    def __init__(self, joules, text, limit):
        self.joules, self.text, self.limit = joules, text, limit
        self.runs, self.judged, self.verdict, self.kind = [], None, None, None

    def take(self, measured, kind):
        self.kind = kind
        if measured is None:
            self.verdict = UNKNOWN
            return
        self.runs.append(measured)
        self.judged = Judged(self.runs, self.joules, self.limit)
        self.verdict = self.judged.verdict

    def words(self):
        if self.judged is None:
            return "its energy is not known; the budget is %s" % self.text
        j, n = self.judged, len(self.runs)
        return "%.4g J [%.4g, %.4g], %s, %s; the budget is %s" % (
            j.energy, j.lo, j.hi, self.kind, "1 run" if n == 1 else "mean of %d runs" % n, self.text)


class _Energy:
    def __init__(self, config):
        self.config, self.file = config, config.getoption("--energy-report")
        self.session, self.own, self.told = None, False, []
        self.rounds = config.getoption("--benchmark-energy")
        self.benchmarks = []  # (name, words)
        workers = _workers(config)
        self.beside = workers > 1  # tests run at the same time
        self.elsewhere = workers > 0 and not hasattr(config, "workerinput")  # they run in workers

    def budget_of(self, item):
        mark = item.get_closest_marker(MARK)
        if mark is None:
            return None
        where = "%s: energy_budget" % item.nodeid
        if len(mark.args) != 1 or set(mark.kwargs) - {"runs"}:
            raise pytest.UsageError('%s: it takes a text and runs=N: energy_budget("2 J", runs=5)' % where)
        limit = mark.kwargs.get("runs", self.config.getoption("--energy-runs"))
        try:
            return _Budget(parse(mark.args[0]), mark.args[0], _limit(limit, where))
        except ValueError as e:
            raise pytest.UsageError("%s: %s" % (where, e))

    def pytest_collection_modifyitems(self, items):
        for item in items:
            item._codegreen = self.budget_of(item)

    def measuring(self):
        """The session, which begins with the first test that needs it."""
        if self.session is None:
            self.session, self.own = _measured.session_for(
                "pytest", output_file=self.file, save_to_file=self.file is not None)
        return self.session

    # A test that needs more runs is set up again for each: its fixtures are new.

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        budget = getattr(item, "_codegreen", None)
        if budget is None or self.beside:
            return None
        from _pytest.runner import runtestprotocol
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        kept = list(item.user_properties)  # of who collected the test
        while True:
            item.user_properties[:] = kept
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            if budget.verdict != REPEAT or any(r.outcome != "passed" for r in reports):
                break
            item._initrequest()
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        item._codegreen_task = None
        benchmark = getattr(item, "funcargs", {}).get("benchmark") if self.rounds and not self.beside else None
        if self.beside or benchmark is None and getattr(item, "_codegreen", None) is None and self.file is None:
            yield
            return
        session = self.measuring()
        if not session._running:  # the test before ended it
            yield
            return
        task = item._codegreen_task = session._begin(item.nodeid)
        rounds = self.rounds_of(benchmark, session, item)
        try:
            yield
        finally:
            from time import monotonic_ns
            if rounds is not None:
                rounds.leave()
            session._leave(monotonic_ns(), task)
        if rounds is not None:
            self.tell_rounds(benchmark, rounds, item)

    def rounds_of(self, benchmark, session, item):
        """The rounds of the test's benchmark, None where it has none."""
        if benchmark is None:
            return None
        from ._benchmark import Rounds, can_tell
        if can_tell(benchmark):
            return Rounds(benchmark, session, "%s: rounds" % item.nodeid)
        self.benchmarks.append((item.nodeid, "not measured: codegreen does not know this version of pytest-benchmark"))
        return None

    def tell_rounds(self, benchmark, rounds, item):
        from ._benchmark import words
        figures = rounds.figures()
        if figures:
            benchmark.extra_info.update(figures)
            self.benchmarks.append((item.nodeid, words(figures)))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        budget = getattr(item, "_codegreen", None)
        if call.when != "call" or budget is None:
            return
        report = outcome.get_result()
        if self.beside:
            budget.verdict = UNKNOWN
            self.tell(item, report, budget, "it ran beside other tests (pytest-xdist), whose energy would be in it")
            return
        if report.outcome != "passed":
            return
        budget.take(*_measured.energy(item._codegreen_task))
        if budget.verdict == REPEAT:
            return
        words = budget.words()
        if budget.verdict == EXCEEDED:
            report.outcome = "failed"
            report.longrepr = "%s: the energy budget is exceeded: %s" % (item.nodeid, words)
        self.tell(item, report, budget, words)

    def tell(self, item, report, budget, words):
        properties = [("energy_budget_j", budget.joules), ("energy_verdict", budget.verdict)]
        if budget.judged is not None:
            j = budget.judged
            properties += [("energy_j", round(j.energy, 6)), ("energy_lo_j", round(j.lo, 6)),
                           ("energy_hi_j", round(j.hi, 6)), ("energy_kind", budget.kind),
                           ("energy_runs", len(budget.runs))]
        item.user_properties.extend(properties)
        report.user_properties.extend(properties)
        report.codegreen_told = [item.nodeid, budget.verdict, words]  # a worker's report goes to who prints it
        if not self.elsewhere:
            self.told.append(report.codegreen_told)

    def pytest_runtest_logreport(self, report):
        if self.elsewhere and hasattr(report, "codegreen_told"):
            self.told.append(report.codegreen_told)

    def pytest_terminal_summary(self, terminalreporter):
        if self.benchmarks:
            terminalreporter.section("energy of benchmarks")
        for name, words in self.benchmarks:
            terminalreporter.line("%s: %s" % (name, words))
        if self.told:
            terminalreporter.section("energy budgets")
        for name, verdict, words in self.told:
            terminalreporter.line("%s %s: %s" % (verdict.upper(), name, words))
        if self.elsewhere and self.file is not None:
            terminalreporter.line("energy of each test: %s" % self.file)
        if self.own and self.file is not None:
            terminalreporter.line("energy of each test: %s" % self.session.output_file)

    def pytest_sessionfinish(self):
        if self.elsewhere:
            return
        if self.file is not None:
            self.measuring()  # a file without tests
        if self.own:
            self.session.stop()
