package attribute

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"cg/checkpoint"
)

// The energy of a measured domain is explained, block by block, by the time
// that each function ran: non-negative least squares finds the power of each.
//
// A reading is as old as the counter's last update. Two neighbouring blocks
// share that moment, so what the one misses the other has: the errors of blocks
// are differences of neighbours, a moving average of order one. Filtering both
// sides of the equations by its inverse, z[b] = x[b] + theta z[b-1], makes the
// errors independent of each other (Hamilton, Time Series Analysis, 1994,
// section 5.4). It also lets times add up over many blocks, against which the
// edges count for little: without it the powers come out too equal. theta is
// what leaves the least of the errors. The mean age of a reading is found
// together with the powers, from what the edges of blocks show.

const (
	maxColumns = 128  // functions that have a power of their own; the rest have one
	minBlocks  = 8    // fewer explain nothing
	unsure     = 0.5  // of a value: an interval that reaches further tells nothing
	opposed    = -0.7 // correlation of two unsure powers from which on they are told together
	reliable   = 0.9  // the part of what varies in a column that has to be more than its edges
	small      = 0.25 // of another's time: what cannot be told from it does not matter
	pullWidth  = 3    // every power is pulled to the mean as if it lay within so many times it
	replicates = 160
	maxChunks  = 128
	minChunks  = 6
)

// Reason says why the data do not tell a function's power.
type Reason string

const (
	Resolved  Reason = ""
	TooLittle Reason = "too little time"
	Collinear Reason = "collinear"
	Noisy     Reason = "not told apart from the noise"
)

// fit is the powers of the columns of a domain.
type fit struct {
	energy map[column]float64 // microjoules, over all blocks
	// apart is how far the energy is off at most (95 %).
	apart  map[column]float64
	stray  map[column]float64 // the part of apart that is from the edges of blocks
	shared map[column]float64 // of its group
	reason map[column]Reason
	group  map[column][]column
	// drawn are other energies that the data would have told as likely, for
	// each replicate: a factor of energy.
	drawn map[column][]float64
	lag   float64 // ns, the mean age of a reading
	theta float64
	// quantile of 95 %, of Student's distribution.
	quantile float64
	powers   map[column]float64 // W, for tests and the curious
}

// regression is a fit in the making.
type regression struct {
	c       *collector
	d       int // index into the collector's domains
	columns []column
	index   map[column]int // into columns; what is missing has the last, the pool
	pool    int            // its index, or -1
	total   []float64      // ms, per column
	mean    float64        // W
	lag     float64        // ns
	theta   float64
	level   []float64 // nil for 1, see follow
	calls   []float64 // ms, the mean time of a column in one go, +Inf where it is not known
	left    float64   // the squares that theta leaves
	fixed   []bool    // per group, whether its power is taken to be the mean
	chunks  []*gram
	all     *gram
}

// fit explains the energy of domain d of the collector; nil where there are too
// few blocks.
//
// calls is how long each column runs in one go, in nanoseconds, where that is
// known.
func (c *collector) fit(d int, calls map[column]float64) *fit {
	if len(c.blocks) < minBlocks {
		return nil
	}
	r := &regression{c: c, d: d, pool: -1, index: map[column]int{}}
	r.choose()
	energy, time := 0.0, 0.0
	for _, b := range c.blocks {
		energy += b.energy[d] * 1e-3
	}
	for _, t := range r.total {
		time += t
	}
	if energy <= 0 || time <= 0 {
		return nil
	}
	r.mean = energy / time
	r.calls = make([]float64, r.width())
	for i := range r.calls {
		r.calls[i] = math.Inf(1)
		if i < len(r.columns) && calls[r.columns[i]] > 0 {
			r.calls[i] = calls[r.columns[i]] * 1e-6
		}
	}
	r.fixed = r.given()
	r.lag = c.lag()
	r.theta = 0.5
	p, ok := r.iterate(3)
	if !ok {
		return nil
	}
	steady := *r
	for range 2 {
		r.follow(p)
		if p, ok = r.iterate(2); !ok || r.left > 0.9*steady.left {
			*r = steady
			break
		}
	}
	r.build()
	return r.finish()
}

// given is which columns have no power to be found: what cg's runtime does in the
// program, checkpoints above all, goes along with the functions that have them and would not
// be told from these. Its power is taken to be the mean.
func (r *regression) given() []bool {
	fixed := make([]bool, r.width())
	for i, k := range r.columns {
		fixed[i] = k == column(checkpoint.OwnSite)
	}
	return fixed
}

