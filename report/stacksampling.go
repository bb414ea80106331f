package report

import (
	"fmt"
	"slices"
	"strings"

	"cg/attach"
	"cg/measure"
	"cg/nemb/attribute"
)

// StackSampling says how the stacks of a program without checkpoints were looked at from
// outside.
type StackSampling struct {
	// IntervalMs is the mean time between two samples of a thread that was asked for, ReachedMs
	// that which was reached.
	IntervalMs float64 `json:"interval_ms"`
	ReachedMs  float64 `json:"reached_ms"`
	Samples    int     `json:"samples"`
	// Waiting is those of Samples of threads that were on no processor. They tell time, and no
	// energy.
	Waiting int `json:"waiting"`
	// Torn counts stacks that changed while they were read, four times in a row: they are in no figure.
	Torn int `json:"torn"`
	// Lost counts samples of machine code for which there was no room, Throttled the pauses that the kernel
	// made as samples took it too long, Late the threads that ran before they were sampled.
	Lost      int `json:"lost,omitempty"`
	Throttled int `json:"throttled,omitempty"`
	Late      int `json:"late,omitempty"`
	// Unplaced counts stacks of threads of which it is not known which of the process's tasks they
	// are: they are in no figure.
	Unplaced int     `json:"unplaced"`
	OwnCPUS  float64 `json:"own_cpu_s"` // what it took
	Attached bool    `json:"attached"`  // the program ran before
	Ended    bool    `json:"ended"`     // an attached one ended in the run
	// Outside counts the samples of threads on a processor that were in no function with checkpoints, or in one that is
	// not known, where the program has some (Run.InnerSampling).
	Outside int `json:"outside,omitempty"`
	// Own counts those in cg's own checkpoints, there. They are in no other figure but Samples.
	Own       int              `json:"own,omitempty"`
	Processes []SampledProcess `json:"processes"`
}

// SampledProcess is one of the program's processes.
type SampledProcess struct {
	PID    int    `json:"pid"`
	Name   string `json:"name"`
	Reader string `json:"reader"` // what its stacks are those of, such as CPython 3.11; "" where they were not read
	Why    string `json:"why,omitempty"`
}

// stackSampling tells of the looks of a run, if there were any.
func (r *Run) stackSampling(o *measure.Outcome) {
	s := o.Looks
	if s == nil {
		return
	}
	r.StackSampling = stackSampling(o, s)
	if len(s.Processes) > 0 && s.Processes[0].Language != "" { // which has what it started beside it
		r.Meta.Language, r.Meta.LanguageVersion = s.Processes[0].Language, s.Processes[0].Version
	}
	r.warnOfStackSampling(r.StackSampling, s)
	r.warnOfFewSamples()
}

// mostUnseen is the part of the program's energy that a few samples more or less leave in no function: those of its
// start, and of the last ones of each thread.
const mostUnseen = 0.2

// warnOfFewSamples tells of energy that is in no function though stacks were read.
func (r *Run) warnOfFewSamples() {
	program, unseen := r.line(LineFunctions)+r.line(LineUninstrumented), r.line(LineUninstrumented)
	if r.StackSampling.Samples == 0 || float64(unseen) <= mostUnseen*float64(program) {
		return
	}
	r.Warn("samples-sparse", fmt.Sprintf("%.0f %% of the program's energy is in no function, since no stack was read "+
		"while it was used: it ran for a short time, the machine is busy, or the kernel's own time may not be sampled",
		100*float64(unseen)/float64(program)))
}

// line is a line of the ledger, 0 for none.
func (r *Run) line(name string) Joules {
	for _, l := range r.Ledger {
		if l.Name == name {
			return l.EnergyJ
		}
	}
	return 0
}

func stackSampling(o *measure.Outcome, s *attach.Stats) *StackSampling {
	all := &StackSampling{
		IntervalMs: s.Interval.Seconds() * 1e3, ReachedMs: s.Mean.Seconds() * 1e3, Samples: s.Looks, Waiting: s.Waiting,
		Torn: s.Torn, Lost: s.Lost, Throttled: s.Throttled, Late: s.Late, Unplaced: s.Unplaced,
		OwnCPUS: s.CPU.Seconds(), Attached: o.Attached, Ended: o.Over,
		Processes: []SampledProcess{},
	}
	for _, p := range s.Processes {
		told := SampledProcess{PID: p.PID, Name: p.Name, Reader: p.Reader}
		if p.Why != nil {
			told.Why = p.Why.Error()
		}
		all.Processes = append(all.Processes, told)
	}
	return all
}

// Part of a figure from which on a warning tells of it.
const (
	slowSampling = 1.5  // times the interval that was asked for
	tornSampling = 0.02 // of the samples
)

