// Package merge brings the logs of several nodes, or of several trackers, onto one clock and
// adds up their power.
//
// What comes in are logs of cg track or WattAMeter. What comes out has every column of them
// at the same moments, the power of each log and of all, and their energies. The moments are
// those of align_and_concat_df of WattAMeter 0.9 (utils/postprocessing.py): from the latest
// beginning to the earliest end, at the mean interval of the logs. A value lies on the line
// between the readings around it. Where these are farther apart than two intervals there is a
// gap, and nothing is made up for it.
package merge

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cg/track/energylog"
)

// Source is a log by the name of its file.
type Source struct {
	Name string
	Log  *energylog.Rows
}

// Logs are merged logs.
type Logs struct {
	Start int64         // ns since 1970
	Step  time.Duration // between two moments
	Steps int           // moments
	// Columns are those of all logs: the number of the log, _, and the column's own name.
	// Values has their values by column, not a number where they are not known.
	Columns []string
	Values  [][]float64
	Parts   []Sum // of each log
	Total   Sum
	step    float64 // seconds, not rounded
	// CgVersion is of the cg that merged them, where it is known.
	CgVersion string
}

// Sum is what a log, or all, come to in the time that they have in common.
type Sum struct {
	Name    string
	Power   []float64 // W at each moment, not a number where it is not known
	EnergyJ float64   // without the time in gaps; not a number where there is no column of it
	Gap     time.Duration
	Kind    string // of the energy: measured, derived or estimated
	// Of Power, where it is known; not a number where it never is.
	Mean, Min, Median, Max float64
	Known                  int // moments
}

// Kind names merged logs.
func (*Logs) Kind() string { return "merged logs of cg track" }

// Title names the logs.
func (l *Logs) Title() string {
	if len(l.Parts) == 1 {
		return l.Parts[0].Name
	}
	return l.count()
}

func (l *Logs) count() string {
	if len(l.Parts) == 1 {
		return "1 log"
	}
	return fmt.Sprintf("%d logs", len(l.Parts))
}

// At is a moment, in ns since 1970.
func (l *Logs) At(i int) int64 { return l.Start + int64(math.Round(float64(i)*l.step*1e9)) }

// maxCells bounds the table: 1e8 values are 800 MB.
const maxCells = 100_000_000

// Align merges logs at moments that are step apart; 0 is the mean of the logs' intervals.
func Align(sources []Source, step time.Duration) (*Logs, error) {
	if len(sources) == 0 {
		return nil, errors.New("no logs")
	}
	l := &Logs{Start: math.MinInt64}
	end, cells := int64(math.MaxInt64), 0
	for _, s := range sources {
		n := len(s.Log.Unix)
		l.Start, end = max(l.Start, s.Log.Unix[0]), min(end, s.Log.Unix[n-1])
		l.step += float64(s.Log.Unix[n-1]-s.Log.Unix[0]) * 1e-9 / float64(n-1) / float64(len(sources))
		cells += len(s.Log.Names) + 1
	}
	if step > 0 {
		l.step = step.Seconds()
	}
	if end < l.Start {
		return nil, errors.New("they have no time in common: one ends before another begins")
	}
	span := float64(end-l.Start) * 1e-9
	if !(l.step > 0) || span/l.step*float64(cells) > maxCells {
		return nil, fmt.Errorf("more than %d values: use a longer --step", maxCells)
	}
	l.Steps = int(span/l.step+1e-9) + 1 // span is a whole number of steps, but for rounding
	l.Step = time.Duration(math.Round(l.step * 1e9))
	for i, s := range sources {
		l.add(fmt.Sprintf("%d_", i), s, end)
	}
	l.sum()
	return l, nil
}

// add adds the columns of a log, its power and its energy.
func (l *Logs) add(prefix string, s Source, end int64) {
	widest := gapOf(s.Log.Unix)
	first := len(l.Values)
	for i, name := range s.Log.Names {
		l.Columns = append(l.Columns, prefix+name)
		l.Values = append(l.Values, l.aligned(s.Log.Unix, s.Log.Values[i], widest))
	}
	sum := Sum{Name: s.Name, Power: make([]float64, l.Steps), Kind: s.Log.Kind, EnergyJ: math.NaN()}
	for i := range sum.Power {
		if len(s.Log.Powers) == 0 {
			sum.Power[i] = math.NaN()
		}
		for _, p := range s.Log.Powers {
			sum.Power[i] += l.Values[first+p.Column][i] * p.Scale
		}
	}
	for i, p := range s.Log.Amounts {
		joules, gap := amount(s.Log.Unix, s.Log.Values[p.Column], p.Power, window{l.Start, end, widest})
		if i == 0 {
			sum.EnergyJ = 0
		}
		sum.EnergyJ += joules * p.Scale
		sum.Gap = max(sum.Gap, gap)
	}
	sum.describe()
	l.Parts = append(l.Parts, sum)
}

