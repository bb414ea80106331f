// Package gpus divides the energy of a GPU among the program, other processes and idle power.
//
// It takes what the driver told of the GPU's processes from time to time (nemb.Occupancy,
// through Log), and the GPU's energy over the run. It gives a Division: whole microjoules
// whose sum is the energy to the microjoule, with bounds of the program's part. A GPU's energy
// does not follow the processors, so what a process has of it comes from the driver alone:
//
//  1. where the driver samples the utilisation of processes, each span of time is divided by
//     the parts of it in which kernels of each ran, less idle power;
//  2. where the GPU is divided into instances (MIG), each span is, by the size of each
//     instance and how active it was, or by size alone;
//  3. where it accounts for processes, the whole run is, by how long their kernels ran;
//  4. else nothing is, and the energy is unattributed, with a reason.
//
// Who ran at the same time shares a span's energy by time: that kernels of one draw more than
// those of another is not seen. The bounds are of the driver's rounding, of the edges of its
// samples, of time without samples, and of the idle power. Idle power is what the GPU drew
// while no process computed, and is not known where there was no such time. The package is
// pure: no files, no clock, no goroutines.
package gpus

import (
	"maps"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
)

// Methods of a Division (the report's gpu_method).
const (
	Utilization  = nemb.NVMLUtilization
	Processes    = nemb.AMDSMIProcesses
	ByDCGM       = nemb.DCGMInstances
	ByGPM        = nemb.GPMInstances
	BySlices     = nemb.SliceInstances
	Accounting   = "nvml_accounting"
	Unattributed = "unattributed"
)

// ByProcess is the gpu_method of a program's functions: the joules are the program's, and
// are not told apart by function.
const ByProcess = "process"

// Reason says why energy of a GPU is nobody's.
type Reason string

// The reasons besides those of nemb.Refusal, which are reasons, too.
const (
	Resolved    Reason = ""
	NotAsked    Reason = "not-asked"     // the sensor does not tell who uses the device
	NoSamples   Reason = "no-samples"    // the driver gave none in the run
	Namespace   Reason = "pid-namespace" // the driver's numbers of processes are of another namespace
	Vanished    Reason = "vanished"      // processes were over before it was known whose they were
	Interrupted Reason = "gaps"          // parts of the run have no samples
	Unmeasured  Reason = "memory"        // several hold contexts, and it is not known how much memory each has
)

// whyUnattributed says in words why nothing tells whose the energy of a GPU is.
var whyUnattributed = map[Reason]string{
	NoSamples: "the driver told nothing of its processes during the run",
	Namespace: "the driver's numbers of processes are not those of this PID namespace (run cg outside of the " +
		"container)",
	Vanished:    "processes were over before it was known whose they were",
	Unmeasured:  "several processes hold contexts, and the driver does not tell how much memory each has",
	Interrupted: "the driver has no samples of a part of the run",

	Reason(nemb.RefusedUnsupported): "its driver tells neither the utilisation of processes nor accounts for " +
		"them (sudo nvidia-smi --accounting-mode=1; of an AMD GPU with several processes, ROCm 7)",
	Reason(nemb.RefusedDenied):      "the driver does not let this user ask for other processes",
	Reason(nemb.RefusedPartitioned): "it is divided into MIG instances, and the driver does not list them",
	Reason(nemb.RefusedFailed):      "the driver failed when it was asked for its processes",
}

// Reasons are those that have words, in their order.
func Reasons() []Reason {
	all := slices.Collect(maps.Keys(whyUnattributed))
	slices.Sort(all)
	return all
}

// Why says the reason in words; empty where there is none to tell.
func (r Reason) Why() string { return whyUnattributed[r] }

// Owner is whose a process is.
type Owner int

// The owners.
const (
	Other   Owner = iota
	Program       // the measured one
	Gone          // not known, since it was over too soon
	Foreign       // not known, since its number is of another PID namespace
)

// share is the part of a time in which kernels ran, with its bounds.
type share struct{ part, lo, hi float64 }

