package gate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/statistics"
)

// machine is a made-up one: each run takes what its side costs, with some noise
// that neighbours share.
type machine struct {
	rng    *rand.Rand
	cost   [2]float64
	noise  float64
	drift  float64
	runs   [2]int
	order  []Side
	clock  time.Time
	took   time.Duration // of one run
	parts  [2]map[string]float64
	energy float64 // per unit of cost
}

func newMachine(seed uint64, base, head, noise float64) *machine {
	return &machine{rng: rand.New(rand.NewPCG(seed, 1)), cost: [2]float64{base, head}, noise: noise, took: 100 * time.Millisecond, clock: time.Unix(0, 0), energy: 2}
}

func (m *machine) now() time.Time { return m.clock }

func (m *machine) measure(_ context.Context, side Side, runs int) (Sample, error) {
	m.runs[side]++
	m.order = append(m.order, side)
	m.drift = 0.7*m.drift + 0.7*m.rng.NormFloat64()
	wild := math.Exp(m.noise * (m.drift + 0.5*m.rng.NormFloat64()))
	m.clock = m.clock.Add(time.Duration(runs) * m.took)
	v := m.cost[side] * wild * float64(runs)
	s := Sample{Value: v, EnergyJ: m.energy * v, Seconds: m.took.Seconds() * float64(runs)}
	if m.parts[side] != nil {
		s.Functions = map[string]Cost{}
		for name, part := range m.parts[side] {
			s.Functions[name] = Cost{Self: v * part, EnergyJ: m.energy * v * part, Calls: 3}
		}
	}
	return s, nil
}

func (m *machine) plan() Plan {
	return Plan{Metric: CPUTime, Alpha: 0.05, Threshold: 0.05, MaxPairs: 30, Warmup: 3, Batch: 1, Seed: 7, Now: m.now}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name       string
		base, head float64
		noise      float64
		want       Verdict
		most       int // pairs
	}{
		{"no change", 1, 1, 0.005, statistics.Pass, 12},
		{"half as much again", 1, 1.5, 0.02, statistics.Regression, 12},
		{"less", 1, 0.7, 0.02, statistics.Pass, 12},
		{"more, below the threshold", 1, 1.02, 0.004, statistics.Pass, 30},
		{"noise", 1, 1.02, 0.5, statistics.Inconclusive, 30},
	} {
		m := newMachine(3, c.base, c.head, c.noise)
		r, err := Compare(context.Background(), m.plan(), m.measure)
		if err != nil {
			t.Fatal(err)
		}
		p := r.Program
		if r.Verdict != c.want || p.Verdict != c.want || r.Pairs > c.most || r.Pairs < MinPairs {
			t.Errorf("%s: %s after %d pairs, want %s", c.name, r.Verdict, r.Pairs, c.want)
		}
		if p.Change == nil || p.Lo == nil || p.Hi == nil || *p.Lo > *p.Change || *p.Hi < *p.Change || p.Detectable == nil || p.P == nil || !r.Interleaved {
			t.Errorf("%s: %+v", c.name, p)
		}
		if len(r.Base) != r.Pairs || len(r.Head) != r.Pairs || m.runs[Base] != r.Pairs+3 || m.runs[Head] != r.Pairs+3 {
			t.Errorf("%s: %d and %d measurements of %d pairs, %v runs", c.name, len(r.Base), len(r.Head), r.Pairs, m.runs)
		}
	}
}

// Runs alternate by pairs, in an order that the seed decides.
func TestOrder(t *testing.T) {
	order := func(seed uint64) string {
		m := newMachine(1, 1, 1, 0.4)
		p := m.plan()
		p.Seed = seed
		if _, err := Compare(context.Background(), p, m.measure); err != nil {
			t.Fatal(err)
		}
		first := 0
		for i := 0; i+1 < len(m.order); i += 2 {
			if m.order[i] == m.order[i+1] {
				t.Fatalf("no pair at %d: %v", i, m.order)
			}
			if m.order[i] == Base {
				first++
			}
		}
		if first < 5 || first > len(m.order)/2-5 {
			t.Errorf("base is first in %d of %d pairs", first, len(m.order)/2)
		}
		return fmt.Sprint(m.order)
	}
	if a, b := order(1), order(1); a != b {
		t.Error("one seed, two orders")
	}
	if order(1) == order(2) {
		t.Error("two seeds, one order")
	}
}

