package regression

import "math"

// Whether a counter is filtered is decided by some blocks of the run, in which all of lagPeriods are followed: a look.
// The first blocks are one. They may not show it, as where one function runs for the first seconds; so there are
// others, each after a pause of a quarter of the run so far. Once a look has shown a filter, the constants near to it
// are followed to the end of the run, and what they hid in the blocks before is reckoned from these blocks. So is what
// they hide where a later look begins: the filter has followed the run all the time.

// look is the state of looking for filters.
type look struct {
	state   lookState
	first   int // the index of its first block
	blocks  int // that ended, of the whole run
	next    int // so many begin the next look
	entries int // of the blocks of the look
}

// lookState says which constants are followed.
type lookState int

const (
	looking lookState = iota // all of lagPeriods
	paused                   // none, until the next look
	settled                  // those near to what a look has shown
)

// A look takes lagBlocks blocks, or fewer if they have more entries than maxLagEntries.
const (
	lagBlocks     = 256
	maxLagEntries = 1 << 16
)

// So many blocks before a later look tell what is hidden where it begins: more than six of the longest constant.
const warmBlocks = 16

// lookForLags goes on with looking, after a block with so many entries has ended.
func (c *collector) lookForLags(entries int) {
	l := &c.lags.look
	l.blocks++
	switch {
	case l.state == looking:
		l.entries += entries
		if len(c.blocks)-l.first >= lagBlocks || l.entries > maxLagEntries {
			c.settleLags()
		}
	case l.state == paused && l.blocks >= l.next:
		c.beginLook()
	}
}

// beginLook begins a later look. The block before it gets what is hidden at its end.
func (c *collector) beginLook() {
	n := len(c.blocks)
	c.lags = lags{look: look{first: n, blocks: c.lags.look.blocks}}
	for i := max(0, n-warmBlocks); i < n; i++ {
		c.reckon(&c.lags, &c.blocks[i])
	}
	last := &c.blocks[n-1]
	c.entries -= last.entries()
	last.lags = c.lags.end()
	c.entries += last.entries()
}

// endLook ends a look that the end of the run cuts short, where the blocks before it are not followed.
func (c *collector) endLook() {
	if l := c.lags.look; l.state == looking && l.first > 0 {
		c.settleLags()
	}
}

// settleLags ends a look. It keeps of the time constants those near to what the blocks of the look show, none where
// they show no filter.
func (c *collector) settleLags() {
	l := &c.lags.look
	var keep [len(lagPeriods)]bool
	l.state, l.next = paused, l.blocks+l.blocks/4
	for d := range c.domains {
		r := c.seen(d)
		if r == nil {
			continue
		}
		if _, ok := r.powers(); ok && r.lag.scale > 0 {
			l.state = settled
			for j := max(0, r.lag.constant-1); j <= min(len(lagPeriods)-1, r.lag.constant+1); j++ {
				keep[j] = true
			}
		}
	}
	for j, is := range keep {
		c.lags.off[j] = !is
		if !is {
			c.lags.hidden[j] = nil
			continue
		}
		c.reckonLags(j, l.first)
	}
	c.entries = 0
	for i := range c.blocks {
		for j, is := range keep {
			if !is {
				c.blocks[i].lags[j] = nil
			}
		}
		c.entries += c.blocks[i].entries()
	}
}

// seen begins a fit of the blocks of a look; nil as with begin.
func (c *collector) seen(d int) *regression {
	first := min(c.lags.look.first, len(c.blocks))
	blocks := *c
	blocks.blocks = c.blocks[first:]
	r := blocks.begin(d, nil, false)
	if r == nil {
		return nil
	}
	if first > 0 {
		r.follows(&c.blocks[first-1])
	}
	r.use(r.functions())
	return r
}

// follows says that a block was before the first one. What it hides at its end may be of columns that run no more.
func (r *regression) follows(b *block) {
	r.prior = b
	r.know(b)
	for _, e := range b.lags[len(lagPeriods)-1] { // which hides most
		if r.has(e.Column) {
			r.times[r.c.kept(e.Column)] += float64(e.Time) * 1e-6
		}
	}
}

// reckonLags tells what constant j hid at the ends of the first n blocks, in which it was not followed.
func (c *collector) reckonLags(j, n int) {
	before := lags{look: look{state: settled}}
	for k := range before.off {
		before.off[k] = k != j
	}
	for i := range c.blocks[:min(n, len(c.blocks))] {
		b := &c.blocks[i]
		c.reckon(&before, b)
		b.lags[j] = before.end()[j]
	}
}

// reckon adds a block to lags as if what it has before its last window had run evenly.
func (c *collector) reckon(l *lags, b *block) {
	l.add(b.span-b.last, without(b.times, b.edge), c.period, c.kept)
	l.add(b.last, b.edge, c.period, c.kept)
}

// without is what times have beside those of some of them. Both are by rising column.
func without(times, some []Entry) []Entry {
	out := make([]Entry, 0, len(times))
	for _, e := range times {
		for len(some) > 0 && some[0].Column < e.Column {
			some = some[1:]
		}
		if len(some) > 0 && some[0].Column == e.Column {
			e.Time = float32(math.Max(0, float64(e.Time-some[0].Time)))
		}
		out = append(out, e)
	}
	return out
}
