package nemb

// Changes adds up, update by update, what a counter that samples a part of the time alone may hide, as Habits.Unsampled
// does for a span: for who takes its energy piece by piece, for as long as that may be. Periods err independently of
// each other, so that squares add up. The zero Changes is of a counter that hides nothing.
type Changes struct {
	Habits Habits

	last []Knot // those of the last two periods
	told []change
}

// change is the square of what the power may hide that changed up to a moment, in joules.
type change struct{ at, square float64 }

// Add takes the next update of the counter.
func (c *Changes) Add(k Knot) {
	part, period := c.Habits.Part(), float64(c.Habits.Period)
	if part >= 1 {
		return
	}
	c.last = append(c.last, k)
	n := len(c.last) - 1
	i := c.periodBefore(n)
	j := c.periodBefore(i)
	if j < 0 {
		return
	}
	now := (k.Joules - c.last[i].Joules) * period / (k.At - c.last[i].At)
	before := (c.last[i].Joules - c.last[j].Joules) * period / (c.last[i].At - c.last[j].At)
	// Where the counter moves more often than once in a period, each update counts for a part of one.
	counts := min(1, (k.At-c.last[n-1].At)/period)
	hides := 2 * (1 - part) * (now - before)
	c.told = append(c.told, change{k.At, hides * hides * counts})
	c.last = append(c.last[:0], c.last[j:]...)
}

// periodBefore is the number of the last update that was a period before another, -1 where there is none.
func (c *Changes) periodBefore(i int) int {
	if i < 0 {
		return -1
	}
	end := c.last[i].At - 0.95*float64(c.Habits.Period)
	for i--; i >= 0 && c.last[i].At > end; i-- {
	}
	return i
}

// Until is the square of what is hidden in the energy since the Until before up to a moment, in joules (95 %).
func (c *Changes) Until(at float64) (square float64) {
	n := 0
	for ; n < len(c.told) && c.told[n].at <= at; n++ {
		square += c.told[n].square
	}
	c.told = c.told[n:]
	return square
}

// Forget tells that the counter was reset.
func (c *Changes) Forget() { c.last, c.told = nil, nil }
