package regression

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// What runs beside a program may draw more or less than the program: shared by processor time, the energy of a block
// has some of theirs in it, and the powers of functions come out nearer to the mean than they are. So the energy of all
// is explained, and the others are a column, where that tells as many functions apart. Its power is what the data show.
// Where the others' time is not known well enough for that in a block, it is what longer blocks show (besidePower), or
// the mean power, give or take half of it (guessed): the intervals have what that leaves open.

// leastBeside is the part of the processor time that must be others' for them to be a column.
const leastBeside = 0.01

// beside takes what ran beside the program in the window that add takes next.
func (c *collector) beside(b Beside) {
	c.others = b.Time
	c.ticks += b.Ticks
	for i, domain := range c.domains {
		if domain < len(b.Spent) {
			c.open.rest[i] += b.Spent[domain]
		}
		if domain < len(b.Machine) {
			c.open.restMachine[i] += b.Machine[domain]
		}
	}
	if b.Time > 0 {
		c.sums[Neighbours] += b.Time
	}
}

// withBeside is the times of a window with those of the others in it. Neighbours is the lowest column.
func (c *collector) withBeside(times []Entry) []Entry {
	if c.others <= 0 {
		return times
	}
	return slices.Insert(slices.Clip(times), 0, Entry{Neighbours, float32(c.others)}) // others take times, too
}

// best explains the energy of the program and of what ran beside it, where that tells as many functions apart as
// explaining the energy that the program has by processor time; else the latter.
func (c *collector) best(d int, runs map[Column]Run) *Fit {
	beside := c.fitBeside(d, runs)
	if beside != nil && len(beside.Columns) < c.mostColumns() && beside.tellsAll() {
		return beside
	}
	alone := c.fit(d, runs, false)
	if alone == nil || beside == nil {
		return cmp.Or(beside, alone)
	}
	for k, e := range alone.Columns {
		if of := beside.Columns[k]; k >= First && e.Reason == Resolved && (of == nil || of.Reason != Resolved) {
			return alone
		}
	}
	return beside
}

// tellsAll reports whether functions have columns, and none of these is in doubt. Where there was room for more
// columns, whatever else explains the energies tells no more.
func (f *Fit) tellsAll() bool {
	any := false
	for k, e := range f.Columns {
		if k < First {
			continue
		}
		if e.Reason != Resolved {
			return false
		}
		any = true
	}
	return any
}

// fitBeside explains the energy of the program and of what ran beside it; nil where the data do not show the power of
// the latter, or it ran too little to matter.
func (c *collector) fitBeside(d int, runs map[Column]Run) *Fit {
	others, all := 0.0, 0.0
	for _, b := range c.blocks {
		for _, e := range b.times {
			if all += float64(e.Time); e.Column == Neighbours {
				others += float64(e.Time)
			}
		}
	}
	if others < leastBeside*all {
		return nil
	}
	f := c.fit(d, runs, true)
	if f == nil {
		return nil
	}
	e := f.Columns[Neighbours]
	if e == nil || e.Reason == Collinear || e.Energy >= f.Whole {
		return nil
	}
	f.Beside = e
	for i := range c.blocks {
		f.Rest += c.blocks[i].rest[d]
	}
	return f
}

// besideTick is the kernel's unit of the processor time of a whole machine (proc_stat(5)), in milliseconds: by so
// much what is others' time in a block may be that in the next one.
const besideTick = 10

// isCoarse reports whether the ticks of the others' time, column k, are too coarse for the blocks to show their
// power: what varies in the times is theirs by less than reliable. Then the power comes out too low (Blur). What is not
// told in ticks, the time of cg itself, is exact.
func (r *regression) isCoarse(k int) bool {
	ticks := min(float64(len(r.c.blocks)), r.c.ticks*1e-6/besideTick) * 2 * besideTick * besideTick / 12
	return (1-reliable)*r.spread(k, each) < ticks
}

// shortest is how many long blocks must be left to show a power: each of the fewest chunks (minChunks) then has four,
// as they have of ordinary blocks (build).
const shortest = 4 * minChunks

