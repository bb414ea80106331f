// Package regression finds what power goes with each function, from the energy
// of a run's sampling windows and the processor time that each function had in
// them.
//
// It takes, window by window, the program's energy in each domain and the times of
// the columns (Data.Add). It gives, for each domain, the energy of each column
// with its interval, or the Reason why the data do not show it (Data.Fits). The
// package is pure arithmetic. It knows neither threads nor call paths, but which column
// is a context of which function: a context has a power of its own where the data
// clearly show one (split.go).
package regression

import "slices"

// Counter is a domain that has a counter. The energy of a domain without one is
// in proportion to processor time: there is nothing to be found out.
type Counter struct {
	Domain int     // its index, among all domains
	Period float64 // between two updates, in nanoseconds; 0 where it is not known
}

// Data gathers the windows of a run in blocks. Its memory has a limit, however
// long the run is.
type Data struct {
	collectors []*collector
}

// NewData begins with no window. Counters of one period share their blocks, as long as they move together. of tells
// which columns are contexts, nil where none is.
func NewData(counters []Counter, of Contexts) *Data {
	var all []*collector
	for _, n := range counters {
		i := slices.IndexFunc(all, func(c *collector) bool { return n.Period > 0 && c.period == n.Period })
		if i < 0 {
			all = append(all, newCollector(n.Period, n.Domain, of))
			continue
		}
		all[i].also(n.Domain)
	}
	return &Data{collectors: all}
}

// HasCounters reports whether any domain has a counter. Without one, Add has no
// effect.
func (d *Data) HasCounters() bool { return len(d.collectors) > 0 }

// Window is what the program did in a window.
type Window struct {
	Wall  float64 // its length in nanoseconds
	Until float64 // when it ends, since the first window began, ns
	// Machine is the program's part of it, by processor time, per domain, in microseconds: times the
	// idle power it is to be taken off Spent.
	Machine []float64
	Spent   []float64 // the program's energy in each domain, in microjoules
	Moved   []bool    // whether the counter of each domain moved
	// Apart says of each domain whether its windows are divided by themselves: one may have the energy of windows
	// before. Of the others, windows in which the program did not run tell nothing of its functions, and are left out.
	Apart []bool
	Times []Entry // the processor time of each column, by rising column
	// Away is by how much less threads used than they usually do in as long a time in their call paths, in nanoseconds:
	// nobody knows in which.
	Away   float64
	Queued float64 // for how long threads waited for a processor, in nanoseconds
	Turns  float64 // how often they got one, 0 where that is not known
	// Between is the time between the two readings of processor times around its end, in nanoseconds; 0 where they were
	// read then.
	Between float64
	Beside  Beside
}

// Beside is what ran beside the program in a window: other processes, and cg.
type Beside struct {
	Time    float64   // on processors, in nanoseconds
	Ticks   float64   // of that, what is told in ticks of the kernel, in nanoseconds
	Machine []float64 // as Window.Machine
	Spent   []float64 // what they have of the energy of each domain by processor time, in microjoules
}

// Add takes a window.
func (d *Data) Add(w Window) {
	for i := 0; i < len(d.collectors); i++ {
		c := d.collectors[i]
		d.collectors = append(d.collectors, c.part(w.isApart)...)
		if !w.tells(c.domains) {
			continue
		}
		if c.endsWith(&w) {
			d.collectors = append(d.collectors, c.part(func(domain int) bool { return !c.hasShown(domain, &w) })...)
		}
		c.take(&w)
	}
}

// take takes a window that tells something of the collector's domains.
func (c *collector) take(w *Window) {
	c.energy = c.energy[:0]
	any := false
	for i, domain := range c.domains {
		c.energy = append(c.energy, w.Spent[domain])
		any = any || w.Moved[domain]
		c.shown[i] = c.shown[i] || w.Moved[domain]
		if domain < len(w.Machine) {
			c.open.machine[i] += w.Machine[domain]
		}
	}
	c.open.until = w.Until
	c.open.away += w.Away
	c.open.queued += w.Queued
	c.open.turns += w.Turns
	c.open.between = max(c.open.between, w.Between)
	c.beside(w.Beside)
	c.add(w.Wall, c.energy, w.Times, any)
}

// tells reports whether a window tells something of domains.
func (w *Window) tells(domains []int) bool {
	return len(w.Times) > 0 || slices.ContainsFunc(domains, func(d int) bool {
		return w.isApart(d) || d < len(w.Machine) && w.Machine[d] > 0
	})
}

func (w *Window) isApart(domain int) bool { return domain < len(w.Apart) && w.Apart[domain] }

// Move gives a column processor time that windows had as Outside: of those between two moments, in
// nanoseconds since the first window began, and no more than they have.
func (d *Data) Move(from, to float64, column Column, time float64) {
	for _, c := range d.collectors {
		c.move(from, to, c.kept(column), time)
	}
}

// Lengthen makes the period of a domain's counter longer, as it turns out to be.
func (d *Data) Lengthen(domain int, period float64) {
	for _, c := range d.collectors {
		if slices.Contains(c.domains, domain) {
			c.period = max(c.period, period)
		}
	}
}

// Run is the processor time of a column, in nanoseconds, and in how many goes it ran. Within is how many more goes it
// has of its own while its function goes on: those of a line, say.
type Run struct{ Time, Count, Within float64 }

// Fits finds the powers in each domain, without its idle power in watts; nil where a domain
// has no counter or its blocks are too few. No window may follow. runs has what is known
// of how long columns run in one go; those of a function's contexts add up.
func (d *Data) Fits(idle []float64, runs map[Column]Run) []*Fit {
	fits := make([]*Fit, len(idle))
	for _, c := range d.collectors {
		c.endBlock()
		c.endLook()
		for i, domain := range c.domains {
			for b := range c.blocks {
				c.blocks[b].energy[i] -= idle[domain] * c.blocks[b].machine[i]
				c.blocks[b].rest[i] -= idle[domain] * c.blocks[b].restMachine[i]
			}
			fits[domain] = c.best(i, runs)
		}
	}
	return fits
}
