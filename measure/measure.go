// Package measure runs a program once and measures it: it connects the launcher, the
// checkpoint channel, the sampler and the attribution while the program runs.
//
// It takes a prepared command, the sensors and the channel (Config), and returns what the
// run cost (Outcome). The package starts nothing but that command and writes no files.
package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cg/checkpoint"
	"cg/events"
	"cg/launcher"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
	"cg/nemb/processor"
	"cg/nemb/sampler"
	"cg/nemb/sensor/estimate"
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
	// MaxDepth is how many calls deep functions are distinguished, 0 for no limit.
	MaxDepth int
	// Small tells whether a site may be counted instead of timed once it is
	// called often; nil if none may.
	Small func(checkpoint.SiteID) bool
	// Events gets every word, if it is not nil; Names tells it the sites so far.
	Events *events.Writer
	Names  func() []checkpoint.Site
	// Started is called once the program runs, nil for nothing.
	Started func()
	// Baseline is the machine's idle power, nil where it was not measured.
	Baseline *Baseline
	// Terminated gets the signal by which cg was asked to end (SIGTERM, SIGHUP);
	// nil if nobody asks. Whoever asks may kill cg soon, as timeout -k and Kubernetes
	// do: a program that goes on for GracePeriod is measured no further.
	Terminated <-chan os.Signal
	// LowOverhead asks the program to add up what its call paths use, in place of
	// telling each event, where its runtime can.
	LowOverhead bool
}

// A small function is demoted when it has been called this often, and its calls
// take less than demoteCost-1 pairs of clock readings without their checkpoints: these are
// then a quarter or more of what they tell.
const (
	demoteCalls = 100_000
	demoteCost  = 4
)

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
	Sampler    sampler.Stats
	Faults     []sampler.Faults // per domain
	Begin, End checkpoint.Instant
	Blocks     []Block
	BlockFault error             // the first block that could not be read
	BlockSites []checkpoint.Site // set when the functions come from the blocks
	Lost       uint64
	Waits      uint64
	EventFault error // that ended the log of events
	Baseline   *Baseline
	Damage     string // what no writer can have written into the channel
	Adders     int    // threads that added up themselves
	Refused    int    // of them, those whose sums no writer writes
}

// The pump reads the channel at these intervals: busyPause while a writer is so fast
// that the ring would fill up, idlePause else, which costs next to nothing.
const (
	busyPause = time.Millisecond
	idlePause = 4 * time.Millisecond
)

// Run starts the program and measures until it has ended. An error means that
// it was not started.
func Run(c Config) (*Outcome, error) {
	memory, modelled := estimate.NewMemory(c.Sensors)
	if modelled {
		c.Sensors = append(slices.Clone(c.Sensors), memory)
		defer memory.Close()
	}
	sampler, err := c.startSampler()
	if err != nil {
		return nil, err
	}
	defer sampler.Close()
	o := &Outcome{Domains: sampler.Domains(), Baseline: c.Baseline}
	o.Baseline.set(o.Domains)
	r := newRecorder(c, sampler, o)
	command := c.command(r)
	o.Begin = checkpoint.Monotime()
	child, err := launcher.Start(command)
	if err != nil {
		sampler.Stop()
		return nil, err
	}
	o.PID = child.PID()
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
	sampling := sampler.Config{Interval: c.Interval, Clock: clock(c.Channel), Program: c.Account}
	if c.Channel != nil {
		sampling.Epoch = c.Channel.Epoch()
		if c.LowOverhead {
			c.Channel.RequestSums()
		}
		if c.Events != nil {
			c.Channel.DisableSums() // a log has every event
		}
	}
	return sampler.Start(c.Sensors, sampling)
}

func newRecorder(c Config, sampler *sampler.Sampler, o *Outcome) *recorder {
	r := &recorder{
		channel: c.Channel, sampler: sampler, account: c.Account, outcome: o,
		attributor: attribute.New(o.Domains, processor.Online()),
		small:      c.Small, events: c.Events, names: c.Names, interval: c.Interval,
		recording: nemb.Recording{Domains: o.Domains},
	}
	r.attributor.MaxDepth = c.MaxDepth
	if c.Account != nil {
		r.attributor.Background = c.Account.Classes()
	}
	return r
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
	if c.Account == nil {
		return cmd
	}
	before := cmd.Prefork
	cmd.Prefork = func() error {
		if before != nil {
			before()
		}
		return c.Account.Inherit()
	}
	if group, err := c.Account.Group(); err == nil {
		cmd.Group = group
	}
	return cmd
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

// recorder moves words and samples into the attributor, in the order of time.
type recorder struct {
	channel    *checkpoint.Channel
	sampler    *sampler.Sampler
	account    *account.Account
	attributor *attribute.Attributor
	outcome    *Outcome
	recording  nemb.Recording
	stamped    checkpoint.Instant
	small      func(checkpoint.SiteID) bool
	demoted    []checkpoint.SiteID
	pair       time.Duration // what two readings of the clock take
	events     *events.Writer
	names      func() []checkpoint.Site
	interval   time.Duration
	words      int        // since the channel was stamped
	mu         sync.Mutex // blocks come from the launcher's goroutine
}

func (r *recorder) pump(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		pause := idlePause
		if r.step() > 1000 {
			pause = busyPause
		} else if r.adding() {
			pause = min(idlePause, max(busyPause, r.interval)) // before windows wait
		}
		timer.Reset(pause)
	}
}

