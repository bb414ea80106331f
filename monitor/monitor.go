// Package monitor divides the energy of a machine among what runs on it, for as long as it
// is asked to: processes, control groups, units and containers.
//
// It takes readings (Reading): what each counter has counted, and what each process and
// control group has used of the processors. Of each window between two readings it sets
// idle power aside, divides the rest by processor time, and adds the parts up (Book). It
// gives, at any time, what was counted since the first reading (Snapshot). Energies are
// whole microjoules, and of each domain idle + cg + groups + other + unattributed = total.
//
// A process is known by its number and its start. What a process used between the last
// reading and its end, and what processes used that lived between two readings, is that of
// the one that waited for them, and of their control group in any case. What a group used
// between the last reading and its end is that of the group above it. So a target may lack
// its last interval.
//
// A counter that could not be read stands still. What it shows later is divided among all
// who ran meanwhile. The energy is lost where cg has no counter and integrates a power,
// and where the counter was reset or may have gone round more than once.
//
// A GPU's energy does not follow the processors. It is that of the processes whose kernels
// ran, as the GPU's driver tells, and nobody's where it does not.
//
// Session reads a live machine at an interval. The packages below monitor show snapshots to
// others; they import it.
package monitor

import (
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/nemb/population"
)

// Reading is what a machine's counters and processors show at one moment.
type Reading struct {
	At   checkpoint.Instant
	Unix int64 // the same moment, ns since 1970
	// Energy is the cumulative microjoules of each domain, from any beginning; NaN for
	// one that could not be read, or whose counter was reset since the reading before.
	Energy []float64
	// Lost says of each domain that its counter was reset: what it counted since it was read
	// last is lost. nil is none.
	Lost []bool
	// Occupancies are what the driver of each domain's GPU told since the reading before, in order; nil where
	// nobody asks one.
	Occupancies [][]nemb.Occupancy
	// Failures says why domains could not be read; nil where all were.
	Failures error
	Host     population.Reading
	// Annotations are what programs said since the reading before, in order. Threads is what
	// those that Book.Threads lists have used up to now.
	Annotations []Annotation
	Threads     map[Thread]time.Duration
	// Spans are requests that programs told since the reading before, after their end.
	Spans []Span
	Last  bool // no reading comes after this one
}

// Snapshot is what was counted from the first reading to the last.
type Snapshot struct {
	Began, At         checkpoint.Instant
	BeganUnix, AtUnix int64         // the same moments, ns since 1970
	Window            time.Duration // from the reading before to the last, 0 before the second
	Readings          int
	Missed            int // intervals without a reading, of a Session
	Domains           []Domain
	Processes         []Process     // those that are there, and that ended lately; in no order
	Groups            []Group       // the same
	Removed           []nemb.Energy // per domain: of groups that ended earlier
	Targets           []TargetState
	Routes            []Route // in the order in which they were named first
	// Ignored is how many annotations were of no use: of processes that are not there, of too
	// many requests at once, ends without a beginning, spans that are too old.
	Ignored             int
	HasGroups, KnowsAll bool // there are control groups; the host's busy time is known
}

// Domain is a part of the machine, and who used its energy.
// Idle + Own + Groups + Other + Unattributed = Total.
type Domain struct {
	Domain       nemb.Domain
	Total        nemb.Energy
	Idle         nemb.Energy
	Own          nemb.Energy // cg
	Groups       nemb.Energy // processes and control groups
	Other        nemb.Energy // interrupts, and processes that nobody saw
	Unattributed nemb.Energy
	Lo, Hi       float64 // bounds of Groups, as factors
	Watts        float64 // in the last window in which its counter moved
	Failed       int     // readings that failed
	Readable     bool    // the last reading succeeded
	Seen         bool    // one has
	// Divided is set for a GPU whose driver is asked who uses it. Reason is why part of its last energy is in
	// Unattributed, or why the driver does not tell.
	Divided bool
	Reason  gpus.Reason
}

// Share is the energy and the processor time of somebody, since the first reading.
type Share struct {
	Energy []nemb.Energy // per domain
	CPU    time.Duration
	// Joules, Lo and Hi are of the domains that make up the total.
	Joules, Lo, Hi float64
	Watts          float64 // of each domain in the last window in which its counter moved
	GPU            Part    // of Joules and Watts, in GPUs
	Ended          bool
}

