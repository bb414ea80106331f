package regression

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// Reason says why the data do not show a function's power.
type Reason string

const (
	Resolved  Reason = ""
	TooLittle Reason = "too little time"
	Collinear Reason = "collinear"
	Noisy     Reason = "not told apart from the noise"
)

// Fit is what the blocks show of a domain.
type Fit struct {
	// Columns has the functions, and what is no function, with a power of their own. It has
	// no contexts: the estimate of a function is that of all of its contexts together.
	Columns map[Column]*Estimate
	// Whole is the energy that the columns have together, in microjoules: the program's, or with Beside that of all.
	Whole float64
	// Highest is the highest power that was seen, in watts of processor time: that of a block or of a function.
	Highest float64
	// Lag is the time constant of the low-pass through which the counter shows its power, in nanoseconds; 0 where the
	// data show none.
	Lag float64
	// Beside is the estimate of what ran beside the program, nil where the data do not show it.
	Beside *Estimate
	// Rest is what that has by processor time of Whole, in microjoules.
	Rest float64
	// Doubts says, of contexts that have no power of their own, by how much their power may
	// differ from that of the column that has their times: a standard deviation, as a part
	// of it. A context that is all there is of the one around it is not in it, nor one that
	// blocks do not keep apart.
	Doubts map[Column]float64

	parts map[Column]*Estimate // contexts with a power of their own, and what is left of their functions
	of    Contexts
	kept  func(Column) Column
	// Quantile is that of 95 % of Student's distribution: so many standard
	// deviations are half of an interval.
	Quantile float64
}

// Estimate is what the blocks show of a column in a domain.
type Estimate struct {
	Energy float64 // microjoules, over all blocks
	// HalfWidth is that of the interval around Energy that holds the true energy
	// with 95 %. Edges is the part of it that no replica has, apart from Blur: it comes from the edges of blocks,
	// from waits that hide whose a time is, and from powers that are nothing or are not found.
	HalfWidth, Edges float64
	// Blur is the part of HalfWidth that comes from times that are a sample (see Data.Blur), and from the time of
	// cg, which is told late. It is in no replica.
	Blur float64
	// Reason is Collinear where only the energy of a group is known, Noisy where
	// Energy is no better than a guess. What all columns have or lack together, as the power of what runs
	// beside the program is not known, makes none Noisy.
	Reason Reason
	Group  []Column // all columns of its group, where Reason is Collinear
	Shared float64  // energy of its group
	// Replicas are other energies that the data would have shown as likely, each
	// as a factor of Energy.
	Replicas []float64
	Power    float64 // W
	// Scattered says that the interval is too wide for the energy to be told, as threads waited for processors. It
	// is nearer to the truth than a share by time all the same.
	Scattered bool
}

// IsResolved reports whether the data show an energy of the column: its own, or
// together with its group.
func (e *Estimate) IsResolved() bool {
	return e != nil && (e.Reason == Resolved || e.Reason == Collinear)
}

// Replicas is how many replicas an Estimate has.
const Replicas = 160

// Unsure is a part of a value: a value is not known where the half-width of its
// interval is larger than this part of it.
const Unsure = 0.5

// Kept is the column that has the times of a context: the context, or where blocks do not
// keep it apart the nearest one around it that they do.
func (f *Fit) Kept(k Column) Column {
	if f.kept == nil {
		return k
	}
	return f.kept(k)
}

// Part is the estimate of the nearest context around a column, itself included, that has
// a power of its own, and the column of that; of what is left of its function, where
// other contexts of it have one. It is nil where the function has one power.
func (f *Fit) Part(k Column) (Column, *Estimate) {
	for k = f.Kept(k); ; {
		if e := f.parts[k]; e != nil || f.of == nil || f.of(k) == Outside {
			return k, e
		}
		k = f.of(k)
	}
}

