// Package nemb says what a sensor is: what it measures (Domain), how it is opened below a
// system root (Source), and which of those that are registered count on a machine
// (Discover). It holds what samples of sensors are, too, and what they tell: the energy of
// a span of time, and how steady the power was. It holds no sensor and knows nothing of
// source code. A reading that failed is a gap, never a number.
package nemb

import (
	"time"

	"cg/checkpoint"
	"cg/nemb/account"
	"cg/nemb/counter"
	"cg/nemb/processor"
	"cg/runtimes/sdk/spec"
)

// Energy is an amount of energy in microjoules.
type Energy = counter.Energy

// Method says how a value came to be. Sums take the weakest of their parts.
type Method string

const (
	Measured    Method = "measured"    // read from an energy counter
	Derived     Method = "derived"     // computed from measured values only
	Estimated   Method = "estimated"   // from a model of the machine
	Unavailable Method = "unavailable" // not known; carries no number
)

// IsRead reports whether an energy comes from readings of the machine: from those of a counter, or computed from
// others, such as powers. A model's does not.
func (m Method) IsRead() bool { return m == Measured || m == Derived }

// Weaker reports whether an energy of one method is known less well than that of another.
func (m Method) Weaker(than Method) bool {
	rank := map[Method]int{Measured: 1, Derived: 2, Estimated: 3}
	return rank[m] > rank[than]
}

// Domain is a part of the machine whose energy one counter tells.
type Domain struct {
	ID     string // unique in a run, such as "package-0", "dram", "gpu0", "machine"
	Parent string // ID of the domain that includes this one, "" at the root
	Kind   string // cpu_package, dram, gpu, psys, nested, independent (the report's domain_topology)
	Source string // where it is read: a path or the name of a model
	Method Method
	// Wrap is the value at which the counter starts over at 0, 0 for never
	// (powercap: max_energy_range_uj + 1).
	Wrap Energy
	// Period is the time between two updates of the counter.
	Period time.Duration
	// Step is the least by which the counter moves: what two readings differ by
	// is off by as much to either side. 0 for a model, and where it is not known.
	Step Energy
	// InTotal is set on the domains whose sum is the machine's energy.
	InTotal bool
	// Whole is set on a domain that includes all others, whatever they are: what the
	// machine draws from its power supplies.
	Whole bool
	// Program is set on a domain whose energy is the program's alone.
	Program bool
	// Lo and Hi bound the true value as factors of the reading (95 %):
	// 0.5 and 1.5 for a model that is good to +-50 %, 1 and 1 for a counter.
	Lo, Hi float64
	// Habits are how its counter follows its power.
	Habits Habits
	// Most is a power in watts that the domain cannot draw: a counter that
	// shows more is taken in the wrong unit. 0 where nothing is known.
	Most float64
	// Base is the power in watts that the domain draws with idle processors,
	// where a model tells it or it was measured before the run; 0 where it is
	// not known. BaseLo and BaseHi bound one that was measured, with BaseHi
	// above 0.
	Base, BaseLo, BaseHi float64
	// BaseUse is the use of the processors while Base was measured (see UseOf), and BaseUseHi the most that it can have
	// been, as others' time is told in ticks. What that drew is in Base.
	BaseUse, BaseUseHi float64
	// BaseSpan is for how long the machine was idle while Base was measured. BaseHi bounds the mean of that time: in a
	// shorter one what it draws varies more. 0 where it was not idle, and where that is not known.
	BaseSpan time.Duration
	// BaseMethod says how a measured Base was found; "" is IdleBaseline.
	BaseMethod IdleMethod
	// Remembered is what earlier runs on this machine showed of the domain's idle power:
	// measured (IdleRemembered), or only what it does not exceed (IdleBound). Its Hi is
	// 0 where nothing is known.
	Remembered IdlePower
	// IdleShare is the part of its full power that the domain draws with idle
	// processors, as published for machines of its age, and IdleShareMost the
	// most that it may be: they set idle energy aside where Base is not
	// known. 0 sets nothing aside.
	IdleShare, IdleShareMost float64
}

// fewProcessors is how many processors have a machine's whole use: one of them that works lets a machine of a hundred
// draw much more than none.
const fewProcessors = 4