// Part is a part of a share.
type Part struct{ Joules, Lo, Hi, Watts float64 }

// Process is a process with its share. That of its children which nobody saw is a part.
type Process struct {
	population.Process
	Share
}

// Group is a control group with the share of the processes in it, without the groups
// below.
type Group struct {
	Path   string
	Serial int // tells groups apart that have had the same path
	Share
}

// TargetState is what a target has used.
type TargetState struct {
	Target
	Share
	Processes int   // that are there
	BeganUnix int64 // since when it counts, ns since 1970
}

// Known reports whether the domain's energy is known: a counter that has not moved says
// nothing of a part of the machine that is on.
func (d *Domain) Known() bool { return d.Seen && d.Domain.Resolves(d.Total) }

// Method is how the domain's energy came to be. What is put together from the readings that
// succeeded is no longer simply measured.
func (d *Domain) Method() nemb.Method {
	switch {
	case !d.Known():
		return nemb.Unavailable
	case d.Failed > 0 && d.Domain.Method == nemb.Measured:
		return nemb.Derived
	}
	return d.Domain.Method
}

// Known reports whether the machine's energy is known.
func (s *Snapshot) Known() bool { return s.Method() != nemb.Unavailable }

// Method is the weakest of the methods of the domains that make up the total; Unavailable
// without any, and where the energy of one is not known.
func (s *Snapshot) Method() nemb.Method {
	method := nemb.Unavailable
	for i := range s.Domains {
		d := &s.Domains[i]
		if d.Domain.InTotal && !d.Known() {
			return nemb.Unavailable
		}
		if d.Domain.InTotal && (method == nemb.Unavailable || d.Method().Weaker(method)) {
			method = d.Method()
		}
	}
	return method
}

// ShareMethod is how the energy of a process or a group is known: divided by processor
// time, it is no longer measured.
func (s *Snapshot) ShareMethod() nemb.Method {
	if m := s.Method(); m != nemb.Measured {
		return m
	}
	return nemb.Derived
}

// Elapsed is the time from the first reading to the last.
func (s *Snapshot) Elapsed() time.Duration { return time.Duration(s.At - s.Began) }

// Line is a line of the machine's ledger, of the domains that make up the total.
type Line struct {
	Name   string
	Energy nemb.Energy
}

// Names of the ledger's lines.
const (
	LineGroups       = "processes"
	LineIdle         = "idle"
	LineOwn          = "cg"
	LineOther        = "other"
	LineUnattributed = "unattributed"
)

// Ledger is the division of the machine's energy. Its lines add up to Total.
func (s *Snapshot) Ledger() []Line {
	lines := []Line{{Name: LineGroups}, {Name: LineIdle}, {Name: LineOwn}, {Name: LineOther}, {Name: LineUnattributed}}
	for _, d := range s.Domains {
		if d.Domain.InTotal {
			for i, e := range d.parts() {
				lines[i].Energy += e
			}
		}
	}
	return lines
}

func (d *Domain) parts() [5]nemb.Energy {
	return [5]nemb.Energy{d.Groups, d.Idle, d.Own, d.Other, d.Unattributed}
}

// Lines is the ledger of a domain.
func (d *Domain) Lines() []Line {
	lines := []Line{{Name: LineGroups}, {Name: LineIdle}, {Name: LineOwn}, {Name: LineOther}, {Name: LineUnattributed}}
	for i, e := range d.parts() {
		lines[i].Energy = e
	}
	return lines
}

// Total is the machine's energy.
func (s *Snapshot) Total() nemb.Energy {
	sum := nemb.Energy(0)
	for _, d := range s.Domains {
		if d.Domain.InTotal {
			sum += d.Total
		}
	}
	return sum
}

// Watts is the machine's power in the last window.
func (s *Snapshot) Watts() float64 {
	sum := 0.0
	for _, d := range s.Domains {
		if d.Domain.InTotal {
			sum += d.Watts
		}
	}
	return sum
}
