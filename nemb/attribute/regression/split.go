package regression

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A function that works for several callers may draw another power for each: it works on
// other data. Its contexts, the function as called along a path, then have powers of
// their own. They are found one by one, like the branches of a regression tree: of all
// contexts the one whose own power would explain most of what is left, if that is far
// more than chance would explain, and if powers that are found without an eighth of the
// run then explain that eighth clearly better (cross-validation; Breiman, Friedman,
// Olshen and Stone, Classification and Regression Trees, 1984, chapter 3). What no longer
// helps when others have been found is joined again.
const (
	maxCandidates = 64   // contexts that are tried, those that ran longest
	maxSplits     = 32   // contexts that get a power of their own
	maxRejected   = 8    // contexts that do not stand the validation, one after the other
	folds         = 8    // parts of the run that are left out in turns
	segments      = 4    // of the run, in a part
	leastPeriods  = 10   // of the counter, for which a context ran, and the rest of its function
	leastPart     = 5e-3 // of the run's processor time, likewise
	leastScore    = 4    // standard deviations by which its power differs
	// differs is the standard deviation of the powers of a function's contexts, as a part
	// of its power, before anything is known of them.
	differs   = 0.5
	mostDoubt = 1.5 // of the power of a context that lost its own
	// While contexts are looked for, no power is more than so many times the mean and that of
	// the block with the highest, or less than a part of the mean. Else a caller that runs a
	// little itself could have all that its callee draws more, or less, for it than for others.
	timesMean, timesHighest, partOfMean = 2, 1.25, 0.25
)

// splitting is the search for contexts with a power of their own. Its columns are those
// of the regression and all candidates, each without the candidates within it.
type splitting struct {
	*regression
	functions   int      // columns that are none of the candidates, without the pool
	candidates  []Column // those that follow
	chosen      []bool   // per candidate
	parts       []*gram  // of the run
	least, most float64  // W, the limits of powers
}

// split chooses contexts that get a power of their own, and says how far the powers of
// the others may be off.
func (r *regression) split() (contexts []Column, doubts map[Column]float64) {
	candidates, doubts := r.candidates()
	if len(candidates) == 0 || r.c.blur != nil {
		return nil, doubts
	}
	all := *r
	all.use(slices.Concat(r.columns, candidates))
	all.buildChunks(folds * segments)
	s := &splitting{
		regression: &all, functions: len(r.columns), candidates: candidates, chosen: make([]bool, len(candidates)),
		least: partOfMean * r.mean, most: max(timesMean*r.mean, timesHighest*r.highest()),
	}
	for i := range folds {
		part := newGram(all.width())
		for k := i; k < len(all.chunks); k += folds {
			part.add(all.chunks[k], 1)
		}
		s.parts = append(s.parts, part)
	}
	all.chunks = nil
	s.grow()
	s.join()
	for i, is := range s.chosen {
		if is {
			contexts = append(contexts, candidates[i])
		}
	}
	s.doubt(doubts)
	return contexts, doubts
}

// highest is the power of the block with the highest, in watts of processor time, among
// those that are at least half as long as the mean.
func (r *regression) highest() (watts float64) {
	mean, times := 0.0, make([]float64, len(r.c.blocks))
	for i := range r.c.blocks {
		for _, e := range r.c.blocks[i].times {
			if r.has(e.Column) {
				times[i] += float64(e.Time) * 1e-6
			}
		}
		mean += times[i] / float64(len(times))
	}
	for i := range r.c.blocks {
		if times[i] >= mean/2 {
			watts = max(watts, r.energy(&r.c.blocks[i])*1e-3/times[i])
		}
	}
	return watts
}

