package regression

import "math"

// Whether a counter is filtered is decided by some blocks of the run, in which all of lagPeriods are followed: a look.
// The first blocks are one. They may not show it, as where one function runs for the first seconds; so there are
// others, each after a pause of a quarter of the run so far. Once a look has shown a filter, the constants near to it
// are followed to the end of the run, and what they hid in the blocks before is reckoned from these blocks.

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
		*l = look{first: len(c.blocks), blocks: l.blocks}
		c.lags.off = [len(lagPeriods)]bool{}
	}
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
	seen := *c
	seen.blocks = c.blocks[min(l.first, len(c.blocks)):]
	var keep [len(lagPeriods)]bool
	l.state, l.next = paused, l.blocks+l.blocks/4
	for d := range c.domains {
		r := seen.begin(d, nil, false)
		if r == nil {
			continue
		}
		r.use(r.functions())
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

// reckonLags tells what constant j hid at the ends of the first n blocks, in which it was not followed: as if what
// a block has before its last window had run evenly.
func (c *collector) reckonLags(j, n int) {
	before := lags{look: look{state: settled}}
	for k := range before.off {
		before.off[k] = k != j
	}
	for i := range c.blocks[:min(n, len(c.blocks))] {
		b := &c.blocks[i]
		before.add(b.span-b.last, without(b.times, b.edge), c.period, c.kept)
		before.add(b.last, b.edge, c.period, c.kept)
		b.lags[j] = before.end()[j]
	}
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