// sum adds the logs up. The total is known where all are.
func (l *Logs) sum() {
	l.Total = Sum{Name: "all", Power: make([]float64, l.Steps), Kind: "measured"}
	added := 0
	for _, p := range l.Parts {
		if len(l.Parts) > 1 && math.IsNaN(p.EnergyJ) && p.Known == 0 {
			continue // a log of temperatures alone
		}
		added++
		for i, w := range p.Power {
			l.Total.Power[i] += w
		}
		l.Total.EnergyJ += p.EnergyJ
		l.Total.Gap = max(l.Total.Gap, p.Gap)
		if p.Kind == "estimated" || p.Kind == "derived" && l.Total.Kind == "measured" {
			l.Total.Kind = p.Kind
		}
	}
	if added == 0 {
		l.Total.EnergyJ = math.NaN()
		for i := range l.Total.Power {
			l.Total.Power[i] = math.NaN()
		}
	}
	l.Total.describe()
}

// gapOf is the time between two readings from which on it is a gap: more than two of the usual
// intervals, of which half are allowed for a reading that came late.
func gapOf(unix []int64) int64 {
	var steps []int64
	for i := 1; i < len(unix); i++ {
		steps = append(steps, unix[i]-unix[i-1])
	}
	slices.Sort(steps)
	return steps[len(steps)/2] * 5 / 2
}

// aligned are the values of a column at the moments of l.
func (l *Logs) aligned(unix []int64, values []float64, widest int64) []float64 {
	out := make([]float64, l.Steps)
	before, after := -1, 0 // known readings around the moment
	for i := range out {
		at := l.At(i)
		for after < len(unix) && (unix[after] < at || math.IsNaN(values[after])) {
			if !math.IsNaN(values[after]) {
				before = after
			}
			after++
		}
		switch {
		case after < len(unix) && unix[after] == at:
			out[i] = values[after]
		case after == len(unix) || before < 0 || unix[after]-unix[before] > widest:
			out[i] = math.NaN()
		default:
			part := float64(at-unix[before]) / float64(unix[after]-unix[before])
			out[i] = values[before] + part*(values[after]-values[before])
		}
	}
	return out
}

// window is a time, in ns since 1970, and from which distance of readings on there is a gap.
type window struct{ from, to, widest int64 }

// amount is by how much a counter rose between two moments, or the integral of a power, and for
// how long it is not known. A counter knows what was used in a gap. What it counted before it
// began anew is lost, so the time between the two readings is not known.
func amount(unix []int64, values []float64, power bool, in window) (sum float64, gap time.Duration) {
	from, to, widest := in.from, in.to, in.widest
	known, before := from, -1
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if before >= 0 {
			lo, hi := max(unix[before], from), min(unix[i], to)
			wide := float64(unix[i] - unix[before])
			at := func(t int64) float64 {
				return values[before] + (v-values[before])*float64(t-unix[before])/wide
			}
			switch {
			case hi <= lo:
			case power && unix[i]-unix[before] > widest:
				gap += time.Duration(hi - lo)
			case power:
				sum += (at(lo) + at(hi)) / 2 * float64(hi-lo) * 1e-9
			case v < values[before]:
				gap += time.Duration(hi - lo)
			default:
				sum += at(hi) - at(lo)
			}
			known = max(known, hi)
		} else if unix[i] > from {
			gap += time.Duration(min(unix[i], to) - from)
			known = min(unix[i], to)
		}
		before = i
	}
	return sum, gap + time.Duration(max(0, to-known))
}

// describe fills in the figures of the power.
func (s *Sum) describe() {
	var known []float64
	sum := 0.0
	for _, w := range s.Power {
		if !math.IsNaN(w) {
			known = append(known, w)
			sum += w
		}
	}
	s.Known = len(known)
	s.Mean, s.Min, s.Median, s.Max = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if n := len(known); n > 0 {
		slices.Sort(known)
		s.Mean, s.Min, s.Max = sum/float64(n), known[0], known[n-1]
		s.Median = (known[(n-1)/2] + known[n/2]) / 2
	}
}
