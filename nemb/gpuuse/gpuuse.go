// Package gpuuse tells the sessions of a program what the program used of GPUs.
//
// In go the samples of a sampler, and what the drivers of GPUs answer when they are asked who uses them. Out come the
// words of the sampler's ring that readers find behind its samples (nemb/RING.md). The energy is divided as
// gpus.Stream does it. The driver tells late, and so does this.
package gpuuse

import (
	"slices"
	"sync"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/gpus"
	"cg/nemb/sampler"
)

// The owners of processes as a Stream sees them: those of one owner are one process.
const (
	nobodys = iota // it is not known whose
	programs
	others
)

// hidden is the part of the time in which kernels may run that the driver rounds to nothing.
const hidden = 0.01

// Ring is what shows it to readers (*sampler.Sampler).
type Ring interface {
	Domains() []nemb.Domain
	Faults() []sampler.Faults
	TellGPU(domain int, g sampler.GPUState)
	TellGPUsAsked(at checkpoint.Instant)
	TellGPUUse(domain int, g sampler.GPUUse)
}

// Teller tells what the program used. Its methods may be called by several goroutines. The nil Teller tells nothing.
type Teller struct {
	ring  Ring
	owner func(pid int) gpus.Owner

	mu   sync.Mutex
	gpus []*gpu

	stop   chan struct{}
	asking sync.WaitGroup
}

// gpu is one whose driver is asked.
type gpu struct {
	domain  int
	sensor  nemb.Occupied
	stream  gpus.Stream
	held    bool
	unknown gpus.Reason // why it was not known last whose a process is
	shown   sampler.GPUState
	asked   checkpoint.Instant // when its driver was asked for its last answer, 0 before the first
	told    bool               // its driver has told who used it
	used    bool               // the program used it in the piece before
	counted bool               // its counter was read
	lost    int                // how often the counter had a reset or a lap by then
}

// Reasons are the sampler's Config.GPUReasons.
func Reasons() []sampler.GPUReason {
	var all []sampler.GPUReason
	for _, r := range gpus.Reasons() {
		all = append(all, sampler.GPUReason{Name: string(r), Why: r.Why()})
	}
	return all
}

// numberOf is that of a reason in Reasons.
func numberOf(r gpus.Reason) int { return slices.Index(gpus.Reasons(), r) + 1 }

// New is a Teller of the GPUs among a sampler's sensors, nil where there are none whose driver can be asked. owner says
// whose a process is.
func New(ring Ring, sensors []nemb.Sensor, owner func(pid int) gpus.Owner) *Teller {
	t := &Teller{ring: ring, owner: owner, stop: make(chan struct{})}
	domains, d := ring.Domains(), 0
	for _, s := range sensors {
		if of, is := s.(nemb.Occupied); is {
			t.gpus = append(t.gpus, &gpu{domain: d, sensor: of, stream: gpus.Stream{Period: domains[d].Period,
				Habits: domains[d].Habits}})
		}
		d += len(s.Domains())
	}
	if len(t.gpus) == 0 {
		return nil
	}
	return t
}

// OwnerBy tells whose a process is by the account of the program.
func OwnerBy(a *account.Account) func(pid int) gpus.Owner {
	return func(pid int) gpus.Owner {
		switch a.Member(pid) {
		case account.Member:
			return gpus.Program
		case account.Vanished:
			return gpus.Gone
		}
		return gpus.Other
	}
}

// Begin asks drivers now and each nemb.AskEvery until Finish, in the background: a driver may hang. Until one answers,
// the program may use its GPU, for what readers know: they wait for the answer.
func (t *Teller) Begin() {
	if t == nil {
		return
	}
	t.mu.Lock()
	for _, g := range t.gpus {
		t.show(g, sampler.GPUState{Asked: true, Held: true, Awaited: true})
	}
	t.mu.Unlock()
	t.asking.Go(func() {
		t.ask()
		nemb.AskUntil(t.stop, t.ask)
	})
}

func (t *Teller) ask() {
	for _, g := range t.gpus {
		t.Answer(g.domain, g.sensor.Occupants())
	}
}

// Answer takes what the driver of a domain's GPU answered. Begin does it by itself.
func (t *Teller) Answer(domain int, o nemb.Occupancy) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.gpus {
		if g.domain == domain {
			t.take(g, o)
		}
	}
}

func (t *Teller) take(g *gpu, o nemb.Occupancy) {
	g.held = g.held || !o.KnowsContexts
	o.Contexts, o.Uses, o.Instances = t.contexts(g, o.Contexts), t.uses(g, o.Uses), t.instances(g, o.Instances)
	g.stream.Answer(o)
	refused, _ := g.stream.Refused()
	g.told = g.told || refused == gpus.Resolved // what it told before it refused stays
	t.show(g, sampler.GPUState{Asked: true, Held: g.held, Awaited: g.told, Reason: numberOf(refused)})
	t.tell(g, g.stream.Settle(false))
	g.asked = o.At
	oldest := g.asked
	for _, other := range t.gpus {
		oldest = min(oldest, other.asked)
	}
	t.ring.TellGPUsAsked(oldest) // after the states
}

