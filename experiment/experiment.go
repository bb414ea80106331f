// Package experiment makes one measured run of a program, and its report.
//
// It takes an open machine and a program. Plain runs a command as it is. Instrumented adds
// checkpoints to a program first, and runs it again where its language asks for that. Both
// return a Result with a finished run. The package prints nothing itself: it passes
// messages to functions that its caller gives. It returns errors of the packages below
// unchanged (languages.Error and launcher.Error have the exit status).
package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/events"
	"cg/instrument"
	"cg/languages"
	"cg/launcher"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/condition"
	"cg/nemb/idle"
	"cg/nemb/node"
	"cg/nemb/sensor/estimate"
	"cg/pmsampling/beside"
	"cg/report"
	"cg/runtimes"
)

// Machine is where runs are made.
type Machine struct {
	Root  nemb.Root
	Found nemb.Found // its sensors, open
	// Idle remembers its idle power from run to run, nil for a machine that is not remembered.
	Idle *idle.Memory
}

// facts adds what is known of the machine.
func (m *Machine) facts(f report.Facts) report.Facts {
	f.Denied, f.Hung, f.Doubts = m.Found.Denied, m.Found.Hung, m.Found.Doubts()
	if f.State != nil {
		f.State.After = condition.Read(m.Root)
		f.State.After.Cores, f.State.After.Others = f.State.Before.Cores, condition.Others()
	}
	cpu := m.Root.CPU()
	_, calibrated, _ := estimate.Calibrated(cpu)
	f.CPUModel, f.CPUKnown = cpu.Name, cpu.March != "" || calibrated
	f.IdleFault = errors.Join(m.Idle.Fault(), m.noteIdle(f.Outcome, time.Now()))
	return f
}

// before is the state of the machine before a run of a command.
func (m *Machine) before(command launcher.Cmd) *condition.Around {
	a := &condition.Around{Before: condition.Read(m.Root)}
	a.Before.Cores, a.Before.Others = command.Cores, condition.Others()
	return a
}

// Conditions are what runs of both kinds have.
type Conditions struct {
	Machine  *Machine
	Interval time.Duration // from one sample to the next
	// Argv and Version are cg's own command line and version, for the report.
	Argv    []string
	Version string
	Noise   *report.NoiseLimits // nil for the default
	// Terminated gets the signal by which cg was asked to end; see measure.Config.
	Terminated <-chan os.Signal
	// Share is what the program's rank has of its node, nil for a program that is no rank.
	Share *node.Member
}

// ending is what the end of the program is told to.
func (s Conditions) ending() func() {
	if s.Share == nil {
		return nil
	}
	return s.Share.Settle
}

// open opens the account of a run.
func (s Conditions) open() *account.Account {
	a := account.New()
	if s.Share != nil {
		s.Share.Watch(a)
	}
	return a
}

// Result is what came of a run.
type Result struct {
	Run     *report.Run
	Outcome *measure.Outcome
	// Nothing is why a program that was to get checkpoints has none.
	Nothing string
	close   []func()
}

// Close gives back what the run held. A program that goes on needs it (see
// measure.Outcome.Running): call it after Outcome.Wait.
func (r *Result) Close() {
	for i := len(r.close) - 1; i >= 0; i-- {
		r.close[i]()
	}
	r.close = nil
}

// Plain is a command that is measured as it is.
type Plain struct {
	Conditions
	Command  launcher.Cmd
	Name     string            // what the report calls it
	Baseline *measure.Baseline // the machine's idle power, nil where it was not measured
	// BaselineUnused tells that an idle power was asked for, and no sensor measures one.
	BaselineUnused bool
}

