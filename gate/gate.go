// Package gate decides whether a change makes a program cost more: it checks out two
// revisions of a repository side by side, and measures them in interleaved pairs until the
// verdict is known.
//
// It takes a repository, a plan, and a function that measures one side once. It returns a
// Result. The package measures nothing itself, prints nothing, and never writes into the
// user's working tree or index.
package gate

import (
	"fmt"
	"math"
	"strings"
	"time"

	"cg/statistics"
)

// Side is one of the two that are compared.
type Side int

const (
	Base Side = iota
	Head
)

func (s Side) String() string { return [...]string{"base", "head"}[s] }

// Metric is what is compared.
type Metric string

const (
	Energy       Metric = "energy"       // the machine's while the command ran, joules
	CPUEnergy    Metric = "cpu-energy"   // the command's share of it by processor time, joules
	CPUTime      Metric = "cpu-time"     // user and system time of all its processes, seconds
	Instructions Metric = "instructions" // of all its processes outside the kernel
)

// Metrics are all there are.
func Metrics() []string {
	return []string{string(Energy), string(CPUEnergy), string(CPUTime), string(Instructions)}
}

// Threshold is the smallest relative change that matters where nobody says
// another.
func (m Metric) Threshold() float64 {
	if m == Instructions {
		return 0.005
	}
	return 0.05
}

// Unit is that of the metric.
func (m Metric) Unit() string {
	whole, of := m.Of()
	unit := map[Metric]string{Energy: "J", CPUEnergy: "J", CPUTime: "s", Instructions: "instructions"}[whole]
	if of != "" {
		unit += "/" + of
	}
	return unit
}

// Of is the metric of a run, and the unit of its work that the metric is for: energy/token is the energy of a
// run by the tokens of that run. The unit is "" where it is for the run.
func (m Metric) Of() (whole Metric, unit string) {
	name, unit, _ := strings.Cut(string(m), "/")
	return Metric(name), unit
}

// IsEnergy reports whether it is the energy of a run.
func (m Metric) IsEnergy() bool { return m == Energy || m == CPUEnergy }

// Sample is one measurement of a side: of a batch of runs. What is not known is
// NaN.
type Sample struct {
	Value     float64 // of the metric
	EnergyJ   float64 // of the program, whatever the metric is
	Seconds   float64 // from start to end
	Functions map[string]Cost
}

// Cost is that of a function in a sample, in the metric's unit.
type Cost struct {
	Self, Inclusive float64
	EnergyJ         float64 // inclusive
	Calls           uint64
}

// Plan is how the sides are compared.
type Plan struct {
	Metric    Metric
	Alpha     float64
	Threshold float64
	MaxPairs  int
	MaxTime   time.Duration // of warm-up and pairs, 0 for no limit
	Warmup    int           // runs of each side that do not count
	Seed      uint64        // of the order within pairs
	// Batch is how many runs make a measurement, 0 to choose.
	Batch int
	// MinDuration is how long a measurement has to take for the counter to see it.
	MinDuration time.Duration
	// Functions says that samples tell functions. Thresholds and Budgets are by
	// qualified name, budgets in joules; a budget for "" is the program's.
	Functions  bool
	Thresholds map[string]float64
	Budgets    map[string]float64
	// WarmUp measures the runs that warm up, nil for as all others are. It may know
	// no value, where the metric's tool is slow.
	WarmUp   Measure
	Now      func() time.Time
	Progress func(format string, args ...any)
	// TooFewPairs is called after the warm-up if MaxPairs pairs can find only changes
	// above the threshold: with the smallest change that they can find, and how many
	// pairs the threshold needs. The change is infinite where so many functions share
	// alpha that no change could be found.
	TooFewPairs func(detectable float64, pairs int)
}

// MinPairs is the smallest number of pairs that can say anything: five that all
// point one way are a chance of one in 32.
const MinPairs = 5

// MaxBatch is the most runs of one measurement.
const MaxBatch = 100_000

// Verdict is the outcome of a check. A result is never Undecided.
type Verdict = statistics.Verdict

