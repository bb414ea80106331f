package codegreen

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// TB is what Budget needs of a test. A *testing.T has it.
type TB interface {
	Helper()
	Name() string
	Log(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	Skipped() bool
	Setenv(key, value string)
	Cleanup(func())
	Attr(key, value string)
}

// BudgetOption is a setting of a budget.
type BudgetOption func(*budget)

// Runs is how often the work of a test runs at most, 1 to 10; 5 without it.
func Runs(n int) BudgetOption { return func(b *budget) { b.limit = n } }

// Budget measures the work of a test, which stands in a loop, and repeats it as far as that is needed:
//
//	for range codegreen.Budget(t, "2 J") {
//		search(index, "joule")
//	}
//
// The test fails where the lower end of the interval of the runs exceeds the budget, which is a number above 0 and
// mJ, J, kJ, MJ, mWh, Wh or kWh. docs/budgets.md of cg has the rules. A test whose energy is not known passes, as does
// one that runs beside others (t.Parallel). The loop's variable is the number of the run, from 1 on.
//
// A test that calls t.Parallel calls it before Budget, behind which it panics. A subtest in the loop that calls it is
// not measured: package testing runs it after the loop.
func Budget(t TB, text string, options ...BudgetOption) iter.Seq[int] {
	t.Helper()
	b := &budget{t: t, text: text, limit: budgetRuns}
	for _, o := range options {
		o(b)
	}
	var err error
	if b.joules, err = parseBudget(text); err != nil {
		t.Fatalf("codegreen.Budget: %v", err)
	}
	if b.limit < 1 || b.limit > budgetRunsMost {
		t.Fatalf("codegreen.Budget: %d runs: use 1 to %d", b.limit, budgetRunsMost)
	}
	begun := false
	t.Cleanup(func() {
		if !begun && !t.Failed() && !t.Skipped() {
			t.Errorf("codegreen.Budget: nothing was measured: write for range codegreen.Budget(t, %q) { WORK }", text)
		}
	})
	return func(yield func(int) bool) {
		begun = true
		b.loop(yield)
	}
}

// budget is that of a test, with what its runs used so far: energy, lower and upper bound in J.
type budget struct {
	t       TB
	text    string
	joules  float64
	limit   int
	runs    [][3]float64
	kind    string
	judged  judged
	verdict string
}

func (b *budget) loop(yield func(int) bool) {
	if !b.alone() {
		yield(1)
		b.verdict = budgetUnknown
		b.tell("it ran beside other tests (t.Parallel), whose energy would be in it")
		return
	}
	s, end := b.session()
	defer end()
	for n := 1; ; n++ {
		task, on := b.run(s, n, yield)
		if b.t.Failed() || b.t.Skipped() {
			return
		}
		b.take(task)
		if b.verdict == budgetRepeat && !on { // break, or return
			b.verdict = budgetOpen
		}
		if b.verdict == budgetRepeat {
			continue
		}
		b.tell(b.words())
		if b.verdict == budgetExceeded {
			b.t.Errorf("the energy budget is exceeded: %s", b.words())
		}
		return
	}
}

// alone tells whether no other test of the process runs beside this one: package testing
// refuses to set a variable otherwise.
func (b *budget) alone() (is bool) {
	defer func() { is = recover() == nil }()
	b.t.Setenv("CODEGREEN_BUDGET", b.text)
	return true
}

// session is the active one, or one for this test.
func (b *budget) session() (s *Session, end func()) {
	say := func(_, message string) { b.t.Log("codegreen: " + plain(message)) }
	s, err := Start(b.t.Name(), WithoutFile(), WithoutSignals(), OnWarning(say))
	if err == nil {
		return s, func() { s.Close() }
	}
	if errors.Is(err, ErrActive) {
		activeMu.Lock()
		s = active
		activeMu.Unlock()
	}
	return s, func() {}
}

// run is one of the test's work, and whether the loop goes on after it.
func (b *budget) run(s *Session, n int, yield func(int) bool) (task *Task, on bool) {
	_, task = s.Task(context.Background(), b.t.Name())
	defer task.leave() // also where the test ends in it
	return task, yield(n)
}

// take judges with one run more: of the program where cg is around it, else of the machine.
func (b *budget) take(task *Task) {
	run := [3]float64{task.ProgramEnergyJ(), task.ProgramEnergyLoJ(), task.ProgramEnergyHiJ()}
	if math.IsNaN(run[0]) {
		run = [3]float64{task.EnergyJ(), task.EnergyLoJ(), task.EnergyHiJ()}
	}
	if math.IsNaN(run[0]) {
		b.verdict = budgetUnknown
		return
	}
	b.kind = task.EnergyKind()
	b.runs = append(b.runs, run)
	b.judged = judge(b.runs, b.joules, b.limit)
	b.verdict = b.judged.verdict
}

func (b *budget) words() string {
	if len(b.runs) == 0 {
		return "its energy is not known; the budget is " + b.text
	}
	times := "1 run"
	if n := len(b.runs); n > 1 {
		times = fmt.Sprintf("mean of %d runs", n)
	}
	return fmt.Sprintf("%.4g J [%.4g, %.4g], %s, %s; the budget is %s", b.judged.energy, b.judged.lo, b.judged.hi,
		b.kind, times, b.text)
}

// tell gives the verdict to the test's log, and the figures to its attributes (go test -json).
func (b *budget) tell(words string) {
	number := func(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }
	b.t.Attr("energy_budget_j", number(b.joules))
	b.t.Attr("energy_verdict", b.verdict)
	if len(b.runs) > 0 {
		b.t.Attr("energy_j", number(b.judged.energy))
		b.t.Attr("energy_lo_j", number(b.judged.lo))
		b.t.Attr("energy_hi_j", number(b.judged.hi))
		b.t.Attr("energy_kind", b.kind)
		b.t.Attr("energy_runs", strconv.Itoa(len(b.runs)))
	}
	b.t.Log("energy budget: " + b.verdict + ": " + words)
}

// parseBudget is a budget in joules.
func parseBudget(text string) (float64, error) {
	number := strings.Trim(text, " ")
	unit := strings.TrimLeft(number, "0123456789. ")
	number = strings.TrimRight(strings.TrimSuffix(number, unit), " ")
	whole, part, dot := strings.Cut(number, ".")
	i := slices.Index(budgetUnits, unit)
	if i >= 0 && digits(whole) && (!dot || digits(part)) {
		if v, err := strconv.ParseFloat(number, 64); err == nil && v > 0 {
			return v * budgetUnitJ[i], nil
		}
	}
	last := len(budgetUnits) - 1
	return 0, fmt.Errorf("%q: a budget is a number above 0 and %s or %s: \"2 J\", \"500 mJ\", \"0.1 Wh\"", text,
		strings.Join(budgetUnits[:last], ", "), budgetUnits[last])
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// judged is what runs tell: the mean in J with its bounds, and a verdict.
type judged struct {
	energy, lo, hi float64
	verdict        string
}

// judge holds the interval of the runs (energy, lower and upper bound in J) against the budget.
func judge(runs [][3]float64, budget float64, limit int) judged {
	n := float64(len(runs))
	var mean [3]float64
	least, most, spread := math.Inf(1), 0.0, 0.0
	for _, r := range runs {
		for i := range r {
			mean[i] += r[i] / n
		}
		least, most = min(least, r[1]), max(most, r[2])
	}
	for _, r := range runs {
		spread += (r[0] - mean[0]) * (r[0] - mean[0])
	}
	j := judged{energy: mean[0], lo: mean[1], hi: mean[2]}
	switch {
	case len(runs) == 2:
		j.lo, j.hi = least, most
	case len(runs) >= budgetLeastRuns:
		times := budgetStudent[min(len(runs)-budgetLeastRuns, len(budgetStudent)-1)]
		slack := times * math.Sqrt(spread/(n-1)) / math.Sqrt(n)
		j.lo, j.hi = max(0, mean[1]-slack), mean[2]+slack
	}
	switch {
	case j.hi <= budget:
		j.verdict = budgetWithin
	case len(runs) < min(limit, budgetLeastRuns):
		j.verdict = budgetRepeat
	case j.lo > budget:
		j.verdict = budgetExceeded
	case len(runs) >= limit || mean[1] <= budget && budget <= mean[2]:
		j.verdict = budgetOpen // more runs do not make the bounds of one narrower
	default:
		j.verdict = budgetRepeat
	}
	return j
}