// Run makes the run. The error is why the command was not started.
func (p Plain) Run() (*Result, error) {
	account := p.open()
	r := &Result{Run: report.Start(string(instrument.Coarse), "", p.Argv, p.Version),
		close: []func(){func() { account.Close() }}}
	var err error
	state := p.Machine.before(p.Command)
	r.Outcome, err = measure.Run(measure.Config{
		Command: p.Command, Sensors: p.Machine.Found.Sensors, Account: account, Interval: p.Interval,
		Baseline: p.idleBefore(p.Baseline), Remember: p.Machine.Idle.Set, Terminated: p.Terminated, Ending: p.ending(),
	})
	if err != nil {
		r.Close()
		return nil, err
	}
	r.Run.Finish(p.Machine.facts(report.Facts{
		Outcome: r.Outcome, CPUMethod: account.Method(), Clock: checkpoint.SystemClock(), Program: p.Name,
		Interval: p.Interval, Noise: p.Noise, NoBaseline: p.BaselineUnused, State: state,
	}))
	return r, nil
}

// Instrumented is a program that gets checkpoints.
type Instrumented struct {
	Conditions
	Language       *languages.Language
	Target         languages.Target
	Options        instrument.Options
	OwnCheckpoints bool             // the program has checkpoints of its own and gets none
	PlacesOf       *report.PlacesOf // how Options.PlacesOf was chosen; nil for all functions
	MaxDepth       int              // see measure.Config
	Overhead       float64          // see measure.Config
	// Inner says how stacks are looked at for what functions called that has no checkpoints; nil for not.
	Inner *measure.Looking
	// CUPTI is NVIDIA's library, by which kernels on GPUs are told apart; "" for not.
	CUPTI string
	// Launches makes the program tell what it launches on GPUs, without CUPTI; not beside it. NoCUPTI says why that
	// is taken in place of CUPTI, "" where it was asked for.
	Launches bool
	NoCUPTI  string
	// Counters begins to sample performance counters of GPUs; nil for not.
	Counters func() (*beside.Recorder, error)
	Dir      string
	Cache    runtimes.Cache
	Refused  []string // why places for a cache were not used
	// Source reads a file of the program; see report.Facts.
	Source func(file string) ([]byte, time.Time, error)

	// Command has the streams, the terminal and the time limit of the program.
	Command launcher.Cmd
	// OpenStreams, if it is not nil, opens those of each start of the program; done
	// closes them.
	OpenStreams func(*launcher.Cmd) (done func(), err error)
	// Spool gives standard input as a file that can be read twice, for languages
	// that need one.
	Spool func(in *os.File) (*os.File, error)
	// MeasureIdle measures the idle machine, once, before the program is first started. It
	// tells, too, that no sensor measures one. nil for no such measurement.
	MeasureIdle func() (b *measure.Baseline, none bool, err error)
	// Events gives the log of events of a start, nil for none; Started is called once
	// the program runs.
	Events  func(*report.Run, checkpoint.Clock) (*events.Writer, error)
	Started func()
	// Preparing is called before the program gets its checkpoints and is built, and done after it.
	Preparing func() (done func())
	// ToolOutput gets what the language's tools printed while they prepared the program;
	// Restarting gets why the program is run again.
	ToolOutput func([]byte)
	Restarting func(why string)
	Live       func(measure.Progress) // twice a second; nil for nothing
	Waiting    instrument.Waiting     // for files that get checkpoints while the program runs
}

// Run prepares the program, measures it, and does so again where its language asks
// for that. The error is why the program was not started, or ctx's.
func (x *Instrumented) Run(ctx context.Context) (*Result, error) {
	var idle *measure.Baseline
	none, asked := false, false
	for {
		done := func() {}
		if x.Preparing != nil {
			done = x.Preparing()
		}
		p, err := x.prepare(ctx)
		done()
		if err != nil {
			return nil, err
		}
		r := &Result{
			Run:   report.Start(string(x.Options.Granularity), x.Language.Name, x.Argv, x.Version),
			close: []func(){p.close},
		}
		if err = ctx.Err(); err == nil && x.ToolOutput != nil {
			x.ToolOutput(p.command.BuildOutput)
		}
		if err == nil && x.MeasureIdle != nil && !asked {
			asked = true
			idle, none, err = x.MeasureIdle()
		}
		why, again := "", false
		if err == nil {
			why, again, err = x.measure(r, p, idle, none)
		}
		if err != nil {
			r.Close()
			return nil, err
		}
		if !again {
			return r, nil
		}
		r.Close()
		if x.Restarting != nil {
			x.Restarting(why)
		}
	}
}