// iterate finds the powers, and what goes with them, anew.
func (r *regression) iterate(times int) (p []float64, ok bool) {
	for range times {
		r.build()
		if p, ok = r.solve(r.all); !ok {
			return nil, false
		}
		r.tune(p)
	}
	return p, true
}

// choose gives a column to each function that ran for a counter's period at
// least, the longest first, and one to all others together.
func (r *regression) choose() {
	sums := map[column]float64{}
	for _, b := range r.c.blocks {
		for _, e := range b.times {
			sums[e.column] += float64(e.time) * 1e-6
		}
	}
	var all []column
	for k := range sums {
		all = append(all, k)
	}
	slices.SortFunc(all, func(x, y column) int { return cmp.Or(cmp.Compare(sums[y], sums[x]), cmp.Compare(x, y)) })
	least := r.c.period * 1e-6
	for i, k := range all {
		if i < maxColumns && i < len(r.c.blocks)/3 && sums[k] >= least {
			r.index[k] = len(r.columns)
			r.columns = append(r.columns, k)
			r.total = append(r.total, sums[k])
			continue
		}
		if r.pool < 0 {
			r.pool = len(r.columns)
			r.total = append(r.total, 0)
			// The pool is the last: what follows is shorter.
		}
		r.total[r.pool] += sums[k]
	}
}

func (r *regression) width() int { return len(r.total) }

func (r *regression) of(k column) int {
	if i, ok := r.index[k]; ok {
		return i
	}
	return r.pool
}

// shift is what part of a block's last window its counter does not show yet.
func shift(b *block, lag float64) float64 {
	if b.last <= 0 {
		return 0
	}
	return min(1, lag/b.last)
}

// dense is the time in milliseconds of each column that block i's energy is of:
// from the mean moment of the update that the reading before it showed to that
// of its own.
func (r *regression) dense(i int, x []float64) {
	clear(x)
	b := &r.c.blocks[i]
	for _, e := range b.times {
		x[r.of(e.column)] += float64(e.time) * 1e-6
	}
	f := shift(b, r.lag)
	for _, e := range b.edge {
		x[r.of(e.column)] -= f * float64(e.time) * 1e-6
	}
	if i > 0 {
		b := &r.c.blocks[i-1]
		f := shift(b, r.lag)
		for _, e := range b.edge {
			x[r.of(e.column)] += f * float64(e.time) * 1e-6
		}
	}
}

func (r *regression) at(i int) float64 {
	if r.level == nil {
		return 1
	}
	return r.level[i]
}

// build makes the normal equations of each chunk of blocks.
func (r *regression) build() {
	n := r.width()
	blocks := len(r.c.blocks)
	count := min(maxChunks, max(minChunks, blocks/4))
	if r.level != nil { // which ties neighbours together
		count = max(minChunks, min(count, blocks/(2*followed(blocks))))
	}
	r.chunks, r.all = nil, newGram(n)
	x, z := make([]float64, n), make([]float64, n)
	zy := 0.0
	var g *gram
	for i := range r.c.blocks {
		if at := i * count / blocks; at == len(r.chunks) {
			g = newGram(n)
			r.chunks = append(r.chunks, g)
		}
		r.dense(i, x)
		level := r.at(i)
		for k := range z {
			z[k] = level*x[k] + r.theta*z[k]
		}
		zy = r.c.blocks[i].energy[r.d]*1e-3 + r.theta*zy
		g.row(z, zy)
	}
	for _, g := range r.chunks {
		r.all.add(g, 1)
	}
}

// solve finds the powers, all of them pulled a very little to the mean.
func (r *regression) solve(g *gram) ([]float64, bool) {
	return r.pulled(g).nonnegative(r.mean)
}

// pulled is the problem with all powers pulled to the mean, those that are fixed
// so that they cannot but be it.
func (r *regression) pulled(g *gram) *gram {
	weights := make([]float64, g.n)
	weak := r.pull(g)
	for i := range weights {
		weights[i] = weak
		if r.fixed != nil && r.fixed[i] {
			weights[i] += 1e6 * g.at(i, i)
		}
	}
	return g.towards(r.mean, weights)
}