// Comparison is what is said about the program, or about one of its functions.
type Comparison struct {
	Name    string  `json:"name"` // "" for the program
	Verdict Verdict `json:"verdict"`
	// Change is head's relative to base's: 0.05 is 5 % more.
	Change *float64 `json:"change"`
	Lo     *float64 `json:"change_lo"` // 90 % interval; null where there are too few pairs
	Hi     *float64 `json:"change_hi"`
	// Detectable is the smallest change that this many measurements of such a
	// spread show as a regression in four of five cases: it is above the threshold.
	Detectable *float64 `json:"smallest_detectable_change"`
	P          *float64 `json:"p_costs_more"` // of so much or more if head cost no more
	Threshold  float64  `json:"threshold"`
	Pairs      int      `json:"pairs"`
	Base       *float64 `json:"base"` // median of a run, in the metric's unit
	Head       *float64 `json:"head"`
	// Note says why there is no verdict, "" where there is one: a function that is
	// new or gone, that is not known in every pair, or that costs nothing itself.
	Note string `json:"note,omitempty"`
}

// Budget is what was allowed and what was used.
type Budget struct {
	Name     string   `json:"name"` // "" for the program
	BudgetJ  float64  `json:"budget_j"`
	MeanJ    *float64 `json:"mean_j"`
	LoJ      *float64 `json:"mean_lo_j"` // 95 % interval of the mean
	HiJ      *float64 `json:"mean_hi_j"`
	Exceeded *bool    `json:"exceeded"` // null where the energy is not known, or 0
}

// Result is what a comparison came to.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Interleaved is set where runs of the two sides alternated. Else what drifted
	// between them counts as change.
	Interleaved bool         `json:"interleaved"`
	Program     Comparison   `json:"program"`
	Functions   []Comparison `json:"functions"` // the dearest, and those of thresholds
	Budgets     []Budget     `json:"budgets"`
	Batch       int          `json:"batch"` // runs of each measurement
	Pairs       int          `json:"pairs"`
	MaxPairs    int          `json:"max_pairs"`
	// Deterministic says that the values of a side hardly differ, so that the
	// change is read off.
	Deterministic bool `json:"deterministic"`
	// EnergyBaseJ and EnergyHeadJ are the program's energy per run, medians of
	// what was measured; estimates from few runs where the metric is another.
	EnergyBaseJ *float64      `json:"energy_base_j"`
	EnergyHeadJ *float64      `json:"energy_head_j"`
	Foreseen    *float64      `json:"foreseen_detectable_change"` // by the warm-up
	Base        []Measurement `json:"base_measurements"`
	Head        []Measurement `json:"head_measurements"`
}

// Measurement is one measurement per run of the batch, in the order they were
// made.
type Measurement struct {
	Value     float64             `json:"value"`
	EnergyJ   *float64            `json:"program_energy_j"`
	Seconds   float64             `json:"duration_s"`
	Functions map[string]*float64 `json:"functions,omitempty"` // self, null where not known
}

// Exceeded reports whether a budget is exceeded.
func (r *Result) Exceeded() bool {
	for _, b := range r.Budgets {
		if b.Exceeded != nil && *b.Exceeded {
			return true
		}
	}
	return false
}

// Unknown reports whether the energy that a budget limits is not known.
func (r *Result) Unknown() bool {
	for _, b := range r.Budgets {
		if b.Exceeded == nil {
			return true
		}
	}
	return false
}

// TooFast is the error of a command that ends before the counter has moved enough.
type TooFast struct {
	Took, Wanted time.Duration // of a measurement
	Runs         int           // that would do
}

func (e *TooFast) Error() string {
	return fmt.Sprintf("the command takes %s, and the counter needs %s to tell it: --batch %d measures %d runs at "+
		"once, --batch auto chooses",
		rounded(e.Took), rounded(e.Wanted), e.Runs, e.Runs)
}

func rounded(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

// NeverRan says that functions with budgets were not called.
type NeverRan struct {
	Names []string
	What  string // budget or threshold
	Near  map[string]string
}

func (e *NeverRan) Error() string {
	text := ""
	for i, n := range e.Names {
		if i > 0 {
			text += "\n"
		}
		text += fmt.Sprintf("%s for %s: no such function ran in head", e.What, n)
		if near := e.Near[n]; near != "" {
			text += "; is it " + near + "?"
		}
	}
	return text
}

// number is nil for what is none.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
