package regression

import (
	"maps"
	"slices"
)

// A block tells something of a counter where what was drawn in it is what the counter shows in it. Counters of one
// period share their blocks, and a block ends when one of them moves. One that stands still meanwhile would have blocks
// without energy, and later one with that of all these. So it has blocks of its own from then on, which end when it
// moves; and so has each counter whose windows are divided by themselves.

// part takes some domains out of a collector of several, but not the last. Each gets a collector of its own, with all
// that was so far.
func (c *collector) part(those func(domain int) bool) (parted []*collector) {
	for i := len(c.domains) - 1; i >= 0 && len(c.domains) > 1; i-- {
		if those(c.domains[i]) {
			parted = append(parted, c.only(i))
			c.drop(i)
		}
	}
	return parted
}

// endsWith reports whether the open block of several domains ends with a window that is about to be taken.
func (c *collector) endsWith(w *Window) bool {
	return len(c.domains) > 1 && c.open.span+w.Wall >= blockPeriods*c.period &&
		slices.ContainsFunc(c.domains, func(d int) bool { return w.Moved[d] })
}

// hasShown reports whether the counter of a domain moved in the open block, or does in the window that is about to be
// taken.
func (c *collector) hasShown(domain int, w *Window) bool {
	return w.Moved[domain] || c.shown[slices.Index(c.domains, domain)]
}

// only is a collector of one of the domains, which shares nothing.
func (c *collector) only(i int) *collector {
	own := *c
	own.domains, own.shown, own.energy = []int{c.domains[i]}, []bool{c.shown[i]}, nil
	own.open = c.open.only(i)
	own.blocks = make([]block, len(c.blocks))
	for k := range c.blocks {
		own.blocks[k] = c.blocks[k].only(i)
	}
	own.sums, own.contexts, own.folded = maps.Clone(c.sums), maps.Clone(c.contexts), maps.Clone(c.folded)
	for j := range c.lags.hidden {
		own.lags.hidden[j] = maps.Clone(c.lags.hidden[j])
	}
	return &own
}

// only is the block as that of one of the domains.
func (b block) only(i int) block {
	for _, of := range b.perDomain() {
		*of = []float64{(*of)[i]}
	}
	b.times, b.edge = slices.Clone(b.times), slices.Clone(b.edge)
	for j := range b.lags {
		b.lags[j] = slices.Clone(b.lags[j])
	}
	return b
}

// drop takes a domain out of a collector.
func (c *collector) drop(i int) {
	c.domains, c.shown = slices.Delete(c.domains, i, i+1), slices.Delete(c.shown, i, i+1)
	for _, of := range c.open.perDomain() {
		*of = slices.Delete(*of, i, i+1)
	}
	for k := range c.blocks {
		for _, of := range c.blocks[k].perDomain() {
			*of = slices.Delete(*of, i, i+1)
		}
	}
}

// perDomain is what a block has of each domain.
func (b *block) perDomain() [4]*[]float64 {
	return [4]*[]float64{&b.energy, &b.machine, &b.rest, &b.restMachine}
}