// estimate turns powers into energies with their intervals.
func (r *regression) estimate(g grouping, doubts map[Column]float64) *Fit {
	r.findCertain()
	s, sharp, unlagged := r.shareOut(g), r.sharpened(g), r.unlagged(g)
	replicas := r.replicate(g)
	parts := r.partsOfGroups(g, s.times, len(replicas))
	f := &Fit{
		Columns:  map[Column]*Estimate{},
		Quantile: distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(max(1, len(r.chunks)-1))}.Quantile(0.975),
		Whole:    s.whole, Highest: r.highest(), Doubts: doubts, parts: map[Column]*Estimate{}, of: r.c.of, kept: r.c.kept,
	}
	f.Lag = r.lag.time(r.c.period)
	others := r.powersOfNeighbours(g, replicas)
	late, waited := r.lateNeighbours(g, s), r.waited(g)
	for k, name := range r.columns {
		group := g.of[k]
		e := &Estimate{Energy: s.energy[k], Shared: s.shared[group], Reason: g.reason[k], Power: g.power[group]}
		f.Columns[name] = e
		if e.Reason == Resolved {
			f.Highest = max(f.Highest, e.Power)
		}
		of := e.Energy
		if g.reason[k] != Resolved { // of the group's energy each has its part of the time
			e.Energy = e.Shared * r.total[k] / max(s.times[group], 1e-300)
			of = e.Shared
		}
		base := s.groupEnergy(g.power, group)
		var ratios []float64
		least, hidden := Unsure*e.Energy, e.Energy-sharp.energyOf(g, k, r.total)
		for i, power := range replicas {
			ratio := 1.0
			if base > 0 {
				ratio = s.groupEnergy(power, group) / base
			}
			ratios = append(ratios, ratio)
			if g.reason[k] == Collinear {
				ratio *= parts[k][i] * s.times[group] / max(r.total[k], 1e-300)
			}
			e.Replicas = append(e.Replicas, ratio)
		}
		e.Edges = 1.96 * math.Sqrt(s.edges[k])
		e.HalfWidth = math.Hypot(f.Quantile*of*deviation(ratios), e.Edges)
		apart := math.Hypot(f.Quantile*of*deviation(ratios)*unlike(ratios, others), e.Edges)
		if base <= 0 {
			least = Unsure * r.mean * r.total[k] * 1e3
			none := f.Quantile * s.ofNone(replicas, group)
			apart, hidden = math.Hypot(apart, none), math.Hypot(hidden, none)
		}
		e.HalfWidth, e.Edges = math.Hypot(e.HalfWidth, hidden), math.Hypot(e.Edges, hidden)
		r.blur(k, e)
		off := late(k) + r.lagOff(g, k, e.Energy, unlagged)
		e.HalfWidth, e.Blur = e.HalfWidth+off, e.Blur+off
		switch {
		case e.Reason == Resolved && apart > least:
			e.Reason = Noisy
		case e.Reason == Collinear:
			e.Group = r.group(g, group)
		}
		r.scatter(k, e, waited, f.Whole)
	}
	f.joinContexts(r)
	return f
}

// deviation is the standard deviation of ratios from 1.
func deviation(ratios []float64) float64 {
	squares := 0.0
	for _, ratio := range ratios {
		squares += (ratio - 1) * (ratio - 1)
	}
	return math.Sqrt(squares / float64(max(1, len(ratios)-1)))
}

// group lists the columns of a group.
func (r *regression) group(g grouping, group int) (columns []Column) {
	for k, name := range r.columns {
		if g.of[k] == group {
			columns = append(columns, name)
		}
	}
	return columns
}

// shares is how the energy of all blocks is shared out.
type shares struct {
	whole  float64   // microjoules
	energy []float64 // per column
	edges  []float64 // per column, the variance that the edges of blocks make
	times  []float64 // ms, per group
	shared []float64 // per group
}

// groupEnergy is the energy of a group, where the groups have these powers.
func (s *shares) groupEnergy(power []float64, group int) float64 {
	sum := 0.0
	for i := range power {
		sum += power[i] * s.times[i]
	}
	return s.whole * power[group] * s.times[group] / max(sum, 1e-300)
}

// energyOf is the energy of a column: its own, or its part of that of its group by time.
func (s *shares) energyOf(g grouping, k int, total []float64) float64 {
	if g.reason[k] == Resolved {
		return s.energy[k]
	}
	return s.shared[g.of[k]] * total[k] / max(s.times[g.of[k]], 1e-300)
}

// ofNone is the standard deviation of the energy of a group that has none: no ratio tells it.
func (s *shares) ofNone(replicas [][]float64, group int) float64 {
	squares := 0.0
	for _, power := range replicas {
		e := s.groupEnergy(power, group)
		squares += e * e
	}
	return math.Sqrt(squares / float64(max(1, len(replicas))))
}

// shareOut divides each block in proportion to power times time: slow changes of
// power are followed, and no energy is lost. Where the time of others is told in ticks,
// it divides longer blocks (untick).
func (r *regression) shareOut(g grouping) *shares {
	r = r.untick()
	n := r.width()
	s := &shares{energy: make([]float64, n), times: make([]float64, g.n), shared: make([]float64, g.n)}
	edges := edgeVariance{r: r, before: make([]float64, n), sum: make([]float64, n)}
	x, part := make([]float64, n), make([]float64, n)
	for i := range r.c.blocks {
		r.dense(i, x)
		e := r.energy(&r.c.blocks[i])
		s.whole += e
		if !g.weigh(x, part) {
			if at := r.of(Outside); at >= 0 { // else nothing of the program ran in any block outside its functions
				s.energy[at] += e
			}
			continue
		}
		for k := range part {
			s.energy[k] += e * part[k]
		}
		edges.pass(i, part)
	}
	clear(part)
	edges.pass(len(r.c.blocks), part)
	s.edges = edges.sum
	for k := range n {
		s.times[g.of[k]] += r.total[k]
		s.shared[g.of[k]] += s.energy[k]
	}
	return s
}