// measure runs the prepared program once.
func (x *Instrumented) measure(r *Result, p *prepared, idle *measure.Baseline, none bool) (
	why string, again bool, err error) {
	command := x.Command
	if x.OpenStreams != nil {
		done, err := x.OpenStreams(&command)
		if err != nil {
			return "", false, err
		}
		r.close = append(r.close, done)
	}
	p.start(&command)
	var counters *beside.Recorder
	if x.Counters != nil {
		if counters, err = x.Counters(); err != nil {
			return "", false, err
		}
		r.close = append(r.close, func() { counters.End() }) // of a program that was not started
	}
	gatherer, err := x.gather(&command, p, counters)
	if err != nil {
		return "", false, err
	}
	if gatherer != nil {
		r.close = append(r.close, func() { gatherer.End() }) // of a program that was not started
	}
	if p.command.ReadsInputTwice && x.Spool != nil {
		if command.Stdin, err = x.Spool(command.Stdin); err != nil {
			return "", false, err
		}
		r.close = append(r.close, func() { command.Stdin.Close() })
	}
	account := x.open()
	r.close = append(r.close, func() { account.Close() })
	account.Classify(background(x.Language))
	config := measure.Config{
		Command: command, Sensors: x.Machine.Found.Sensors, Account: account, Interval: x.Interval,
		Baseline: x.idleBefore(idle), Remember: x.Machine.Idle.Set,
		Channel: p.channel, Merge: true, MaxDepth: x.MaxDepth, Overhead: x.Overhead, Terminated: x.Terminated,
		Names: p.server.Sites, Started: x.Started, Ending: x.ending(), Look: x.looking(p),
		Live: x.Live, Kernels: gatherer, Counters: counters,
	}
	if x.Events != nil {
		if config.Events, err = x.Events(r.Run, p.channel.Clock()); err != nil {
			return "", false, err
		}
	}
	requests, done := hear(&config.Command)
	defer done()
	config.Requests = requests
	state := x.Machine.before(command)
	if r.Outcome, err = measure.Run(config); err != nil {
		return "", false, err
	}
	p.server.Close()
	if why, again = p.again(r.Outcome, command); again {
		return why, true, nil
	}
	r.Run.Finish(x.Machine.facts(p.facts(r.Outcome, report.Facts{
		CPUMethod: account.Method(), Program: strings.Join(x.Target.Args, " "), Interval: x.Interval,
		Instrumented: x.OwnCheckpoints,
		PlacesOf:     x.PlacesOf, NoPlaces: p.server.Unplaced(),
		Source: x.Source, Noise: x.Noise, NoBaseline: none, State: state,
	})))
	if !x.OwnCheckpoints && p.command.Uninstrumented == "" && len(r.Run.Sites) == 0 {
		r.Nothing = r.Run.WhyNothing(x.Language.WhyNothing)
		r.Run.WarnOfNothing(x.Language.WhyNothing)
	}
	return "", false, nil
}

// looking is how the prepared program is looked at, nil for not.
func (x *Instrumented) looking(p *prepared) *measure.Looking {
	if x.Inner == nil {
		return nil
	}
	how := *x.Inner
	for _, name := range []string{p.native.Path, p.kernels, x.Dir} {
		path, err := filepath.EvalSymlinks(name)
		if name == "" || err != nil { // there is none
			continue
		}
		if name == x.Dir {
			path += "/"
		}
		how.Own = append(how.Own, path)
	}
	return &how
}

// background are the classes of threads that a language has lines for.
func background(l *languages.Language) []account.ThreadClass {
	if l.Runtime == nil {
		return nil
	}
	var classes []account.ThreadClass
	for _, b := range l.Runtime.Background {
		classes = append(classes, account.ThreadClass(b))
	}
	return classes
}
