package checkpoint

import (
	"math/bits"
	"strconv"
	"testing"
)

// timeBin is the bin of a time.
func timeBin(ticks uint64) int {
	if ticks < 4 {
		return int(ticks)
	}
	octave := bits.Len64(ticks) - 1
	return min((octave-1)*4+int(ticks>>(octave-2)&3), TimeBins-1)
}

// sum is how many calls the bins have.
func (t *Times) sum() (n float64) {
	for _, b := range t.Bins {
		n += b
	}
	return n
}

// Bins follow each other without a gap, and are no wider than a quarter of where they begin.
func TestTimeBins(t *testing.T) {
	at := uint64(0)
	for i := range TimeBins {
		from, to := TimeBin(i)
		if from != at || timeBin(from) != i || timeBin(to-1) != i || from >= 4 && (to-from)*4 > from {
			t.Errorf("bin %d: %d to %d, after %d", i, from, to, at)
		}
		at = to
	}
	if at < 1<<44 || timeBin(1<<63) != TimeBins-1 {
		t.Errorf("the last bin ends at %d", at)
	}
}

// Each call of a function that is timed is in its times, on any thread.
func TestTimesOfAWriter(t *testing.T) {
	const threads, calls = 3, 5000
	for mode, args := range map[string][]string{"long": {"1000"}, "threads": {strconv.Itoa(threads), strconv.Itoa(calls)}} {
		g, _ := add(t, summing(t, trees, treeNodes), false, append([]string{mode}, args...)...)
		for _, y := range g.trees {
			if len(y.times) == 0 {
				t.Errorf("%s: no times", mode)
			}
			for site, c := range y.times {
				if n := y.bySite()[site]; c.Exact != n || c.sum() != float64(n) || c.Drawn != 0 || c.Squares != 0 {
					t.Errorf("%s: %d exact of %d calls of site %d, %g in bins", mode, c.Exact, n, site, c.sum())
				}
				if c.Least > c.Most || c.Bins[timeBin(c.Least)] == 0 || c.Bins[timeBin(c.Most)] == 0 || c.Most > y.span {
					t.Errorf("%s: site %d took from %d to %d of %d", mode, site, c.Least, c.Most, y.span)
				}
			}
		}
		if c := g.trees[0].times[1]; mode == "long" && c.Least < 1000*g.trees[0].times[2].Least {
			t.Errorf("the caller took %d, one of its calls %d", c.Least, g.trees[0].times[2].Least)
		}
	}
}

// A process that was forked has no times of calls that did not begin in it.
func TestTimesOfAChild(t *testing.T) {
	g, _ := add(t, summing(t, trees, treeNodes), false, "fork", "5")
	if len(g.trees) != 2 {
		t.Fatalf("%d trees", len(g.trees))
	}
	for i, y := range g.trees {
		if own, inherited := y.times[7], y.times[3]; own.Exact != 1 || inherited.Exact != uint64(1-i) {
			t.Errorf("tree %d: %d calls of its own, %d that began before", i, own.Exact, inherited.Exact)
		}
	}
}

// Functions beyond the room have no times, and all that is counted is as with more room.
func TestTimesOfManyFunctions(t *testing.T) {
	const sites = 5000
	for _, room := range []int{0, 1, 100, treeFunctions} {
		c := summing(t, 1, 1<<14)
		c.forest.close()
		if c.forest = newForest(1, 1<<14, room); c.forest == nil {
			t.Fatal("no memory for trees")
		}
		c.head.trees = uint32(c.forest.fd)
		g, _ := add(t, c, false, "wide", strconv.Itoa(sites))
		y := g.one()
		if len(y.times) != min(room, sites+1) || y.Events != 2*(sites+1) || len(y.bySite()) != sites+1 {
			t.Errorf("%d functions of %d have times, room for %d", len(y.times), len(y.bySite()), room)
		}
		for site, c := range y.times {
			if c.Exact != 1 || c.sum() != 1 {
				t.Fatalf("site %d: %d calls, %g in bins", site, c.Exact, c.sum())
			}
		}
	}
}

// Times that no writer writes are left out, and the tree is empty for its next thread.
func TestTimesRefused(t *testing.T) {
	c, y := grown(t)
	y.head.timed = 6
	for i, of := range []treeTimes{
		{site: 7, exact: 1, least: 5, most: 5},
		{site: 0, exact: 1},
		{site: uint32(OwnSite), exact: 1},
		{site: uint32(SiteLimit) + 3, exact: 1},
		{site: 8, least: 2, most: 1},
		{site: 9, drawn: 2, squares: 5 * wholeCall * wholeCall / 2, least: 1, most: 9},
	} {
		of.bins[4] = 3 * wholeCall / 2
		y.times[i] = of
	}
	var got []Times
	c.Finish(func(r Run) int {
		got = append(got, r.Tally.Times...)
		return len(r.Tally.Windows)
	})
	if len(got) != 2 || got[0].Site != 7 || got[0].Exact != 1 || got[0].Bins[4] != 1.5 || got[1].Site != 9 ||
		got[1].Drawn != 2 || got[1].Squares != 2.5 || got[1].Most != 9 {
		t.Errorf("%+v", got)
	}
	if y = c.forest.at(0); y.times[0] != (treeTimes{}) || y.times[5] != (treeTimes{}) {
		t.Error("the next thread has them, too")
	}
	c, y = grown(t)
	y.head.timed = 1 << 31
	c.Finish(func(r Run) int { return len(r.Tally.Windows) })
}