// step folds the words of all windows that are over and those of the open one.
func (r *recorder) step() int {
	horizon := r.sampler.Horizon()
	words := 0
	for _, s := range r.sampler.Poll() {
		words += r.drain(s.At)
		r.attributor.Close(s)
		r.window(s)
		r.record(s)
	}
	words += r.drain(horizon)
	if now := checkpoint.Monotime(); r.channel != nil && now-r.stamped > checkpoint.Instant(time.Second) {
		r.channel.Stamp()
		if r.events == nil && r.stamped != 0 && tooFast(r.words, now-r.stamped) {
			r.channel.RequestSums()
		}
		r.stamped, r.words = now, 0
		r.demote()
		if r.events != nil {
			r.events.Sites(r.names())
		}
	}
	r.words += words
	return words
}

// fastest is how many events a second are read one by one, half of what the
// reader can do: the threads of a program that is faster are asked to add up.
const fastest = 40e6

// tooFast reports whether so many events in a time are more than are read one
// by one.
func tooFast(events int, in checkpoint.Instant) bool {
	return float64(events) > fastest*float64(in)*1e-9
}

// adding reports whether threads add up themselves.
func (r *recorder) adding() bool {
	if r.channel == nil {
		return false
	}
	_, now := r.channel.SummingThreads()
	return now > 0
}

// demote stops the timing of small functions that are called very often.
func (r *recorder) demote() {
	if r.small == nil {
		return
	}
	if r.pair == 0 {
		r.pair = 2 * r.channel.Clock().Cost()
	}
	for _, site := range r.attributor.Hot(demoteCalls, (demoteCost-1)*r.pair) {
		if r.small(site) {
			r.attributor.Demote(site)
			r.channel.Demote(site)
			r.demoted = append(r.demoted, site)
		}
	}
}

// skew is more than the cycle counters of two processors differ by, in ticks.
const skew = 1 << 16

func (r *recorder) drain(until checkpoint.Tick) int {
	if r.channel == nil {
		return 0
	}
	words := r.channel.Drain(func(run checkpoint.Run) int { return r.fold(run, until) })
	r.attributor.Merge()
	return words
}

func (r *recorder) fold(run checkpoint.Run, until checkpoint.Tick) int {
	if run.First && r.account != nil {
		r.account.Follow(run.Thread)
	}
	now := r.channel.Clock().Now() + skew
	n := r.attributor.Fold(run, now, until)
	if r.events != nil && run.Tally == nil && (n > 0 || len(run.Words) == 0) {
		r.events.Run(run, n, now)
	}
	return n
}

// window tells the log that the words of a window are in it.
func (r *recorder) window(s nemb.Sample) {
	if r.events == nil {
		return
	}
	threads := make([]events.ThreadTime, len(s.Usage.Threads))
	for i, t := range s.Usage.Threads {
		threads[i] = events.ThreadTime{Thread: t.Thread, CPU: int64(t.CPU)}
	}
	r.events.Window(events.Window{At: s.At, Time: s.Time, Threads: threads})
}

// finish closes the last windows: the program has ended, so every word there
// will be is there.
func (r *recorder) finish() {
	samples := r.sampler.Stop()
	for i, s := range samples {
		words := func(run checkpoint.Run) int { return r.fold(run, s.At) }
		if r.channel != nil {
			r.channel.Drain(words)
		}
		if i < len(samples)-1 {
			r.attributor.Close(s)
		} else {
			if r.channel != nil {
				r.channel.Finish(words)
			}
			r.attributor.Last(s)
		}
		r.window(s)
		r.record(s)
	}
	o := r.outcome
	if r.events != nil {
		r.events.Sites(r.names())
		o.EventFault = r.events.Close()
	}
	if r.channel != nil {
		o.Lost, o.Waits, o.Damage = r.channel.Lost(), r.channel.Waits(), r.channel.Damage()
		o.Adders, _ = r.channel.SummingThreads()
		o.Refused = r.channel.RefusedTrees()
	}
	r.attributor.Refine(r.sampler.Domains())
	o.Attributed = r.attributor.Finish()
	for _, site := range r.demoted {
		for i := range o.Attributed.Costs {
			if c := &o.Attributed.Costs[i]; c.Site == site {
				c.Calls += r.channel.CountedCalls(site)
			}
		}
	}
	o.Sampler, o.Faults, o.Domains = r.sampler.Stats(), r.sampler.Faults(), r.sampler.Domains()
	o.Baseline.set(o.Domains)
	o.Series = nemb.Series{Domains: o.Domains, Samples: r.recording.Samples(), Gaps: o.Sampler.Gaps,
		Interval: r.recording.Interval()}
}

