package codegreen

import (
	"fmt"
	"os"
	"strings"
)

// This file is of cg alone, and no part of what cg sdk go writes: a program in C, C++ or JavaScript has its session in
// a process of cg, which is told when tasks begin and end.

// Program is the program that a session is of.
type Program struct {
	PID               int
	Language, Version string
}

// OfProgram makes a session that of another process.
func OfProgram(p Program) Option {
	var argv []string
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)) // proc_pid_cmdline(5)
	if text := strings.TrimSuffix(string(b), "\x00"); text != "" {
		argv = strings.Split(text, "\x00")
	}
	return func(c *config) {
		c.about = func(m *meta) {
			m.PID, m.Language, m.LanguageVer, m.Argv = p.PID, p.Language, p.Version, argv
		}
	}
}

// TaskAt begins a task at a time of CLOCK_MONOTONIC, in ns, inside a parent that is not nil, in a thread.
// It is nil when the session is over.
func (s *Session) TaskAt(parent *Task, name string, thread int, at int64) *Task {
	s.source.edge()
	return s.begin(parent, &Task{session: s, name: name, thread: thread, started: at})
}

// Rename gives an open task another name: a server knows the route of a request only when it has been found.
func (t *Task) Rename(name string) {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	if t.ended == 0 {
		t.name = name
	}
}

// EndAt ends the task at a time.
func (t *Task) EndAt(at int64) error { return t.end(at) }

// Energy is that of the task in uJ with its bounds, and the program's part, -1 where that is not known; ok is
// false where nothing is known.
func (t *Task) Energy() (total, lo, hi, program int64, ok bool) {
	e := t.computed()
	if e == nil {
		return 0, 0, 0, 0, false
	}
	program = -1
	if e.program != nil {
		program = e.program.total
	}
	return e.total, e.lo, e.hi, program, true
}

// Died notes that the program ended, or was killed, with the session open.
func (s *Session) Died() {
	s.note("forgotten", "the program ended without ending its session")
}