// pull is the weight of a row that says that a power is the mean.
func (r *regression) pull(g *gram) float64 {
	same := make([]float64, g.n)
	floor := 0.0
	for i := range g.n {
		same[i] = r.mean
		floor = max(floor, g.at(i, i))
	}
	width := pullWidth * r.mean
	return max(g.rss(same)/max(1, g.count)/(width*width), 1e-12*floor)
}

// tune finds theta and the lag that go with these powers.
func (r *regression) tune(p []float64) {
	n := len(r.c.blocks)
	x := make([]float64, r.width())
	left, slope := make([]float64, n), make([]float64, n)
	before := 0.0
	for i := range n {
		r.dense(i, x)
		b := &r.c.blocks[i]
		left[i] = b.energy[r.d] * 1e-3
		level := r.at(i)
		for k, v := range x {
			left[i] -= level * p[k] * v
		}
		// What a nanosecond more of lag would move out of the block.
		now := 0.0
		if b.last > 0 {
			for _, e := range b.edge {
				now += level * p[r.of(e.column)] * float64(e.time) * 1e-6
			}
			now /= b.last
		}
		slope[i] = before - now
		before = now
	}
	least := math.Inf(1)
	for _, theta := range []float64{0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97} {
		z, sum := 0.0, 0.0
		for _, v := range left {
			z = v + theta*z
			sum += z * z
		}
		if sum < least {
			least, r.theta = sum, theta
		}
	}
	r.left = least
	var zl, zs, ls, ss float64
	for i := range n {
		zl, zs = left[i]+r.theta*zl, slope[i]+r.theta*zs
		ls += zl * zs
		ss += zs * zs
	}
	if ss <= 0 {
		return
	}
	// The better it is told, the more it counts against what is taken for
	// granted: half a window, give or take a quarter.
	guess := r.c.lag()
	if guess <= 0 {
		return
	}
	known := ss / max(least/float64(n), 1e-18)
	prior := 1 / (guess * guess / 4)
	r.lag = (known*(r.lag+ls/ss) + prior*guess) / (known + prior)
	r.lag = min(max(0, r.lag), 2*max(guess, r.c.period))
}

// settle groups the columns that the data do not tell apart. to[i] is the group
// of column i of m, why[i] what speaks against its power.
func (r *regression) settle() (to []int, m int, why []Reason, p []float64, ok bool) {
	n := r.width()
	to, m = make([]int, n), n
	why = make([]Reason, n)
	for i := range to {
		to[i] = i
	}
	r.fixed = r.given()
	for i, is := range r.fixed {
		if is {
			why[i] = Noisy
		}
	}
	edges := r.edges()
	for {
		g := r.all.grouped(to, m)
		if p, ok = r.solve(g); !ok {
			return
		}
		noise := g.rss(p) / max(1, g.count-float64(m))
		inverse, fine := r.pulled(g).inverse()
		if !fine {
			return nil, 0, nil, nil, false
		}
		blurred := edges.grouped(to, m)
		wide := make([]bool, m)
		own := make([]float64, m) // what varies in a column alone, less what the edges make of that
		one, least := -1, reliable
		for k := range m {
			wide[k] = 1.96*math.Sqrt(noise*inverse.At(k, k)) > unsure*max(p[k], r.mean/4)
			own[k] = 1 - blurred.at(k, k)*inverse.At(k, k)
			if !r.fixed[k] && own[k] < least {
				one, least = k, own[k]
			}
		}
		correlation := func(a, b int) float64 {
			return inverse.At(a, b) / math.Sqrt(inverse.At(a, a)*inverse.At(b, b))
		}
		pair, strongest := [2]int{-1, -1}, 0.0
		for a := range m {
			for b := range m {
				c := 0.0
				switch {
				case a == b || r.fixed[a] || r.fixed[b]:
				case one >= 0 && a == one && own[b] < reliable, one < 0 && wide[a] && wide[b] && correlation(a, b) < opposed:
					c = correlation(a, b)
				}
				if c < strongest {
					strongest, pair = c, [2]int{a, b}
				}
			}
		}
		if one < 0 && pair[0] < 0 {
			for i, k := range to {
				if wide[k] && why[i] == Resolved {
					why[i] = Noisy
				}
			}
			return to, m, why, p, true
		}
		times := make([]float64, m)
		for i, k := range to {
			times[k] += r.total[i]
		}
		if one >= 0 && (pair[0] < 0 || times[one] < small*times[pair[1]]) {
			// Little beside what it cannot be told from, or all of that has a
			// power all the same: its own is taken to be the mean.
			r.fixed[one] = true
			for i, k := range to {
				if k == one {
					why[i] = Noisy
				}
			}
			continue
		}
		into, from := min(pair[0], pair[1]), max(pair[0], pair[1])
		for i := range to {
			switch k := to[i]; {
			case k == from:
				to[i] = into
			case k > from:
				to[i]--
			}
			if to[i] == into {
				why[i] = Collinear
			}
		}
		r.fixed = slices.Delete(r.fixed, from, from+1)
		m--
	}
}

