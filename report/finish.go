package report

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
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

// warnings says what a reader of the run should know. The parts are in the order in
// which a report shows them.
func (r *Run) warnings(f Facts) {
	r.warnOfSensors(f)
	r.warnOfMachine()
	r.warnOfRuntime(f)
	r.warnOfEvents(f)
	r.warnOfSampler(f.Outcome)
	r.warnOfEnd(f.Outcome)
	r.warnOfSites(f)
	r.warnOfCompilers(f)
}

// warnOfSensors warns of how the energies were read.
func (r *Run) warnOfSensors(f Facts) {
	o := f.Outcome
	if r.Totals.Kind == nemb.Estimated {
		text := "no energy counter can be read here: every energy is computed from processor time, and the true " +
			"one is between " +
			fmt.Sprintf("%.1f and %.1f times the figure", factor(r.Totals.LoJ, r.Totals.EnergyJ),
				factor(r.Totals.HiJ, r.Totals.EnergyJ))
		if !f.CPUKnown {
			text += "; the processor is not in cg's table, which makes it that wide (cg calibrate narrows it)"
		}
		r.Warn("estimated", text)
	}
	if o.Running {
		r.Warn("cut-short", fmt.Sprintf("the program went on for more than %v after cg got %s: the figures end "+
			"there, and cg saved them before it could be killed; give the program more time to end (timeout -k, "+
			"terminationGracePeriodSeconds), or make it end sooner",
			measure.GracePeriod, unix.SignalName(o.Terminated.(syscall.Signal))))
	}
	r.warnOfGPUs(o)
	r.warnOfKernels(o.Kernels)
	if f.NoBaseline {
		r.Warn("baseline-unused",
			"--baseline: no counter can be read, and the estimate has its idle power from its model: cg measured "+
				"nothing before the run")
	}
	if f.IdleFault != nil {
		r.Warn("idle-memory", "what cg remembers of this machine's idle power was not all read, or not kept: "+
			strings.ReplaceAll(f.IdleFault.Error(), "\n", "; "))
	}
	if len(f.Denied) > 0 {
		r.Warn("sensor-denied", strings.ReplaceAll(errors.Join(f.Denied...).Error(), "\n", "; "))
	}
	totals := make([]nemb.Energy, len(o.Domains))
	for i := range min(len(totals), len(o.Attributed.Domains)) {
		totals[i] = o.Attributed.Domains[i].Total
	}
	var doubts []string
	for _, n := range append(f.Doubts, nemb.Implausible(o.Domains, totals, o.Attributed.Wall)...) {
		doubts = append(doubts, n.Text)
	}
	if len(doubts) > 0 {
		r.Warn("sensor-suspect", strings.Join(doubts, "; "))
	}
}

// warnOfRuntime warns of what runs in the program.
func (r *Run) warnOfRuntime(f Facts) {
	if f.Untested != "" {
		r.Warn("untested", f.Untested)
	}
	if n := len(f.Refused); n > 0 {
		text := f.Refused[0]
		if n > 1 {
			text += fmt.Sprintf(" (and %d more)", n-1)
		}
		r.Warn("cache-refused", text)
	}
	if f.Off != nil {
		r.Warn("checkpoints-off", "a process ran without checkpoints: "+*f.Off)
	}
	if f.Pure != nil {
		places := ""
		if r.Meta.Granularity == "line" || r.Meta.Granularity == "block" {
			places = "; functions there have no " + r.Meta.Granularity + "s"
		}
		r.Warn("pure-runtime", "checkpoints are written by the interpreter itself, which takes longer than the native "+
			"library: "+*f.Pure+places)
	}
}

