package codegreen

import "slices"

// Group is a set of tasks that may overlap and outlive each other, such as the spans of a trace. Each of
// them has all of the energy of its time that falls to the group. Beside other groups and tasks, the group
// shares as one task.
type Group struct {
	session *Session
	open    int // under session.mu
}

// Group makes a group without tasks. That of a nil session has none.
func (s *Session) Group() *Group { return &Group{session: s} }

// Task begins a task of the group, as part of a parent that is of the same group, or nil. It is nil when
// the session is over.
func (g *Group) Task(parent *Task, name string) *Task {
	s := g.session
	if s == nil {
		return nil
	}
	s.source.edge()
	return s.begin(parent, &Task{session: s, group: g, name: name, thread: thread()})
}

// step counts the group once in its session, while one of its tasks is open.
func (g *Group) step(at int64, by int) int64 {
	before := g.open
	g.open += by
	if before == 0 || g.open == 0 {
		return g.session.crowd.step(at, by)
	}
	return at
}

// Forget leaves a task that is over out of the session, and of its file.
func (s *Session) Forget(t *Task) {
	if s == nil || t == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.ended == 0 {
		return
	}
	this := func(o *Task) bool { return o == t }
	s.tasks, s.pending = slices.DeleteFunc(s.tasks, this), slices.DeleteFunc(s.pending, this)
}
