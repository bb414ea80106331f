package measure

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"cg/attach"
	"cg/checkpoint"
	"cg/launcher"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/stacks"
)

// Looking is how the stacks of a program are looked at from outside.
type Looking struct {
	Interval time.Duration // mean, from one look at a thread to the next
	Budget   float64       // the part of a processor that it may take, 0 for no limit
	// Inner is for a program with checkpoints: what these tell stays as it is, and the looks tell what functions
	// called that has no checkpoints.
	Inner bool
	// Own are files of cg that run in such a program, and folders, which end in /.
	Own []string
}

// Inner is what functions with checkpoints called that has none.
type Inner struct {
	Functions []attach.Inside
	Outside   int // looks of no function with checkpoints, or of one that is not known
	Own       int // looks in cg's own checkpoints
	Looks     attach.Stats
}

// looker moves looks into the attributor.
type looker struct {
	*attach.Sampler
	held  []nemb.Sample // until the looks before them are settled
	inner *attach.Inner // nil where the looks are the attributor's
}

// startLooking begins to look at a process, where that was asked for.
func (r *recorder) startLooking(how *Looking, pid int) {
	if how == nil {
		return
	}
	r.looks = &looker{Sampler: attach.Start(attach.Config{
		PID: pid, Interval: how.Interval, Budget: how.Budget, Clock: clock(r.channel),
		Prepared: r.prepared,
	})}
	if how.Inner {
		r.looks.inner = attach.NewInner(r.looks.Sites, r.names, how.Own)
		return
	}
	r.names = r.looks.Sites
}

// settled gives the samples of windows of which all looks are known.
func (r *recorder) settled(samples []nemb.Sample) []nemb.Sample {
	if r.looks == nil || r.looks.inner != nil {
		return samples
	}
	l := r.looks
	l.held = append(l.held, samples...)
	until, n := l.Settled(), 0
	for n < len(l.held) && l.held[n].At <= until {
		n++
	}
	known := l.held[:n:n]
	l.held = l.held[n:]
	return known
}

// look gives the attributor the looks before a moment.
func (r *recorder) look(until checkpoint.Tick) {
	if r.looks == nil || r.looks.inner != nil {
		return
	}
	for _, l := range r.looks.Take(until) {
		if r.account != nil {
			r.account.Follow(l.Thread)
		}
		r.attributor.Look(stacks.Look{Thread: l.Thread, At: l.At, Path: l.Path, Waiting: l.Waiting})
	}
}

// lookInside counts the looks that are known by now, where they tell what functions with checkpoints called.
func (r *recorder) lookInside() {
	if r.looks == nil || r.looks.inner == nil {
		return
	}
	for _, l := range r.looks.Take(r.looks.Settled()) {
		r.looks.inner.Add(l)
	}
}

// looked tells what the looks of a run showed that has ended.
func (r *recorder) looked(o *Outcome) {
	switch {
	case r.looks == nil:
	case r.looks.inner != nil:
		r.lookInside()
		o.Inner = &Inner{}
		o.Inner.Functions, o.Inner.Outside, o.Inner.Own = r.looks.inner.All()
		o.Inner.Looks = r.looks.Stats()
	default:
		stats := r.looks.Stats() // with the looks of the last windows
		o.Looks, o.LookSites = &stats, r.looks.Sites()
	}
}

// stopLooking ends the looking, and gives the samples that were held.
func (r *recorder) stopLooking() (held []nemb.Sample) {
	if r.looks == nil {
		return nil
	}
	r.looks.Stop()
	held, r.looks.held = r.looks.held, nil
	return held
}

// Attach measures a process that runs already, and those that it starts, until ctx is done or the
// process has ended. Config says how; its Command is not used.
func Attach(ctx context.Context, c Config, pid int) (*Outcome, error) {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("measure: process %d: %w", pid, err)
	}
	defer unix.Close(process)
	account.Ready()
	c.Account.Watch(pid) // before the first sample: what it used until now is not the run's
	s, err := c.startSampler()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	o := &Outcome{Domains: s.Domains(), Baseline: c.Baseline, PID: pid, Attached: true}
	o.Baseline.Set(o.Domains)
	if c.Remember != nil {
		c.Remember(o.Domains)
	}
	r := newRecorder(c, s, o)
	r.watch.begin()
	o.Begin = checkpoint.Monotime()
	r.startLooking(c.Look, pid)
	if c.Started != nil {
		c.Started()
	}
	stop, pumped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(pumped)
		r.pump(stop)
	}()
	o.Over = ended(ctx, process)
	o.End = checkpoint.Monotime()
	close(stop)
	<-pumped
	r.finish()
	o.Wait = func() launcher.Result { return launcher.Result{} }
	return o, nil
}

// ended waits for the end of a process, which it reports, or of ctx.
func ended(ctx context.Context, process int) bool {
	const pause = 20 // ms
	fds := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
	for ctx.Err() == nil {
		if n, err := unix.Poll(fds, pause); n > 0 || err != nil && err != unix.EINTR {
			return true
		}
	}
	return false
}
