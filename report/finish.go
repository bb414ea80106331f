package report

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/launcher"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/patience"
	"cg/runtimes/sdk/spec"
)

// Facts is what the rooms below say about a run that has ended.
type Facts struct {
	Outcome *measure.Outcome
	Sites   []checkpoint.Site
	Begun   map[checkpoint.SiteID]checkpoint.Instant // when tasks began
	Spans   map[checkpoint.SiteID]Span               // of these, what the program told
	// Outcomes tells how tests ended, by the names of their tasks; nil if nobody does.
	Outcomes        func(tasks []string) map[string]Outcome
	Skipped         []Skip
	LeftOut         []string // installed packages that the program imported, without checkpoints
	Pure            *string  // why a process ran without the native runtime
	Off             *string  // why a process ran without checkpoints
	Denied          []error  // sensors that may not be read
	Hung            []error  // sensors that did not answer when they were looked for
	Refused         []string // what of cg's cache was not used, and why
	Doubts          []nemb.Note
	CPUModel        string
	CPUKnown        bool
	CPUMethod       string
	Clock           checkpoint.Clock
	LanguageVersion string
	LanguageMeta    map[string]string
	Untested        string // why the implementation of the language may not get along with cg
	Program         string
	Interval        time.Duration
	Instrumented    bool // the program has checkpoints of its own
	// Source reads a file of the program and tells when it was changed; nil leaves
	// the digests of texts out.
	Source     func(file string) ([]byte, time.Time, error)
	Noise      *NoiseLimits  // nil for the default
	NoBaseline bool          // an idle power was asked for, and no sensor measures one
	State      *MachineState // of the machine; nil where nobody has looked
	PlacesOf   *PlacesOf     // nil where places of all functions are told, or of none
	NoPlaces   []string      // names of functions whose places were wanted, and that are not there
	// IdleFault is why what is remembered of the machine's idle power was not read or kept.
	IdleFault error
}

// Span is what a program told of a task.
type Span struct {
	Bench      bool   // the run of a benchmark; one without Iterations is not the one that counts
	Iterations uint64 // 0 for a task that did not end
	Took       time.Duration
	// Paused is when it began to wait for other tasks, Continued when it went on; 0 where
	// it did not.
	Paused, Continued checkpoint.Instant
}

// Outcome is how a test ended, the worst of its runs.
type Outcome struct {
	Status string
	Runs   int
}

// StampLayout is how moments such as Meta.StartedAt are written: RFC 3339 with
// microseconds and a numeric offset.
const StampLayout = "2006-01-02T15:04:05.000000-07:00"

// Start begins a run: who, where, when.
func Start(granularity, language string, argv []string, version string) *Run {
	now := time.Now()
	id := make([]byte, 6)
	rand.Read(id)
	r := &Run{started: now, Skipped: []Skip{}, Warnings: []Warning{}, Tasks: []Task{}}
	m := &r.Meta
	m.SchemaVersion, m.Tool, m.CgVersion, m.RunID = SchemaVersion, "cg", version, hex.EncodeToString(id)
	m.CodegreenVersion, m.NembABIVersion = version, new(int)
	*m.NembABIVersion = spec.RingVersion
	m.Timeseries = &Timeseries{
		SchemaVersion: SchemaVersion, SampleKeys: spec.SampleKeys, TNsClock: spec.SampleClock,
		InclusiveOfChildren: true,
	}
	m.StartedAt, m.StartedAtLocal = now.UTC().Format(StampLayout), now.Format(StampLayout)
	m.HostTimezone, _ = now.Zone()
	m.Hostname, _ = os.Hostname()
	m.Cwd, _ = os.Getwd()
	m.Platform, m.Language, m.Argv, m.Granularity = runtime.GOOS, language, argv, granularity
	m.OutlierMethod, m.IsoTimestampFormat = spec.OutlierMethod, "rfc3339_utc"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = "Linux-" + unix.ByteSliceToString(u.Release[:])
	}
	m.CgEnv = map[string]string{}
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "CODEGREEN_") ||
			strings.HasPrefix(name, "CG_") {
			m.CgEnv[name] = value
		}
	}
	return r
}

