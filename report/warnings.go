package report

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"cg/measure"
	"cg/nemb"
)

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
