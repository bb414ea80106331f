package statistics

import "slices"

// Family judges several comparisons that are made at once, such as a program and
// its functions: of the families in which nothing changed, at most alpha see
// a regression anywhere. Each comparison is a sequence of Pairs. At each look,
// Holm's steps decide which regressed: the comparisons that are left share alpha,
// and one that is rejected leaves its part to the others (Ye, Li, Liu and Yao, A
// Group Sequential Holm Procedure with Multiple Primary Endpoints, Statistics in
// Medicine, 2013).
//
// A pass is judged at alpha for each comparison alone.
type Family struct {
	rules    []Rule
	members  []*Pairs // judged at the whole of alpha
	verdicts []Verdict
}

// NewFamily begins comparisons with these thresholds; alpha and looks are those
// of the rule.
func NewFamily(r Rule, thresholds []float64) *Family {
	f := &Family{}
	for _, t := range thresholds {
		rule := r
		rule.Threshold = t
		f.rules, f.members = append(f.rules, rule), append(f.members, NewPairs(rule))
		f.verdicts = append(f.verdicts, Undecided)
	}
	return f
}

// Add adds a pair to a comparison. Both values are positive.
func (f *Family) Add(member int, base, head float64) { f.members[member].Add(base, head) }

// Pairs are those of a comparison.
func (f *Family) Pairs(member int) *Pairs { return f.members[member] }

// Judge returns the verdict on each comparison. It is called after each pair.
func (f *Family) Judge() []Verdict { return f.judge(false) }

// Finish returns the verdicts when there will be no more pairs.
func (f *Family) Finish() []Verdict { return f.judge(true) }

func (f *Family) judge(finish bool) []Verdict {
	alone := make([]Verdict, len(f.members)) // of those that are at a look
	for i, m := range f.members {
		switch {
		case f.verdicts[i] != Undecided:
		case finish:
			alone[i] = m.Finish()
		case slices.Contains(m.rule.Looks, m.N()):
			alone[i] = m.Judge()
		}
	}
	for again := true; again; {
		again = false
		left := 0
		for _, v := range f.verdicts {
			if v != Regression {
				left++
			}
		}
		for i, v := range alone {
			// What does not regress at all of alpha does not at a part of it.
			if v == Regression && f.verdicts[i] == Undecided &&
				f.replay(i, f.rules[i].Alpha/float64(left), finish) == Regression {
				f.verdicts[i], again = Regression, true
			}
		}
	}
	for i, v := range alone {
		m := f.members[i]
		switch {
		case v == "" || f.verdicts[i] != Undecided:
		case v == Pass:
			f.verdicts[i] = Pass
		case finish || m.N() >= m.rule.Looks[len(m.rule.Looks)-1]:
			f.verdicts[i] = Inconclusive
		}
	}
	return slices.Clone(f.verdicts)
}

// replay judges a comparison's pairs so far at a part of alpha, look by look.
func (f *Family) replay(member int, alpha float64, finish bool) Verdict {
	rule := f.rules[member]
	rule.Alpha = alpha
	p := NewPairs(rule)
	p.ratios = f.members[member].ratios
	verdict := p.Judge()
	for verdict == Undecided && p.look < len(rule.Looks) && len(p.ratios) >= rule.Looks[p.look] {
		verdict = p.Judge()
	}
	if finish {
		verdict = p.Finish()
	}
	return verdict
}
