package regression

import (
	"cmp"
	"maps"
	"math"
	"slices"
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
	maxColumns = 128 // functions that have a power of their own; the rest have one
	minBlocks  = 8   // fewer explain nothing
	pullWidth  = 3   // every power is pulled to the mean as if it lay within so many times it
	maxChunks  = 128
	minChunks  = 6
)

// regression is a fit in the making.
type regression struct {
	c        *collector
	prior    *block // the block before the first one, nil where there is none
	d        int    // index into the collector's domains
	beside   bool   // explain what ran beside the program, too
	runs     map[Column]Run
	times    map[Column]float64 // ms, of what the blocks keep apart
	columns  []Column           // functions, and contexts that have a power of their own (split.go)
	index    map[Column]int     // into columns; see of
	pool     int                // the column of all functions that have none, the last one; -1 where there are none
	total    []float64          // ms, per column
	mean     float64            // W
	age      float64            // ns, the mean age of a reading
	theta    float64
	level    []float64 // nil for 1, see follow
	lag      lag       // the counter's filter
	weights  []float64 // of blocks, nil for 1, see weigh
	certain  []bool    // per block, see findCertain
	stretch  []float64 // ms, the mean time of a column in one go, +Inf where it is not known
	residual float64   // the sum of squares that theta leaves
	noise    float64   // of it, for each block; 0 where it is not known yet
	fixed    []bool    // per group, whether its power is fixed
	fixedTo  []fixed   // per group, to what
	others   fixed     // what is known of the power of what ran beside the program before (besidePower)
	ticked   bool      // the time of what ran beside the program is told in ticks
	chunks   []*gram
	all      *gram
}

// fit explains the energy of domain d of the collector; nil where there are too
// few blocks. runs is that of Data.Fits. beside says that it is the energy of all, with what ran beside the program.
func (c *collector) fit(d int, runs map[Column]Run, beside bool) *Fit {
	r := c.begin(d, runs, beside)
	if r == nil {
		return nil
	}
	if beside {
		r.others = c.besidePower(d, runs)
	}
	r.use(r.functions())
	p, ok := r.powers()
	if !ok {
		return nil
	}
	contexts, doubts := r.split()
	for {
		if len(contexts) > 0 {
			r.use(slices.Concat(r.functions(), contexts))
			if p, ok = r.powers(); !ok {
				return nil
			}
		}
		r.followSlowly(p)
		r.build()
		g, ok := r.groupCollinear()
		if !ok {
			return nil
		}
		if kept := r.separate(g, contexts); len(kept) < len(contexts) {
			if contexts = kept; len(contexts) == 0 {
				r.use(r.functions())
				if p, ok = r.powers(); !ok {
					return nil
				}
			}
			continue
		}
		return r.estimate(g, doubts)
	}
}

// begin begins a fit; nil where there are too few blocks, or nothing to explain.
func (c *collector) begin(d int, runs map[Column]Run, beside bool) *regression {
	if len(c.blocks) < minBlocks {
		return nil
	}
	r := &regression{c: c, d: d, beside: beside, runs: runs, times: map[Column]float64{}}
	energy, time := 0.0, 0.0
	for i := range c.blocks {
		b := &c.blocks[i]
		energy += r.energy(b) * 1e-3
		for _, e := range b.times {
			if !r.has(e.Column) {
				continue
			}
			r.times[e.Column] += float64(e.Time) * 1e-6
			time += float64(e.Time) * 1e-6
		}
		r.know(b)
	}
	if energy <= 0 || time <= 0 {
		return nil
	}
	r.mean = energy / time
	return r
}

// know makes what a block has in its last window, or hides at its end, columns that count, also where its times lack
// them: Move took them away, or they ran before.
func (r *regression) know(b *block) {
	add := func(entries []Entry) {
		for _, e := range entries {
			if r.has(e.Column) {
				r.times[r.c.kept(e.Column)] += 0
			}
		}
	}
	add(b.edge)
	for _, hidden := range b.lags {
		add(hidden)
	}
}

