package monitor

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cg/nemb"
)

// Snapshot is the state of the book. It is a copy.
func (b *Book) Snapshot() *Snapshot {
	s := &Snapshot{
		Began: b.began, At: b.at, BeganUnix: b.beganUnix, AtUnix: b.atUnix, Window: b.window, Readings: b.readings,
		HasGroups: b.hasGroups, KnowsAll: b.knowsBusy, Removed: slices.Clone(b.removed),
	}
	for d, domain := range b.domains {
		w := &b.windows[d].Domains[0]
		lo, hi := b.windows[d].Known(0)
		s.Domains = append(s.Domains, Domain{
			Domain: domain, Total: w.Total, Idle: w.Idle, Own: w.Own, Groups: w.Program, Other: w.Other,
			Unattributed: w.Unattributed, Lo: lo, Hi: hi, Watts: b.watts[d], Failed: b.failed[d],
			Readable: b.readable[d], Seen: !math.IsNaN(b.first[d]),
		})
		if b.gpus[d] != nil {
			b.gpus[d].domain(&s.Domains[d])
		}
	}
	s.Processes = make([]Process, 0, len(b.processes)+len(b.ended))
	for _, p := range b.processes {
		s.Processes = append(s.Processes, Process{p.Process, b.share(s, &p.tally, p.Over)})
	}
	for _, p := range b.ended {
		s.Processes = append(s.Processes, Process{p.Process, b.share(s, &p.tally, true)})
	}
	for _, g := range b.groups {
		s.Groups = append(s.Groups, Group{g.path, g.serial, b.share(s, &g.tally, false)})
	}
	for _, g := range b.gone {
		s.Groups = append(s.Groups, Group{g.path, g.serial, b.share(s, &g.tally, true)})
	}
	for _, t := range b.targets {
		state := TargetState{Target: t.Target, Share: b.share(s, &t.tally, b.over(t)), Processes: t.processes,
			BeganUnix: cmp.Or(t.beganUnix, b.beganUnix)}
		if t.Kind != PID {
			for _, p := range b.processes {
				if !p.Over && t.holds(b.place(p.Group).path) {
					state.Processes++
				}
			}
		}
		s.Targets = append(s.Targets, state)
	}
	s.Routes, s.Ignored = b.requests.snapshot(s), b.requests.ignored+b.spans.ignored
	return s
}

// over reports whether nothing of a target is there.
func (b *Book) over(t *target) bool {
	if t.Kind == PID {
		return t.processes == 0
	}
	for path := range b.groups {
		if t.holds(path) {
			return false
		}
	}
	return true
}

// share is a tally with its bounds.
func (b *Book) share(s *Snapshot, t *tally, ended bool) Share {
	share := Share{Energy: slices.Clone(t.energy), CPU: t.cpu, Ended: ended}
	share.Watts, share.GPU.Watts = b.wattsOf(t)
	total := nemb.Energy(0)
	for d := range s.Domains {
		if domain := &s.Domains[d]; domain.Domain.InTotal {
			total += t.energy[d]
			lo, hi := t.energy[d].Joules()*domain.Lo, t.energy[d].Joules()*domain.Hi
			if t.gpus != nil && domain.Divided {
				lo, hi = t.gpus[d].of(t.energy[d])
				lo, hi = lo*domain.Domain.Lo, hi*domain.Domain.Hi
			}
			share.Lo, share.Hi = share.Lo+lo, share.Hi+hi
			if domain.Divided {
				gpu := &share.GPU
				gpu.Joules, gpu.Lo, gpu.Hi = gpu.Joules+t.energy[d].Joules(), gpu.Lo+lo, gpu.Hi+hi
			}
		}
	}
	share.Joules = total.Joules()
	return share
}

// Check recomputes the sums of a snapshot and names each that is wrong: of each domain the
// lines are the total, and the groups are their line.
func (s *Snapshot) Check() (faults []string) {
	for d := range s.Domains {
		domain := &s.Domains[d]
		sum := nemb.Energy(0)
		for _, e := range domain.parts() {
			sum += e
		}
		if sum != domain.Total {
			faults = append(faults, fmt.Sprintf("%s: the lines are %d µJ, the total is %d µJ", domain.Domain.ID, sum,
				domain.Total))
		}
		groups := s.Removed[d]
		for i := range s.Groups {
			groups += s.Groups[i].Energy[d]
		}
		if groups != domain.Groups {
			faults = append(faults, fmt.Sprintf("%s: the groups are %d µJ, their line is %d µJ", domain.Domain.ID,
				groups, domain.Groups))
		}
	}
	return faults
}
