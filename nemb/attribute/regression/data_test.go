package regression

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// inUse is what is in use, in bytes.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// However long a run is, its blocks have a limit, and what they sum up to is the
// run's: 100,000 blocks of 200 functions each, a thousand seconds and more.
func TestBlocksAreBounded(t *testing.T) {
	before := inUse()
	c := newCollector(1e6, 0, nil)
	times := make([]Entry, 200)
	total := 0.0
	for i := range 100_000 {
		for k := range times {
			times[k] = Entry{site(k), float32(1000 * (1 + (i+k)%7))}
		}
		c.add(10e6, []float64{float64(i % 100)}, times, true)
		total += float64(i % 100)
		if len(c.blocks) > maxBlocks || c.entries > maxEntries {
			t.Fatalf("%d blocks with %d entries", len(c.blocks), c.entries)
		}
	}
	energy, span, entries := 0.0, 0.0, 0
	for _, b := range c.blocks {
		energy += b.energy[0]
		span += b.span
		entries += b.entries()
	}
	if energy != total || span != 100_000*10e6 || entries != c.entries {
		t.Errorf("%g uJ in %g ns, %d entries, want %g uJ in %g ns, %d",
			energy, span, entries, total, 100_000*10e6, c.entries)
	}
	if len(c.blocks) < maxBlocks/8 && c.entries < maxEntries/4 {
		t.Errorf("only %d blocks with %d entries are left", len(c.blocks), c.entries)
	}
	if used := float64(inUse()) - float64(before); used > 32<<20 {
		t.Errorf("%.1f MiB", used/(1<<20))
	}
	runtime.KeepAlive(c)
}

// Time that is moved leaves Outside in the blocks of its moments, and in no others: no more than they have.
func TestMove(t *testing.T) {
	const windows, period = 95, 1e6
	d := NewData([]Counter{{0, period}}, nil)
	for i := range windows {
		d.Add(Window{
			Wall: period, Until: float64(i+1) * period, Spent: []float64{1}, Moved: []bool{true},
			Times: []Entry{{Outside, period / 2}, {site(1), period / 4}},
		})
	}
	d.Move(15*period, 35*period, site(0), 4*period) // of three blocks
	d.Move(15*period, 16*period, site(1), 9*period) // more than there is
	d.Move(91*period, 93*period, site(1), period)   // of the open one
	d.Move(93*period, 93*period, site(1), period)   // of no time
	c := d.collectors[0]
	of := func(times []Entry, k Column) float64 {
		for _, e := range times {
			if e.Column == k {
				return float64(e.Time)
			}
		}
		return 0
	}
	entries := 0
	for i, b := range c.blocks {
		want := [3]float64{5 * period, 0, 2.5 * period} // Outside, site 0, site 1
		switch i {
		case 1:
			want = [3]float64{0, period, 6.5 * period}
		case 2:
			want = [3]float64{3 * period, 2 * period, 2.5 * period}
		case 3:
			want = [3]float64{4 * period, period, 2.5 * period}
		}
		if got := [3]float64{of(b.times, Outside), of(b.times, site(0)), of(b.times, site(1))}; got != want {
			t.Errorf("block %d: %v, want %v", i, got, want)
		}
		if !slices.IsSortedFunc(b.times, byColumn) {
			t.Errorf("block %d: %v", i, b.times)
		}
		entries += b.entries()
	}
	if len(c.blocks) != 9 || entries != c.entries {
		t.Errorf("%d blocks, %d entries, want %d", len(c.blocks), c.entries, entries)
	}
	if c.sums[Outside] != 1.5*period || c.sums[site(1)] != 2.25*period {
		t.Errorf("the open block: %v", c.sums)
	}
}

// Where all time of Outside is moved, the column that it is moved to has the energy.
func TestMoveAll(t *testing.T) {
	const windows, period = 4000, 1e6
	d := NewData([]Counter{{0, period}}, nil)
	for i := range windows {
		d.Add(Window{
			Wall: period, Until: float64(i+1) * period, Spent: []float64{1e4}, Moved: []bool{true},
			Times: []Entry{{Outside, period}},
		})
		if i == windows*3/4 {
			d.Move(0, windows*period*3/4, site(0), windows*period*3/4)
		}
	}
	d.Move(windows*period*3/4, windows*period, site(0), windows*period/4)
	f := d.Fits([]float64{0}, nil)[0]
	if f == nil || f.Columns[site(0)] == nil {
		t.Fatalf("%+v", f)
	}
	if e := f.Columns[site(0)]; math.Abs(e.Energy/(windows*1e4)-1) > 0.01 || !(e.HalfWidth >= 0) {
		t.Errorf("%+v, want %g", e, windows*1e4)
	}
}

// BenchmarkFit explains the blocks of a run of two minutes and more, with as many
// functions as have a power of their own.
func BenchmarkFit(b *testing.B) {
	c := newCollector(1e6, 0, nil)
	random := rand.New(rand.NewPCG(1, 2))
	times := make([]Entry, maxColumns)
	for range maxBlocks {
		left, energy := 10e6, 0.0
		for k := range times {
			t := left / float64(maxColumns) * (0.5 + random.Float64())
			times[k] = Entry{site(k), float32(t)}
			energy += t * 1e-3 * float64(5+k%30)
		}
		c.add(10e6, []float64{energy}, times, true)
	}
	for b.Loop() {
		if c.fit(0, nil, false) == nil {
			b.Fatal("nothing is explained")
		}
	}
	b.ReportMetric(float64(len(c.blocks)), "blocks")
}

// BenchmarkFitContexts explains the blocks of a run whose functions each have four
// contexts, one of which draws twice as much as the others.
func BenchmarkFitContexts(b *testing.B) {
	const functions, contexts = 24, 4
	of := func(k Column) Column {
		if i := int(k - First); k >= First && i >= functions {
			return site((i - functions) / contexts)
		}
		return Outside
	}
	c := newCollector(1e6, 0, of)
	random := rand.New(rand.NewPCG(1, 2))
	times := make([]Entry, functions*contexts)
	runs := map[Column]Run{} // of 50 us each
	for range maxBlocks * blockPeriods {
		energy := 0.0
		for k := range times {
			runs[site(functions+k)] = Run{Time: 5e4, Count: 1}
			times[k] = Entry{Column: site(functions + k)}
		}
		for range 20 {
			k := random.IntN(len(times))
			times[k].Time += 5e4
			watts := float64(5 + k/contexts)
			if k%contexts == 0 {
				watts *= 2
			}
			energy += 5e4 * 1e-3 * watts
		}
		ran := slices.DeleteFunc(slices.Clone(times), func(e Entry) bool { return e.Time == 0 })
		c.add(1e6, []float64{energy}, ran, true)
	}
	var f *Fit
	for b.Loop() {
		if f = c.fit(0, runs, false); f == nil {
			b.Fatal("nothing is explained")
		}
	}
	b.ReportMetric(float64(len(f.parts)), "contexts")
}
