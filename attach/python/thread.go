package python

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// tids finds the kernel's numbers of an interpreter's threads.
type tids struct {
	pid int
	// place is where the C library keeps a thread's number in what pthread_self points to, the
	// same in all threads of a process: an interpreter before 3.11 has the address of that
	// alone. 0: not known yet.
	place  uint64
	sought bool // in this Read
	// outer are the numbers by those that the process itself sees, which differ from cg's where
	// it is in a PID namespace of its own, as in a container. 0 for one that is none of its.
	outer  map[uint32]uint32
	only   uint32 // of a process of one thread, that; else 0
	filled bool   // in this Read
	reads  int
	list   func(pid int) map[uint32]uint32 // numbers; tests have their own
}

// examined is how much of that is looked at: struct pthread of glibc has the number at 720 bytes
// on x86-64, musl's at 48.
const examined = 1 << 10

// numbersKept is for how many Reads the numbers are kept: the kernel uses them again.
const numbersKept = 1 << 10

// begin begins a Read.
func (t *tids) begin() {
	t.sought, t.filled = false, false
	if t.reads++; t.reads%numbersKept == 0 {
		clear(t.outer)
	}
}

// of is the number, as cg sees it, of a thread that has another for the process itself; 0 for none.
func (t *tids) of(inner uint32) uint32 {
	outer, ok := t.outer[inner]
	if ok || t.filled {
		return outer
	}
	t.fill()
	if outer, ok = t.outer[inner]; !ok {
		// The first releases of 3.11 keep the number of the parent in a process that was forked.
		outer = t.only
		t.outer[inner] = outer
	}
	return outer
}

// fill reads the numbers. Those that were none stay so.
func (t *tids) fill() {
	if t.list == nil {
		t.list = numbers
	}
	t.filled, t.only = true, 0
	before := t.outer
	t.outer = t.list(t.pid)
	if len(t.outer) == 1 {
		for _, t.only = range t.outer {
		}
	}
	for inner, outer := range before {
		if _, ok := t.outer[inner]; !ok && outer == 0 {
			t.outer[inner] = 0
		}
	}
}

// numbers are cg's numbers of a process's threads by its own ones.
func numbers(pid int) map[uint32]uint32 {
	all := map[uint32]uint32{}
	here := len(namespaces(fmt.Sprintf("/proc/%d/status", pid))) <= 1
	for _, tid := range Tasks(pid) {
		if here {
			all[tid] = tid
		} else if n := namespaces(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid)); len(n) > 0 {
			all[n[len(n)-1]] = tid
		}
	}
	return all
}

// namespaces are the numbers of a task in the PID namespaces that it is in, cg's first and its own
// last (NSpid of proc_pid_status(5)).
func namespaces(status string) (all []uint32) {
	text, _ := os.ReadFile(status)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "NSpid:" {
			for _, f := range fields[1:] {
				if n, err := strconv.ParseUint(f, 10, 32); err == nil {
					all = append(all, uint32(n))
				}
			}
		}
	}
	return all
}

// tidOf is the kernel's number of a thread, 0 where it has none, or it is not known.
func (p *Process) tidOf(thread uint64) (uint32, error) {
	inner, err := p.innerOf(thread)
	if err != nil || inner == 0 {
		return 0, err
	}
	outer := p.tids.of(inner)
	if outer == 0 {
		p.Unplaced++
	}
	return outer, nil
}

// innerOf is the number that a thread has for the process itself.
func (p *Process) innerOf(thread uint64) (uint32, error) {
	l := &p.runtime.layout
	if l.thread.native != 0 {
		n, err := p.memory.word(thread + l.thread.native)
		return uint32(n), err
	}
	at, err := p.memory.word(thread + l.thread.id)
	if err != nil || at == 0 {
		return 0, err
	}
	if p.tids.place == 0 && !p.tids.sought {
		p.tids.sought = true
		p.tids.locate(p)
	}
	if p.tids.place == 0 {
		return 0, nil
	}
	b, err := p.memory.bytes(at+p.tids.place, 4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

// locate finds the place: where each thread of the interpreter has a number that is one of a
// thread of the process, and no two the same.
func (t *tids) locate(p *Process) {
	t.fill()
	there := t.outer
	l := &p.runtime.layout
	var threads []uint64
	interpreter, err := p.memory.word(p.runtime.state + l.interpreters)
	for n := 0; err == nil && interpreter != 0 && n < mostInterpreters && len(threads) < mostThreads; n++ {
		thread, failed := p.memory.word(interpreter + l.interpreter.threads)
		for k := 0; failed == nil && thread != 0 && k < mostThreads; k++ {
			var at uint64
			if at, failed = p.memory.word(thread + l.thread.id); failed == nil && at != 0 {
				threads = append(threads, at)
			}
			if failed == nil {
				thread, failed = p.memory.word(thread + l.thread.next)
			}
		}
		interpreter, err = p.memory.word(interpreter + l.interpreter.next)
	}
	for place := uint64(0); place < examined && len(threads) > 0; place += 4 {
		met := map[uint32]bool{}
		for _, at := range threads {
			b, err := p.memory.bytes(at+place, 4)
			if err != nil {
				break
			}
			n := binary.LittleEndian.Uint32(b)
			if there[n] == 0 || met[n] {
				break
			}
			met[n] = true
		}
		if len(met) == len(threads) {
			t.place = place
			return
		}
	}
}

// Tasks lists the threads of a process, by their numbers.
func Tasks(pid int) (all []uint32) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 32); err == nil {
			all = append(all, uint32(n))
		}
	}
	slices.Sort(all)
	return all
}
