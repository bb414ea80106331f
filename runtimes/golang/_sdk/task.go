package codegreen

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Task is a part of a program, open or over. The methods of a nil task do nothing.
//
// Energies are computed when they are asked for, some 20 ms after the end at the
// earliest; the first asking may wait for so long.
type Task struct {
	session *Session
	parent  *Task
	group   *Group // nil but for tasks of one
	name    string
	depth   int
	thread  int
	started int64 // CLOCK_MONOTONIC in ns

	// Under session.mu.
	ended     int64 // 0 while it is open
	forgotten bool
	inside    crowd
	last      *Task // the last that began inside, to name it
	units     []counted

	// Under session.data.
	resolved bool
	energy   *energy  // nil where it is not known
	gpus     []gpuUse // whose the energy of GPUs was, as far as that of all is known
}

type key struct{}

// Task begins a task inside that of the context, and returns a context for what
// belongs to it. A task that is over, and one of another session, is nobody's parent.
func (s *Session) Task(ctx context.Context, name string) (context.Context, *Task) {
	if s == nil {
		return ctx, nil
	}
	parent, _ := ctx.Value(key{}).(*Task)
	s.source.edge()
	t := s.begin(parent, &Task{session: s, name: name, thread: thread()})
	if t == nil {
		return ctx, nil
	}
	return context.WithValue(ctx, key{}, t), t
}

// begin begins a task, now unless it says when. It is nil when the session is over.
func (s *Session) begin(parent, t *Task) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	for parent != nil && (parent.session != s || parent.ended != 0) {
		parent = parent.parent
	}
	if t.started == 0 {
		t.started = monotonic()
	}
	if parent != nil {
		t.parent, t.depth, parent.last = parent, parent.depth+1, t
	}
	t.around().step(t.started, 1)
	s.tasks, s.pending = append(s.tasks, t), append(s.pending, t)
	return t
}

// Do runs f as a task, and ends it when f returns or panics. What f left open
// inside ends with it.
func (s *Session) Do(ctx context.Context, name string, f func(context.Context)) *Task {
	ctx, t := s.Task(ctx, name)
	defer t.leave()
	f(ctx)
	return t
}

// End ends the task. It is an error, and nothing ends, while a task inside it is
// open. What is over already stays as it is.
func (t *Task) End() error {
	if t == nil {
		return nil
	}
	return t.end(monotonic())
}

func (t *Task) end(now int64) error {
	s := t.session
	s.mu.Lock()
	if t.ended != 0 || s.over {
		s.mu.Unlock()
		return nil
	}
	if t.inside.open > 0 {
		defer s.mu.Unlock()
		return fmt.Errorf("codegreen: task %q is open inside %q: end it first", t.innermost().name, t.name)
	}
	t.close(now)
	s.mu.Unlock()
	s.source.edge()
	return nil
}

// leave ends the task and what is open inside it.
func (t *Task) leave() {
	if t == nil {
		return
	}
	now := monotonic()
	s := t.session
	defer s.source.edge()
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.ended != 0 || s.over {
		return
	}
	if t.inside.open > 0 {
		for i := len(s.tasks) - 1; s.tasks[i] != t; i-- {
			if o := s.tasks[i]; o.ended == 0 && o.within(t) {
				o.forgotten = true
				o.close(now)
			}
		}
	}
	t.close(now)
}

func (t *Task) within(o *Task) bool {
	for t = t.parent; t != nil; t = t.parent {
		if t == o {
			return true
		}
	}
	return false
}

// innermost is an open task inside, the last that began if it is open.
func (t *Task) innermost() *Task {
	for t.last != nil && t.last.ended == 0 {
		t = t.last
	}
	if t.inside.open > 0 {
		for _, o := range t.session.tasks {
			if o.parent == t && o.ended == 0 {
				return o.innermost()
			}
		}
	}
	return t
}