// powers finds the powers of the columns, the mean age of a reading, theta and the counter's filter.
func (r *regression) powers() (p []float64, ok bool) {
	r.level, r.weights, r.age, r.theta, r.noise = nil, nil, r.c.meanAge(), 0.5, 0
	r.lag = lag{}
	if p, ok = r.iterate(3); !ok {
		return nil, false
	}
	return r.findLag(p)
}

// followSlowly lets all powers rise and fall together if that explains the energies
// clearly better.
func (r *regression) followSlowly(p []float64) {
	steady := *r
	for range 2 {
		r.follow(p)
		var ok bool
		if p, ok = r.iterate(2); !ok || r.residual > 0.9*steady.residual {
			*r = steady
			return
		}
	}
}

// iterate finds the powers, and what goes with them, anew.
func (r *regression) iterate(times int) (p []float64, ok bool) {
	for range times {
		r.build()
		if p, ok = r.solve(r.all); !ok {
			return nil, false
		}
		r.tune(p)
		r.weigh(p)
	}
	return p, true
}

// functions lists the columns that are no contexts and have a power of their own: those
// that ran for a counter's period at least, the longest first.
func (r *regression) functions() (columns []Column) {
	sums := map[Column]float64{}
	for _, k := range slices.Sorted(maps.Keys(r.times)) {
		sums[r.c.of.function(k)] += r.times[k]
	}
	all := slices.SortedFunc(maps.Keys(sums), func(x, y Column) int {
		return cmp.Or(cmp.Compare(sums[y], sums[x]), cmp.Compare(x, y))
	})
	least := r.c.period * 1e-6
	for i, k := range all {
		if i < r.c.mostColumns() && sums[k] >= least {
			columns = append(columns, k)
		}
	}
	return columns
}

// mostColumns is how many columns the blocks allow that are no contexts, without the pool.
func (c *collector) mostColumns() int { return min(maxColumns, len(c.blocks)/3) }

// use takes these columns, functions before their contexts, and one more for all
// functions that are not among them.
func (r *regression) use(columns []Column) {
	r.columns, r.index, r.pool = columns, map[Column]int{}, -1
	for i, k := range columns {
		r.index[k] = i
	}
	r.total = make([]float64, len(columns), len(columns)+1)
	runs := make([]Run, len(columns))
	for _, k := range slices.Sorted(maps.Keys(r.times)) {
		i := r.of(k)
		if i < 0 {
			if r.pool < 0 {
				r.pool = len(columns)
				r.total = append(r.total, 0)
			}
			i = r.pool
		}
		r.total[i] += r.times[k]
	}
	for _, k := range slices.Sorted(maps.Keys(r.runs)) {
		if i := r.of(k); i >= 0 && i < len(runs) {
			runs[i].Time += r.runs[k].Time
			runs[i].Count += r.runs[k].Count
			runs[i].Within += r.runs[k].Within
		}
	}
	r.countWithin(runs)
	r.stretch = make([]float64, r.width())
	r.ticked = r.isTicked()
	r.fixColumns()
	for i := range r.stretch {
		r.stretch[i] = math.Inf(1)
		if i < len(runs) && runs[i].Count > 0 && runs[i].Time > 0 {
			r.stretch[i] = runs[i].Time / runs[i].Count * 1e-6
		}
	}
}

// countWithin adds to the goes of columns those that begin and end within a go of their function: to those of contexts,
// and to those of what is left of a function once for each that a context takes out of it. A function that has no
// contexts among the columns goes on meanwhile.
func (r *regression) countWithin(runs []Run) {
	taken := map[Column]float64{}
	for i, k := range r.columns {
		if function := r.c.of.function(k); function != k {
			taken[function] += runs[i].Within
			runs[i].Count += runs[i].Within
		}
	}
	for i, k := range r.columns {
		if r.c.of.function(k) == k {
			runs[i].Count += min(taken[k], runs[i].Within)
		}
	}
}

// fixed is a power that is fixed, with its standard deviation, in watts: to the mean of all, where it is the zero
// value, and the deviation is guessed.
type fixed struct{ power, off float64 }