// Fail completes a run whose program was not started, for a reason.
func (r *Run) Fail(status int, why string) {
	now := time.Now()
	m := &r.Meta
	m.EndedAt, m.EndedAtLocal = now.UTC().Format(StampLayout), now.Format(StampLayout)
	m.DurationTotalS = now.Sub(r.started).Seconds()
	m.PID, m.MeasurementQuality, m.DomainSupport = os.Getpid(), QualityFailed, nemb.Support(nil)
	m.DomainTopology = map[string]Topology{}
	r.Functions, r.Sites, r.Paths, r.Ledger, r.Samples = []Function{}, []Site{}, []Path{}, []Line{}, []Sample{}
	r.Sampler.Counters, r.Process = []Counter{}, Process{ExitStatus: status, PIDsLeft: []int{}}
	t := &r.Totals
	t.Domains, t.DomainsPowerW, t.NoiseWarnings = map[string]Joules{}, map[string]float64{}, []NoiseWarning{}
	t.Kind, t.Method = nemb.Unavailable, "sampled"
	r.Warn("not-run", why)
}

// Finish completes a run that has ended.
func (r *Run) Finish(f Facts) {
	now := time.Now()
	o := f.Outcome
	m := &r.Meta
	m.EndedAt, m.EndedAtLocal = now.UTC().Format(StampLayout), now.Format(StampLayout)
	m.DurationTotalS = now.Sub(r.started).Seconds()
	m.PID, m.CPUModel, m.LanguageVersion = o.PID, f.CPUModel, f.LanguageVersion
	m.PythonVersion, m.PythonImplementation = f.LanguageMeta["python_version"], f.LanguageMeta["python_implementation"]
	m.PythonFreeThreaded = f.LanguageMeta["python_free_threaded"] == "true"
	r.Totals.SampleIntervalMs = f.Interval.Seconds() * 1e3

	sites := f.Sites
	if len(o.BlockSites) > 0 {
		sites = o.BlockSites
		r.granularityOf(sites)
		for i := range sites {
			sites[i].Language = m.Language
		}
	}
	r.Attributed(o.Domains, o.Attributed, sites)
	r.inner(o.Inner, o.Attributed.Costs, sites)
	r.kernels(o.Kernels, o.Counters, sites)
	r.gpuMetrics(o.Counters)
	r.identify(f.Source)
	r.quote(f.Source)
	r.sampled(o.Series)
	r.Program(f.Program, o, r.started, now)
	r.Tests(o.Attributed, sites, f.Begun, f.Spans)
	r.machineInTasks(o.Series, o.Attributed.GPUs)
	if f.Outcomes != nil && len(r.Tasks) > 1 {
		tests := r.Tasks[1:]
		names := make([]string, len(tests))
		for i := range tests {
			names[i] = tests[i].Name
		}
		outcomes := f.Outcomes(names)
		for i := range tests {
			how := outcomes[tests[i].Name]
			tests[i].Status, tests[i].Runs = how.Status, how.Runs
		}
	}
	r.ranges(o)
	r.routes(o)
	r.baseline(o.Baseline)
	r.others(o)
	r.MachineState = f.State
	r.noise(o.Series, f.Interval, f.Noise)
	r.process(f)
	r.hours(!o.Attached)

	r.sampler(f)
	r.faults(o)
	r.hung(f)
	r.stackSampling(o)
	r.innerSampling(o)
	r.untold(o)
	r.judge()
	r.Channel.Clock, r.Channel.Native = f.Clock.String(), f.Pure == nil && f.Off == nil
	r.Channel.Lost, r.Channel.Waits = o.Lost, o.Waits
	r.Skipped = append(r.Skipped, f.Skipped...)
	r.threads(o.Threads)
	r.notePlaces(f)
	r.warnings(f)
}

