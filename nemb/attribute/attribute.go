// Package attribute turns checkpoints and energy samples into joules per
// function and call path.
//
// It takes the words of every thread (checkpoint.Run) and, window by window, two
// neighbouring samples (nemb.Sample). It gives self and inclusive energies and
// the ledger that accounts for every microjoule the sensors counted. The
// package is pure: no files, no clock, no goroutines. Its memory grows with
// the number of call paths, up to a limit, and not with the number of calls.
//
// It composes five packages, none of which knows another. stacks folds words into
// call paths; windows divides the energy of each sampling window in proportion to
// processor time; regression finds what power goes with each function; calls
// measures single calls that are long; gpus divides the energy of GPUs. What the first
// four share is the tree of call paths.
//
// Where a model gives a domain's energy, it is in proportion to processor time, and
// so is the split among call paths. Where a counter does, the split follows the
// powers that the regression finds; what the data do not show is split by time. The
// counter is never interpolated onto the edges of a function.
package attribute

import (
	"cmp"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/calls"
	"cg/nemb/attribute/gpus"
	"cg/nemb/attribute/regression"
	"cg/nemb/attribute/stacks"
	"cg/nemb/attribute/windows"
)

// Attributor folds words and closes windows.
type Attributor struct {
	// MaxDepth is how many calls deep sites are kept apart, 0 for no limit: what
	// deeper ones use is their caller's. Set before the first Fold.
	MaxDepth int
	// Background names the classes of threads of account.Usage.Background, which
	// have their own lines in the ledger. Set before Begin.
	Background []string

	stacks   *stacks.Stacks
	windows  *windows.Windows
	contexts *contexts
	data     *regression.Data
	calls    *calls.Calls
	gpus     []*gpus.Division

	columns []regression.Entry            // scratch memory
	times   map[regression.Column]float64 // scratch memory
}

// New prepares the attribution of energy from these domains, on a host of cpus
// logical processors, 0 where that is not known.
func New(domains []nemb.Domain, cpus int) *Attributor {
	st := stacks.New()
	c := newContexts(st.Tree)
	w := windows.New(domains, cpus, st.Tree)
	w.Constant, w.Joins = true, true
	return &Attributor{
		stacks: st, windows: w, contexts: c,
		data: regression.NewData(counters(domains), c.of), calls: calls.New(st.Tree),
		times: map[regression.Column]float64{},
	}
}

// DoubtOthers says that nothing tells what other processes use: what is the program's may be theirs. Before Begin.
func (a *Attributor) DoubtOthers() { a.windows.OthersUnknown = true }

// counters lists the measured domains, of which a regression finds the powers.
func counters(domains []nemb.Domain) (all []regression.Counter) {
	for d, domain := range domains {
		if domain.Method == nemb.Measured && !domain.Program && domain.FollowsProcessors() {
			all = append(all, regression.Counter{Domain: d, Period: nanos(domain.Period)})
		}
	}
	return all
}

func nanos[T ~int64](d T) float64 { return float64(d) }

// Fold takes the words of a run that are earlier than until and returns how
// many these were. now is a reading of the clock not before the last word: it
// completes the 40 bits of the words' ticks. Words of strands are kept until
// Merge: Fold every run with the same until before it.
func (a *Attributor) Fold(r checkpoint.Run, now, until checkpoint.Tick) int {
	a.stacks.MaxDepth = a.MaxDepth
	return a.stacks.Fold(r, now, until)
}

// Look takes a look at a thread in place of words: those at a thread come in the order of time,
// and all before the end of a window before Close. Calls are not known then.
func (a *Attributor) Look(l stacks.Look) {
	a.stacks.MaxDepth, a.windows.Looked = a.MaxDepth, true
	a.stacks.Look(l)
}

// Busiest is the site that used most processor time itself in the windows so far, 0 for
// none.
func (a *Attributor) Busiest() (most checkpoint.SiteID) {
	times := map[checkpoint.SiteID]float64{}
	for i, site := range a.stacks.Tree.Sites() {
		if site == 0 || site == checkpoint.OwnSite || i >= len(a.windows.Times) {
			continue
		}
		times[site] += a.windows.Times[i].CPU
		if t := times[site]; t > times[most] || t == times[most] && t > 0 && site < most {
			most = site
		}
	}
	return most
}

// Merge folds the words of strands that were kept.
func (a *Attributor) Merge() { a.stacks.Merge() }

// Begin takes the sample that opens the first window.
func (a *Attributor) Begin(s nemb.Sample) {
	a.stacks.Begin(s.At)
	a.windows.Begin(s)
}

// Close ends the window that began with the sample before. Every word earlier
// than s.At must have been folded, and none later. A sample whose reading
// failed closes nothing: its window is joined with the next.
func (a *Attributor) Close(s nemb.Sample) {
	s = a.windows.Steady(s)
	if !a.windows.HasBegun() {
		a.Begin(s)
		return
	}
	a.stacks.Merge()
	if s.Failed {
		a.windows.Stats.Merged++
		return
	}
	a.close(s, false)
}

