package measure

import (
	"slices"
	"sync"
	"time"

	"cg/attach"
	"cg/checkpoint"
	"cg/events"
	"cg/kernels"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
	"cg/nemb/processor"
	"cg/nemb/sampler"
	"cg/pmsampling/beside"
)

// The pump reads the channel at these intervals: busyPause while a writer of words is
// so fast that its chunks would fill up, idlePause else, which costs next to nothing.
const (
	busyPause = time.Millisecond
	idlePause = 4 * time.Millisecond
)

// recorder moves words and samples into the attributor, in the order of time.
type recorder struct {
	channel    *checkpoint.Channel
	sampler    *sampler.Sampler
	account    *account.Account
	attributor *attribute.Attributor
	outcome    *Outcome
	recording  nemb.Recording
	stamped    checkpoint.Instant
	events     *events.Writer
	names      func() []checkpoint.Site
	interval   time.Duration
	ending     func()
	live       *live            // nil where nobody looks
	looks      *looker          // nil where the program is not looked at from outside
	prepared   *attach.Prepared // of a program that was started for that
	watch      *watch           // nil without GPUs
	kernels    *kernels.Gatherer
	counters   *beside.Recorder
	threads    *threads
	requests   *requests  // nil where nobody hears them
	mu         sync.Mutex // blocks come from the launcher's goroutine
}

func newRecorder(c Config, sampler *sampler.Sampler, o *Outcome) *recorder {
	r := &recorder{
		channel: c.Channel, sampler: sampler, account: c.Account, outcome: o,
		attributor: attribute.New(o.Domains, processor.Online()),
		events:     c.Events, names: c.Names, interval: c.Interval,
		ending: c.Ending, watch: newWatch(c.Sensors, c.Account, sampler), kernels: c.Kernels,
		counters:  c.Counters,
		recording: nemb.Recording{Domains: o.Domains}, threads: newThreads(),
		requests: newRequests(c.Requests, o.Domains),
	}
	r.attributor.MaxDepth = c.MaxDepth
	if c.Account != nil {
		r.attributor.Background = c.Account.Classes()
		if !c.Account.KnowsHost() {
			o.OthersUnknown = true
			r.attributor.DoubtOthers()
		}
	}
	if c.Live != nil {
		r.live = &live{tell: c.Live, domains: o.Domains}
	}
	return r
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
		} else {
			pause = r.seldom()
		}
		timer.Reset(pause)
	}
}

// seldom is how long the pump waits where few words come. Each step reads the processor times of threads, and what a
// thread used between two readings is spread over the windows between. So there are few windows between: a function
// that waits in them would be told what the one before it used.
func (r *recorder) seldom() time.Duration { return min(idlePause, max(busyPause, 2*r.interval)) }

// step folds the words of all windows that are over and those of the open one.
func (r *recorder) step() int {
	horizon := r.sampler.Horizon()
	words := 0
	polled := r.sampler.Poll()
	r.watch.show(polled)
	for _, s := range r.settled(polled) {
		words += r.drain(s.At)
		r.look(s.At)
		r.attributor.Close(s)
		r.window(s)
		r.live.take(s)
		r.requests.take(s)
		r.record(s)
	}
	words += r.drain(horizon)
	r.lookInside()
	r.requests.step(checkpoint.Monotime())
	r.live.show(checkpoint.Monotime(), r.attributor, r.names)
	if r.channel == nil {
		return words
	}
	r.channel.SetLong(uint64(r.attributor.Long()))
	if r.account != nil {
		r.channel.TellBusy(r.account.ThreadTime)
	}
	if now := checkpoint.Monotime(); now-r.stamped > checkpoint.Instant(time.Second) {
		r.channel.Stamp()
		r.stamped = now
		if r.events != nil {
			r.events.Sites(r.names())
		}
	}
	return words
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
	r.threads.see(run)
	now := r.channel.Clock().Now() + skew
	if run.Added { // the energies come from the sums
		n := checkpoint.Whole(run.Words)
		if r.events != nil {
			r.events.Run(run, n, now)
		}
		return n
	}
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
	if r.counters != nil {
		r.counters.Until(r.outcome.End) // what follows is not the program's
	}
	samples := r.sampler.Stop()
	if r.counters != nil {
		r.counters.End() // after the last sample: decoding takes its time
	}
	samples = slices.Concat(r.stopLooking(), samples)
	for i, s := range samples {
		r.look(s.At)
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
		r.requests.take(s)
		r.record(s)
	}
	o := r.outcome
	o.Routes, o.RequestsIgnored = r.requests.finish(samples[len(samples)-1].Time)
	if r.events != nil {
		r.events.Sites(r.names())
		o.EventFault = r.events.Close()
	}
	if r.channel != nil {
		o.Lost, o.Waits, o.Damage = r.channel.Lost(), r.channel.Waits(), r.channel.Damage()
		o.Refused = r.channel.RefusedTrees()
	}
	o.Threads = r.threads.list()
	r.watch.end(samples[len(samples)-1].Time)
	r.attributor.Refine(r.sampler.Domains())
	o.Sampler, o.Faults, o.Domains = r.sampler.Stats(), r.sampler.Faults(), r.sampler.Domains()
	o.Ages = r.sampler.Ages()
	o.Baseline.Set(o.Domains)
	o.Series = nemb.Series{Domains: o.Domains, Samples: r.recording.Samples(), Gaps: o.Sampler.Gaps,
		Interval: r.recording.Interval()}
	divisions := r.watch.divide(o.Series, o.Domains)
	r.attributor.Assign(divisions)
	o.Counters = r.watch.counted(r.counters, o.Domains) // before the kernels, which ask for their part
	if r.kernels != nil {
		o.Kernels = r.watch.byKernel(r.kernels.End(), o.Series, divisions)
	}
	o.Attributed = r.attributor.Finish()
	r.looked(o)
}

func (r *recorder) record(s nemb.Sample) {
	s.Usage.Threads = nil // only the attributor asks
	r.threads.sample()
	r.recording.Add(s)
}