// weigh stores each column's part of a block: by power times time, by time where
// all that ran has no power. false where nothing ran. What is below 0 in x counts
// as 0.
func (g grouping) weigh(x, part []float64) bool {
	sum := 0.0
	for k, v := range x {
		x[k] = max(0, v)
		part[k] = g.power[g.of[k]] * x[k]
		sum += part[k]
	}
	if sum <= 0 {
		copy(part, x)
		for _, v := range x {
			sum += v
		}
	}
	if sum <= 0 {
		return false
	}
	for k := range part {
		part[k] /= sum
	}
	return true
}

// edgeVariance sums up what the edges of blocks make uncertain. What one block
// gets of its neighbour's energy by chance is shared out otherwise there: by as
// much the energies are off, however well the powers are known.
type edgeVariance struct {
	r      *regression
	before []float64 // the parts of the block before
	sum    []float64 // per column, in square microjoules
}

// pass takes the edge before block i, which has these parts.
func (v *edgeVariance) pass(i int, part []float64) {
	off := v.r.edgeEnergy(i)
	for k := range part {
		d := off * (part[k] - v.before[k])
		v.sum[k] += d * d
	}
	copy(v.before, part)
}

// edgeEnergy is the standard deviation of the energy at the edge before block i,
// which may belong to either side.
func (r *regression) edgeEnergy(i int) float64 {
	b := &r.c.blocks[max(0, i-1)]
	off := b.last
	if r.c.period > 0 {
		off = min(off, r.c.period)
	}
	b = &r.c.blocks[min(i, len(r.c.blocks)-1)]
	if b.span <= 0 {
		return 0
	}
	return r.energy(b) / b.span * off / math.Sqrt(12)
}

// partsOfGroups draws the part that each column has of its group's time: in a
// collinear group nothing says how the energy is divided. times are those of the
// groups.
func (r *regression) partsOfGroups(g grouping, times []float64, draws int) [][]float64 {
	n := r.width()
	random := rand.New(rand.NewPCG(uint64(n), uint64(len(r.c.blocks))))
	parts := make([][]float64, n)
	for k := range n {
		parts[k] = make([]float64, draws)
	}
	for i := range draws {
		sums := make([]float64, g.n)
		for k := range n {
			parts[k][i] = r.total[k] / times[g.of[k]]
			if g.reason[k] == Collinear {
				parts[k][i] *= random.ExpFloat64()
			}
			sums[g.of[k]] += parts[k][i]
		}
		for k := range n {
			parts[k][i] /= max(sums[g.of[k]], 1e-300)
		}
	}
	return parts
}

// drawFixed draws the powers of groups that are fixed, as far as the
// data do not show them. The others are pulled to the mean itself.
func (r *regression) drawFixed(random *rand.Rand, groups int) []float64 {
	powers := r.means(groups)
	for i, is := range r.fixed {
		if is {
			off := guessed * powers[i]
			if r.fixedTo[i].power > 0 {
				off = r.fixedTo[i].off
			}
			powers[i] = max(0, powers[i]+off*random.NormFloat64())
		}
	}
	return powers
}

// replicate finds the powers again for chunks of blocks drawn with replacement
// (block bootstrap; Kunsch, Annals of Statistics 17, 1989, 1217-1241).
func (r *regression) replicate(g grouping) [][]float64 {
	grouped := make([]*gram, len(r.chunks))
	for i, chunk := range r.chunks {
		grouped[i] = chunk.grouped(g.of, g.n)
	}
	random := rand.New(rand.NewPCG(uint64(g.n), uint64(len(r.chunks))))
	var all [][]float64
	drawn := make([]float64, len(grouped))
	for range Replicas {
		clear(drawn)
		for range grouped {
			drawn[random.IntN(len(grouped))]++
		}
		sum := newGram(g.n)
		for i, times := range drawn {
			if times > 0 {
				sum.add(grouped[i], times)
			}
		}
		power, ok := r.pulled(sum, r.drawFixed(random, g.n)).nonnegative(r.mean)
		if !ok {
			power = g.power
		}
		all = append(all, power)
	}
	return all
}