// Last ends the last window; what sensors did report in a failed reading is left
// unattributed.
func (a *Attributor) Last(s nemb.Sample) {
	s = a.windows.Steady(s)
	a.stacks.Merge()
	a.windows.Ends = true
	if a.windows.HasBegun() {
		a.close(s, s.Failed)
	}
}

// close takes a window through the packages: who did what, what each used, what
// the regression is to explain, and which calls were long.
func (a *Attributor) close(s nemb.Sample, failed bool) {
	a.stacks.Charge(s.At, a.windows.Killed(s))
	known := a.stacks.Threads()
	threads := make([]windows.Thread, len(known))
	for i, t := range known {
		f := t.Forked()
		threads[i] = windows.Thread{
			ID: t.ID, Parts: t.Parts(), Idle: t.Idle(), Ended: t.Ended(),
			Forked: windows.Forked{At: f.At, Used: nanos(f.Used)},
		}
	}
	a.windows.Classes = len(a.Background)
	a.windows.Probe(a.stacks.Probe())
	w := a.windows.Close(s, failed, threads)
	for i, t := range known {
		a.stacks.BookPlaces(t, w.PerTick, w.Threads[i].CPU*(1-w.Threads[i].Runtime))
	}
	for d := range a.windows.Domains { // which may have turned out to be slower
		a.data.Lengthen(d, nanos(a.windows.Domains[d].Domain.Period))
	}
	if !failed && a.data.HasCounters() {
		a.columns = a.timesOf(w)
		a.data.Add(regression.Window{
			Wall: w.Wall, Until: nanos(s.Time - a.windows.First().Time),
			Machine: w.Machine, Spent: w.Spent, Moved: w.Moved, Apart: w.Apart, Times: a.columns, Away: w.Away,
			Queued: w.Queued, Turns: w.Turns, Between: w.Between,
			Beside: regression.Beside{Time: w.Beside.CPU, Ticks: w.Beside.Others,
				Machine: w.Beside.Machine, Spent: w.Beside.Spent},
		})
	}
	for _, c := range w.Claimed {
		a.data.Move(c.From, c.To, a.contexts.path(c.Node), c.Time)
	}
	a.closeCalls(w, known)
	a.stacks.EndWindow()
}

// timesOf lists what each column has of the processor time of a window, by rising
// column. The list is valid until the next one.
func (a *Attributor) timesOf(w windows.Window) []regression.Entry {
	clear(a.times)
	left := w.Weight
	for i, used := range w.Background {
		a.times[regression.Background(i)] = used
		left -= used
	}
	for _, p := range w.Paths {
		a.addPath(p.Node, p.Self*w.Weight)
		left -= p.Self * w.Weight
	}
	if left > 1e-6*w.Weight {
		a.times[regression.Outside] += left
	}
	to := a.columns[:0]
	for k, used := range a.times {
		if used > 0 {
			to = append(to, regression.Entry{Column: k, Time: float32(used)})
		}
	}
	slices.SortFunc(to, func(x, y regression.Entry) int { return cmp.Compare(x.Column, y.Column) })
	return to
}

// closeCalls measures the long calls of a window. What the runtime used in a
// thread, no call used.
func (a *Attributor) closeCalls(w windows.Window, known []*stacks.Thread) {
	c := calls.Window{
		From: nanos(w.Begin.Time), To: nanos(w.End.Time), At: w.End.At, PerTick: w.PerTick, Weight: w.Weight,
	}
	counters := 0.0
	for d := range a.windows.Domains {
		domain := &a.windows.Domains[d].Domain
		if domain.InTotal && domain.Method == nemb.Measured && !domain.Program && domain.FollowsProcessors() {
			c.Period = max(c.Period, nanos(domain.Period))
			c.Moved = c.Moved || w.Moved[d]
			c.Joules += w.Spent[d] * 1e-6
			c.Machine += w.Machine[d] * 1e-6
			counters++
		}
	}
	c.Machine /= max(1, counters)
	threads := make([]calls.Thread, len(known))
	for i, t := range known {
		use := w.Threads[i]
		threads[i] = calls.Thread{ID: t.ID, CPU: use.CPU * (1 - use.Runtime), Open: t.Open(), Ended: t.Ended()}
		if w.PerTick > 0 { // else they are of the next window
			threads[i].Long = t.TakeLong()
		}
	}
	a.calls.Close(c, threads)
	a.stacks.Long = a.calls.Long()
}

// Long is the number of ticks from which on a call is long: it gets joules of its own,
// or a place in the timeline. It changes with what is known of the counters.
func (a *Attributor) Long() int64 { return a.calls.Long() }

// Assign takes whose the energies of GPUs are, per domain; nil for what is no GPU. Before
// Finish. Without it they are unattributed.
func (a *Attributor) Assign(divisions []*gpus.Division) { a.gpus = divisions }

// Refine takes over what is known of the domains at the end of a run, the same
// ones: their steps. Before Finish.
func (a *Attributor) Refine(domains []nemb.Domain) { a.windows.Refine(domains) }