// show tells the state of a GPU where it is new.
func (t *Teller) show(g *gpu, state sampler.GPUState) {
	if state != g.shown {
		g.shown = state
		t.ring.TellGPU(g.domain, state)
	}
}

// whose is the owner of a process.
func (t *Teller) whose(g *gpu, pid int) int {
	owner := gpus.Foreign
	if pid > 0 {
		owner = t.owner(pid)
	}
	switch owner {
	case gpus.Program:
		g.held = true
		return programs
	case gpus.Other:
		return others
	case gpus.Gone:
		g.unknown = gpus.Vanished
	default:
		g.unknown = gpus.Namespace
	}
	g.held = true // maybe
	return nobodys
}

// contexts joins those of each owner. Where the memory of one is not known, that of its owner is not.
func (t *Teller) contexts(g *gpu, all []nemb.Context) (joined []nemb.Context) {
	for _, c := range all {
		of := t.whose(g, c.PID)
		i := slices.IndexFunc(joined, func(o nemb.Context) bool { return o.PID == of })
		switch {
		case i < 0:
			joined = append(joined, nemb.Context{PID: of, Memory: c.Memory})
		case c.Memory == 0 || joined[i].Memory == 0:
			joined[i].Memory = 0
		default:
			joined[i].Memory += c.Memory
		}
	}
	return joined
}

// uses joins those of each owner.
func (t *Teller) uses(g *gpu, all []nemb.Use) (joined []nemb.Use) {
	for _, u := range all {
		of := t.whose(g, u.PID)
		i := slices.IndexFunc(joined, func(o nemb.Use) bool { return o.PID == of })
		if i < 0 {
			i = len(joined)
			joined = append(joined, nemb.Use{PID: of})
		}
		joined[i].Part, joined[i].Lo, joined[i].Hi = joined[i].Part+u.Part, joined[i].Lo+u.Lo, joined[i].Hi+u.Hi
	}
	return joined
}

// instances joins the members of each owner: an instance that is all the program's is known as such, however many
// processes of it compute there.
func (t *Teller) instances(g *gpu, all []nemb.Instance) (joined []nemb.Instance) {
	for _, in := range all {
		if len(in.Members) == 0 { // it is not known whose it is
			t.whose(g, 0)
		}
		joined = append(joined, in.Joined(func(pid int) int { return t.whose(g, pid) }))
	}
	return joined
}

// Take takes what the counters of GPUs show in samples.
func (t *Teller) Take(samples []nemb.Sample) {
	if t == nil || len(samples) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	faults := t.ring.Faults()
	for _, g := range t.gpus {
		lost := g.lost
		if g.domain < len(faults) {
			lost = faults[g.domain].Resets + faults[g.domain].Laps
		}
		if lost > g.lost && g.counted {
			t.tell(g, g.stream.Lost(samples[0].Time))
		}
		g.lost, g.counted = lost, true
		for i := range samples {
			g.stream.Counter(samples[i].Time, samples[i].Energy[g.domain])
		}
		t.tell(g, g.stream.Settle(false))
	}
}

// Finish asks once more, and tells all that is known up to a moment. The drivers' last samples are waited for.
func (t *Teller) Finish(until checkpoint.Instant) {
	if t == nil {
		return
	}
	close(t.stop)
	t.asking.Wait()
	t.ask()
	nemb.AskLast(nemb.WallClock, t.gpus, func(g *gpu) bool { return t.awaits(g, until) }, func(g *gpu) {
		t.Answer(g.domain, g.sensor.Occupants())
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.gpus {
		t.tell(g, g.stream.Settle(true))
	}
}

// awaits tells whether the driver of a GPU that the program may have used has not told yet who used it until then.
func (t *Teller) awaits(g *gpu, until checkpoint.Instant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen, _ := g.stream.SeenUntil()
	return g.shown.Held && g.shown.Awaited && seen < until
}

// tell shows pieces.
func (t *Teller) tell(g *gpu, pieces []gpus.Piece) {
	for i := range pieces {
		t.ring.TellGPUUse(g.domain, g.use(&pieces[i]))
	}
}

// use is whose a piece is.
func (g *gpu) use(p *gpus.Piece) sampler.GPUUse {
	u := sampler.GPUUse{From: p.From, To: p.To, Idle: p.Idle, Unattributed: p.Unattributed, Reason: numberOf(p.Reason)}
	for _, of := range p.Uses {
		switch of.PID {
		case programs:
			u.Program, u.Lo, u.Hi, u.Off = of.Energy, of.Lo, of.Hi, of.Off
		case others:
			u.Other = of.Energy
		default:
			if u.Unattributed += of.Energy; of.Energy > 0 {
				u.Reason = numberOf(g.unknown)
			}
		}
	}
	if !g.held {
		return u
	}
	// Where kernels end, the counter may tell of them in the piece after that.
	if u.Program == 0 && (g.used || u.Unattributed > 0) {
		u.Off = max(u.Off, p.Hidden)
	}
	if g.used = u.Program > 0; !g.used {
		u.Hi += hidden * float64(p.Total-u.Idle)
	}
	if u.Unattributed > 0 { // the idle power may be less, too
		u.Hi += float64(u.Unattributed + u.Idle)
	}
	u.Hi = min(float64(p.Total), u.Hi)
	return u
}
