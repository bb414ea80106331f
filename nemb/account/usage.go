package account

import (
	"slices"
	"time"

	"cg/checkpoint"
)

// Usage is processor time, cumulative since the sampler started, at one
// instant. Program, Own and Other never decrease and exclude each other.
type Usage struct {
	Program time.Duration // the measured process tree
	Own     time.Duration // cg itself
	Other   time.Duration // everyone else on this host
	// Threads are those of the program that were asked for, by id. One that
	// ended is reported once more with its last value and then left out.
	Threads []ThreadUsage
	// Background is what threads of the program used that do not do its work,
	// by class (see Account.Classify). It is part of Program.
	Background []time.Duration
	// Read are the instants of the readings before and after the instant, between which the times are
	// interpolated; the zero value where they are exact.
	Read [2]checkpoint.Instant
}

// ThreadUsage is the processor time of one thread since it started.
type ThreadUsage struct {
	Thread checkpoint.Thread
	CPU    time.Duration
	Queued time.Duration // for which it waited for a processor
	Turns  float64       // how often it got one; 0 where that is not known
	Within time.Duration // of CPU, between the two readings of Usage.Read
	Late   time.Duration // by which CPU may be less than what the thread had used, since the kernel reports that later
}

// Since is u less what had been used at the beginning. Threads keep their own.
func (u Usage) Since(base Usage) Usage {
	u.Program -= base.Program
	u.Own -= base.Own
	u.Other -= base.Other
	if len(base.Background) > 0 {
		u.Background = slices.Clone(u.Background)
		for i, used := range base.Background {
			u.Background[i] -= used
		}
	}
	return u
}