// warnOfEvents warns of what became of the checkpoints' events.
func (r *Run) warnOfEvents(f Facts) {
	o := f.Outcome
	if o.Lost > 0 {
		r.Warn("events-lost",
			fmt.Sprintf("%d checkpoints are missing, because the channel had no room for them; the energy of "+
				"their functions counts as their callers'", o.Lost))
	}
	r.noteDropped(o.Blocks)
	if o.Waits > 0 {
		r.Warn("channel-waits",
			fmt.Sprintf("threads of the program waited %d times until cg had read their checkpoints: give the "+
				"run another processor, or leave out frequently called functions with --exclude", o.Waits))
	}
	r.warnOfOverhead(o)
	r.damaged(o)
	if o.Refused > 0 {
		r.Warn("sums-refused",
			fmt.Sprintf("the program overwrote the sums that %d threads kept; the report does not contain what "+
				"came after that", o.Refused))
	}
}

// little is a time of checkpoints that no budget is about, in seconds.
const little = 0.05

// warnOfOverhead warns where checkpoints took more than they may. What a thread is
// decided by is of the time before, so a quarter more is within the budget.
func (r *Run) warnOfOverhead(o *measure.Outcome) {
	cost, inside := r.Channel.Cost, 0.0
	if cost == nil || o.Overhead == 0 {
		return
	}
	cost.BudgetPercent = 100 * o.Overhead
	for _, c := range o.Attributed.Costs {
		inside += c.SelfTime.Seconds()
	}
	if took := cost.TimeS / max(inside, 1e-9); cost.TimeS > little && took > 1.25*o.Overhead {
		text := fmt.Sprintf("checkpoints took %.0f %% of the time of the functions, more than --overhead %.3g%%: ",
			100*took, 100*o.Overhead)
		if cost.Counted == 0 {
			text += fmt.Sprintf("this runtime times each event, %.3g ns", cost.EventNs)
		} else {
			text += fmt.Sprintf("a call that is counted takes %.3g ns, one that is timed %.3g ns",
				2*cost.CountedNs, 2*cost.TimedNs)
			if alone := float64(r.Channel.Events) * cost.CountedNs / 1e9 / max(inside, 1e-9); alone > o.Overhead {
				text += fmt.Sprintf(", and counting alone takes %.0f %%", 100*alone)
			}
		}
		r.Warn("overhead", text+"; leave out functions that are called often with --exclude")
	}
}

// warnOfSampler warns of clocks and of samples that came late or not at all.
func (r *Run) warnOfSampler(o *measure.Outcome) {
	if n := o.Attributed.Stats.Backwards; n > 1000 && n > o.Attributed.Stats.Events/1000 {
		r.Warn("clock-backwards",
			fmt.Sprintf("the clock ran backwards %d times: the processors' cycle counters disagree", n))
	}
	if s := o.Sampler; s.Samples > 20 && s.Missed*10 > s.Samples {
		text := fmt.Sprintf("%d of %d samples came after the next was due, so sampling windows are longer than %.0f "+
			"ms: ",
			s.Missed, s.Samples+s.Missed, r.Totals.SampleIntervalMs)
		if s.Realtime {
			text += "the run was stopped for a while, or the machine is overloaded"
		} else {
			text += "run as root or with CAP_SYS_NICE for a real-time sampler, or use -p low"
		}
		r.Warn("sampler-late", text)
	}
	if o.Sampler.Dropped > 0 {
		r.Warn("samples-dropped",
			fmt.Sprintf("%d samples were dropped, because the ring was full; their windows are joined",
				o.Sampler.Dropped))
	}
}

// warnOfEnd warns of how the program ended and of what it left.
func (r *Run) warnOfEnd(o *measure.Outcome) {
	if o.Result.TimedOut {
		r.Warn("timeout", "the program was ended by --timeout: the report covers what it did until then")
	}
	if len(o.Result.Left) > 0 {
		r.Warn("still-running", fmt.Sprintf("%d processes of the program still run (%v); the report ends here",
			len(o.Result.Left), o.Result.Left))
	}
	if err := o.Result.Orphans; err != nil {
		r.Warn("orphans-unknown", "processes of the program whose parent has ended are not known, because the system "+
			"does not hand them to cg ("+err.Error()+"): their energy may be in the line of other processes, and "+
			"--timeout does not end them")
	}
	if o.Result.OutputErr != nil {
		r.Warn("output-closed", "the program's output could not be passed on: "+o.Result.OutputErr.Error())
	}
	switch {
	case o.BlockFault != nil:
		r.Warn("result-block-unreadable", o.BlockFault.Error())
	case len(o.Blocks) > 0 && len(o.BlockSites) == 0:
		r.Warn("result-block-ignored",
			"the program printed a result block, although cg had put checkpoints into it; cg removed the block from "+
				"the output and did not use it. Use --instrumented for a program that has its own checkpoints")
	}
}

