// Package measure runs a program once and measures it: it connects the launcher, the
// checkpoint channel, the sampler and the attribution while the program runs.
//
// It takes a prepared command, the sensors and the channel (Config), and returns what the
// run cost (Outcome). The package starts nothing but that command and writes no files.
package measure

import (
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"cg/attach"
	"cg/checkpoint"
	"cg/events"
	"cg/kernels"
	"cg/launcher"
	"cg/monitor"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
	"cg/nemb/gpuuse"
	"cg/nemb/processor"
	"cg/nemb/sampler"
	"cg/nemb/sensor/estimate"
	"cg/pmsampling/beside"
)

// Config is a run to come.
type Config struct {
	Command  launcher.Cmd
	Sensors  []nemb.Sensor
	Account  *account.Account
	Interval time.Duration
	Channel  *checkpoint.Channel // nil for a program without checkpoints
	// Merge reads result blocks that the program prints (see Block).
	Merge bool
	// Look says how the program is looked at from outside; nil for not at all.
	Look *Looking
	// MaxDepth is how many calls deep functions are distinguished, 0 for no limit.
	MaxDepth int
	// Overhead is the part of its time that the program's checkpoints may take: where it is
	// more, most short calls are counted and not timed. 0: each is timed, as with Events.
	Overhead float64
	// Events gets every word, if it is not nil; Names tells it the sites so far.
	Events *events.Writer
	Names  func() []checkpoint.Site
	// Started is called once the program runs, nil for nothing.
	Started func()
	// Live is told twice a second what is known so far; nil for nothing.
	Live func(Progress)
	// Baseline is the machine's idle power, nil where it was not measured.
	Baseline *Baseline
	// Remember tells the domains what earlier runs showed of their idle power, nil for nothing.
	Remember func([]nemb.Domain)
	// Terminated gets the signal by which cg was asked to end (SIGTERM, SIGHUP);
	// nil if nobody asks. Whoever asks may kill cg soon, as timeout -k and Kubernetes
	// do: a program that goes on for GracePeriod is measured no further.
	Terminated <-chan os.Signal
	// Kernels gathers what the program runs on GPUs, nil for nothing. Its variables are in Command.
	Kernels *kernels.Gatherer
	// Counters samples performance counters of GPUs, nil for nothing.
	Counters *beside.Recorder
	// Requests hears what the program says of its requests; nil for nothing.
	Requests Requests
	// Ending is called when the program has ended, before the last readings; nil for
	// nothing.
	Ending func()
}

// Progress is what is known of a run that goes on.
type Progress struct {
	Elapsed time.Duration
	Energy  nemb.Energy     // of the machine since the first sample
	Power   float64         // since the progress before, in watts; 0 before the second sample
	Method  nemb.Method     // of the energy
	Most    checkpoint.Site // where the program has used most processor time itself; no ID for none
}

// GracePeriod is how long a program that is asked to end is measured at most.
const GracePeriod = 2 * time.Second

// Outcome is what a run gave.
type Outcome struct {
	PID        int
	Result     launcher.Result
	Terminated os.Signal // by which cg was asked to end, nil where it was not
	// Running tells that the program went on after that for longer than GracePeriod:
	// the figures end there, and Result is not known before Wait.
	Running bool
	Wait    func() launcher.Result // waits for the program's end

	Domains    []nemb.Domain
	Series     nemb.Series // thinned (nemb.Recording): energies are exact
	Attributed attribute.Result
	Kernels    *Kernels  // nil without Config.Kernels
	Counters   *Counters // nil without Config.Counters
	// OthersUnknown is set where nothing tells what other processes used (/proc/stat cannot be read).
	OthersUnknown bool

	Sampler    sampler.Stats
	Ages       []sampler.Age    // of the readings that its samples show
	Faults     []sampler.Faults // per domain
	Begin, End checkpoint.Instant
	Blocks     []Block
	BlockFault error             // the first block that could not be read
	BlockSites []checkpoint.Site // set when the functions come from the blocks
	Lost       uint64
	Waits      uint64
	Overhead   float64 // the budget that the checkpoints had, 0 for none
	EventFault error   // that ended the log of events
	Baseline   *Baseline
	Looks      *attach.Stats // nil where nobody looked from outside, or for Inner
	LookSites  []checkpoint.Site
	Inner      *Inner // nil without Looking.Inner
	Attached   bool   // the process ran before
	Over       bool   // and it ended in the run
	Damage     string // what no writer can have written into the channel
	Refused    int    // threads whose sums no writer writes
	Threads    []ThreadName
	// Routes are the program's requests by route, with their part of the program's energy (monitor.Route), per domain
	// of Domains. RequestsIgnored is how many annotations were of no use.
	Routes          []monitor.Route
	RequestsIgnored int
}