// sampler tells how the measuring went. Its own energy is its share, by
// processor time, of what cg used.
func (r *Run) sampler(f Facts) {
	o := f.Outcome
	r.Sampler = Sampler{
		IntervalMs: f.Interval.Seconds() * 1e3, Mechanism: o.Sampler.Mechanism(), Samples: o.Sampler.Samples,
		MissedDeadlines: o.Sampler.Missed, Gaps: o.Sampler.Gaps, FailedReads: o.Sampler.Failed,
		Dropped:   o.Sampler.Dropped,
		SlowReads: o.Sampler.SlowReads, Realtime: o.Sampler.Realtime, OwnCPUS: o.Sampler.OwnCPU.Seconds(),
		Counters: []Counter{},
	}
	if n := len(o.Series.Samples); n > 0 && r.Totals.EnergyJ != nil {
		own := max(o.Series.Samples[n-1].Usage.Own, o.Sampler.OwnCPU)
		for _, l := range r.Ledger {
			if l.Name == LineOwn && own > 0 {
				e := Joules(float64(l.EnergyJ) * o.Sampler.OwnCPU.Seconds() / own.Seconds())
				r.Sampler.EnergyJ = &e
			}
		}
	}
	for _, c := range o.Faults {
		counter := Counter{
			Domain: c.Domain, Wraps: c.Wraps, Failed: c.Failed, Resets: c.Resets, Laps: c.Laps,
			UnknownS: c.Unknown.Seconds(), LateS: c.Late.Seconds(), StillS: c.Still.Seconds(),
			SlowestS: c.Slowest.Seconds(),
		}
		if c.Hung > 0 {
			counter.State = counterFailed
		}
		r.Sampler.Counters = append(r.Sampler.Counters, counter)
	}
	milliseconds := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	for _, a := range o.Ages {
		r.Sampler.Ages = append(r.Sampler.Ages, Age{Of: cmp.Or(a.Of, AgeOfTimes), MedianMs: milliseconds(a.Median),
			P95Ms: milliseconds(a.P95), MaxMs: milliseconds(a.Max), KernelMs: milliseconds(a.Kernel)})
	}
}

// counterFailed is the State of a counter that does not answer.
const counterFailed = "failed"

// hung warns of sensors that did not answer when they were looked for. What they
// count is in no figure; the estimate stands in where nothing else measures.
func (r *Run) hung(f Facts) {
	if len(f.Hung) == 0 {
		return
	}
	var all []string
	for _, err := range f.Hung {
		all = append(all, err.Error())
		var h *patience.Hung
		if !errors.As(err, &h) {
			continue
		}
		for _, id := range h.Domains {
			wall := f.Outcome.Attributed.Wall.Seconds()
			r.Sampler.Counters = append(r.Sampler.Counters, Counter{Domain: id, State: counterFailed, UnknownS: wall})
			if r.Meta.MeasurementQuality == QualityOK {
				r.Meta.MeasurementQuality = QualityFailed
			}
		}
	}
	consequence := "the estimate stands in"
	if r.Totals.Kind != nemb.Estimated {
		r.unbounded()
		consequence = "the figures are lower bounds"
	}
	all = append(all, consequence)
	r.Warn("sensor-hangs",
		strings.Join(all, "; ")+": see what its driver says (dmesg), or leave its source out with -s")
}

func (r *Run) process(f Facts) {
	if o := f.Outcome; o.Running {
		r.Process = Process{ExitStatus: status(o.Terminated), Running: true, CPUMethod: f.CPUMethod, PIDsLeft: []int{}}
		return
	}
	if o := f.Outcome; o.Attached { // it is no child of cg's: how it ended is not known
		r.Process = Process{
			Running: !o.Over, UserS: o.Attributed.CPU.Seconds(), CPUMethod: f.CPUMethod, PIDsLeft: []int{},
		}
		return
	}
	r.ended(f.Outcome.Result, f.CPUMethod)
}

// status is what a shell calls an end by a signal.
func status(by os.Signal) int {
	if sig, is := by.(syscall.Signal); is {
		return 128 + int(sig)
	}
	return 0
}

// Ended notes how a program ended that was still running when the run was finished. Its processor time is then that to
// its end, and the energies and the time of the run are not: the run has no hours.
func (r *Run) Ended(p launcher.Result) {
	r.ended(p, r.Process.CPUMethod)
}

func (r *Run) ended(p launcher.Result, method string) {
	r.Process = Process{
		ExitStatus: p.Status, TimedOut: p.TimedOut, UserS: p.User.Seconds(), SystemS: p.System.Seconds(),
		CPUMethod: method, PIDsLeft: append([]int{}, p.Left...),
	}
	if p.MaxRSS > 0 {
		r.Process.MaxRSSB = &p.MaxRSS
	}
	if io := p.IO; io != nil {
		r.Process.IO = &IO{Reads: io.Reads, Writes: io.Writes, ReadBytes: io.ReadBytes, WrittenBytes: io.WrittenBytes}
	}
	if p.Exited {
		r.Process.ExitCode = &p.Code
	} else {
		name := unix.SignalName(p.Signal)
		r.Process.Signal = &name
	}
}