// besidePower finds the power of what ran beside the program from blocks that are joined until the ticks of its time
// are not too coarse. It is the zero value where no such blocks show it, and where blocks need not be joined.
//
// Blocks show by how much more is drawn while others run. Where these share a core or a limit of power with the
// program, that is less than what they draw: the program draws less meanwhile. So a power below the mean is taken for
// the mean, and may be as much lower as it seems.
func (c *collector) besidePower(d int, runs map[Column]Run) fixed {
	for n := 1; len(c.blocks)/n >= shortest; n *= 2 {
		long := c.joined(n)
		r := long.begin(d, runs, true)
		if r == nil {
			break
		}
		r.use(r.functions())
		k, ok := r.index[Neighbours]
		if !ok || n == 1 && !r.isCoarse(k) {
			break
		}
		if r.isCoarse(k) {
			continue
		}
		f := long.fit(d, runs, true)
		if f == nil || f.Columns[Neighbours] == nil || f.Columns[Neighbours].Reason != Resolved {
			break
		}
		e := f.Columns[Neighbours]
		micro := r.total[k] * 1e3
		power, off := e.Energy/micro, e.HalfWidth/f.Quantile/micro
		if power < r.mean {
			power, off = r.mean, max(off, min(guessed*r.mean, r.mean-power))
		}
		return fixed{power, off}
	}
	return fixed{}
}

// isTicked reports whether what is told in ticks is enough of the time for others to be a column.
func (r *regression) isTicked() bool {
	time := 0.0
	for _, t := range r.total {
		time += t
	}
	return r.beside && r.c.ticks*1e-6 >= leastBeside*time
}

// sharedTicks is how many ticks the blocks have, on average, that are divided among columns.
const sharedTicks = 10

// untick is a regression whose blocks are joined until ticks hardly matter to how their energy is divided. The part
// that others have of a block grows less than in proportion to their time: of a time that is a tick too long or too
// short by turns they get too little, and what draws least of the rest gets most of that.
func (r *regression) untick() *regression {
	if !r.ticked {
		return r
	}
	span := 0.0
	for i := range r.c.blocks {
		span += r.c.blocks[i].span * 1e-6
	}
	mean := span / float64(len(r.c.blocks))
	if mean <= 0 || mean >= sharedTicks*besideTick {
		return r
	}
	long := *r
	long.c = r.c.joined(int(math.Ceil(sharedTicks * besideTick / mean)))
	return &long
}

// joined is the collector with so many blocks joined to one each.
func (c *collector) joined(n int) *collector {
	if n == 1 {
		return c
	}
	out := *c
	out.blocks = nil
	for i := 0; i < len(c.blocks); i += n {
		b := c.blocks[i]
		for _, more := range c.blocks[i+1 : min(i+n, len(c.blocks))] {
			b = join(b, more)
		}
		out.blocks = append(out.blocks, b)
	}
	return &out
}

// energy is what the blocks explain: that of the program, or of all, in microjoules.
func (r *regression) energy(b *block) float64 {
	if r.beside {
		return b.energy[r.d] + b.rest[r.d]
	}
	return b.energy[r.d]
}

// has reports whether a column counts in the blocks.
func (r *regression) has(k Column) bool { return r.beside || k != Neighbours }

// powersOfNeighbours is the power of what ran beside the program in each replica, nil where that is no column.
func (r *regression) powersOfNeighbours(g grouping, replicas [][]float64) (powers []float64) {
	k, ok := r.index[Neighbours]
	if !r.beside || !ok || r.columns[k] != Neighbours {
		return nil
	}
	for _, p := range replicas {
		powers = append(powers, p[g.of[k]])
	}
	return powers
}

// lateNeighbours is by how much the energy of a column may be off, in microjoules, as the time of what ran beside the
// program is told late: the kernel brings the time of a thread that runs up to date once in a tick. As much as half of
// what varies in it may be scatter (leastReliable). Then its power comes out as far from what it is as it is from
// the mean, and all columns have the rest, by their times.
func (r *regression) lateNeighbours(g grouping, s *shares) func(k int) float64 {
	n, ok := r.index[Neighbours]
	if !r.beside || !ok || r.columns[n] != Neighbours || r.fixed[g.of[n]] {
		return func(int) float64 { return 0 }
	}
	time := 0.0
	for _, t := range r.total {
		time += t
	}
	off := math.Abs(s.energy[n]-r.mean*r.total[n]*1e3) * (1/leastReliable - 1)
	return func(k int) float64 {
		if k == n {
			return off
		}
		return off * r.total[k] / max(time-r.total[n], 1e-300)
	}
}

// unlike is the part of the deviation of ratios that does not go with the power of what ran beside the program: the
// square root of what a straight line leaves of their variance.
func unlike(ratios, powers []float64) float64 {
	if len(powers) < 3 {
		return 1
	}
	rho := stat.Correlation(ratios, powers, nil)
	if math.IsNaN(rho) {
		return 1
	}
	return math.Sqrt(max(0, 1-rho*rho))
}
