package report

import (
	"math"

	"cg/statistics"
)

// Verdict says in a word what there is to do about a function, by thresholds of its share
// of the program's energy (docs/reading.md). It is "" in a file of an older cg.
type Verdict string

// The verdicts have the names that codegreen project gives them.
const (
	Wrapper     Verdict = "wrapper"            // what it uses is what it calls
	Inefficient Verdict = "TYPE_2_INEFFICIENT" // a call of it costs much more than one of other functions
	Frequent    Verdict = "TYPE_5_FREQUENCY"   // a call costs little, and there are many
	Direct      Verdict = "TYPE_1_DIRECT"      // its own code is a good part
	Minor       Verdict = "minor"
	NotTold     Verdict = "not told" // the intervals allow more than one
)

// Verdicts are all, in the order in which their conditions are tried.
var Verdicts = []Verdict{Wrapper, Inefficient, Frequent, Direct, Minor, NotTold}

// All lists the verdicts.
func (Verdict) All() (all []string) {
	for _, v := range Verdicts {
		all = append(all, string(v))
	}
	return all
}

// Meaning says in words what a verdict stands for, "" for one that says nothing.
func (v Verdict) Meaning() string {
	return map[Verdict]string{
		Wrapper:     "most of its energy is that of what it calls",
		Inefficient: "a call costs 3 times the median of all functions or more",
		Frequent:    "over 100 000 calls that cost little each",
		Direct:      "its own code takes 3 % of the program's energy or more",
	}[v]
}

// Thresholds of the verdicts: parts of the program's energy, a function's self energy by
// its inclusive energy, and the self energy of a call by the median over functions.
const (
	wrapperInclusive = 0.05
	wrapperSelf      = 0.2
	inefficientSelf  = 0.05
	inefficientCall  = 3
	frequentCalls    = 100_000
	frequentSelf     = 0.03
	frequentCall     = 1.5
	directSelf       = 0.03
)

// bounds are what a figure is between.
type bounds struct{ lo, hi float64 }

var anything = bounds{0, math.Inf(1)}

// over is what there is in b of whole.
func (b bounds) over(whole bounds) bounds {
	out := anything
	if whole.hi > 0 {
		out.lo = b.lo / whole.hi
	}
	if whole.lo > 0 {
		out.hi = b.hi / whole.lo
	}
	return out
}

// truth is of a statement that the data may leave open.
type truth int

const (
	open truth = iota
	no
	yes
)

// atLeast tells whether a figure reaches a limit.
func (b bounds) atLeast(limit float64) truth {
	switch {
	case b.lo >= limit:
		return yes
	case b.hi < limit:
		return no
	}
	return open
}

func (t truth) not() truth {
	return map[truth]truth{open: open, yes: no, no: yes}[t]
}

// both are statements that have to be true together.
func both(all ...truth) truth {
	result := yes
	for _, t := range all {
		if t == no {
			return no
		}
		if t == open {
			result = open
		}
	}
	return result
}

// judge gives each function its verdict.
func (r *Run) judge() {
	for i, v := range r.verdicts() {
		r.Functions[i].Verdict = v
	}
}

// verdicts are those of all functions, in their order.
func (r *Run) verdicts() []Verdict {
	all := make([]bounds, len(r.Functions)) // the self energy of a call
	var los, his []float64
	scale := r.scale()
	for i, f := range r.Functions {
		all[i] = anything
		self, known := scale.interval(f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ)
		if known && f.Calls > 0 {
			all[i] = bounds{self.lo / float64(f.Calls), self.hi / float64(f.Calls)}
		}
		if f.Calls > 0 {
			los, his = append(los, all[i].lo), append(his, all[i].hi)
		}
	}
	median := bounds{statistics.Median(los), statistics.Median(his)}
	out := make([]Verdict, len(r.Functions))
	for i := range r.Functions {
		out[i] = r.verdict(&r.Functions[i], scale, all[i].over(median))
	}
	return out
}

// verdict is the first of the verdicts whose conditions are true, in their order. What
// the data leave open on the way leaves the verdict open. But Direct does not need to know that a function
// is not Inefficient: its own code is a good part of the program either way. Where the lower ends of most
// functions are 0, that of the median is 0, too, and no call is known to cost less than 3 times it.
func (r *Run) verdict(f *Function, scale scaling, call bounds) Verdict {
	program, known := scale.interval(r.Totals.ProgramEnergyJ, r.Totals.ProgramEnergyLoJ, r.Totals.ProgramEnergyHiJ)
	self, knownSelf := scale.interval(f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ)
	whole, knownWhole := scale.interval(f.InclusiveEnergyJ, f.InclusiveEnergyLoJ, f.InclusiveEnergyHiJ)
	if !known || !knownSelf || !knownWhole {
		return NotTold
	}
	ratio := self.over(whole)
	if *f.SelfEnergyJ == *f.InclusiveEnergyJ { // it called nothing
		ratio = bounds{1, 1}
	}
	selfShare, wholeShare := self.over(program), whole.over(program)
	often := no
	if f.Calls > frequentCalls {
		often = yes
	}
	direct := selfShare.atLeast(directSelf)
	for _, rule := range []struct {
		verdict Verdict
		holds   truth
	}{
		{Wrapper, both(wholeShare.atLeast(wrapperInclusive), ratio.atLeast(wrapperSelf).not())},
		{Inefficient, both(selfShare.atLeast(inefficientSelf), call.atLeast(inefficientCall))},
		{Frequent, both(often, selfShare.atLeast(frequentSelf), call.atLeast(frequentCall).not())},
		{Direct, direct},
	} {
		switch {
		case rule.holds == yes:
			return rule.verdict
		case rule.holds == open && (rule.verdict != Inefficient || direct != yes):
			return NotTold
		}
	}
	return Minor
}

// scaling is the doubt that all energies of a run have in common, as factors. A share of
// the program's energy does not have it.
type scaling struct{ lo, hi float64 }

// scale is the doubt of the machine's energy: that of an estimate, or of a counter.
func (r *Run) scale() scaling {
	t := r.Totals
	if t.EnergyJ == nil || t.LoJ == nil || t.HiJ == nil || *t.LoJ == 0 {
		return scaling{1, 1}
	}
	return scaling{t.LoJ.Float() / t.EnergyJ.Float(), t.HiJ.Float() / t.EnergyJ.Float()}
}

// interval is an energy's own interval, without the common doubt. It is not known where
// nothing bounds the energy.
func (s scaling) interval(e, lo, hi *Joules) (b bounds, known bool) {
	if e == nil || lo == nil || hi == nil {
		return anything, false
	}
	return bounds{min(lo.Float()/s.lo, e.Float()), max(hi.Float()/s.hi, e.Float())}, true
}