// warnOfCompilers says how much of the program's processor time was that of its build, in a run that has both.
func (r *Run) warnOfCompilers(f Facts) {
	used, err := strconv.ParseFloat(f.LanguageMeta["compilers_cpu_s"], 64)
	samples := f.Outcome.Series.Samples
	if err != nil || len(samples) == 0 {
		return
	}
	program := samples[len(samples)-1].Usage.Program.Seconds() - samples[0].Usage.Program.Seconds()
	if used < program/10 {
		return
	}
	r.Warn("build-included", fmt.Sprintf("compiling took %.2g s of the program's %.2g s of processor time, and its "+
		"energy is in the line \"uninstrumented\": to have the program alone, build once, and measure what was built",
		used, program))
}

// warnOfSites warns of functions that were not measured.
func (r *Run) warnOfSites(f Facts) {
	o := f.Outcome
	told := o.Looks != nil || o.Attributed.Stats.Events > 0 || f.Off != nil || len(o.BlockSites) > 0
	if n := len(r.Sites); n > 0 && !told {
		r.Warn("no-calls", fmt.Sprintf("the program called none of the %d functions with checkpoints: either it "+
			"runs other code, or a build found its tests up to date and did not run them", n))
	}
	if why := f.LanguageMeta["portable"]; why != "" {
		r.Warn("portable-checkpoints", why)
	}
	if n := f.LanguageMeta["inlined_functions"]; n == "1" {
		r.Warn("functions-inlined",
			"1 function that the compiler inlines has no checkpoints; what it uses is its callers' (--inline gives it "+
				"checkpoints)")
	} else if n != "" {
		r.Warn("functions-inlined",
			n+" functions that the compiler inlines have no checkpoints; what they use is their callers' (--inline "+
				"gives them checkpoints)")
	}
	if n := f.LanguageMeta["short_functions"]; n == "1" {
		r.Warn("functions-short", "1 short function without loops and calls has no checkpoints; what it uses is its "+
			"callers' (--inline gives it checkpoints)")
	} else if n != "" {
		r.Warn("functions-short", n+" short functions without loops and calls have no checkpoints; what they use is "+
			"their callers' (--inline gives them checkpoints)")
	}
	if n := len(r.Skipped); n > 0 {
		r.Warn("files-skipped",
			fmt.Sprintf("%d files or functions ran without checkpoints; what they use is their callers'", n))
	}
	if n := len(f.LeftOut); n > 0 && r.mostlyModules() {
		r.Warn("packages-left-out", fmt.Sprintf("most of the functions' time is that of module bodies, and %s: %s",
			plural(n, "installed package has", "installed packages have")+" no checkpoints", including(f.LeftOut)))
	}
}

// mostlyModules reports whether module bodies have more than half of the functions' time.
func (r *Run) mostlyModules() bool {
	var modules, all float64
	for _, f := range r.Functions {
		all += f.SelfTimeS
		if strings.HasSuffix(f.Name, "<module>") {
			modules += f.SelfTimeS
		}
	}
	return modules*2 > all || all == 0
}

// including lists the flags that take packages in, those of the first few.
func including(packages []string) string {
	const shown = 5
	more := ""
	if n := len(packages) - shown; n > 0 {
		packages, more = packages[:shown], fmt.Sprintf(" (and %d more)", n)
	}
	return "--include " + strings.Join(packages, " --include ") + more
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func factor(part, whole *Joules) float64 {
	if part == nil || whole == nil || *whole == 0 {
		return 1
	}
	return float64(*part) / float64(*whole)
}
