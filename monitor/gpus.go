package monitor

import (
	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
)

// gpu is a GPU whose driver tells which processes use it: its energy is theirs by that, and not by processor time. It
// is settled when the driver has told of the time, up to a second late, and is not in the domain's total before.
type gpu struct {
	stream                            gpus.Stream
	total, idle, groups, unattributed nemb.Energy
	bounds                            gpuBounds // of groups
	reason                            gpus.Reason
}

// gpuBounds are those of somebody's energy of a GPU, in microjoules: from lo to hi, and to either side the root of
// squares, with what the counter is late.
type gpuBounds struct {
	lo, hi, squares float64
	lag             gpus.Lag
}

func (b *gpuBounds) add(u gpus.Used) {
	b.lo, b.hi, b.squares = b.lo+u.Lo, b.hi+u.Hi, b.squares+u.Off*u.Off
	b.lag.Add(u.Lag)
}

// of are the bounds of an energy in joules.
func (b *gpuBounds) of(e nemb.Energy) (lo, hi float64) {
	off := b.lag.With(b.squares)
	lo = min(e.Joules(), max(0, b.lo-off)*1e-6)
	return lo, max(e.Joules(), (b.hi+off)*1e-6)
}

// occupied is the gpu of a domain, nil for any other domain. It begins with the first answer of a driver.
func (b *Book) occupied(d int, r *Reading) *gpu {
	if b.gpus[d] == nil && b.readings == 1 && d < len(r.Occupancies) && len(r.Occupancies[d]) > 0 {
		b.gpus[d] = &gpu{stream: gpus.Stream{Period: b.domains[d].Period, Habits: b.domains[d].Habits}}
	}
	return b.gpus[d]
}

// occupy takes what the driver of a GPU and its counter show, and divides what is settled.
func (b *Book) occupy(g *gpu, d int, r *Reading) {
	if d < len(r.Occupancies) {
		for _, o := range r.Occupancies[d] {
			g.stream.Answer(o)
		}
	}
	if d < len(r.Lost) && r.Lost[d] {
		b.settleGPU(g, d, g.stream.Lost(r.At))
	} else if b.readable[d] {
		g.stream.Counter(r.At, b.totals[d])
	}
	b.settleGPU(g, d, g.stream.Settle(false))
}

// Occupants takes what the driver of a domain's GPU told between two readings, or after the last.
func (b *Book) Occupants(d int, o nemb.Occupancy) {
	if g := b.gpus[d]; g != nil {
		g.stream.Answer(o)
	}
}

// FinishGPUs divides all that the counters of GPUs showed, after the last reading.
func (b *Book) FinishGPUs() {
	for d, g := range b.gpus {
		if g != nil {
			b.settleGPU(g, d, g.stream.Settle(true))
		}
	}
}

// AwaitsGPU tells whether the driver of a domain's GPU has not told yet who used it up to the last reading, though
// somebody did before.
func (b *Book) AwaitsGPU(d int, until checkpoint.Instant) bool {
	g := b.gpus[d]
	if g == nil {
		return false
	}
	seen, used := g.stream.SeenUntil()
	refused, _ := g.stream.Refused()
	return used && refused == gpus.Resolved && seen < until
}

// RefusedGPU is why the driver of a domain's GPU does not tell who uses it, and what it answered; Resolved where it
// does.
func (b *Book) RefusedGPU(d int) (gpus.Reason, error) {
	if b.gpus[d] == nil {
		return gpus.Resolved, nil
	}
	return b.gpus[d].stream.Refused()
}

