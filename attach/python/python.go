// Package python reads the call stacks of a running CPython from outside.
//
// It takes the number of a process and gives, each time that it is asked, the functions in which
// each of its threads is, from the interpreter's own structures: _PyRuntime, its interpreters,
// their threads, their frames, and the code objects of these. It reads them by
// process_vm_readv(2), while the process runs on; it stops nothing and writes nothing. What
// cannot have been a stack, as it changed while it was read, is refused. It knows CPython 3.8
// to 3.15 on processors with 64 bits.
package python

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// Function is the function of a code object.
type Function struct {
	Name     string // co_name
	Qualname string // co_qualname, "" before 3.11
	File     string // co_filename
	Line     int    // co_firstlineno
}

// Stack is where a thread is.
type Stack struct {
	TID  uint32              // as the kernel numbers it
	Path []checkpoint.SiteID // the outermost function first; valid until the next Read
	Leaf Span                // where the bytecode of the innermost function lies, before 3.11 its frame
}

// Process is a process that runs CPython.
type Process struct {
	memory   *memory
	runtime  runtime
	site     func(Function) checkpoint.SiteID
	codes    map[uint64]*code
	tids     tids
	threads  map[uint64]bool // addresses of PyThreadState that were met in a Read
	before   []uint64        // the pages that the last Read needed
	stacks   []Stack
	path     []checkpoint.SiteID
	frames   int      // that the last Read followed
	torn     []uint32 // threads whose stack changed in the last Read
	Torn     int      // stacks that changed while they were read
	Attempts int      // stacks that were to be read
	Unplaced int      // stacks that were not read as their thread is none of the process's tasks
}

// Open finds the interpreter of a process. site numbers the functions that are met.
func Open(pid int, site func(Function) checkpoint.SiteID) (*Process, error) {
	p := &Process{memory: newMemory(pid), site: site, codes: map[uint64]*code{}, threads: map[uint64]bool{}}
	p.tids.pid = pid
	defer p.memory.forget()
	var err error
	if p.runtime, err = find(p.memory); err != nil {
		return nil, err
	}
	if _, err := p.memory.word(p.runtime.state + p.runtime.layout.interpreters); err != nil {
		return nil, denied(pid, err)
	}
	return p, nil
}

// Minor is the version of the interpreter: 11 of 3.11.
func (p *Process) Minor() int { return p.runtime.minor }

// The most that is followed of a list: what is longer is no list.
const (
	mostInterpreters = 1 << 10
	mostThreads      = 1 << 14
	mostFrames       = 1 << 18 // of all threads together
)

// tries is how often a stack is read that changes meanwhile.
const tries = 4

// Read reads the stacks of all threads that run Python code, now. The error is that of a
// process that is gone or runs another program.
func (p *Process) Read() ([]Stack, error) {
	m := p.memory
	m.forget()
	p.stacks, p.path, p.torn = p.stacks[:0], p.path[:0], p.torn[:0]
	clear(p.threads)
	p.frames = 0
	p.tids.begin()
	if err := m.fetch(p.before); err != nil {
		return nil, err
	}
	interpreter, err := m.word(p.runtime.state + p.runtime.layout.interpreters)
	if err != nil {
		return nil, err
	}
	for n := 0; interpreter != 0 && n < mostInterpreters; n++ {
		if err := p.readThreads(interpreter); err != nil {
			return nil, err
		}
		if interpreter, err = m.word(interpreter + p.runtime.layout.interpreter.next); err != nil {
			break // it ended meanwhile
		}
	}
	p.before = append(p.before[:0], m.asked...)
	return p.stacks, nil
}

// readThreads reads the stacks of an interpreter's threads. A list that changes meanwhile is
// read up to where it is one.
func (p *Process) readThreads(interpreter uint64) error {
	l := &p.runtime.layout
	thread, err := p.memory.word(interpreter + l.interpreter.threads)
	if err != nil {
		return gone(err)
	}
	for n := 0; thread != 0 && n < mostThreads && !p.threads[thread]; n++ {
		p.threads[thread] = true
		tid, err := p.tidOf(thread)
		if err == nil && tid != 0 {
			if err := p.readStack(thread, tid); err != nil {
				return err
			}
		}
		if thread, err = p.memory.word(thread + l.thread.next); err != nil {
			return gone(err)
		}
	}
	return nil
}

// gone keeps the error of a process that is gone or forbidden, and drops that of memory that is
// no more what it was.
func gone(err error) error {
	if errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// readStack reads where a thread is. It reads again what cannot have been.
func (p *Process) readStack(thread uint64, tid uint32) error {
	p.Attempts++
	for try := 0; try < tries && p.frames < mostFrames; try++ {
		from := len(p.path)
		leaf, err := p.walk(thread)
		if err == nil {
			path := p.path[from:]
			slices.Reverse(path)
			p.stacks = append(p.stacks, Stack{TID: tid, Path: path[:len(path):len(path)], Leaf: leaf})
			return nil
		}
		p.path = p.path[:from]
		if !errors.Is(err, errAbsent) {
			return err
		}
		if err := p.memory.renew(); err != nil {
			return err
		}
	}
	p.Torn++
	p.torn = append(p.torn, tid)
	return nil
}

// WasTorn tells whether the stack of a thread changed while the last Read read it.
func (p *Process) WasTorn(tid uint32) bool { return slices.Contains(p.torn, tid) }

// walk appends the sites of a thread's frames, the innermost first, and tells where that lies.
func (p *Process) walk(thread uint64) (leaf Span, err error) {
	l := &p.runtime.layout
	frame, err := p.memory.word(thread + l.thread.frame)
	if err != nil {
		return leaf, err
	}
	if l.viaC && frame != 0 {
		if frame, err = p.memory.word(frame + l.cFrame); err != nil {
			return leaf, err
		}
	}
	for ; frame != 0; p.frames++ {
		if p.frames >= mostFrames {
			return leaf, errAbsent
		}
		mark := false
		if l.frame.owner != 0 {
			owner, err := p.memory.bytes(frame+l.frame.owner, 1)
			if err != nil {
				return leaf, err
			}
			mark = owner[0] >= marks
		}
		if !mark {
			at, err := p.memory.word(frame + l.frame.code)
			if err != nil {
				return leaf, err
			}
			c, err := p.codeAt(at &^ tags)
			if err != nil {
				return leaf, err
			}
			switch {
			case leaf.To != 0:
			case l.frame.owner == 0: // it is an object
				leaf = Span{frame, frame + frameSize}
			default:
				leaf = c.span
			}
			p.path = append(p.path, c.site)
		}
		if frame, err = p.memory.word(frame + l.frame.previous); err != nil {
			return leaf, err
		}
	}
	return leaf, nil
}

// Gone tells whether an error of Read is of a process that is no more, or runs another program.
func Gone(err error) bool { return errors.Is(err, unix.ESRCH) || errors.Is(err, errAbsent) }
