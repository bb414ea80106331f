package regression

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A block is some windows together, long enough for what a counter shows late
// to matter little.
//
// A reading of a counter is as old as the counter's last update, up to one
// period. A block spans blockPeriods of them at least and ends with a window in
// which the counter moved.
type block struct {
	span   float64   // ns
	until  float64   // when its last window ends, see Window.Until
	energy []float64 // the program's, per domain of the collector, in microjoules
	// machine is the program's part of span, by processor time, per domain, in microseconds.
	machine []float64
	times   []Entry // by rising column
	edge    []Entry // those of its last window
	last    float64 // ns, the length of its last window
	away    float64 // ns, see Window.Away
	queued  float64 // ns, see Window.Queued
	turns   float64 // see Window.Turns
	between float64 // ns, the longest Window.Between
	lags    lagged  // what counters that follow their power slowly do not show at its end
	// What ran beside the program has the column Neighbours in times and edge. rest and restMachine
	// are what energy and machine are of the program.
	rest        []float64
	restMachine []float64
}

// Entry is the processor time of a column in a window, in nanoseconds.
type Entry struct {
	Column Column
	Time   float32
}

// Column is what may have a power of its own: the program outside its functions, cg's
// runtime in the program, a class of background threads, a function, or a context of
// one, which is the function as called along a certain path. Columns of functions and
// contexts have the numbers from First on, and whoever adds windows gives them.
type Column int32

const (
	Outside Column = 0 // the program outside its functions
	Runtime Column = 1 // cg's runtime in the program, checkpoints above all
	First   Column = 2
	// Neighbours is what runs beside the program. It is a column only where the data show its power (neighbours.go).
	Neighbours Column = math.MinInt32
)

// Background is the column of class i of background threads.
func Background(i int) Column { return Column(-1 - i) }

// IsBackground reports whether a column is of background threads.
func (c Column) IsBackground() bool { return c < 0 && c != Neighbours }

// Contexts tells of which context of a function another is a part: that of the function
// called by a is one of the function, and that of the function called by a, which b
// called, is one of the former. It is Outside for functions and for what is none.
type Contexts func(Column) Column

// function is the function of a column; the column itself where it is no context.
func (of Contexts) function(c Column) Column {
	for of != nil {
		outer := of(c)
		if outer == Outside {
			break
		}
		c = outer
	}
	return c
}

const (
	blockPeriods = 10
	maxBlocks    = 1 << 13
	maxEntries   = 1 << 20 // over all blocks: 8 MiB
	// The contexts that are kept apart in blocks are so many, those that ran longest.
	// They are chosen when there are twice as many.
	maxContexts = 512
)

// collector gathers blocks for the domains whose counters have one period. Its
// memory has a limit: beyond it, neighbours are joined.
type collector struct {
	of      Contexts
	period  float64 // ns; 0 where it is not known
	domains []int
	blocks  []block
	entries int
	per     int // finished blocks that make one

	open   block
	moved  int    // windows of the open block in which any counter moved
	shown  []bool // whether the counter of each domain moved in the open block
	sums   map[Column]float64
	lags   lags
	energy []float64 // per domain, of the window being closed
	others float64   // ns, of what ran beside the program in it
	ticks  float64   // ns, of all windows, of what is told in ticks

	contexts map[Column]float64 // ns, of the columns that are contexts and kept apart
	folded   map[Column]bool    // contexts whose times go to those around them
	blur     map[Column]float64 // see Data.Blur; nil where times are no sample
}

// newCollector makes the collector of one domain.
func newCollector(period float64, domain int, of Contexts) *collector {
	return &collector{
		of: of, period: period, per: 1, domains: []int{domain}, shown: make([]bool, 1), sums: map[Column]float64{},
		open: emptyBlock(1), contexts: map[Column]float64{}, folded: map[Column]bool{},
	}
}

// also makes a domain one of the collector's, before any window.
func (c *collector) also(domain int) {
	c.domains, c.shown = append(c.domains, domain), append(c.shown, false)
	c.open = emptyBlock(len(c.domains))
}

