package attribute

import (
	"slices"

	"cg/checkpoint"
	"cg/nemb"
)

// A block is some windows together, long enough for what a counter shows late
// to matter little.
//
// A reading of a counter is as old as the counter's last update, up to one
// period. A block spans blockPeriods of them at least and ends with a window in
// which the counter moved.
type block struct {
	span   float64   // ns
	energy []float64 // the program's, per domain of the collector, in microjoules
	times  []entry   // by rising column
	edge   []entry   // those of its last window
	last   float64   // ns, the length of its last window
}

// entry is the processor time of a column, in nanoseconds.
type entry struct {
	column column
	time   float32
}

// column is what has a power of its own: a site; 0, the program outside its
// sites; -1-i, background class i.
type column int32

const (
	outsideSites column = 0
	blockPeriods        = 10
	maxBlocks           = 1 << 13
	maxEntries          = 1 << 20 // over all blocks: 8 MiB
)

// collector gathers blocks for the domains whose counters have one period. Its
// memory has a limit: beyond it, neighbours are joined.
type collector struct {
	period  float64 // ns; 0 where it is not known
	domains []int
	blocks  []block
	entries int
	per     int // finished blocks that make one

	open   block
	moved  int // windows of the open block in which the counter moved
	sums   map[column]float64
	energy []float64 // per domain, of the window being closed
}

// collectors gives each measured domain to the collector of its period. For a
// domain that a model tells, power is in proportion to processor time: there is
// nothing to be found out.
func (a *Attributor) collectors() []*collector {
	var all []*collector
	for d, domain := range a.domains {
		if domain.Method != nemb.Measured || domain.Program {
			continue
		}
		period := nanos(domain.Period)
		i := slices.IndexFunc(all, func(c *collector) bool { return period > 0 && c.period == period })
		if i < 0 {
			all = append(all, &collector{period: period, per: 1, sums: map[column]float64{}})
			i = len(all) - 1
		}
		all[i].domains = append(all[i].domains, d)
		all[i].open.energy = append(all[i].open.energy, 0)
	}
	return all
}

// collect takes a window into the blocks.
func (a *Attributor) collect(s, prev nemb.Sample, wall, weight float64, beside []float64) {
	if len(a.blocks) == 0 {
		return
	}
	a.now = a.entries(a.now, weight, beside)
	for _, c := range a.blocks {
		c.energy = c.energy[:0]
		moved := false
		for _, d := range c.domains {
			c.energy = append(c.energy, a.spent[d])
			moved = moved || s.Energy[d] > prev.Energy[d]
		}
		c.add(wall, c.energy, a.now, moved)
	}
}

// entries lists what each column has of the processor time of the window.
func (a *Attributor) entries(to []entry, weight float64, beside []float64) []entry {
	to = to[:0]
	left := weight
	for i, used := range beside {
		if used > 0 {
			to = append(to, entry{column(-1 - i), float32(used)})
			left -= used
		}
	}
	for site, part := range a.sites {
		if part.self > 0 {
			to = append(to, entry{column(site), float32(part.self * weight)})
			left -= part.self * weight
		}
	}
	if left > 1e-6*weight {
		to = append(to, entry{outsideSites, float32(left)})
	}
	slices.SortFunc(to, func(x, y entry) int { return int(x.column) - int(y.column) })
	return to
}

// add takes a window: its length, the program's energy in each domain of the
// collector, the processor time of each column, and whether the counter moved.
func (c *collector) add(wall float64, energy []float64, times []entry, moved bool) {
	b := &c.open
	b.span += wall
	for i, e := range energy {
		b.energy[i] += e
	}
	for _, e := range times {
		c.sums[e.column] += float64(e.time)
	}
	if moved {
		c.moved++
	}
	long := b.span >= blockPeriods*c.period
	if c.period == 0 {
		long = c.moved >= blockPeriods
	}
	if moved && long {
		b.edge, b.last = slices.Clone(times), wall
		c.finish()
	}
}

// finish ends the open block.
func (c *collector) finish() {
	b := &c.open
	if b.span == 0 {
		return
	}
	b.times = make([]entry, 0, len(c.sums))
	for k, t := range c.sums {
		b.times = append(b.times, entry{k, float32(t)})
	}
	slices.SortFunc(b.times, func(x, y entry) int { return int(x.column) - int(y.column) })
	clear(c.sums)
	fresh := block{energy: make([]float64, len(b.energy))}
	c.moved = 0
	// Once blocks have been joined, those that follow are joined as they come,
	// so that all are about as long.
	if n := len(c.blocks); n > 0 && c.per > 1 && c.blocks[n-1].span < c.blocks[0].span*0.75 {
		c.entries -= len(c.blocks[n-1].times) + len(c.blocks[n-1].edge)
		c.blocks[n-1] = join(c.blocks[n-1], *b)
	} else {
		c.blocks = append(c.blocks, *b)
	}
	last := c.blocks[len(c.blocks)-1]
	c.entries += len(last.times) + len(last.edge)
	c.open = fresh
	for len(c.blocks) > maxBlocks || c.entries > maxEntries && len(c.blocks) > 2 {
		c.halve()
	}
}

// halve joins neighbours.
func (c *collector) halve() {
	kept := c.blocks[:0]
	c.entries = 0
	for i := 0; i < len(c.blocks); i += 2 {
		b := c.blocks[i]
		if i+1 < len(c.blocks) {
			b = join(b, c.blocks[i+1])
		}
		kept = append(kept, b)
		c.entries += len(b.times) + len(b.edge)
	}
	clear(c.blocks[len(kept):])
	c.blocks = kept
	c.per *= 2
}

// join is a block and the one that follows it as one.
func join(x, y block) block {
	b := block{span: x.span + y.span, edge: y.edge, last: y.last}
	for i := range x.energy {
		b.energy = append(b.energy, x.energy[i]+y.energy[i])
	}
	i, j := 0, 0
	for i < len(x.times) || j < len(y.times) {
		switch {
		case j == len(y.times) || i < len(x.times) && x.times[i].column < y.times[j].column:
			b.times = append(b.times, x.times[i])
			i++
		case i == len(x.times) || y.times[j].column < x.times[i].column:
			b.times = append(b.times, y.times[j])
			j++
		default:
			b.times = append(b.times, entry{x.times[i].column, x.times[i].time + y.times[j].time})
			i, j = i+1, j+1
		}
	}
	return b
}

// site is the site of a column, 0 where it is none.
func (c column) site() checkpoint.SiteID { return checkpoint.SiteID(max(0, c)) }

// lag is the mean age of a reading in nanoseconds, as long as nothing else is
// known: an update comes at any moment of the last window, and no longer ago
// than a period. Of a counter without a known period it is 0.
func (c *collector) lag() float64 {
	mean, n := 0.0, 0
	for _, b := range c.blocks {
		if b.last > 0 {
			mean += min(b.last, c.period)
			n++
		}
	}
	return mean / float64(max(1, n)) / 2
}