func (s *share) add(u nemb.Use) { s.part, s.lo, s.hi = s.part+u.Part, s.lo+u.Lo, s.hi+u.Hi }

// state says what the driver told of a span.
type state int

const (
	unseen state = iota // it has no samples, or it is not known whether somebody computed
	quiet               // nobody computed
	active
)

// span is a time, and who used the GPU in it.
type span struct {
	from, to                checkpoint.Instant
	state                   state
	program, other, unknown share
	// Who held contexts at its end, and what these had of the GPU's memory, 0 where it is not
	// known. Of unknown processes it is not known whether they are the program's.
	programHolds, othersHold, unknownHolds    bool
	programMemory, otherMemory, unknownMemory float64
	atOnce                                    bool
}

// length is in nanoseconds.
func (s *span) length() float64 { return float64(s.to - s.from) }

// mostSpans bounds the memory of a Log: beyond it neighbours are joined.
const mostSpans = 1 << 15

// Log is what a driver told of one GPU in a run. The zero Log is empty.
type Log struct {
	spans       []span
	began, last checkpoint.Instant // when the driver was asked
	knows       bool               // there are samples
	method      string             // of them
	refused     nemb.Refusal
	held        bool // the program held a context, or had kernels
	knowsHeld   bool // the driver told the contexts each time
	gone        bool // a process was over too soon
	foreign     bool // a process was of another namespace

	wasQuiet bool // the answer before said so
	// rest are quiet spans of a driver without samples of processes.
	rest                []span
	lifetimes           bool // the driver accounts
	firstLives, endLive [3]lives
}

// lives is how long kernels of somebody's processes have run, in nanoseconds.
type lives struct{ busy, lo, hi float64 }

// Add takes the next answer of the driver. of says whose a process is; it is asked now, since
// processes end.
func (l *Log) Add(o nemb.Occupancy, of func(pid int) Owner) {
	if l.began == 0 {
		l.began, l.knowsHeld = o.At, true
	}
	before := l.last
	l.last = o.At
	s := span{from: o.From, to: o.To, atOnce: o.AtOnce}
	l.contexts(&s, o, of)
	if o.KnowsLifetimes {
		l.account(o, of)
	}
	if !o.KnowsUses {
		l.refused = o.Refused
		if o.Quiet && l.wasQuiet {
			s.from, s.to, s.state = before, o.At, quiet
			l.rest = extend(l.rest, s)
		}
		l.wasQuiet = o.Quiet
		return
	}
	l.knows, l.method = true, o.Method
	if o.To <= o.From {
		return
	}
	s.state = quiet
	for _, u := range o.Uses {
		s.state = active
		switch l.note(of, u.PID) {
		case Program:
			s.program.add(u)
			l.held = true
		case Other:
			s.other.add(u)
		default:
			s.unknown.add(u)
		}
	}
	for _, in := range o.Instances {
		s.state = active
		l.instance(&s, in, of)
	}
	if s.program.part+s.other.part+s.unknown.part <= 0 {
		s.state = quiet
		if bound := s.program.hi + s.other.hi + s.unknown.hi; bound > 0 && o.IsDivided() && !o.Quiet {
			s.state = unseen // some instances may have been active
		}
	}
	l.spans = extend(l.spans, s)
}

// instance adds what one of a divided GPU used. It is its members' by their weights. Where they are not all somebody's,
// nothing bounds how much of it each had.
func (l *Log) instance(s *span, in nemb.Instance, of func(pid int) Owner) {
	var weights [3]float64 // of the program, others and unknown
	sum := 0.0
	for _, m := range in.Members {
		k := l.row(of, m.PID)
		weights[k] += m.Weight
		sum += m.Weight
	}
	if sum <= 0 { // the driver tells no processes on it
		l.foreign = l.foreign || in.Part > 0
		weights[2], sum = 1, 1
	}
	for k, to := range []*share{&s.program, &s.other, &s.unknown} {
		if weights[k] <= 0 {
			continue
		}
		u := nemb.Use{Part: in.Part * weights[k] / sum, Hi: in.Hi}
		if weights[k] == sum {
			u.Lo = in.Lo
		}
		to.add(u)
	}
}