// emptyBlock is a block of so many domains.
func emptyBlock(domains int) block {
	fresh := func() []float64 { return make([]float64, domains) }
	return block{energy: fresh(), machine: fresh(), rest: fresh(), restMachine: fresh()}
}

// add takes a window: its length, the program's energy in each domain of the
// collector, the processor time of each column, and whether the counter moved.
func (c *collector) add(wall float64, energy []float64, times []Entry, moved bool) {
	b := &c.open
	b.span += wall
	for i, e := range energy {
		b.energy[i] += e
	}
	for _, e := range times {
		c.sums[c.kept(e.Column)] += float64(e.Time)
	}
	c.lags.add(wall, c.withBeside(times), c.period, c.kept)
	if moved {
		c.moved++
	}
	if moved && c.isLong() {
		b.edge, b.last = c.withBeside(c.fold(slices.Clone(times))), wall
		c.endBlock()
	}
}

// isLong reports whether the open block has the length of a block.
func (c *collector) isLong() bool {
	if c.period == 0 {
		return c.moved >= blockPeriods
	}
	return c.open.span >= blockPeriods*c.period
}

// move moves time of blocks from Outside to a column, to each as much as it has of the time between the two
// moments.
func (c *collector) move(from, to float64, column Column, time float64) {
	if to <= from || column == Outside {
		return
	}
	i, _ := slices.BinarySearchFunc(c.blocks, from, func(b block, from float64) int {
		if b.until <= from {
			return -1
		}
		return 1
	})
	begun := 0.0
	if i > 0 {
		begun = c.blocks[i-1].until
	}
	moved := 0.0
	for ; i < len(c.blocks) && begun < to; i++ {
		b := &c.blocks[i]
		part := (min(to, b.until) - max(from, begun)) / (to - from)
		c.entries -= len(b.times)
		var some float64
		b.times, some = moveTime(b.times, column, time*part)
		c.entries += len(b.times)
		moved += some
		begun = b.until
	}
	if part := (to - max(from, begun)) / (to - from); part > 0 {
		some := min(time*part, c.sums[Outside])
		c.sums[Outside] -= some
		c.sums[column] += some
		if c.sums[Outside] <= 0 {
			delete(c.sums, Outside)
		}
	}
	if c.of != nil && c.of(column) != Outside && moved > 0 { // that of the open block counts when that ends
		c.contexts[column] += moved
	}
}

// moveTime moves time from Outside to a column, no more than Outside has, and says how much.
func moveTime(times []Entry, column Column, time float64) ([]Entry, float64) {
	of := func(k Column) (int, bool) { return slices.BinarySearchFunc(times, Entry{Column: k}, byColumn) }
	i, ok := of(Outside)
	if !ok {
		return times, 0
	}
	time = min(time, float64(times[i].Time))
	if times[i].Time -= float32(time); times[i].Time <= 0 {
		times = slices.Delete(times, i, i+1)
	}
	i, ok = of(column)
	if !ok {
		times = slices.Insert(times, i, Entry{Column: column})
	}
	times[i].Time += float32(time)
	return times, time
}

// endBlock ends the open block.
func (c *collector) endBlock() {
	b := &c.open
	if b.span == 0 {
		return
	}
	b.times = make([]Entry, 0, len(c.sums))
	for k, t := range c.sums {
		b.times = append(b.times, Entry{k, float32(t)})
		if c.of != nil && c.of(k) != Outside {
			c.contexts[k] += t
		}
	}
	slices.SortFunc(b.times, byColumn)
	clear(c.sums)
	b.lags = c.lags.end()
	entries := b.entries()
	fresh := emptyBlock(len(c.domains))
	c.moved = 0
	clear(c.shown)
	// Once blocks have been joined, those that follow are joined as they come,
	// so that all are about as long.
	if n := len(c.blocks); n > 0 && c.per > 1 && c.blocks[n-1].span < c.blocks[0].span*0.75 {
		c.entries -= c.blocks[n-1].entries()
		c.blocks[n-1] = join(c.blocks[n-1], *b)
	} else {
		c.blocks = append(c.blocks, *b)
	}
	c.entries += c.blocks[len(c.blocks)-1].entries()
	c.open = fresh
	c.lookForLags(entries)
	if len(c.contexts) > 2*maxContexts {
		c.foldContexts()
	}
	for len(c.blocks) > maxBlocks || c.entries > maxEntries && len(c.blocks) > 2 {
		c.halve()
	}
}