func TestTimeIsBounded(t *testing.T) {
	m := newMachine(1, 1, 1.02, 0.5)
	p := m.plan()
	p.MaxTime = 3 * time.Second // of 200 ms pairs, after 600 ms to warm up
	r, err := Compare(context.Background(), p, m.measure)
	if err != nil {
		t.Fatal(err)
	}
	if r.Pairs > 12 || r.Pairs < MinPairs || r.Verdict != statistics.Inconclusive {
		t.Errorf("%d pairs, %s", r.Pairs, r.Verdict)
	}
	p.MaxTime = time.Millisecond // five pairs are the least that say anything
	if r, err = Compare(context.Background(), p, newMachine(1, 1, 1.8, 0.01).measure); err != nil || r.Pairs != MinPairs || r.Verdict != statistics.Regression {
		t.Errorf("%v: %+v", err, r)
	}
}

func TestForeseesTooFewPairs(t *testing.T) {
	for _, c := range []struct {
		noise float64
		want  bool
	}{{0.5, true}, {0.002, false}} {
		m := newMachine(2, 1, 1, c.noise)
		p := m.plan()
		said := false
		p.TooFewPairs = func(detectable float64, pairs int) {
			said = true
			if detectable < 0.05 || pairs <= 30 || m.runs[Base] != 3 {
				t.Errorf("%g, %d pairs, after %v runs", detectable, pairs, m.runs)
			}
		}
		if _, err := Compare(context.Background(), p, m.measure); err != nil || said != c.want {
			t.Errorf("noise %g: %v, %v", c.noise, said, err)
		}
	}
}

func TestTooFast(t *testing.T) {
	m := newMachine(1, 1, 1, 0.01)
	m.took = 3 * time.Millisecond
	p := m.plan()
	p.MinDuration = 20 * time.Millisecond
	_, err := Compare(context.Background(), p, m.measure)
	var fast *TooFast
	if !errors.As(err, &fast) || fast.Runs != 10 || fast.Took != 3*time.Millisecond || !strings.Contains(err.Error(), "--batch 10 measures 10 runs at once") {
		t.Errorf("%v", err)
	}
	p.Batch = 2
	if _, err = Compare(context.Background(), p, m.measure); !errors.As(err, &fast) || fast.Runs != 10 {
		t.Errorf("of batches: %v", err)
	}
	for _, batch := range []int{0, 10} {
		for _, warmup := range []int{0, 3} {
			p.Batch, p.Warmup = batch, warmup
			r, err := Compare(context.Background(), p, m.measure)
			if err != nil || r.Batch != 10 || r.Verdict != statistics.Pass {
				t.Fatalf("--batch %d: %v, %+v", batch, err, r)
			}
			if v := r.Head[0].Value; v < 0.9 || v > 1.1 {
				t.Errorf("%g of a run", v)
			}
		}
	}
	p.Batch, m.took, p.MinDuration = 0, 0, 10*time.Second
	if _, err = Compare(context.Background(), p, m.measure); !errors.As(err, &fast) {
		t.Errorf("no time at all: %v", err)
	}
}