// note is whose a process is.
func (l *Log) note(of func(pid int) Owner, pid int) Owner {
	owner := Foreign
	if pid > 0 {
		owner = of(pid)
	}
	l.gone = l.gone || owner == Gone
	l.foreign = l.foreign || owner == Foreign
	return owner
}

// row is 0 for a process of the program, 1 for another, and 2 where it is not known.
func (l *Log) row(of func(pid int) Owner, pid int) int {
	switch l.note(of, pid) {
	case Program:
		l.held = true
		return 0
	case Other:
		return 1
	}
	return 2
}

func (l *Log) contexts(s *span, o nemb.Occupancy, of func(pid int) Owner) {
	l.knowsHeld = l.knowsHeld && o.KnowsContexts
	for _, c := range o.Contexts {
		switch l.note(of, c.PID) {
		case Program:
			s.programHolds, l.held = true, true
			s.programMemory += float64(c.Memory)
		case Other:
			s.othersHold = true
			s.otherMemory += float64(c.Memory)
		default:
			s.unknownHolds = true
			s.unknownMemory += float64(c.Memory)
		}
	}
}

// account keeps the first figures of accounting mode and the last.
func (l *Log) account(o nemb.Occupancy, of func(pid int) Owner) {
	var now [3]lives
	for _, p := range o.Lifetimes {
		k := l.row(of, p.PID)
		now[k].busy += float64(p.Busy)
		now[k].lo += float64(p.Lo)
		now[k].hi += float64(p.Hi)
	}
	if !l.lifetimes {
		l.firstLives = now
	}
	l.lifetimes, l.endLive = true, now
}

// extend adds a span to others, joined with the one before it where both are alike.
func extend(spans []span, s span) []span {
	if n := len(spans); n > 0 {
		if before := &spans[n-1]; before.state == quiet && s.state == quiet && before.to == s.from &&
			before.programHolds == s.programHolds && before.othersHold == s.othersHold &&
			before.unknownHolds == s.unknownHolds {
			s.from = before.from
			*before = s
			return spans
		}
	}
	spans = append(spans, s)
	if len(spans) < mostSpans {
		return spans
	}
	kept := spans[:0]
	for i := 0; i < len(spans); i += 2 {
		if i+1 == len(spans) || spans[i].to != spans[i+1].from {
			kept = append(kept, spans[i:min(i+2, len(spans))]...)
			continue
		}
		kept = append(kept, join(spans[i], spans[i+1]))
	}
	return kept
}

// join makes one span of two neighbours. One in which somebody computed is not quiet. One in which that is not known is
// neither.
func join(a, b span) span {
	if a.state != active && b.state != active {
		b.from, b.state = a.from, min(a.state, b.state)
		return b
	}
	whole := float64(b.to - a.from)
	mean := func(x, y share) share {
		u, v := a.length()/whole, b.length()/whole
		return share{x.part*u + y.part*v, x.lo*u + y.lo*v, x.hi*u + y.hi*v}
	}
	s := b
	s.from, s.state = a.from, active
	s.program, s.other, s.unknown = mean(a.program, b.program), mean(a.other, b.other), mean(a.unknown, b.unknown)
	s.programHolds, s.othersHold = a.programHolds || b.programHolds, a.othersHold || b.othersHold
	s.unknownHolds = a.unknownHolds || b.unknownHolds
	s.atOnce = a.atOnce || b.atOnce
	return s
}

// SeenUntil is up to when the driver has told who used the GPU.
func (l *Log) SeenUntil() checkpoint.Instant {
	if n := len(l.spans); n > 0 {
		return l.spans[n-1].to
	}
	return 0
}

// IsUsed tells whether the program held a context on the GPU.
func (l *Log) IsUsed() bool { return l.held }

// Samples tells whether the driver samples the use of processes.
func (l *Log) Samples() bool { return l.knows }
