package codegreen

import (
	"cmp"
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
		c.program = p.PID
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

// Told is the task's energy in uJ with its bounds, the program's part with its own, and the kind:
// "UJ LO HI PROGRAM LO HI KIND". For each GPU there follows whose its energy was:
// " DOMAIN METHOD REASON USED UJ PROGRAM LO HI OTHER IDLE UNATTRIBUTED", where USED is 1 if the program may have used
// it, and REASON "-" where there is none. -1 stands for what is not known, also of a nil task.
func (t *Task) Told() string {
	of, kind := [6]int64{-1, -1, -1, -1, -1, -1}, "unavailable"
	if e := t.computed(); e != nil {
		of, kind = [6]int64{e.total, e.lo, e.hi, -1, -1, -1}, t.EnergyKind()
		if p := e.program; p != nil {
			of[3], of[4], of[5] = p.total, p.lo, p.hi
		}
	}
	told := fmt.Sprintf("%d %d %d %d %d %d %s", of[0], of[1], of[2], of[3], of[4], of[5], kind)
	if t == nil {
		return told
	}
	t.session.data.Lock()
	defer t.session.data.Unlock()
	for i := range t.gpus {
		told += " " + t.gpus[i].told()
	}
	return told
}

// told is what the program that has the session is told of it.
func (u *gpuUse) told() string {
	program, lo, hi, used := int64(-1), int64(-1), int64(-1), 0
	if u.known {
		program, lo, hi = u.program, u.lo, u.hi
	}
	if u.held {
		used = 1
	}
	return fmt.Sprintf("%s %s %s %d %d %d %d %d %d %d %d", u.domain, u.method, cmp.Or(u.reason, "-"), used, u.total,
		program, lo, hi, u.other, u.idle, u.rest)
}

// Died notes that the program ended, or was killed, with the session open.
func (s *Session) Died() {
	s.note("forgotten", "the program ended without ending its session")
}
