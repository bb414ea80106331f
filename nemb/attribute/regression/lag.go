package regression

import (
	"math"
	"slices"
)

// Some counters follow their power slowly: what they show has passed a filter (a low-pass of first order), whose time
// constant nobody tells. What such a counter does not show yet is what each function ran before that moment, the less
// the longer ago. Blocks keep that for a few time constants. Where taking it off explains clearly more of the energies,
// the counter is taken to be filtered.

// lagPeriods are the time constants that are tried, in periods of the counter: each is the square root of 2 times the
// one before. Between two of them the nearer one is scaled.
var lagPeriods = [...]float64{1.5, 2.1, 3, 4.2, 6, 8.5, 12, 17, 24}

// lagDoubt is the part by which a time constant may be off: half of the way to the next one.
var lagDoubt = math.Pow(2, 0.25) - 1

// lagged is what a filter hides of each column at a moment, per time constant, in nanoseconds of its time.
type lagged [len(lagPeriods)][]Entry

// lagRounds is how often powers and the filter are found by turns at most.
const lagRounds = 12

// clearly is the part of what is left unexplained that the filter must explain: as much as powers that follow slowly
// must (followSlowly). farFrom is the most by which the scale of it may differ from 1, either way. The nearest of
// lagPeriods is at most 1.19 away; the rest is for powers that are not those of the filter yet.
const (
	clearly = 0.1
	farFrom = 1.5
)

// lags follows what filters hide. A time counts more by the factor scale the later it is, so that nothing needs to be
// made smaller window by window.
type lags struct {
	hidden [len(lagPeriods)]map[Column]float64 // times scale
	scale  [len(lagPeriods)]float64
	off    [len(lagPeriods)]bool // constants that are not followed
	look   look
}

// add takes a window.
func (l *lags) add(wall float64, times []Entry, period float64, kept func(Column) Column) {
	if period <= 0 || wall <= 0 {
		return
	}
	for j, periods := range lagPeriods {
		if l.off[j] {
			continue
		}
		if l.hidden[j] == nil {
			l.hidden[j], l.scale[j] = map[Column]float64{}, 1
		}
		constant := periods * period
		rest := math.Exp(-wall / constant)
		l.scale[j] /= max(rest, 1e-30)
		part := (1 - rest) * constant / wall * l.scale[j]
		for _, e := range times {
			l.hidden[j][kept(e.Column)] += part * float64(e.Time)
		}
		if l.scale[j] > 1e30 {
			l.rescale(j)
		}
	}
}

// rescale begins a scale anew, and forgets what is shorter than a microsecond.
func (l *lags) rescale(j int) {
	for k, t := range l.hidden[j] {
		if t /= l.scale[j]; t < 1e3 {
			delete(l.hidden[j], k)
		} else {
			l.hidden[j][k] = t
		}
	}
	l.scale[j] = 1
}

// end is what is hidden at the end of a block.
func (l *lags) end() (all lagged) {
	for j := range l.hidden {
		l.rescale(j)
		for k, t := range l.hidden[j] {
			all[j] = append(all[j], Entry{k, float32(t)})
		}
		slices.SortFunc(all[j], byColumn)
	}
	return all
}

// lag is a filter: the index of its time constant in lagPeriods, and a factor of what it hides; 0 for no filter.
type lag struct {
	constant int
	scale    float64
}

// time is the time constant, in nanoseconds.
func (l lag) time(period float64) float64 { return lagPeriods[l.constant] * l.scale * period }

// unlagged is what the columns had if the counter were not filtered, nil where it is not.
func (r *regression) unlagged(g grouping) *shares {
	if r.lag.scale == 0 {
		return nil
	}
	plain := *r
	plain.lag = lag{}
	plain.build()
	power, ok := plain.solve(plain.all.grouped(g.of, g.n))
	if !ok {
		return nil
	}
	g.power = power
	return plain.shareOut(g)
}

// lagOff is by how much the energy of a column may be off, as the time constant is.
func (r *regression) lagOff(g grouping, k int, energy float64, unlagged *shares) float64 {
	if unlagged == nil {
		return 0
	}
	return lagDoubt * math.Abs(energy-unlagged.energyOf(g, k, r.total))
}

// addLag adds what the filter hid of each column at the end of a block, times a factor, to times in milliseconds.
func (r *regression) addLag(b *block, factor float64, x []float64) {
	if r.lag.scale == 0 {
		return
	}
	for _, e := range b.lags[r.lag.constant] {
		if r.has(e.Column) {
			x[r.of(e.Column)] += factor * r.lag.scale * float64(e.Time) * 1e-6
		}
	}
}

// findLag takes the counter to be filtered where that explains clearly more than these powers without, and finds the
// powers then.
func (r *regression) findLag(p []float64) (powers []float64, ok bool) {
	if r.c.period <= 0 || r.residual <= 0 {
		return p, true
	}
	before := *r
	r.age = r.c.meanAge() // what is more is the filter
	for range lagRounds {
		was := r.lag.time(r.c.period)
		if found := r.bestLag(p); found.scale <= 0 {
			*r = before
			return p, true
		} else {
			r.lag = found
		}
		if powers, ok = r.iterate(2); !ok {
			*r = before
			return p, true
		}
		p = powers
		if is := r.lag.time(r.c.period); math.Abs(is-was) < 0.01*is {
			break
		}
	}
	if r.noise > (1-clearly)*before.noise {
		*r = before
		r.build()
		return r.solve(r.all)
	}
	return p, true
}

// bestLag is the filter that explains most of what these powers leave.
func (r *regression) bestLag(p []float64) (best lag) {
	was := r.lag
	r.lag = lag{}
	left, _ := r.residuals(p)
	r.lag = was
	most := 0.0
	x := make([]float64, r.width())
	for j := range lagPeriods {
		zl, zu, lu, uu := 0.0, 0.0, 0.0, 0.0
		before := r.hides(r.prior, j, r.at(0), p, x)
		for i := range r.c.blocks {
			now := r.hides(&r.c.blocks[i], j, r.at(i), p, x)
			zl, zu = left[i]+r.theta*zl, before-now+r.theta*zu
			lu += r.known(i) * zl * zu
			uu += r.known(i) * zu * zu
			before = now
		}
		if scale := lu / max(uu, 1e-300); scale > 1/farFrom && scale < farFrom && lu*scale > most {
			most, best = lu*scale, lag{j, scale}
		}
	}
	if most < clearly*r.residual && was.scale == 0 {
		return lag{}
	}
	return best
}

// hides is the energy that constant j hides at the end of a block with these powers, in millijoules. It uses x.
func (r *regression) hides(b *block, j int, level float64, p, x []float64) (energy float64) {
	if b == nil {
		return 0
	}
	clear(x)
	for _, e := range b.lags[j] {
		if r.has(e.Column) {
			x[r.of(e.Column)] += float64(e.Time) * 1e-6
		}
	}
	for k, t := range x {
		energy += level * p[k] * t
	}
	return energy
}
