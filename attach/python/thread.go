package python

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// tids finds the kernel's number of a thread of an interpreter before 3.11, which has only
// the address of what its C library keeps of it (pthread_self): the number stands there at a
// place that is the same in all threads of a process.
type tids struct {
	pid    int
	place  uint64 // 0: not known yet
	sought bool   // in this Read
}

// examined is how much of that is looked at: struct pthread of glibc has the number at 720 bytes
// on x86-64, musl's at 48.
const examined = 1 << 10

// tidOf is the kernel's number of a thread, 0 where it is not known.
func (p *Process) tidOf(thread uint64) (uint32, error) {
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
	there := map[uint32]bool{}
	for _, tid := range Tasks(t.pid) {
		there[tid] = true
	}
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
			if err != nil || !there[binary.LittleEndian.Uint32(b)] {
				break
			}
			met[binary.LittleEndian.Uint32(b)] = true
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