// entries is how many a block has.
func (b *block) entries() int {
	n := len(b.times) + len(b.edge)
	for _, l := range b.lags {
		n += len(l)
	}
	return n
}

func byColumn(x, y Entry) int { return cmp.Compare(x.Column, y.Column) }

// kept is the column that has the times of another: the nearest one around a context that
// is no longer kept apart.
func (c *collector) kept(k Column) Column {
	for c.folded[k] {
		k = c.of(k)
	}
	return k
}

// foldContexts keeps the contexts apart that ran longest so far, and gives the times of the
// others to those around them, for good: what is over cannot be told apart later.
func (c *collector) foldContexts() {
	for len(c.contexts) > maxContexts {
		all := slices.SortedFunc(maps.Keys(c.contexts), func(x, y Column) int {
			return cmp.Or(cmp.Compare(c.contexts[y], c.contexts[x]), cmp.Compare(x, y))
		})
		for _, k := range all[maxContexts:] {
			c.folded[k] = true
			if outer := c.kept(k); c.of(outer) != Outside {
				c.contexts[outer] += c.contexts[k]
			}
			delete(c.contexts, k)
		}
	}
	c.entries = 0
	for i := range c.blocks {
		b := &c.blocks[i]
		b.times, b.edge = c.fold(b.times), c.fold(b.edge)
		for j := range b.lags {
			b.lags[j] = c.fold(b.lags[j])
		}
		c.entries += b.entries()
	}
}

// fold gives the times of contexts that are not kept apart to those around them. It
// changes the entries and returns them.
func (c *collector) fold(entries []Entry) []Entry {
	if len(c.folded) == 0 {
		return entries
	}
	for i := range entries {
		entries[i].Column = c.kept(entries[i].Column)
	}
	slices.SortStableFunc(entries, byColumn)
	out := entries[:0]
	for _, e := range entries {
		if n := len(out); n > 0 && out[n-1].Column == e.Column {
			out[n-1].Time += e.Time
			continue
		}
		out = append(out, e)
	}
	return slices.Clip(out)
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
		c.entries += b.entries()
	}
	clear(c.blocks[len(kept):])
	c.blocks = kept
	c.per *= 2
	c.lags.look.first = (c.lags.look.first + 1) / 2 // so that what is hidden where it begins is known
}

// join is a block and the one that follows it as one.
func join(x, y block) block {
	b := block{
		span: x.span + y.span, until: y.until, edge: y.edge, last: y.last, away: x.away + y.away, lags: y.lags,
		queued: x.queued + y.queued, turns: x.turns + y.turns, between: max(x.between, y.between),
	}
	for i := range x.energy {
		b.energy, b.rest = append(b.energy, x.energy[i]+y.energy[i]), append(b.rest, x.rest[i]+y.rest[i])
		b.machine = append(b.machine, x.machine[i]+y.machine[i])
		b.restMachine = append(b.restMachine, x.restMachine[i]+y.restMachine[i])
	}
	i, j := 0, 0
	for i < len(x.times) || j < len(y.times) {
		switch {
		case j == len(y.times) || i < len(x.times) && x.times[i].Column < y.times[j].Column:
			b.times = append(b.times, x.times[i])
			i++
		case i == len(x.times) || y.times[j].Column < x.times[i].Column:
			b.times = append(b.times, y.times[j])
			j++
		default:
			b.times = append(b.times, Entry{x.times[i].Column, x.times[i].Time + y.times[j].Time})
			i, j = i+1, j+1
		}
	}
	return b
}

// meanAge is the mean age of a reading in nanoseconds, as long as nothing else is
// known: an update comes at any moment of the last window, and no longer ago
// than a period. Of a counter without a known period it is 0.
func (c *collector) meanAge() float64 {
	mean, n := 0.0, 0
	for _, b := range c.blocks {
		if b.last > 0 {
			mean += min(b.last, c.period)
			n++
		}
	}
	return mean / float64(max(1, n)) / 2
}