// close ends it, session.mu being locked.
func (t *Task) close(now int64) {
	t.ended = t.around().step(max(now, t.started), -1)
}

// around is what counts the tasks that share with it.
func (t *Task) around() interface{ step(at int64, by int) int64 } {
	switch {
	case t.group != nil:
		return t.group
	case t.parent != nil:
		return &t.parent.inside
	}
	return &t.session.crowd
}

// crowds are those that the task shares with, from itself to the session.
func (t *Task) crowds() []*crowd {
	all := []*crowd{&t.session.crowd}
	if t.group != nil {
		return all
	}
	for o := t.parent; o != nil; o = o.parent {
		all = append(all, &o.inside)
	}
	return all
}

// Name of the task, "" of a nil one.
func (t *Task) Name() string {
	if t == nil {
		return ""
	}
	return t.name
}

// Duration from its beginning to its end, 0 while it is open.
func (t *Task) Duration() time.Duration {
	if t == nil {
		return 0
	}
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	if t.ended == 0 {
		return 0
	}
	return time.Duration(t.ended - t.started)
}

// EnergyJ is the energy in J, NaN where it is not known or the task is open.
func (t *Task) EnergyJ() float64 {
	if e := t.computed(); e != nil {
		return float64(e.total) / 1e6
	}
	return math.NaN()
}

// ProgramEnergyJ is the program's share of EnergyJ in J, NaN where it is not known: no run
// of cg is around the program.
func (t *Task) ProgramEnergyJ() float64 {
	if e := t.computed(); e != nil && e.program != nil {
		return float64(e.program.total) / 1e6
	}
	return math.NaN()
}

// EnergyLoJ is the lower bound of EnergyJ in J.
func (t *Task) EnergyLoJ() float64 {
	if e := t.computed(); e != nil {
		return float64(e.lo) / 1e6
	}
	return math.NaN()
}

// EnergyHiJ is the upper bound of EnergyJ in J.
func (t *Task) EnergyHiJ() float64 {
	if e := t.computed(); e != nil {
		return float64(e.hi) / 1e6
	}
	return math.NaN()
}

// ProgramEnergyLoJ is the lower bound of ProgramEnergyJ in J.
func (t *Task) ProgramEnergyLoJ() float64 {
	if e := t.computed(); e != nil && e.program != nil {
		return float64(e.program.lo) / 1e6
	}
	return math.NaN()
}

// ProgramEnergyHiJ is the upper bound of ProgramEnergyJ in J.
func (t *Task) ProgramEnergyHiJ() float64 {
	if e := t.computed(); e != nil && e.program != nil {
		return float64(e.program.hi) / 1e6
	}
	return math.NaN()
}

// EnergyKind is measured, derived, estimated or unavailable.
func (t *Task) EnergyKind() string {
	if t.computed() == nil {
		return "unavailable"
	}
	t.session.data.Lock()
	defer t.session.data.Unlock()
	return t.session.kind()
}

// AvgPowerW is the energy by the duration in W.
func (t *Task) AvgPowerW() float64 { return t.EnergyJ() / t.Duration().Seconds() }

// Domains are the energies of the machine's parts in J.
func (t *Task) Domains() map[string]float64 {
	out := map[string]float64{}
	if e := t.computed(); e != nil {
		for id, micro := range e.domains {
			out[id] = float64(micro) / 1e6
		}
	}
	return out
}

// Noise says how evenly it drew power; nil without TimeSeries.
func (t *Task) Noise() *Noise {
	if t.computed() == nil || !t.session.record {
		return nil
	}
	t.session.data.Lock()
	defer t.session.data.Unlock()
	return t.session.noise(t)
}

// computed is its energy, which is waited for; nil where it is not known.
func (t *Task) computed() *energy {
	if t == nil {
		return nil
	}
	s := t.session
	s.data.Lock()
	s.resolve(t, true)
	e := t.energy
	s.data.Unlock()
	s.tell()
	return e
}
