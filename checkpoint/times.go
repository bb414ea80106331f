package checkpoint

// TimeBins is how many bins the times of calls have: four for each octave of ticks.
const TimeBins = 176

// Times is how long calls of a function took that were timed, in ticks. Each call that was
// timed lies between Least and Most.
type Times struct {
	Site SiteID
	// Exact is how many calls stand for themselves alone, Drawn how many were timed because
	// a burst was open, and stand for others, too.
	Exact, Drawn uint64
	// Squares is the sum over the bursts of the square of the calls that a burst stands for.
	Squares     float64
	Least, Most uint64
	// Bins is how many calls there were of each length, as far as those that were timed
	// show: see TimeBin. What lies beyond the last is in it.
	Bins [TimeBins]float64
}

// TimeBin is what a bin has: from so many ticks to less than so many.
func TimeBin(i int) (from, to uint64) {
	if i < 4 {
		return uint64(i), uint64(i) + 1
	}
	octave := i/4 - 1
	return uint64(4+i%4) << octave, uint64(4+i%4+1) << octave
}

// Add takes other calls of the function.
func (t *Times) Add(of *Times) {
	t.Exact += of.Exact
	t.Drawn += of.Drawn
	t.Squares += of.Squares
	t.Least, t.Most = min(t.Least, of.Least), max(t.Most, of.Most)
	for i, n := range of.Bins {
		t.Bins[i] += n
	}
}

// timesOfCalls reads the times of a thread that has ended, but those that no writer writes.
func (t *tree) timesOfCalls() (all []Times) {
	for i := range t.times[:min(int(t.head.timed), len(t.times))] {
		c := t.times[i]
		if c.site == 0 || SiteID(c.site) >= OwnSite || c.least > c.most {
			continue
		}
		sum, of := uint64(0), Times{Site: SiteID(c.site), Exact: c.exact, Drawn: c.drawn,
			Squares: float64(c.squares) / (wholeCall * wholeCall), Least: c.least, Most: c.most}
		for b, n := range c.bins {
			of.Bins[b] = float64(n) / wholeCall
			sum += n
		}
		if of.Drawn == 0 { // then it need not be counted
			of.Exact = sum / wholeCall
		}
		all = append(all, of)
	}
	return all
}
