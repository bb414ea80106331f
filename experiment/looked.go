package experiment

import (
	"context"
	"time"

	"cg/checkpoint"
	"cg/measure"
	"cg/report"
)

// Sampled is the granularity that the report of a program has that was looked at from outside.
const Sampled = "sampled"

// Looked is a program that gets no checkpoints: its stacks are looked at from outside. It is
// a command that is started, or a process that runs already.
type Looked struct {
	Plain
	PID      int // of a process that runs; 0: Command is started
	Looking  measure.Looking
	MaxDepth int                    // see measure.Config
	Started  func()                 // is called once it is looked at
	Live     func(measure.Progress) // twice a second; nil for nothing
	// Source reads a file of the program; see report.Facts.
	Source func(file string) ([]byte, time.Time, error)
}

// Run makes the run. A process that runs already is measured until ctx is done, and at most to
// its end. The error is why nothing was measured.
func (x Looked) Run(ctx context.Context) (*Result, error) {
	account := x.open()
	r := &Result{Run: report.Start(Sampled, "", x.Argv, x.Version), close: []func(){func() { account.Close() }}}
	state := x.Machine.before(x.Command)
	config := measure.Config{
		Command: x.Command, Sensors: x.Machine.Found.Sensors, Account: account, Interval: x.Interval,
		Baseline: x.idleBefore(x.Baseline), Remember: x.Machine.Idle.Set, Terminated: x.Terminated, Ending: x.ending(),
		Look: &x.Looking, MaxDepth: x.MaxDepth, Started: x.Started, Live: x.Live,
	}
	var err error
	if x.PID == 0 {
		requests, done := hear(&config.Command)
		defer done()
		config.Requests = requests
	}
	if x.PID > 0 {
		r.Outcome, err = measure.Attach(ctx, config, x.PID)
	} else {
		r.Outcome, err = measure.Run(config)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	r.Run.Finish(x.Machine.facts(report.Facts{
		Outcome: r.Outcome, Sites: r.Outcome.LookSites, CPUMethod: account.Method(), Clock: checkpoint.SystemClock(),
		Program: x.Name, Interval: x.Interval, Noise: x.Noise, NoBaseline: x.BaselineUnused, State: state,
		Source: x.Source,
	}))
	return r, nil
}