// UseOf tells how far a machine is from idle on which so many of all its processors are in use on average: 0 where none
// is, and 1 where all are. Of more than four, 1 is four of them, and all are more than 1.
func UseOf(busy, all float64) float64 { return busy / min(fewProcessors, max(1, all)) }

// UseRemembered takes the idle power that earlier runs measured, where none is known.
func (d *Domain) UseRemembered() {
	if r := d.Remembered; d.Base <= 0 && r.Method == IdleRemembered {
		d.Base, d.BaseLo, d.BaseHi, d.BaseMethod = r.Power, r.Lo, r.Hi, r.Method
	}
}

// IdlePower is what a domain draws with idle processors, in watts, with the interval in
// which it lies.
type IdlePower struct {
	Power, Lo, Hi float64
	Method        IdleMethod
}

// IdleMethod says how an idle power was found.
type IdleMethod string

// The methods, the best first.
const (
	IdleModel      IdleMethod = "model"      // the energy is a model's, and so is the idle power
	IdleBaseline   IdleMethod = "baseline"   // measured before the run, as the user asked (--baseline)
	IdleBefore     IdleMethod = "before"     // measured before the run, since the machine was idle then
	IdleRun        IdleMethod = "run"        // measured in the run, while the processors were nearly idle
	IdleRemembered IdleMethod = "remembered" // measured on this machine at another time
	IdleBound      IdleMethod = "bound"      // less than published: the machine was seen to draw less
	IdlePublished  IdleMethod = "published"  // the share that machines of this age draw
	IdleUnknown    IdleMethod = ""           // nothing is set aside
)

// Weaker reports whether an idle power of one method is known less well than that of another.
func (m IdleMethod) Weaker(than IdleMethod) bool {
	rank := map[IdleMethod]int{IdleModel: 1, IdleBaseline: 2, IdleBefore: 3, IdleRun: 4, IdleRemembered: 5,
		IdleBound: 6, IdlePublished: 7, IdleUnknown: 8}
	return rank[m] > rank[than]
}

// Resolves tells whether e, what the counter moved by in a run, is an energy. One
// that has not moved says nothing of a part of the machine that is on: the run was
// too short for its steps, or the counter stands still.
func (d Domain) Resolves(e Energy) bool { return e > 0 || !d.InTotal || d.Method == Estimated }

// ReadsMachine tells whether a domain has what is read of the machine, so that others' energy is in it, and its idle
// power can be measured. A model has neither, nor has a domain of the program's alone.
func (d Domain) ReadsMachine() bool { return !d.Program && d.Method.IsRead() }

// ShareIdle sets how much of its power the domain draws with idle processors, as published for machines like this one.
// Memory may draw all of it, however busy the processors are.
func (d *Domain) ShareIdle(cpu processor.CPU) {
	d.IdleShare, d.IdleShareMost = cpu.IdleShare()
	if d.Kind == "dram" {
		d.IdleShareMost = 1
	}
}

// KindGPU is the Kind of a GPU's domain.
const KindGPU = spec.KindGpu

// FollowsProcessors tells whether a domain's energy belongs to whoever used the processors
// while it was drawn. A GPU works on while the program that gave it the work waits, or is
// over: its energy is nobody's.
func (d Domain) FollowsProcessors() bool { return d.Kind != KindGPU }

// Sample is the state of every domain at one moment.
type Sample struct {
	At     checkpoint.Tick    // channel clock, halfway through the reading
	Time   checkpoint.Instant // the same moment on CLOCK_MONOTONIC
	Width  time.Duration      // what the reading of the counters took
	Energy []Energy           // per domain, unwrapped, since the first sample
	// Late is, per domain, how much older than the sample, or younger, the reading
	// behind Energy may be, where that is more than the period of its counter; nil
	// where it is nowhere.
	Late []time.Duration
	// Gap is set when a reading failed or came more than two periods late:
	// the energy since the sample before is known only as a sum.
	Gap bool
	// Failed is set when a reading failed, or a slow sensor's is still to
	// come: a later sample reports that domain's energy.
	Failed bool
	Usage  account.Usage
	// Tally is set by a Recording.
	Tally Tally
}

// Series is what a run measured. Energies are cumulative, so leaving out
// samples loses detail in time and no energy.
type Series struct {
	Domains []Domain
	Samples []Sample
	Gaps    int
	// Interval is the median time between samples, before any was left out;
	// 0 where that is not known.
	Interval time.Duration
}