// Run starts the program and measures until it has ended. An error means that
// it was not started.
func Run(c Config) (*Outcome, error) {
	memory, modelled := estimate.NewMemory(c.Sensors)
	if modelled {
		c.Sensors = append(slices.Clone(c.Sensors), memory)
		defer memory.Close()
	}
	account.Ready()
	sampler, err := c.startSampler()
	if err != nil {
		return nil, err
	}
	defer sampler.Close()
	o := &Outcome{Domains: sampler.Domains(), Baseline: c.Baseline}
	if c.Channel != nil && c.Events == nil {
		o.Overhead = c.Overhead
	}
	o.Baseline.Set(o.Domains)
	if c.Remember != nil {
		c.Remember(o.Domains)
	}
	r := newRecorder(c, sampler, o)
	command := c.command(r)
	r.watch.begin()
	if c.Counters != nil {
		c.Counters.Restart()
	}
	o.Begin = checkpoint.Monotime()
	child, err := launcher.Start(command)
	if err != nil {
		sampler.Stop()
		r.watch.abandon()
		r.prepared.Close()
		return nil, err
	}
	o.PID = child.PID()
	r.startLooking(c.Look, o.PID)
	if c.Started != nil {
		c.Started()
	}
	memory.Watch(o.PID)
	if c.Account != nil {
		c.Account.Watch(o.PID)
	}
	r.followUntilEnd(child, c.Terminated)
	// What the program leaves running may hold its output open: that wait is
	// not the program's, and goes on while the sums are made.
	ended := make(chan launcher.Result, 1)
	go func() { ended <- child.Wait() }()
	o.Wait = sync.OnceValue(func() launcher.Result { return <-ended })
	r.finish()
	if o.Running {
		if c.Channel != nil {
			c.Channel.StopReading()
		}
		return o, nil
	}
	o.Result = o.Wait()
	o.useBlocks()
	return o, nil
}

// startSampler starts the sampler on the clock of the channel.
func (c Config) startSampler() (*sampler.Sampler, error) {
	sampling := sampler.Config{Interval: c.Interval, Clock: clock(c.Channel), Program: c.Account,
		GPUReasons: gpuuse.Reasons()}
	if c.Channel != nil {
		sampling.Epoch = c.Channel.Epoch()
		if c.Events != nil {
			c.Channel.WriteWords() // a log has every event
		} else {
			c.Channel.SetBudget(c.Overhead)
		}
	}
	return sampler.Start(c.Sensors, sampling)
}

// command is the program to start, which inherits the counters of the account, and
// whose result blocks and samples the recorder has.
func (c Config) command(r *recorder) launcher.Cmd {
	cmd := c.Command
	if path, err := r.sampler.Share(); err == nil { // else programs measure themselves without
		cmd.Env = withSamples(cmd.Env, path)
	}
	if c.Merge {
		cmd.ResultBlock = r.block
	}
	if c.Look != nil {
		cmd.Prefork = after(cmd.Prefork, func() error {
			r.prepared = attach.Prepare(c.Look.Interval)
			return nil
		})
	}
	if c.Account == nil {
		return cmd
	}
	group, grouped := c.Account.Group()
	if grouped == nil {
		cmd.Group = group
	}
	cmd.Prefork = after(cmd.Prefork, func() error {
		inherited := c.Account.Inherit()
		grain := account.Tick // of everyone else's processor time, whatever tells the program's
		if grouped != nil && inherited != nil {
			grain = max(grain, c.Account.Grain())
		}
		// Where it fails, sessions know no share of the program.
		r.sampler.Divide(sampler.Division{Domains: r.outcome.Domains, Processors: processor.Online(), Grain: grain,
			OthersUnknown: r.outcome.OthersUnknown})
		return inherited
	})
	return cmd
}

// after is then, behind what was to be done before a program is forked, if anything was. None of these ends a run.
func after(before, then func() error) func() error {
	return func() error {
		if before != nil {
			before()
		}
		return then()
	}
}

// followUntilEnd records while the program runs, at most for GracePeriod once cg was
// asked to end.
func (r *recorder) followUntilEnd(child *launcher.Child, terminated <-chan os.Signal) {
	stop := make(chan struct{})
	var pumping sync.WaitGroup
	pumping.Go(func() { r.pump(stop) })
	o := r.outcome
	o.Terminated, o.Running = await(child.Ended(), terminated, GracePeriod)
	o.End = checkpoint.Monotime()
	close(stop)
	pumping.Wait()
	if r.account != nil && !o.Running {
		r.account.SetTotal(child.Times())
	}
	if r.ending != nil {
		r.ending()
	}
}

// await waits for the end of a program, and no longer than patience once cg is asked
// to end. It returns the signal that asked, and whether the program goes on.
func await(ended <-chan struct{}, terminated <-chan os.Signal, patience time.Duration) (by os.Signal, running bool) {
	select {
	case <-ended:
		return nil, false
	case by = <-terminated:
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-ended:
		return by, false
	case <-limit.C:
		return by, true
	}
}

// SamplesVariable names the variable of the program's environment that holds
// the path of the run's samples (nemb/RING.md).
const SamplesVariable = "CG_SAMPLES"

// withSamples is an environment with that variable; nil is our own.
func withSamples(env []string, path string) []string {
	if env == nil {
		env = os.Environ()
	}
	env = slices.DeleteFunc(slices.Clone(env),
		func(kv string) bool { return strings.HasPrefix(kv, SamplesVariable+"=") })
	return append(env, SamplesVariable+"="+path)
}

func clock(c *checkpoint.Channel) checkpoint.Clock {
	if c == nil {
		return checkpoint.SystemClock()
	}
	return c.Clock()
}