// Five pairs show nothing where functions share alpha: that is said first.
func TestForeseesTooFewPairsForFunctions(t *testing.T) {
	m := newMachine(5, 1, 2, 0.01)
	m.parts = [2]map[string]float64{{"f": 0.5, "g": 0.2}, {"f": 0.5, "g": 0.2}}
	p := m.plan()
	p.Functions, p.MaxPairs = true, 5
	needed := 0
	p.TooFewPairs = func(detectable float64, pairs int) {
		if !math.IsInf(detectable, 1) {
			t.Errorf("%g", detectable)
		}
		needed = pairs
	}
	if r, err := Compare(context.Background(), p, m.measure); err != nil || r.Verdict != statistics.Inconclusive || needed <= 5 {
		t.Errorf("%v: %+v, %d pairs needed", err, r, needed)
	}
	p.MaxPairs, p.TooFewPairs = needed, nil
	if r, err := Compare(context.Background(), p, m.measure); err != nil || r.Verdict != statistics.Regression {
		t.Errorf("%v: %+v", err, r)
	}
}

// What is not known, or nothing, is never passed.
func TestNeverPassesOnNothing(t *testing.T) {
	for _, v := range []float64{0, math.NaN(), -1} {
		p := newMachine(1, 1, 1, 0).plan()
		measure := func(context.Context, Side, int) (Sample, error) {
			return Sample{Value: v, EnergyJ: math.NaN(), Seconds: 1}, nil
		}
		if r, err := Compare(context.Background(), p, measure); err == nil || r != nil {
			t.Errorf("%g: %+v", v, r)
		}
		if r, err := CompareStored(context.Background(), p, []Measurement{{Value: 1}}, measure); err == nil || r != nil {
			t.Errorf("stored, %g: %+v", v, r)
		}
	}
	boom := errors.New("boom")
	if _, err := Compare(context.Background(), newMachine(1, 1, 1, 0).plan(), func(context.Context, Side, int) (Sample, error) { return Sample{}, boom }); err != boom {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compare(ctx, newMachine(1, 1, 1, 0).plan(), newMachine(1, 1, 1, 0).measure); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFunctions(t *testing.T) {
	m := newMachine(5, 1, 1, 0.02)
	m.parts = [2]map[string]float64{
		{"shop.fib": 0.5, "shop.sort": 0.3, "shop.tiny": 0.001, "shop.gone": 0.1},
		{"shop.fib": 0.5, "shop.sort": 0.6, "shop.tiny": 0.002, "shop.new": 0.1},
	}
	p := m.plan()
	p.Functions = true
	p.Thresholds = map[string]float64{"shop.fib": 0.2, "shop.tiny": 3}
	p.Budgets = map[string]float64{"shop.sort": 0.5, "shop.fib": 2, "": 100}
	r, err := Compare(context.Background(), p, m.measure)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]Comparison{}
	for _, f := range r.Functions {
		said[f.Name] = f
	}
	for name, want := range map[string]Verdict{"shop.fib": statistics.Pass, "shop.sort": statistics.Regression, "shop.tiny": statistics.Pass, "shop.gone": statistics.Inconclusive, "shop.new": statistics.Inconclusive} {
		if said[name].Verdict != want {
			t.Errorf("%s: %+v, want %s", name, said[name], want)
		}
	}
	if said["shop.new"].Note != "only in head" || said["shop.gone"].Note != "only in base" || said["shop.fib"].Threshold != 0.2 {
		t.Errorf("%+v", said)
	}
	if r.Functions[0].Name != "shop.tiny" || r.Functions[1].Name != "shop.sort" {
		t.Errorf("not by effect: %+v", r.Functions)
	}
	if r.Verdict != statistics.Regression || r.Program.Verdict != statistics.Pass {
		t.Errorf("%s, the program %s", r.Verdict, r.Program.Verdict)
	}
	exceeded := map[string]bool{}
	for _, b := range r.Budgets {
		exceeded[b.Name] = *b.Exceeded
	}
	if !exceeded["shop.sort"] || exceeded["shop.fib"] || exceeded[""] || !r.Exceeded() || r.Unknown() {
		t.Errorf("%+v", r.Budgets)
	}

	p.Budgets = map[string]float64{"shop.stock.fib": 1}
	_, err = Compare(context.Background(), p, m.measure)
	var never *NeverRan
	if !errors.As(err, &never) || err.Error() != "budget for shop.stock.fib: no such function ran in head; is it shop.fib?" {
		t.Errorf("%v", err)
	}
	p.Budgets, p.Thresholds = nil, map[string]float64{"shop.gone": 1}
	if _, err = Compare(context.Background(), p, m.measure); !errors.As(err, &never) || !strings.HasPrefix(err.Error(), "threshold for shop.gone: no such function ran in head") {
		t.Errorf("%v", err)
	}
}

// A named function without a verdict leaves the whole without one.
func TestNamedFunctionCounts(t *testing.T) {
	m := newMachine(5, 1, 1, 0.01)
	m.parts = [2]map[string]float64{{"f": 0.5}, {"f": 0.5}}
	p := m.plan()
	p.Functions, p.Thresholds, p.MaxPairs = true, map[string]float64{"f": 1e-6}, 6
	r, err := Compare(context.Background(), p, m.measure)
	if err != nil || r.Program.Verdict != statistics.Pass || r.Verdict != statistics.Inconclusive {
		t.Errorf("%v: %+v", err, r)
	}
}

// A function with a threshold that costs nothing itself cannot be compared, and is
// not passed over.
func TestNamedFunctionWithoutCost(t *testing.T) {
	for _, cost := range []float64{0, math.NaN()} {
		m := newMachine(6, 1, 1, 0.001)
		m.parts = [2]map[string]float64{{"a": 0.5, "b": cost}, {"a": 0.5, "b": cost}}
		p := m.plan()
		p.Functions, p.Thresholds, p.MaxPairs = true, map[string]float64{"b": 0.1}, 20
		r, err := Compare(context.Background(), p, m.measure)
		if err != nil || r.Verdict != statistics.Inconclusive || r.Program.Verdict != statistics.Pass {
			t.Fatalf("%g: %+v, %v", cost, r, err)
		}
		at := slices.IndexFunc(r.Functions, func(c Comparison) bool { return c.Name == "b" })
		if at < 0 || r.Functions[at].Note != "its own cost is 0 or not known" || r.Functions[at].Threshold != 0.1 {
			t.Errorf("%g: %+v", cost, r.Functions)
		}
		if r, err := MeasureHead(context.Background(), p, m.measure); err != nil || len(r.Functions) != 0 {
			t.Errorf("%g: alone: %+v, %v", cost, r, err)
		}
	}
}

// An energy of 0 is none that was measured: no budget is kept by it.
func TestBudgetOfNothing(t *testing.T) {
	for energy, want := range map[float64]string{0: "not known", -1: "not known", 1: "kept", 1e6: "exceeded"} {
		m := newMachine(6, 1, 1, 0.001)
		m.energy = energy
		p := m.plan()
		p.Budgets = map[string]float64{"": 100}
		r, err := MeasureHead(context.Background(), p, m.measure)
		if err != nil {
			t.Fatal(err)
		}
		got := "kept"
		if r.Budgets[0].Exceeded == nil {
			got = "not known"
		} else if *r.Budgets[0].Exceeded {
			got = "exceeded"
		}
		if got != want || r.Unknown() != (want == "not known") {
			t.Errorf("%g J: %s, want %s", energy, got, want)
		}
	}
}

func TestInstructions(t *testing.T) {
	for _, c := range []struct {
		head, noise float64
		want        Verdict
		pairs       int
	}{
		{1, 0, statistics.Pass, 3}, {1.006, 0, statistics.Regression, 3}, {1.004, 0, statistics.Pass, 3}, {1, 1e-4, statistics.Pass, 3},
		{1.1, 0.01, statistics.Regression, 6}, // not the same in each run: by the test of pairs
	} {
		m := newMachine(4, 1e6, c.head*1e6, c.noise)
		p := m.plan()
		p.Metric, p.Threshold = Instructions, 0.005
		p.WarmUp = func(context.Context, Side, int) (Sample, error) {
			return Sample{Value: math.NaN(), EnergyJ: 0.25, Seconds: 1}, nil
		}
		measure := func(ctx context.Context, side Side, runs int) (Sample, error) {
			s, err := m.measure(ctx, side, runs)
			s.EnergyJ = math.NaN()
			return s, err
		}
		r, err := Compare(context.Background(), p, measure)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want || r.Pairs < c.pairs || c.pairs == 3 && r.Pairs != 3 || r.Deterministic != (c.pairs == 3) {
			t.Errorf("%+v: %s after %d pairs", c, r.Verdict, r.Pairs)
		}
		if r.EnergyBaseJ == nil || *r.EnergyBaseJ != 0.25 || *r.EnergyHeadJ != 0.25 {
			t.Errorf("joules beside: %v %v", r.EnergyBaseJ, r.EnergyHeadJ)
		}
	}
}

func TestStored(t *testing.T) {
	m := newMachine(6, 1, 1, 0.01)
	p := m.plan()
	p.MaxPairs = 12
	base, err := MeasureHead(context.Background(), p, m.measure)
	if err != nil || len(base.Head) != 12 || len(base.Base) != 0 || base.Program.Head == nil || base.Program.Change != nil || base.Interleaved {
		t.Fatalf("%v: %+v", err, base)
	}
	for head, want := range map[float64]Verdict{1: statistics.Pass, 1.3: statistics.Regression} {
		m.cost[Head] = head
		r, err := CompareStored(context.Background(), p, base.Head, m.measure)
		if err != nil || r.Verdict != want || r.Interleaved || len(r.Base) != 12 || m.runs[Base] != 0 {
			t.Errorf("%g: %v, %+v", head, err, r)
		}
	}
	m.cost[Head] = 1.3 // one run is above twelve by chance in one of 13
	if r, err := CompareStored(context.Background(), p, base.Head[:1], m.measure); err != nil || r.Verdict != statistics.Inconclusive {
		t.Errorf("%v: %+v", err, r)
	}
	p.Budgets = map[string]float64{"": 0.5}
	if r, err := MeasureHead(context.Background(), p, m.measure); err != nil || !r.Exceeded() {
		t.Errorf("%v: %+v", err, r)
	}
	m.energy = math.NaN()
	if r, err := MeasureHead(context.Background(), p, m.measure); err != nil || r.Exceeded() || !r.Unknown() {
		t.Errorf("a budget of joules that nobody knows: %v, %+v", err, r)
	}
	// Counts that are the same each time.
	p.Metric, p.Threshold, p.Budgets = Instructions, 0.005, nil
	m = newMachine(6, 1, 1, 0)
	r, err := CompareStored(context.Background(), p, []Measurement{{Value: 1}, {Value: 1}}, m.measure)
	if err != nil || !r.Deterministic || r.Verdict != statistics.Pass || len(r.Head) != 3 {
		t.Errorf("%v: %+v", err, r)
	}
	if r, err = MeasureHead(context.Background(), p, m.measure); err != nil || len(r.Head) != 3 || r.Program.Head == nil {
		t.Errorf("%v: %+v", err, r)
	}
}

// Functions of a stored baseline are judged together, by Holm.
func TestStoredFunctions(t *testing.T) {
	m := newMachine(8, 1, 1, 0.01)
	m.parts[Head] = map[string]float64{"f": 0.5, "g": 0.2}
	p := m.plan()
	p.Functions, p.MaxPairs = true, 10
	base, err := MeasureHead(context.Background(), p, m.measure)
	if err != nil {
		t.Fatal(err)
	}
	m.parts[Head] = map[string]float64{"f": 0.5, "g": 0.4, "h": 0.05}
	r, err := CompareStored(context.Background(), p, base.Head, m.measure)
	if err != nil || len(r.Functions) != 3 || r.Functions[0].Name != "g" || r.Functions[0].Verdict != statistics.Regression || r.Functions[1].Verdict != statistics.Pass || r.Functions[2].Note != "only in head" || r.Verdict != statistics.Regression {
		t.Errorf("%v: %+v", err, r.Functions)
	}
}