func (r *Run) warnOfStackSampling(told *StackSampling, s *attach.Stats) {
	use, missed := "is uninstrumented", "what is missing is uninstrumented, or counts as waiting"
	if told == r.InnerSampling { // checkpoints tell of the functions
		use = "counts for the functions with checkpoints"
		missed = "what is missing " + use
	}
	if s.Looks > 0 && told.ReachedMs > slowSampling*told.IntervalMs {
		r.Warn("stack-sampling-slow", fmt.Sprintf("a thread's stack was read each %.3g ms and not each %.3g ms: the "+
			"machine is busy, the stacks are deep, or --overhead allows no more; intervals are wider", told.ReachedMs,
			told.IntervalMs))
	}
	if all := s.Looks + s.Torn; float64(s.Torn) > tornSampling*float64(all) {
		r.Warn("stacks-torn", fmt.Sprintf("%d of %d stacks changed while they were read, and are in "+
			"no figure: functions that are called very often may have too little", s.Torn, all))
	}
	if missing := missingSamples(s); missing != "" {
		r.Warn("samples-lost", missing+": functions of machine code may have too little, and "+missed)
	}
	r.warnOfUnnamed(s)
	if all := s.Looks + s.Unplaced; float64(s.Unplaced) > tornSampling*float64(all) {
		r.Warn("threads-unknown", fmt.Sprintf("%d of %d stacks were of threads that the kernel does not have under "+
			"the number which the interpreter tells, and are in no figure: what these threads use %s", s.Unplaced, all,
			use))
	}
	var names []string
	for _, p := range told.Processes {
		if p.Reader == "" && p.Why != "" && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	switch {
	case told.Samples == 0:
		why := "the measurement was over before its stacks could be read"
		for _, p := range told.Processes {
			if p.Why != "" {
				why = p.Why
				break
			}
			if p.Reader != "" {
				why = "it used less processor time than a sample is for"
				if strings.HasSuffix(p.Reader, "(the kernel's time by its account)") {
					why = "it used less processor time outside the kernel than a sample is for"
				}
			}
		}
		r.Warn("stacks-unread", "no stack of the program was read: "+why+". The energy of the whole program "+
			"is measured")
	case len(names) > 0:
		r.Warn("stacks-unread", "the stacks of "+strings.Join(names, ", ")+" were not read ("+
			told.why()+"): what they use "+use)
	}
}

// unnamedCode is the part of all samples on a processor from which on those in code without names are told.
const unnamedCode = 0.1

// warnOfUnnamed tells of code that a just-in-time compiler made, and that has no names.
func (r *Run) warnOfUnnamed(s *attach.Stats) {
	most, all := attach.ProcessStats{}, 0
	for _, p := range s.Processes {
		if all += p.Unnamed; p.Unnamed > most.Unnamed {
			most = p
		}
	}
	if all == 0 || float64(all) < unnamedCode*float64(s.Looks-s.Waiting) {
		return
	}
	how := "run it so that it writes /tmp/perf-PID.map, as node --perf-basic-prof does"
	if most.Java {
		how = fmt.Sprintf("for Java 17 or later start it with -XX:+PreserveFramePointer, and type jcmd %d "+
			"Compiler.perfmap once it has warmed up, before or while cg measures", most.PID)
	}
	r.Warn("code-unnamed", fmt.Sprintf("%d of %d stacks were in code of a just-in-time compiler that has no names "+
		"(%s): %s", all, s.Looks-s.Waiting, most.Name, how))
}

// missingSamples says in words what the samples of machine code lack, "" for nothing of weight.
func missingSamples(s *attach.Stats) string {
	var missing []string
	tell := func(n int, of string) {
		missing = append(missing, fmt.Sprintf("%d %s", n, of))
	}
	if float64(s.Lost) > tornSampling*float64(s.Looks+s.Lost) {
		tell(s.Lost, fmt.Sprintf("samples had no room, of %d", s.Looks+s.Lost))
	}
	if float64(s.Throttled) > tornSampling*float64(s.Looks) {
		tell(s.Throttled, "times the kernel paused the samples of a thread, since they took too long "+
			"(kernel.perf_event_max_sample_rate, kernel.perf_cpu_time_max_percent)")
	}
	if s.Late > 0 {
		tell(s.Late, "threads ran before they were sampled")
	}
	return strings.Join(missing, "; ")
}

// why is the first reason for which stacks were not read.
func (s *StackSampling) why() string {
	for _, p := range s.Processes {
		if p.Reader == "" && p.Why != "" {
			return p.Why
		}
	}
	return ""
}

// looked tells a function's stack samples, and by how much its energy may be off by chance.
func (f *Function) looked(c attribute.Cost) {
	f.StackSamples, f.StackSamplesInclusive = c.Looks, c.LooksUnder
	if c.Looks > 0 && c.Self.Energy > 0 {
		percent := 100 * c.LooksDoubt() / float64(c.Self.Energy)
		f.SamplingDoubtPercent = &percent
	}
}
