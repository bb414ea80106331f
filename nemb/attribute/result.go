package attribute

import (
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/calls"
	"cg/nemb/attribute/gpus"
	"cg/nemb/attribute/regression"
)

// Methods of a function's energy.
const (
	// Regression: power from a regression of the program's energy on time in
	// functions, times time; each block of windows shared out in proportion.
	Regression = "regression"
	// TimeShare: each window's energy in proportion to processor time.
	TimeShare = "time-share"
)

// Reason says why the data do not show a function's energy.
type Reason = regression.Reason

const (
	Resolved  = regression.Resolved
	TooLittle = regression.TooLittle
	Collinear = regression.Collinear
	Noisy     = regression.Noisy
)

// Calls is what is known of single calls of a site.
type Calls = calls.Summary

// Times is how long single calls of a site took.
type Times = calls.Times

// TimeBin is how many calls took how long.
type TimeBin = calls.Bin

// Quantile is a time that a part of the calls of a site did not exceed.
type Quantile = calls.Quantile

// Span is a call that was long, and when it was.
type Span = calls.Span

// Value is an energy with its interval.
type Value struct {
	Energy, Lo, Hi nemb.Energy
}

// Cost is what a site used in a run. Self is what it used itself; Inclusive
// adds what it called, counting a recursive call once.
type Cost struct {
	Site            checkpoint.SiteID
	Calls           uint64
	First           checkpoint.Instant // when it was entered for the first time
	Cut             uint64             // calls whose end nobody has seen: they end at the last known moment
	Self, Inclusive Value
	// Single is what single calls used, where they were long enough.
	Single Calls
	// Times is how long single calls took.
	Times Times
	// Method is how Self was found. Reason is set when the half-width of its interval
	// exceeds half its value, without what others may have drawn beside the program. Group
	// lists the sites whose power the data cannot separate from this one's, 0 for what is
	// no site.
	Method  string
	Reason  Reason
	Group   []checkpoint.SiteID
	Domains []nemb.Energy // self energy, per domain
	// InclusiveDomains is the inclusive energy per domain.
	InclusiveDomains []nemb.Energy
	SelfTime         time.Duration // wall-clock time, summed over threads
	InclusiveTime    time.Duration
	CPUTime          time.Duration // processor time of the self part
	// Suspended is the time for which its frames were on no thread.
	Suspended time.Duration

	// SelfTimeDoubt is the half-width of the interval (95 %) of SelfTime, as far as it is
	// an estimate: of events that were counted and not timed.
	SelfTimeDoubt time.Duration

	// Looks is how often somebody who looked from outside saw it run on a processor, itself, and
	// LooksUnder itself or what it called. Calls is 0 then.
	Looks, LooksUnder uint64

	// The variances, in microjoules^2, of its energies as far as looks are a sample.
	looksDoubt, looksUnderDoubt float64

	// besideDoubt is how much wider the interval of Self is for what others may have drawn, where the data do not
	// show its energy, in microjoules.
	besideDoubt float64

	doubt, inclusiveDoubt     float64 // variances of its time in ticks^2, see countedDoubt
	warming, inclusiveWarming float64 // ticks, see warmingDoubt
	events, inclusiveEvents   float64 // checkpoints whose cost lies in it, and with what it called
}

// Ledger accounts for the energy of a domain, or of the machine:
// Functions + Uninstrumented + Background + GPU + Other + Idle + Own + Checkpoints + Unattributed = Total.
type Ledger struct {
	Functions      nemb.Energy   // self energies of all sites
	Uninstrumented nemb.Energy   // the program outside its sites
	Background     []nemb.Energy // classes of threads beside those of the program
	Other          nemb.Energy   // other processes
	Idle           nemb.Energy   // drawn without anybody running, where known
	Own            nemb.Energy   // cg, with its runtime in the program
	Runtime        nemb.Energy   // of Own, what its runtime in the program used outside checkpoints
	Checkpoints    nemb.Energy   // what the program's checkpoints cost it, where that is known
	// GPU is the program's of GPUs' energy, which is not told apart by site.
	GPU          nemb.Energy
	Unattributed nemb.Energy // a GPU's of which nothing tells whose it is, and in windows whose end could not be read
	Total        nemb.Energy
	// ProgramLo and ProgramHi bound what is the program's, the domain's
	// own bounds included.
	ProgramLo, ProgramHi nemb.Energy
	// Late is by how much the total may be off either way, as the readings at its
	// ends took time, and as a GPU's power is sampled for a part of the time alone.
	Late nemb.Energy
}

