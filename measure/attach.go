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

// Looking is how the stacks of a program without checkpoints are looked at from outside.
type Looking struct {
	Interval time.Duration // mean, from one look at a thread to the next
	Budget   float64       // the part of a processor that it may take, 0 for no limit
}

// looker moves looks into the attributor.
type looker struct {
	*attach.Sampler
	held []nemb.Sample // until the looks before them are settled
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
	r.names = r.looks.Sites
}

// settled gives the samples of windows of which all looks are known.
func (r *recorder) settled(samples []nemb.Sample) []nemb.Sample {
	if r.looks == nil {
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
	if r.looks == nil {
		return
	}
	for _, l := range r.looks.Take(until) {
		if r.account != nil {
			r.account.Follow(l.Thread)
		}
		r.attributor.Look(stacks.Look{Thread: l.Thread, At: l.At, Path: l.Path, Waiting: l.Waiting})
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