// settleGPU divides pieces: each process's is its group's and its targets', too.
func (b *Book) settleGPU(g *gpu, d int, pieces []gpus.Piece) {
	if len(pieces) == 0 {
		return
	}
	sum := nemb.Energy(0)
	for i := range pieces {
		sum += pieces[i].Total
	}
	b.lasted[d] = float64(pieces[len(pieces)-1].To-pieces[0].From) * 1e-9
	b.closings[d]++
	b.watts[d] = sum.Joules() / b.lasted[d]
	g.reason = gpus.Resolved
	for i := range pieces {
		p := &pieces[i]
		g.total += p.Total
		g.idle += p.Idle
		g.unattributed += p.Unattributed
		if p.Unattributed > 0 {
			g.reason = p.Reason
		}
		for _, u := range p.Uses {
			who := b.numbered(u.PID)
			if who == nil {
				if g.unattributed += u.Energy; u.Energy > 0 {
					g.reason = whyUnknown(u.PID)
				}
				continue
			}
			b.use(g, d, who, u)
		}
	}
}

func whyUnknown(pid int) gpus.Reason {
	if pid == 0 {
		return gpus.Namespace
	}
	return gpus.Vanished
}

// use gives a process what it used of a GPU.
func (b *Book) use(g *gpu, d int, p *process, u gpus.Used) {
	to := []*tally{&p.tally}
	for _, t := range p.targets {
		to = append(to, &t.tally)
	}
	group := b.place(p.Group)
	to = append(to, &group.tally)
	for _, t := range group.targets {
		to = append(to, &t.tally)
	}
	g.groups += u.Energy
	g.bounds.add(u)
	for _, t := range to {
		b.pay(t, d, u.Energy)
		if t.gpus == nil {
			t.gpus = make([]gpuBounds, len(b.domains))
		}
		t.gpus[d].add(u)
	}
}

// numbered is the process that has a number, or had it last; nil where none has been seen.
func (b *Book) numbered(pid int) *process {
	if p := b.byPID[pid]; p != nil || pid == 0 {
		return p
	}
	for i := len(b.ended) - 1; i >= 0; i-- {
		if b.ended[i].PID == pid {
			return b.ended[i]
		}
	}
	return nil
}

// domain is the state of a GPU in a snapshot.
func (g *gpu) domain(d *Domain) {
	d.Total, d.Idle, d.Own, d.Groups, d.Other, d.Unattributed = g.total, g.idle, 0, g.groups, 0, g.unattributed
	d.Divided, d.Reason = true, g.reason
	if refused, _ := g.stream.Refused(); refused != gpus.Resolved {
		d.Reason = refused
	}
	if d.Lo, d.Hi = 1, 1; g.groups > 0 {
		lo, hi := g.bounds.of(g.groups)
		d.Lo, d.Hi = lo/g.groups.Joules()*d.Domain.Lo, hi/g.groups.Joules()*d.Domain.Hi
	}
}

// OfGPUs is a snapshot of the GPUs alone: their energy is the machine's, and shares are those of it.
func (s *Snapshot) OfGPUs() *Snapshot {
	of := *s
	of.Domains = append([]Domain{}, s.Domains...)
	for d := range of.Domains {
		of.Domains[d].Domain.InTotal = of.Domains[d].Domain.InTotal && !of.Domains[d].Domain.FollowsProcessors()
	}
	of.Processes = append([]Process{}, s.Processes...)
	for i := range of.Processes {
		of.Processes[i].Share = of.Processes[i].ofGPUs()
	}
	of.Groups = append([]Group{}, s.Groups...)
	for i := range of.Groups {
		of.Groups[i].Share = of.Groups[i].ofGPUs()
	}
	return &of
}

func (s Share) ofGPUs() Share {
	s.Joules, s.Lo, s.Hi, s.Watts = s.GPU.Joules, s.GPU.Lo, s.GPU.Hi, s.GPU.Watts
	return s
}

// DividesGPUs tells whether the driver of any GPU in the total is asked who uses it.
func (s *Snapshot) DividesGPUs() bool {
	for i := range s.Domains {
		if d := &s.Domains[i]; d.Divided && d.Domain.InTotal {
			return true
		}
	}
	return false
}