// fixColumns marks columns whose power is fixed: the runtime's own
// work, checkpoints above all, always runs together with instrumented functions,
// so the data cannot separate the two. The time of what runs beside the program is known in ticks.
func (r *regression) fixColumns() {
	r.fixed, r.fixedTo = make([]bool, r.width()), make([]fixed, r.width())
	for i, k := range r.columns {
		switch {
		case k == Runtime:
			r.fixed[i] = true
		case k == Neighbours && r.isCoarse(i):
			r.fixed[i], r.fixedTo[i] = true, r.others
		}
	}
}

func (r *regression) width() int { return len(r.total) }

// of is the index of the column that has the times of another: of the nearest context
// around it, or of its function. It is the pool's where neither is a column.
func (r *regression) of(k Column) int {
	if i, ok := r.index[k]; ok {
		return i
	}
	if r.c.of != nil {
		for outer := r.c.of(k); outer != Outside; outer = r.c.of(outer) {
			if i, ok := r.index[outer]; ok {
				r.index[k] = i
				return i
			}
		}
	}
	return r.pool
}

// unseen is what part of a block's last window its counter does not show yet,
// where a reading has this age.
func unseen(b *block, age float64) float64 {
	if b.last <= 0 {
		return 0
	}
	return min(1, age/b.last)
}

// dense is the time in milliseconds of each column that block i's energy is of:
// from the mean moment of the update that the reading before it showed to that
// of its own.
func (r *regression) dense(i int, x []float64) {
	clear(x)
	b := &r.c.blocks[i]
	for _, e := range b.times {
		if r.has(e.Column) {
			x[r.of(e.Column)] += float64(e.Time) * 1e-6
		}
	}
	f := unseen(b, r.age)
	for _, e := range b.edge {
		if r.has(e.Column) {
			x[r.of(e.Column)] -= f * float64(e.Time) * 1e-6
		}
	}
	r.addLag(b, -1, x)
	if b := r.before(i); b != nil {
		r.addLag(b, 1, x)
		f := unseen(b, r.age)
		for _, e := range b.edge {
			if r.has(e.Column) {
				x[r.of(e.Column)] += f * float64(e.Time) * 1e-6
			}
		}
	}
}

// before is the block before block i, nil where there is none.
func (r *regression) before(i int) *block {
	if i > 0 {
		return &r.c.blocks[i-1]
	}
	return r.prior
}

func (r *regression) at(i int) float64 {
	if r.level == nil {
		return 1
	}
	return r.level[i]
}

// build makes the normal equations of each chunk of blocks.
func (r *regression) build() {
	blocks := len(r.c.blocks)
	count := min(maxChunks, max(minChunks, blocks/4))
	if r.level != nil { // which ties neighbours together
		count = max(minChunks, min(count, blocks/(2*followed(blocks))))
	}
	r.buildChunks(count)
}

// buildChunks makes the normal equations of so many chunks of blocks.
func (r *regression) buildChunks(count int) {
	n := r.width()
	blocks := len(r.c.blocks)
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
		zy = r.energy(&r.c.blocks[i])*1e-3 + r.theta*zy
		g.row(z, zy, r.known(i))
	}
	for _, g := range r.chunks {
		r.all.add(g, 1)
	}
}

// solve finds the powers, all of them pulled a very little to the mean.
func (r *regression) solve(g *gram) ([]float64, bool) {
	return r.pulled(g, r.means(g.n)).nonnegative(r.mean)
}

// means is the power to which each of so many groups is pulled: the mean, or what it is fixed to.
func (r *regression) means(groups int) []float64 {
	to := make([]float64, groups)
	for i := range to {
		to[i] = r.mean
		if len(r.fixedTo) == groups && r.fixedTo[i].power > 0 {
			to[i] = r.fixedTo[i].power
		}
	}
	return to
}