// edges is what the chance of updates makes of the columns: the part of the
// normal equations that comes from not knowing when, in the last window of a
// block, the counter was updated. The moment is off by a twelfth of the square of
// what is possible, and what ran in that time is drawn from what ran in the
// window, in pieces of a call's length. Two neighbouring blocks see it.
func (r *regression) edges() *gram {
	n := r.width()
	g := newGram(n)
	c, rough := make([]float64, n), make([]float64, n)
	for i := range r.c.blocks {
		b := &r.c.blocks[i]
		clear(c)
		all := 0.0
		for _, e := range b.edge {
			c[r.of(e.column)] += float64(e.time)
			all += float64(e.time)
		}
		if all == 0 || b.last == 0 {
			continue
		}
		off := all * 1e-6 / math.Sqrt(12)
		if r.c.period > 0 {
			off *= min(1, r.c.period/b.last)
		}
		for k := range c {
			c[k] /= all
			rough[k] = math.Sqrt(min(1, r.calls[k]/off))
		}
		for k := range c {
			if c[k] == 0 {
				continue
			}
			for l := range k {
				g.xx[k*n+l] -= off * off * c[k] * c[l] * rough[k] * rough[l]
			}
			g.xx[k*n+k] += off * off * c[k] * (1 - c[k]) * rough[k] * rough[k]
		}
	}
	out := newGram(n)
	out.add(g, 2/(1+r.theta))
	return out
}

// followed is how many blocks on either side tell the level of one.
func followed(blocks int) int { return max(20, blocks/50) }

// follow lets all powers rise and fall together, slowly: as the temperature or
// another program on the processor makes them. level is what each block's power
// is by that, beside the whole run's.
func (r *regression) follow(p []float64) {
	n := len(r.c.blocks)
	half := followed(n)
	got, want := make([]float64, n+1), make([]float64, n+1)
	x := make([]float64, r.width())
	for i := range n {
		r.dense(i, x)
		sum := 0.0
		for k, v := range x {
			sum += p[k] * v
		}
		got[i+1] = got[i] + r.c.blocks[i].energy[r.d]*1e-3
		want[i+1] = want[i] + sum
	}
	r.level = make([]float64, n)
	for i := range n {
		from, to := max(0, i-half), min(n, i+half+1)
		r.level[i] = 1
		if w := want[to] - want[from]; w > 0 {
			r.level[i] = (got[to] - got[from]) / w
		}
	}
}