// useBlocks takes the functions from the blocks of a program that has its
// own checkpoints.
func (o *Outcome) useBlocks() {
	if len(o.Blocks) > 0 && o.Attributed.Stats.Events == 0 {
		o.Attributed, o.BlockSites = fromBlocks(o.Blocks, o.Series, o.Attributed.Background)
	}
}

func (r *recorder) record(s nemb.Sample) {
	s.Usage.Threads = nil // only the attributor asks
	r.recording.Add(s)
}

// Block is a result block: what a program with checkpoints of its own says at
// its end (docs/formats.md).
type Block struct {
	Measurements []Measurement `json:"measurements"`
	Dropped      int           `json:"dropped"`
}

// Measurement is one checkpoint of a block.
type Measurement struct {
	// CheckpointID is "kind:name:id", with "#inv_N_tTHREAD" behind it.
	CheckpointID string   `json:"checkpoint_id"`
	Timestamp    int64    `json:"timestamp"` // CLOCK_MONOTONIC, ns
	Joules       *float64 `json:"joules"`
	Watts        *float64 `json:"watts"`
}

func (r *recorder) block(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b Block
	if err := json.Unmarshal(text, &b); err != nil {
		if r.outcome.BlockFault == nil {
			r.outcome.BlockFault = fmt.Errorf("a result block in the program's output is no JSON: %w", err)
		}
		return
	}
	r.outcome.Blocks = append(r.outcome.Blocks, b)
}

var kinds = map[string]checkpoint.Kind{
	"enter": checkpoint.Enter, "exit": checkpoint.Exit, "suspend": checkpoint.Suspend,
	"resume": checkpoint.Resume, "unwind": checkpoint.Unwind, "close": checkpoint.Close,
}

var errID = errors.New("not a checkpoint id")

// parseID splits "enter:shop.fib:7#inv_1_t7f00" into its parts; thread is 0
// where the id does not tell it.
func parseID(id string) (kind checkpoint.Kind, name string, thread uint64, err error) {
	what, rest, ok := strings.Cut(id, ":")
	kind, known := kinds[what]
	if !ok || !known {
		return 0, "", 0, errID
	}
	rest, tail, _ := strings.Cut(rest, "#")
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndex(tail, "_t"); i >= 0 {
		thread, _ = strconv.ParseUint(tail[i+2:], 16, 64)
	}
	return kind, rest, thread, nil
}

// fromBlocks attributes a series to the checkpoints of blocks. Their times and
// those of the samples are nanoseconds of one clock, which serve as ticks.
func fromBlocks(blocks []Block, series nemb.Series, background []string) (attribute.Result, []checkpoint.Site) {
	a := attribute.New(series.Domains, processor.Online())
	a.Background = background
	var sites []checkpoint.Site
	numbers := map[string]checkpoint.SiteID{}
	type history struct {
		run   checkpoint.Run
		words []checkpoint.Word
		times []checkpoint.Tick
	}
	runs := map[checkpoint.Thread]*history{}
	var order []*history
	for b, block := range blocks {
		threads := map[uint64]uint32{}
		for _, m := range block.Measurements {
			kind, name, thread, err := parseID(m.CheckpointID)
			if err != nil || m.Timestamp <= 0 {
				continue
			}
			if numbers[name] == 0 {
				id := checkpoint.SiteID(len(sites) + 1)
				numbers[name] = id
				sites = append(sites, checkpoint.Site{ID: id, Func: name, Kind: checkpoint.Function})
			}
			if threads[thread] == 0 {
				threads[thread] = uint32(len(threads) + 1)
			}
			t := checkpoint.Thread{PID: uint32(b + 1), TID: threads[thread]}
			at := checkpoint.Tick(m.Timestamp)
			h := runs[t]
			if h == nil {
				h = &history{run: checkpoint.Run{Thread: t, First: true, Start: at}}
				runs[t] = h
				order = append(order, h)
			}
			h.words = append(h.words, checkpoint.Pack(at, kind, numbers[name]))
			h.times = append(h.times, at)
		}
	}
	for i, s := range series.Samples {
		s.At = checkpoint.Tick(s.Time)
		s.Usage.Threads = nil
		for _, h := range order {
			n := 0
			for n < len(h.times) && h.times[n] < s.At {
				n++
			}
			if n > 0 && i > 0 {
				h.run.Words, h.run.Last = h.words[:n], n == len(h.words)
				a.Fold(h.run, s.At, s.At)
				h.words, h.times = h.words[n:], h.times[n:]
			}
		}
		if i == len(series.Samples)-1 {
			a.Last(s)
		} else {
			a.Close(s)
		}
	}
	return a.Finish(), sites
}
