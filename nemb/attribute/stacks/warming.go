package stacks

import "cg/checkpoint"

// A virtual machine compiles a program while it runs, and its checkpoints with it. What an event costs is measured
// for compiled code. While a function is interpreted, its checkpoints may cost many times as much, and nothing tells
// that from what the function itself used. So what intervals took more than in the part of the run in which
// they took least may have been their checkpoints'. Nor is it known whether that part was of the first compiler, or of
// the one for what is hot.

const (
	// interpreted is how many times the cost of an event that is timed an interpreted event costs at most: 750 ns
	// (java -Xint, Java 17), where one that is timed costs 15 to 25.
	interpreted = 50
	// early is by how many times the cost of an event that is counted one costs more in code of the first compiler,
	// which counts for the second: 30 ns (java -XX:TieredStopAtLevel=3, Java 17) for 4, 14 where it does not count.
	early = 7
	// meanOf is how many drawn or timed intervals give a mean.
	meanOf = 256
)

// warming is what is known of intervals of programs that are compiled as they run.
type warming struct {
	sites map[checkpoint.SiteID]*least
	paths []warmingPath
}

// least is the least mean of intervals, without their checkpoints.
type least struct {
	n, ticks float64 // that are not in a mean yet
	mean     float64
	known    bool
}

func (l *least) learn(n, ticks float64) {
	if l.n, l.ticks = l.n+n, l.ticks+ticks; l.n < meanOf {
		return
	}
	if mean := l.ticks / l.n; !l.known || mean < l.mean {
		l.mean, l.known = mean, true
	}
	l.n, l.ticks = 0, 0
}

// warmingPath is the intervals of a path: the least mean of those that were drawn, and of those that were timed.
type warmingPath struct {
	drawn, timed       least
	counted, wereTimed intervals
}

// intervals are some of a path: their number, their ticks, and what checkpoints may have cost there besides.
type intervals struct{ n, took, most, early float64 }

// add takes intervals and what they took without what their events are measured to cost. An event costs so much that
// is timed, and that is counted.
func (i *intervals) add(n, ticks, timed, counted float64) {
	i.n += n
	i.took += ticks
	i.most += n * interpreted * timed
	i.early += n * early * counted
}

// warming is how many ticks may have been those of checkpoints that were not compiled, where an interval takes so many
// in the end.
func (i *intervals) warming(steady float64) float64 {
	return max(0, min(i.took-max(0, i.n*steady-i.early), i.most))
}

func (w *warming) path(n int32) *warmingPath {
	if more := int(n) + 1 - len(w.paths); more > 0 {
		w.paths = append(w.paths, make([]warmingPath, more)...)
	}
	return &w.paths[n]
}

// draw takes intervals that were drawn in a path.
func (w *warming) draw(n int32, site checkpoint.SiteID, intervals, ticks float64) {
	if w.sites == nil {
		w.sites = map[checkpoint.SiteID]*least{}
	}
	if w.sites[site] == nil {
		w.sites[site] = &least{}
	}
	w.sites[site].learn(intervals, ticks)
	w.path(n).drawn.learn(intervals, ticks)
}

// count takes intervals of a path that were counted.
func (w *warming) count(n int32, intervals, ticks float64, timed, counted float64) {
	w.path(n).counted.add(intervals, ticks, timed, counted)
}

// time takes intervals of a path that were timed.
func (w *warming) time(n int32, intervals, ticks float64, timed, counted float64) {
	p := w.path(n)
	p.wereTimed.add(intervals, ticks, timed, counted)
	p.timed.learn(intervals, ticks)
}

// Warming is how many ticks of each path may have been those of checkpoints that were not compiled. A path beyond its
// end has none.
func (st *Stacks) Warming() []float64 {
	w := &st.known.warming
	all := make([]float64, len(w.paths))
	for n := range w.paths {
		p := &w.paths[n]
		steady := p.drawn.mean
		if site := w.sites[st.Tree.Site(int32(n))]; !p.drawn.known && site != nil {
			steady = site.mean
		}
		all[n] = p.counted.warming(steady) + p.wereTimed.warming(p.timed.mean)
	}
	return all
}