// finish turns powers into energies with their intervals.
func (r *regression) finish() *fit {
	to, m, why, p, ok := r.settle()
	if !ok {
		return nil
	}
	f := &fit{
		energy: map[column]float64{}, shared: map[column]float64{}, apart: map[column]float64{}, stray: map[column]float64{}, reason: map[column]Reason{}, group: map[column][]column{},
		drawn: map[column][]float64{}, lag: r.lag, theta: r.theta, powers: map[column]float64{},
	}
	n := r.width()
	// Every block is shared out in proportion to power times time: slow changes
	// of power are followed, and no energy is lost.
	x, energy := make([]float64, n), make([]float64, n)
	whole := 0.0
	// What one block gets of its neighbour's by chance is shared out otherwise
	// there: by as much the energies are off, however well powers are known.
	part, before, stray := make([]float64, n), make([]float64, n), make([]float64, n)
	moment := func(i int) float64 { // by how much energy the edge before block i is off
		b := &r.c.blocks[max(0, i-1)]
		off := b.last
		if r.c.period > 0 {
			off = min(off, r.c.period)
		}
		b = &r.c.blocks[min(i, len(r.c.blocks)-1)]
		if b.span <= 0 {
			return 0
		}
		return b.energy[r.d] / b.span * off / math.Sqrt(12)
	}
	between := func(i int) {
		for k := range part {
			d := moment(i) * (part[k] - before[k])
			stray[k] += d * d
		}
		copy(before, part)
	}
	for i := range r.c.blocks {
		r.dense(i, x)
		sum := 0.0
		for k, v := range x {
			x[k] = max(0, v)
			sum += p[to[k]] * x[k]
		}
		e := r.c.blocks[i].energy[r.d]
		whole += e
		if sum <= 0 {
			for k := range x {
				sum += x[k]
			}
			if sum <= 0 {
				energy[r.of(outsideSites)] += e
				continue
			}
			for k, v := range x {
				part[k] = v / sum
				energy[k] += e * part[k]
			}
			between(i)
			continue
		}
		for k, v := range x {
			part[k] = p[to[k]] * v / sum
			energy[k] += e * part[k]
		}
		between(i)
	}
	clear(part)
	between(len(r.c.blocks))
	// Of the group's energy each has its part of the time.
	times, shared := make([]float64, m), make([]float64, m)
	for k := range n {
		times[to[k]] += r.total[k]
		shared[to[k]] += energy[k]
	}
	replicas := r.replicate(to, m, p)
	random := rand.New(rand.NewPCG(uint64(n), uint64(len(r.c.blocks))))
	parts := make([][]float64, n) // of the group's time, per replicate
	for k := range n {
		parts[k] = make([]float64, len(replicas))
	}
	for i := range replicas {
		sums := make([]float64, m)
		for k := range n {
			parts[k][i] = r.total[k] / times[to[k]]
			if why[k] == Collinear {
				parts[k][i] *= random.ExpFloat64()
			}
			sums[to[k]] += parts[k][i]
		}
		for k := range n {
			parts[k][i] /= max(sums[to[k]], 1e-300)
		}
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(max(1, len(r.chunks)-1))}.Quantile(0.975)
	f.quantile = t
	for k, name := range r.columns {
		g := to[k]
		e := shared[g] * r.total[k] / times[g]
		if why[k] == Resolved {
			e = energy[k]
		}
		f.shared[name] = shared[g]
		f.energy[name], f.reason[name], f.powers[name] = e, why[k], p[g]
		squares := 0.0
		for i, q := range replicas {
			sum := 0.0
			for j := range m {
				sum += q[j] * times[j]
			}
			group := whole * q[g] * times[g] / max(sum, 1e-300)
			base := whole * p[g] * times[g] / max(total(p, times), 1e-300)
			ratio := 1.0
			if base > 0 {
				ratio = group / base
			}
			squares += (ratio - 1) * (ratio - 1)
			drawn := ratio
			if why[k] == Collinear {
				drawn *= parts[k][i] * times[g] / max(r.total[k], 1e-300)
			}
			f.drawn[name] = append(f.drawn[name], drawn)
		}
		of := shared[g]
		if why[k] == Resolved {
			of = e
		}
		f.apart[name] = math.Hypot(t*of*math.Sqrt(squares/float64(max(1, len(replicas)-1))), 1.96*math.Sqrt(stray[k]))
		f.stray[name] = 1.96 * math.Sqrt(stray[k])
		if why[k] == Resolved && f.apart[name] > unsure*e {
			f.reason[name] = Noisy
		}
		if why[k] == Collinear {
			for j, other := range r.columns {
				if to[j] == g {
					f.group[name] = append(f.group[name], other)
				}
			}
		}
	}
	return f
}

func total(p, times []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += p[i] * times[i]
	}
	return sum
}

// replicate finds the powers again for chunks of blocks drawn with replacement
// (block bootstrap; Kunsch, Annals of Statistics 17, 1989, 1217-1241).
func (r *regression) replicate(to []int, m int, p []float64) [][]float64 {
	grouped := make([]*gram, len(r.chunks))
	for i, g := range r.chunks {
		grouped[i] = g.grouped(to, m)
	}
	random := rand.New(rand.NewPCG(uint64(m), uint64(len(r.chunks))))
	var all [][]float64
	drawn := make([]float64, len(grouped))
	for range replicates {
		clear(drawn)
		for range grouped {
			drawn[random.IntN(len(grouped))]++
		}
		g := newGram(m)
		for i, times := range drawn {
			if times > 0 {
				g.add(grouped[i], times)
			}
		}
		q, ok := r.solve(g)
		if !ok {
			q = p
		}
		all = append(all, q)
	}
	return all
}