// candidates lists the contexts that ran long enough, as the rest of their functions did.
// Of the other contexts nothing will be known: their doubt is what is usual.
func (r *regression) candidates() (chosen []Column, doubts map[Column]float64) {
	doubts = map[Column]float64{}
	if r.c.of == nil {
		return nil, doubts
	}
	times, all := r.contextTimes()
	least := max(leastPeriods*r.c.period*1e-6, leastPart*all)
	rest := func(k Column) float64 { return times[r.c.of.function(k)] - times[k] }
	within := map[Column][]Column{} // by the context around them
	for _, k := range slices.Sorted(maps.Keys(times)) {
		outer := r.c.of(k)
		if outer == Outside || times[outer]-times[k] <= 1e-6*times[k] {
			continue // it is all that there is of the context around it
		}
		doubts[k] = differs
		_, has := r.index[r.c.of.function(k)]
		if has && times[k] >= least && rest(k) >= least && times[outer]-times[k] >= least {
			within[outer] = append(within[outer], k)
		}
	}
	for _, outer := range slices.Sorted(maps.Keys(within)) {
		siblings := within[outer]
		slices.SortFunc(siblings, func(x, y Column) int {
			return cmp.Or(cmp.Compare(times[x], times[y]), cmp.Compare(x, y))
		})
		if len(siblings) == 2 && times[outer]-times[siblings[0]]-times[siblings[1]] < least {
			delete(doubts, siblings[1]) // it is the rest of the other
			siblings = siblings[:1]
		}
		chosen = append(chosen, siblings...)
	}
	slices.SortFunc(chosen, func(x, y Column) int {
		return cmp.Or(cmp.Compare(min(times[y], rest(y)), min(times[x], rest(x))), cmp.Compare(x, y))
	})
	if len(r.c.blocks) < folds*segments {
		return nil, doubts
	}
	return chosen[:min(len(chosen), maxCandidates, max(0, len(r.c.blocks)/3-len(r.columns)))], doubts
}

// contextTimes is how long each column ran with the contexts within it, and all that ran,
// in milliseconds.
func (r *regression) contextTimes() (times map[Column]float64, all float64) {
	times = map[Column]float64{}
	for _, k := range slices.Sorted(maps.Keys(r.times)) {
		all += r.times[k]
		for at := k; ; at = r.c.of(at) {
			times[at] += r.times[k]
			if r.c.of(at) == Outside {
				break
			}
		}
	}
	return times, all
}

// grow chooses candidates as long as one helps.
func (s *splitting) grow() {
	rejected := make([]bool, len(s.candidates))
	left, losses := 0, s.validate()
	for n := 0; n < maxSplits && left < maxRejected; {
		best, most := -1, float64(leastScore*leastScore)
		for i, score := range s.scores() {
			v := score.off * score.off / score.variance
			if !rejected[i] && !s.chosen[i] && v > most && s.leavesTime(i) {
				best, most = i, v
			}
		}
		if best < 0 {
			return
		}
		s.chosen[best] = true
		if now := s.validate(); isClearlyLess(now, losses) {
			losses, left = now, 0
			n++
			continue
		}
		s.chosen[best], rejected[best] = false, true
		left++
	}
}

// leavesTime reports whether a candidate that is chosen leaves time to the group that has
// its times now.
func (s *splitting) leavesTime(i int) bool {
	of, _ := s.grouping()
	own, rest := 0.0, 0.0
	for a, time := range s.total {
		switch {
		case of[a] != of[s.functions+i]:
		case a >= s.functions && a < len(s.columns) && s.isWithin(s.columns[a], s.candidates[i]):
			own += time
		default:
			rest += time
		}
	}
	return rest > 1e-3*own
}

// join takes back what no longer helps.
func (s *splitting) join() {
	losses := s.validate()
	for i, is := range s.chosen {
		if !is {
			continue
		}
		s.chosen[i] = false
		without := s.validate()
		if isClearlyLess(losses, without) {
			s.chosen[i] = true
			continue
		}
		losses = without
	}
}

// grouping is the group of each column, those of candidates that are not chosen being
// that of the context around them.
func (s *splitting) grouping() (of []int, groups int) {
	of = make([]int, s.width())
	for i := range s.functions {
		of[i] = i
	}
	groups = s.functions
	if s.pool >= 0 {
		of[s.pool] = groups
		groups++
	}
	for i, is := range s.chosen {
		if is {
			of[s.functions+i] = groups
			groups++
		}
	}
	for i, is := range s.chosen {
		if is {
			continue
		}
		for k := s.c.of(s.candidates[i]); ; k = s.c.of(k) {
			at, has := s.index[k]
			if has && (at < s.functions || s.chosen[at-s.functions]) && s.isOwn(k, at) {
				of[s.functions+i] = of[at]
				break
			}
		}
	}
	return of, groups
}