// pulled is the problem with all powers pulled to values, those that are fixed so that
// they cannot but be it.
func (r *regression) pulled(g *gram, to []float64) *gram {
	weights := make([]float64, g.n)
	weak := r.pull(g)
	for i := range weights {
		weights[i] = weak
		if r.fixed != nil && r.fixed[i] {
			weights[i] += 1e6 * g.at(i, i)
		}
	}
	return g.towards(to, weights)
}

// pull is the weight of a row that says that a power is the mean: what is not explained,
// by the powers that were found last or else by the mean, is the measure of that.
func (r *regression) pull(g *gram) float64 {
	noise, floor := r.noise, 0.0
	for i := range g.n {
		floor = max(floor, g.at(i, i))
	}
	if noise <= 0 {
		noise = g.rss(r.means(g.n)) / max(1, g.count)
	}
	width := pullWidth * r.mean
	return max(noise/(width*width), 1e-12*floor)
}

// tune finds theta and the mean age of a reading that go with these powers.
func (r *regression) tune(p []float64) {
	left, slope := r.residuals(p)
	r.tuneTheta(left)
	r.tuneAge(left, slope)
}

// residuals is the energy of each block that these powers leave unexplained, in
// millijoules, and by how much it grows with each nanosecond of a reading's age.
func (r *regression) residuals(p []float64) (left, slope []float64) {
	n := len(r.c.blocks)
	x := make([]float64, r.width())
	left, slope = make([]float64, n), make([]float64, n)
	before := r.edgePower(r.prior, r.at(0), p)
	for i := range n {
		r.dense(i, x)
		b := &r.c.blocks[i]
		left[i] = r.energy(b) * 1e-3
		level := r.at(i)
		for k, v := range x {
			left[i] -= level * p[k] * v
		}
		now := r.edgePower(b, level, p)
		slope[i] = before - now
		before = now
	}
	return left, slope
}

// edgePower is what a nanosecond more of age would move out of a block, in millijoules. Time that is told in ticks is
// not in it: what a block has too much of that the next has too little, as if the counter showed it late.
func (r *regression) edgePower(b *block, level float64, p []float64) (power float64) {
	if b == nil || b.last <= 0 {
		return 0
	}
	for _, e := range b.edge {
		if r.has(e.Column) && !(r.ticked && e.Column == Neighbours) {
			power += level * p[r.of(e.Column)] * float64(e.Time) * 1e-6
		}
	}
	return power / b.last
}

// tuneTheta takes the theta that leaves the smallest sum of squares.
func (r *regression) tuneTheta(left []float64) {
	r.residual = math.Inf(1)
	for _, theta := range []float64{0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97} {
		z, sum := 0.0, 0.0
		for i, v := range left {
			z = v + theta*z
			sum += r.known(i) * z * z
		}
		if sum < r.residual {
			r.residual, r.theta = sum, theta
		}
	}
	r.noise = r.residual / max(1, r.allKnown()-float64(r.width()))
}

// tuneAge moves the mean age of a reading to where the residuals are smallest.
func (r *regression) tuneAge(left, slope []float64) {
	var zl, zs, ls, ss float64
	for i := range left {
		zl, zs = left[i]+r.theta*zl, slope[i]+r.theta*zs
		ls += r.known(i) * zl * zs
		ss += r.known(i) * zs * zs
	}
	if ss <= 0 || r.lag.scale > 0 {
		return
	}
	// The better the data show it, the more it counts against what is expected:
	// half a window, give or take a quarter.
	guess := r.c.meanAge()
	if guess <= 0 {
		return
	}
	known := ss / max(r.residual/r.allKnown(), 1e-18)
	prior := 1 / (guess * guess / 4)
	r.age = (known*(r.age+ls/ss) + prior*guess) / (known + prior)
	r.age = min(max(0, r.age), 2*max(guess, r.c.period))
}

// followed is how many blocks on either side give the level of one.
func followed(blocks int) int { return max(20, blocks/50) }

// follow lets all powers rise and fall together, slowly: as the temperature or
// another program on the processor makes them. level is the power of each block as
// a factor of the whole run's.
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
		got[i+1] = got[i] + r.energy(&r.c.blocks[i])*1e-3
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
