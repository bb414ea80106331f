package laboratory

import (
	"math"
	"slices"
)

// Row is what the runs of a case show. Parts are of the truth.
type Row struct {
	Case       Case
	Runs       int
	Values     int // that have an interval, self and inclusive ones each
	Held       int // of these, whose interval has the truth
	Untold     int // values without an interval, in none of the other figures
	Unresolved int // values that cg calls not resolvable; their intervals count
	// Reasons is how many values cg calls not resolvable, with an interval or without, for each of its reasons.
	Reasons map[string]int
	// Silent are the runs of which cg told no function's interval.
	Silent    []Silence
	Bias      float64 // the mean error
	Median    float64 // the median of the errors, whatever their sign
	Worst     float64
	HalfWidth float64 // the median of the intervals' half widths
	Programs  int     // runs whose program has an interval
	Whole     int     // of these, whose interval has the truth
	WholeOff  float64 // the mean of the errors of the programs' energies, whatever their sign
	errors    []float64
	widths    []float64
}

// Silence is a run of which cg told no function's interval.
type Silence struct {
	Run int    // the first is 1
	Why string // Outcome.Untold
}

// Promised is the least part of its intervals that a row should hold, Enough the most: intervals that hold more are
// wider than they need to be.
const Promised, Enough = 0.93, 0.97

// Add takes what one run showed.
func (r *Row) Add(o Outcome) {
	r.Runs++
	if o.Untold != "" {
		r.Silent = append(r.Silent, Silence{r.Runs, o.Untold})
	}
	if program := o.Program; program.Told && program.Truth > 0 {
		r.Programs++
		r.WholeOff += (math.Abs(program.Figure/program.Truth-1) - r.WholeOff) / float64(r.Programs)
		if program.Holds() {
			r.Whole++
		}
	}
	for _, v := range o.Values {
		if v.Unresolved != "" {
			if r.Reasons == nil {
				r.Reasons = map[string]int{}
			}
			r.Reasons[v.Unresolved]++
		}
		if !v.Told {
			r.Untold++
			continue
		}
		r.Values++
		if v.Holds() {
			r.Held++
		}
		if v.Unresolved != "" {
			r.Unresolved++
		}
		off := v.Figure/v.Truth - 1
		r.Bias += (off - r.Bias) / float64(r.Values)
		r.errors = append(r.errors, math.Abs(off))
		r.widths = append(r.widths, (v.Hi-v.Lo)/2/v.Truth)
		r.Worst = max(r.Worst, math.Abs(off))
	}
	r.Median, r.HalfWidth = median(r.errors), median(r.widths)
}

// Coverage is the part of the intervals that have the truth, NaN where there are none.
func (r *Row) Coverage() float64 { return float64(r.Held) / float64(r.Values) }

// IsKept reports whether a row holds as many intervals as Promised, whatever chance does to that many (three standard
// errors; the self and the inclusive value of a function are right or wrong together).
func (r *Row) IsKept() bool {
	n := float64(r.Values)
	return n > 0 && float64(r.Held) >= Promised*n-3*math.Sqrt(2*Promised*(1-Promised)*n)
}

// IsWide reports whether a row holds more intervals than Enough.
func (r *Row) IsWide() bool { return r.Values > 0 && r.Coverage() > Enough }

func median(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