// isOwn reports whether a column has an index of its own, and not that of the column
// that has its times.
func (s *splitting) isOwn(k Column, at int) bool { return at < len(s.columns) && s.columns[at] == k }

// solveGroups finds the powers of groups of columns, and the problem that they solve. What
// is beyond a limit is fixed to it.
func (s *splitting) solveGroups(g *gram) (p []float64, pulled *gram, ok bool) {
	s.fixed = make([]bool, g.n)
	for i, k := range s.columns[:s.functions] {
		s.fixed[i] = k == Runtime
	}
	pulled = s.pulled(g, s.means(g.n))
	for {
		if p, ok = pulled.nonnegative(s.mean); !ok {
			return nil, nil, false
		}
		weights, limits, beyond := make([]float64, g.n), make([]float64, g.n), false
		for i := range p {
			if limits[i] = min(max(p[i], s.least), s.most); limits[i] != p[i] && !s.fixed[i] {
				weights[i], s.fixed[i], beyond = 1e6*pulled.at(i, i), true, true
			}
		}
		if !beyond {
			return p, pulled, true
		}
		pulled = pulled.towards(limits, weights)
	}
}

// validate gives the squares that are left of each part of the run with powers that are
// found without it; nil where there are none.
func (s *splitting) validate() []float64 {
	of, n := s.grouping()
	whole := newGram(n)
	var parts []*gram
	for _, part := range s.parts {
		g := part.grouped(of, n)
		parts = append(parts, g)
		whole.add(g, 1)
	}
	var losses []float64
	for _, part := range parts {
		others := newGram(n)
		others.add(whole, 1)
		others.add(part, -1)
		p, _, ok := s.solveGroups(others)
		if !ok {
			return nil
		}
		losses = append(losses, part.rss(p))
	}
	return losses
}

// isClearlyLess reports whether losses of the parts of a run are less than others, by
// more than twice the standard error of the difference.
func isClearlyLess(losses, others []float64) bool {
	if losses == nil || len(losses) != len(others) {
		return false
	}
	n := float64(len(losses))
	mean, squares := 0.0, 0.0
	for i := range losses {
		mean += (others[i] - losses[i]) / n
	}
	for i := range losses {
		off := others[i] - losses[i] - mean
		squares += off * off
	}
	return mean > 2*math.Sqrt(squares/(n-1)/n)
}

// score is by how much the power of a candidate is above that of the group that has its
// times, in watts, and the variance of that; +Inf where the data do not show it.
type score struct {
	off, variance float64
	power         float64 // of the group
	function      float64 // W, of what is left of its function
}

// scores says what each candidate that is not chosen would show if it were.
func (s *splitting) scores() []score {
	of, n := s.grouping()
	all := s.all.grouped(of, n)
	scores := make([]score, len(s.candidates))
	for i := range scores {
		scores[i].variance = math.Inf(1)
	}
	p, pulled, ok := s.solveGroups(all)
	if !ok {
		return scores
	}
	inverse, ok := pulled.inverse()
	if !ok {
		return scores
	}
	noise := all.rss(p) / max(1, all.count-float64(n))
	for i := range s.candidates {
		group := of[s.functions+i]
		if !s.chosen[i] {
			scores[i] = s.score(i, of, p, inverse, noise)
		}
		scores[i].power, scores[i].function = p[group], p[s.index[s.c.of.function(s.candidates[i])]]
	}
	return scores
}

