package sampler

import (
	"cmp"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// Age is how old the readings are that samples show, over all samples of a run.
type Age struct {
	// Of is a domain's ID, or "" for the processor times of the program, of cg and of everyone else.
	Of string
	// Median, P95 and Max are the times that half of the samples, 95 % and all of them do not exceed: of a counter that
	// samples read, the time since the sample before the one that saw it move last, since it moved after that; of a
	// sensor that is read by itself, and of processor times, the time to the nearest reading of it, before or
	// after the sample. Median and P95 are up to a quarter too long (checkpoint.TimeBin).
	Median, P95, Max time.Duration
	// Kernel is by how much the kernel's processor time of a running thread may be behind besides; 0 for domains.
	Kernel time.Duration
}

// ages counts ages in bins of their length (checkpoint.TimeBin), in nanoseconds.
type ages struct {
	bins []uint64
	n    uint64
	most time.Duration
}

// add takes the age of a reading.
func (a *ages) add(age time.Duration) {
	age = max(0, age)
	if a.bins == nil {
		a.bins = make([]uint64, checkpoint.TimeBins)
	}
	// The first bin that ends behind it.
	i, _ := slices.BinarySearchFunc(binEnds, uint64(age)+1, func(end, age uint64) int {
		if end < age {
			return -1
		}
		return 1
	})
	a.bins[min(i, len(a.bins)-1)]++
	a.n++
	a.most = max(a.most, age)
}

// binEnds are the ends of checkpoint.TimeBin.
var binEnds = func() (ends []uint64) {
	for i := range checkpoint.TimeBins {
		_, to := checkpoint.TimeBin(i)
		ends = append(ends, to)
	}
	return ends
}()

// below is an age that so much of the samples do not exceed.
func (a *ages) below(part float64) time.Duration {
	sum := uint64(0)
	for i, n := range a.bins {
		if sum += n; n > 0 && float64(sum) >= part*float64(a.n) {
			return min(a.most, time.Duration(binEnds[i]-1))
		}
	}
	return a.most
}

func (a *ages) age(of string) Age {
	return Age{Of: of, Median: a.below(0.5), P95: a.below(0.95), Max: a.most}
}

// Ages tells how old the readings are that the samples show which Poll and Stop returned: first of the processor
// times, where there is an account, then of the domains in the order of Domains. It leaves out domains that are no
// readings: models follow the processor times.
func (s *Sampler) Ages() (all []Age) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usageAges.n > 0 {
		of := s.usageAges.age("")
		of.Kernel = s.kernelLate
		all = append(all, of)
	}
	for d := range s.ages {
		if s.ages[d].n > 0 {
			all = append(all, s.ages[d].age(s.domains[d].ID))
		}
	}
	return all
}

// noteAges takes the ages of what a sample shows. reads tells whether the thread has read a counter for it: a sensor
// that the thread leaves to itself is read by the thread up to some sample, and by itself from then on.
func (s *Sampler) noteAges(sample *nemb.Sample, reads func(counter int) bool) {
	for i, d := range s.fast {
		if reads(i) {
			s.ages[d].add(time.Duration(sample.Time - s.shownAt[d]))
		}
	}
	for _, slow := range s.slow {
		if slow.word >= 0 && reads(slow.word) {
			continue
		}
		if age, ok := slow.age(sample.Time); ok {
			for i := range slow.domains {
				s.ages[slow.at+i].add(age)
			}
		}
	}
	if s.account != nil && !s.private {
		s.usageAges.add(nearest(s.usage.times, sample.Time))
		for _, t := range sample.Usage.Threads {
			s.kernelLate = max(s.kernelLate, t.Late)
		}
	}
}

// nearest is how far an instant is from the nearest of ascending ones.
func nearest(times []checkpoint.Instant, t checkpoint.Instant) time.Duration {
	i, _ := slices.BinarySearch(times, t)
	best := checkpoint.Instant(-1)
	for _, k := range []int{i - 1, i} {
		if k < 0 || k >= len(times) {
			continue
		}
		if off := max(t-times[k], times[k]-t); best < 0 || off < best {
			best = off
		}
	}
	return time.Duration(max(0, best))
}

// age is how far a sample is from the nearest reading that succeeded; in steps, from the last that had come back by
// then. It is not ok before there is one.
func (s *slowSensor) age(t checkpoint.Instant) (age time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steps {
		p := s.points[s.newest(t)]
		return time.Duration(max(0, t-p.at)), !p.failed
	}
	best := checkpoint.Instant(-1)
	after, _ := slices.BinarySearchFunc(s.points, t, func(p energyPoint, t checkpoint.Instant) int {
		return cmp.Compare(p.at, t)
	})
	for _, way := range []struct{ i, by int }{{after - 1, -1}, {after, 1}} {
		i := way.i
		for i >= 0 && i < len(s.points) && s.points[i].failed {
			i += way.by
		}
		if i >= 0 && i < len(s.points) {
			if off := max(t-s.points[i].at, s.points[i].at-t); best < 0 || off < best {
				best = off
			}
		}
	}
	return time.Duration(max(0, best)), best >= 0
}