// Balanced reports whether the law of the ledger holds.
func (l Ledger) Balanced() bool {
	return l.Program()+l.Other+l.Idle+l.Own+l.Checkpoints+l.Unattributed == l.Total
}

// Program is the share of the measured program.
func (l Ledger) Program() nemb.Energy {
	e := l.Functions + l.Uninstrumented + l.GPU
	for _, b := range l.Background {
		e += b
	}
	return e
}

// Path is a call path: a site, called from another path. Self is what it used
// itself.
type Path struct {
	// Parent is the index of the caller's path in Result.Paths, where it stands
	// before this one; -1 for the first, which is what the program used outside
	// its sites.
	Parent int
	// Site is 0 in the first path, and in one that stands for all further
	// paths below its parent, each of which used less than those that are listed.
	Site              checkpoint.SiteID
	Calls             uint64
	Self              nemb.Energy
	SelfTime, CPUTime time.Duration
	// Domains is Self per domain, nil where one domain alone is in the total.
	Domains []nemb.Energy
}

// Place is what a part of the code of a function used, such as a line. Site is 0 for what lies outside of its places.
type Place struct {
	Function, Site checkpoint.SiteID
	Count          uint64 // how often a call came there
	Time, CPU      time.Duration
	// Energy is its part of the self energy of its function, in microjoules, and Lo and Hi are its interval (95 %).
	// Method is Regression where the data show the power of the place, else TimeShare.
	Energy float64
	Lo, Hi nemb.Energy
	Method string
}

// A Result has each call path that with all that it called used smallPath of the program's
// energy, up to MaxPaths in all, and the others up to FewPaths. smallPath is a pixel of a
// picture that is enlarged a thousand times.
const (
	FewPaths  = 1 << 14
	MaxPaths  = 1 << 17
	smallPath = 1e-6
)

// Result is the attribution of a run.
type Result struct {
	Paths   []Path   // what the self energies of Costs and Total.Uninstrumented are made of
	Costs   []Cost   // by falling self energy
	Places  []Place  // by function and site
	Domains []Ledger // per domain
	Total   Ledger   // over the domains that are InTotal
	Stats   Stats
	// Idle is the idle power of each domain, whose energy over the run is the ledgers' Idle,
	// and Seen what the run itself showed of it, for later runs on the machine.
	Idle, Seen []nemb.IdlePower
	Wall       time.Duration // from the first sample to the last
	CPU        time.Duration // of the program

	Background []string // the classes of the ledgers' Background
	// GPUs are the divisions of GPUs' energies, per domain: nil without Assign, and for what is
	// no GPU.
	GPUs []*gpus.Division

	// Checkpoints is what the events cost: time of their threads, and of that
	// processor time. Zero where no writer says what an event costs.
	Checkpoints, CheckpointCPU time.Duration
	// Runtime is what cg's runtime in the program took outside checkpoints: time of its threads, and of
	// that processor time.
	Runtime, RuntimeCPU time.Duration
	Counted             Counted
	Spans               []Span // the longest calls, in the order in which they began

	// Method is Regression where the powers of functions were found in the domain in
	// which the program used most, else TimeShare.
	Method string
}

// Counted is what was counted and not timed, and what an event of either kind costs its
// thread.
type Counted struct {
	Events             uint64
	TimedNs, CountedNs float64
}

// Stats counts what was seen and what did not fit.
type Stats struct {
	Events    uint64 // words folded
	Unwound   uint64 // frames that ended with an outer one
	Closed    uint64 // suspended frames that ended without coming back
	Backwards uint64 // words whose tick is before that of their thread's word before
	Lost      uint64 // events that writers report as lost
	Truncated uint64 // calls charged to another path because there are too many
	OpenAtEnd uint64 // frames open when their thread or the run ended
	Threads   int
	Merged    int // windows joined because a reading failed
	// Disordered counts samples that were behind the one before them in time,
	// energy or processor time, or did not have every domain.
	Disordered int
}
