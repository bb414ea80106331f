// Package beside samples the performance counters of GPUs while a program runs.
//
// It takes a library and what is sampled, and samples each GPU that CUDA sees and that can be sampled, from Begin to
// End, in a goroutine of its own. It gives for each GPU the means over the whole time, points for a timeline, counts of
// what is missing, and, while it goes on and after it, the means over a part of the time (Within), such as that of a
// kernel. Times are those of CLOCK_MONOTONIC. It keeps some hundred thousand samples as they were taken, and of the
// time before them the points. Whether the program uses a GPU plays no part.
package beside

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"cg/checkpoint"
	"cg/pmsampling"
	"cg/pmsampling/cupti"
)

// DefaultInterval is one sample each 100 microseconds: a sample is evaluated while the program runs.
const DefaultInterval = 100_000 // ns

// Recorder samples.
type Recorder struct {
	Config  pmsampling.Config
	Refused []error // why GPUs are not sampled

	stop    chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex // of what GPUs hold
	gpus    []*GPU
	ended   bool
}

// GPUs are those that are sampled.
func (r *Recorder) GPUs() []*GPU { return r.gpus }

// Since are the means over the samples of a GPU from one moment on, up to until, when the newest ended; then sampling
// of it has also ended with an error, if that is not nil.
func (r *Recorder) Since(gpu int, from checkpoint.Instant) (sums []Sum, until checkpoint.Instant, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.gpus[gpu]
	return g.Series.Within(from, g.reached), g.reached, g.Fault
}

// GPU is what was sampled on one.
type GPU struct {
	cupti.Device
	Chip   string
	Series Series
	Counts pmsampling.Counts
	Clock  pmsampling.Clock
	// Fault ended sampling before the program's end, nil where nothing did.
	Fault error

	session *pmsampling.Session
	from    checkpoint.Instant // samples that begin before are not kept, nor those that end after until, if it is not 0
	until   checkpoint.Instant
	reached checkpoint.Instant // when the last sample ended
	over    bool
}

// Claim is asked before a GPU is sampled; an error leaves it to others, and is among what the Recorder was refused. A
// GPU that then cannot be sampled is released.
type Claim func(cupti.Device) (release func(), err error)

// ErrElsewhere is the error of a Claim for a GPU that another process samples for this one.
var ErrElsewhere = errors.New("a GPU's counters serve one process")

// Begin begins to sample all GPUs that can be. The error says why none can. With a claim, which may be nil, a Recorder
// of no GPU comes where others have one and none of the rest can be sampled.
func Begin(l *cupti.Library, config pmsampling.Config, claim Claim) (*Recorder, error) {
	if config.Interval == 0 && config.Trigger == pmsampling.GPUTimeInterval {
		config.Interval = DefaultInterval
	}
	devices, err := l.Devices()
	if err != nil {
		return nil, err // also where there is no GPU
	}
	r := &Recorder{Config: config, stop: make(chan struct{})}
	others := 0
	for _, d := range devices {
		release := func() {}
		if claim != nil {
			var err error
			if release, err = claim(d); err != nil {
				r.Refused = append(r.Refused, err)
				if errors.Is(err, ErrElsewhere) {
					others++
				}
				continue
			}
		}
		s, err := pmsampling.Begin(l, d.Index, config)
		if err != nil {
			release()
			r.Refused = append(r.Refused, err)
			continue
		}
		r.Config = s.Config
		r.gpus = append(r.gpus, &GPU{Device: d, Chip: s.Chip(), session: s})
	}
	switch {
	case len(r.gpus) == 0 && others > 0:
		return r, nil
	case len(r.gpus) == 0:
		return nil, errors.Join(r.Refused...)
	}
	r.running.Go(r.run)
	return r, nil
}

// run drains all sessions until it is stopped.
func (r *Recorder) run() {
	tick := time.NewTicker(r.gpus[0].session.Period())
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
			r.Drain()
		}
	}
}

// Drain takes what was sampled up to now. It is done at the session's period anyway.
func (r *Recorder) Drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.gpus {
		if !g.over {
			b, err := g.session.Drain()
			g.take(b, err)
		}
	}
}

// Restart forgets what was sampled before now: the program begins.
func (r *Recorder) Restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := checkpoint.Monotime()
	for _, g := range r.gpus {
		g.from = now
		g.Series = Series{Recent: g.Series.Recent, Points: g.Series.Points}
	}
}

// Until leaves out what is sampled after a moment, at which the program has ended.
func (r *Recorder) Until(at checkpoint.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.gpus {
		g.until = at
	}
}

// take adds a batch. An error ends sampling of this GPU, and no other's.
func (g *GPU) take(b *pmsampling.Batch, err error) {
	if b != nil {
		samples, failed := b.Samples()
		err = errors.Join(err, failed)
		if n := len(samples); n > 0 {
			g.reached = samples[n-1].To
		}
		g.Series.Add(slices.DeleteFunc(samples, func(s pmsampling.Timed) bool {
			return s.From < g.from || g.until > 0 && s.To > g.until
		}))
	}
	if err != nil {
		g.Fault, g.over = err, true
	}
}

// End ends sampling, and gives what was sampled; the second time, too. Within goes on to tell.
func (r *Recorder) End() []*GPU {
	r.mu.Lock()
	again := r.ended
	r.ended = true
	r.mu.Unlock()
	if again {
		return r.gpus
	}
	close(r.stop)
	r.running.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.gpus {
		if !g.over {
			b, err := g.session.End()
			g.take(b, err)
		}
		g.over = true
		g.Counts, g.Clock = g.session.Counts, g.session.Whole
	}
	r.close()
	return r.gpus
}

func (r *Recorder) close() {
	for _, g := range r.gpus {
		if err := g.session.Close(); err != nil && g.Fault == nil {
			g.Fault = err
		}
	}
}

// gpu is that of an UUID, or the only one there is where either is not told.
func (r *Recorder) gpu(uuid string) *GPU {
	for _, g := range r.gpus {
		if g.UUID == uuid && uuid != "" || len(r.gpus) == 1 && (uuid == "" || g.UUID == "") {
			return g
		}
	}
	return nil
}

// Metrics are the names of what is sampled.
func (r *Recorder) Metrics() []string { return r.Config.Metrics }

// weights are metrics that say how busy a kernel keeps a GPU, the best first, by the begin of their names. Of those
// that are a part of a peak the values of longer and shorter samples compare.
var weights = []string{"sm__cycles_active.avg.pct", "sm__warps_active.avg.pct", "sm__throughput.avg.pct",
	"sm__inst_executed.avg.pct", "gr__cycles_active.avg.pct"}

// Weight is the metric that says best how busy a kernel keeps a GPU, -1 for none.
func (r *Recorder) Weight() int {
	for _, begin := range weights {
		for i, m := range r.Config.Metrics {
			if strings.HasPrefix(m, begin) {
				return i
			}
		}
	}
	return -1
}

// Within are the means over the samples that lie wholly between two moments, by metric. It is not known yet while
// sampling goes on and has not come to the second of them. Of a GPU that is not sampled it is none.
func (r *Recorder) Within(uuid string, from, to checkpoint.Instant) (sums []Sum, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.gpu(uuid)
	if g == nil {
		return nil, true
	}
	return g.Series.Within(from, to), g.over || g.reached >= to
}