// score says what a candidate would show. The groups have these powers.
func (s *splitting) score(i int, of []int, p []float64, inverse mat.Matrix, noise float64) score {
	products := mat.NewVecDense(len(p), nil) // with the groups
	square, energy := 0.0, 0.0
	for a := range s.candidates {
		a := s.functions + a
		if of[a] != of[s.functions+i] || !s.isWithin(s.columns[a], s.candidates[i]) {
			continue
		}
		energy += s.all.xy[a]
		for b := range s.width() {
			products.SetVec(of[b], products.AtVec(of[b])+s.all.at(a, b))
			if b >= s.functions && b < len(s.columns) && of[b] == of[a] && s.isWithin(s.columns[b], s.candidates[i]) {
				square += s.all.at(a, b)
			}
		}
	}
	var explained mat.VecDense
	explained.MulVec(inverse, products)
	alone := square - mat.Dot(products, &explained)
	if alone <= 1e-6*square || noise <= 0 {
		return score{variance: math.Inf(1)}
	}
	return score{off: (energy - mat.Dot(products, mat.NewVecDense(len(p), p))) / alone, variance: noise / alone}
}

// isWithin reports whether a column is a context or a part of it.
func (s *splitting) isWithin(k, context Column) bool {
	for ; k != Outside; k = s.c.of(k) {
		if k == context {
			return true
		}
	}
	return false
}

// doubt notes by how much the powers of the candidates may be off: what the data show, as
// far as that is more likely than what is usual. One that was chosen has its own power, but
// may lose it again; then it is known to differ.
func (s *splitting) doubt(doubts map[Column]float64) {
	for i, score := range s.scores() {
		k := s.candidates[i]
		if s.chosen[i] {
			doubts[k] = min(mostDoubt, max(differs, math.Abs(score.power/max(score.function, s.least)-1)))
			continue
		}
		if score.power <= 0 {
			continue
		}
		prior := differs * score.power
		known := 1 / (1/score.variance + 1/(prior*prior))
		off := known / score.variance * score.off
		doubts[k] = math.Sqrt(off*off+known) / score.power
	}
}

// separate lists those of the contexts that the data separate from all other columns. A
// function of which they cannot separate the rest keeps none.
func (r *regression) separate(g grouping, contexts []Column) (kept []Column) {
	alone := func(k Column) bool {
		i := r.index[k]
		return g.reason[i] != Collinear && !r.fixed[g.of[i]]
	}
	for _, k := range contexts {
		if alone(k) && alone(r.c.of.function(k)) {
			kept = append(kept, k)
		}
	}
	return kept
}

// joinContexts makes one estimate of a function and those of its contexts that have a
// power of their own. A function of which nothing is left has that of its contexts.
func (f *Fit) joinContexts(r *regression) {
	columns := map[Column][]int{}
	for i, k := range r.columns {
		if function := r.c.of.function(k); function != k {
			columns[function] = append(columns[function], i)
		}
	}
	for function, contexts := range columns {
		rest := f.Columns[function]
		parts := []*Estimate{rest}
		f.parts[function] = rest
		time := r.total[r.index[function]]
		for _, i := range contexts {
			k := r.columns[i]
			f.parts[k] = f.Columns[k]
			parts = append(parts, f.Columns[k])
			time += r.total[i]
			delete(f.Columns, k)
		}
		f.Columns[function] = together(parts, time, f.Quantile)
	}
}

// together is the estimate of several columns, which ran for so many milliseconds.
func together(parts []*Estimate, time, quantile float64) *Estimate {
	e := &Estimate{}
	edges := 0.0
	for _, p := range parts {
		e.Energy += p.Energy
		e.Blur += p.Blur
		e.Scattered = e.Scattered || p.Scattered
		edges += p.Edges * p.Edges
	}
	for i := range Replicas {
		sum := 0.0
		for _, p := range parts {
			sum += p.Energy * p.Replicas[i]
		}
		e.Replicas = append(e.Replicas, sum/max(e.Energy, 1e-300))
	}
	e.Shared, e.Power, e.Edges = e.Energy, e.Energy*1e-3/time, math.Sqrt(edges)
	e.HalfWidth = math.Hypot(quantile*e.Energy*deviation(e.Replicas), e.Edges)
	if e.HalfWidth > Unsure*e.Energy {
		e.Reason = Noisy
	}
	e.HalfWidth += e.Blur // which makes none Noisy (estimate)
	return e
}
