// Package native samples the functions of machine code of running programs.
//
// It takes the events of threads and gives, after each interval of a thread's processor time, the
// functions in which it was: by perf events (attach/perf), the callers by the files' unwind tables
// (attach/unwind) or by frame pointers, as Go keeps them, and the names by the files' symbols, Go's
// table of functions, or the map that a just-in-time compiler writes for perf. Of threads that
// execute Python it gives what Python's functions called.
package native

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/attach/perf"
	"cg/attach/unwind"
	"cg/checkpoint"
)

// Look is where a thread was when it ran.
type Look struct {
	Thread checkpoint.Thread
	At     checkpoint.Instant
	Path   []checkpoint.SiteID // the outermost function first
	Began  bool                // the thread was started, or is another program's: no path
	Ended  bool                // the thread has ended: no path
	// Python tells that the process runs CPython, and Interpreted that the thread executed a Python function.
	// Path is then the functions of machine code that this called, from the first one on that is not the
	// interpreter's: none where the interpreter itself ran. Held is what the loop that executes bytecode had in
	// registers and on the stack, among it the address of the instruction of the innermost Python function.
	Python, Interpreted bool
	Held                []uint64
	// Else is the path of a thread in such a process that was not seen to execute Python. It may be asked for until the
	// next Read.
	Else func() []checkpoint.SiteID
}

// Reader samples some threads, and what they start.
type Reader struct {
	perf   *perf.Sampler
	spaces map[uint32]*space // by process
	files  files
	looks  []Look
	paths  map[checkpoint.Thread][]checkpoint.SiteID // the last of each thread
	Lost   int                                       // samples for which there was no room
	// Throttled is how often the kernel paused the samples of a thread, as they took it too long.
	Throttled int
	// Unnamed counts the looks at code that the program made and no map names, by process, and ofJava tells which of
	// these run Java.
	Unnamed map[uint32]int
	ofJava  map[uint32]bool
	// Python are processes that run CPython. Others are told by the names of their files, from their start on.
	Python map[uint32]bool
	// Thin is of how many samples one is a look: 1 for all.
	Thin   int
	passed int

	mu         sync.Mutex // of what follows, and of perf
	queue      []perf.Record
	bytes      int // of the queue
	full       int // records for which the queue had no room
	stop, done chan struct{}
	cpu        atomic.Int64 // of the thread that fetches, ns
}

// The most that is kept or followed.
const (
	mostSpaces = 1 << 12
	mostFrames = 1 << 8
)

// Open reads what a sampler has, whose threads may be added later. number gives the number of a function.
// The sampler is the reader's from then on.
func Open(p *perf.Sampler, number func(checkpoint.Site) checkpoint.SiteID) *Reader {
	r := newReader(number)
	r.perf, r.stop, r.done = p, make(chan struct{}), make(chan struct{})
	go r.pump()
	return r
}

// Add samples a thread, too: see perf.Sampler.
func (r *Reader) Add(thread int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.perf.Add(thread)
}

// CPU is the processor time that the fetching of records took, beside Read.
func (r *Reader) CPU() time.Duration { return time.Duration(r.cpu.Load()) }

func newReader(number func(checkpoint.Site) checkpoint.SiteID) *Reader {
	return &Reader{Unnamed: map[uint32]int{}, ofJava: map[uint32]bool{}, spaces: map[uint32]*space{},
		paths: map[checkpoint.Thread][]checkpoint.SiteID{},
		files: files{number: number, known: map[file]*image{}}}
}

// Close ends the sampling.
func (r *Reader) Close() {
	close(r.stop)
	<-r.done
	r.perf.Close()
}

// The kernel's records are fetched each pumpEvery, as its rings are small and the symbols of a file
// may take long to read; mostQueued is how many bytes of them wait at most.
const (
	pumpEvery  = 5 * time.Millisecond
	mostQueued = 128 << 20
)

// pump fetches records until the end.
func (r *Reader) pump() {
	defer close(r.done)
	runtime.LockOSThread() // for good: the thread's time is that of fetching
	ticks := time.NewTicker(pumpEvery)
	defer ticks.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-ticks.C:
			r.fetch()
			var t unix.Timespec
			if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) == nil {
				r.cpu.Store(t.Nano())
			}
		}
	}
}

// fetch puts the kernel's records into the queue.
func (r *Reader) fetch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.perf.Read(func(record *perf.Record) {
		if r.bytes+queued(record) > mostQueued {
			r.full++
			return
		}
		kept := *record
		kept.Stack = slices.Clone(record.Stack)
		r.bytes += queued(&kept)
		r.queue = append(r.queue, kept)
	})
}

// queued is how many bytes a record takes in the queue.
func queued(r *perf.Record) int {
	return int(unsafe.Sizeof(*r)) + len(r.Stack) + len(r.Mapping.Name)
}

// fetched takes the records up to a moment out of the queue, in the order of time.
func (r *Reader) fetched(until checkpoint.Instant) (records []perf.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.queue, func(a, b perf.Record) int { return cmp.Compare(a.At, b.At) })
	n := 0
	for n < len(r.queue) && r.queue[n].At <= until {
		r.bytes -= queued(&r.queue[n])
		n++
	}
	records = slices.Clone(r.queue[:n])
	r.queue = slices.Delete(r.queue, 0, n)
	r.Lost += r.full
	r.full = 0
	return records
}

// UserOnly tells that the time that threads spend in the kernel has no samples.
func (r *Reader) UserOnly() bool { return r.perf != nil && r.perf.UserOnly }

// Name says what is read.
func (r *Reader) Name() string {
	if r.UserOnly() {
		return "machine code (the kernel's time by its account)"
	}
	return "machine code"
}

// Read gives the looks since the last Read and up to a moment, in the order of time.
func (r *Reader) Read(until checkpoint.Instant) []Look {
	r.looks = r.looks[:0]
	r.fetch()
	records := r.fetched(until)
	for i := range records {
		r.take(&records[i])
	}
	return r.looks
}

// take takes a record.
func (r *Reader) take(record *perf.Record) {
	switch record.Kind {
	case perf.Sample:
		r.sample(record)
	case perf.Map:
		r.space(record.PID).add(record.Mapping)
	case perf.Exec:
		r.spaces[record.PID] = newSpace(record.PID)
		r.begin(record)
	case perf.Fork:
		r.begin(record)
		if record.PID != record.Parent {
			r.spaces[record.PID] = r.space(record.Parent).fork(record.PID)
		}
	case perf.Exit:
		thread := checkpoint.Thread{PID: record.PID, TID: record.TID}
		delete(r.paths, thread)
		r.looks = append(r.looks, Look{Thread: thread, At: record.At, Ended: true})
		if record.PID == record.TID {
			delete(r.spaces, record.PID)
		}
	case perf.Lost:
		r.Lost += int(record.Lost)
	case perf.Throttled:
		r.Throttled++
	}
}

// begin tells of a thread that was started, or runs another program.
func (r *Reader) begin(record *perf.Record) {
	thread := checkpoint.Thread{PID: record.PID, TID: record.TID}
	r.looks = append(r.looks, Look{Thread: thread, At: record.At, Began: true})
}

// space is the memory of a process.
func (r *Reader) space(pid uint32) *space {
	s := r.spaces[pid]
	if s == nil {
		if len(r.spaces) >= mostSpaces {
			clear(r.spaces)
		}
		s = newSpace(pid)
		s.list()
		r.spaces[pid] = s
	}
	return s
}

func (r *Reader) sample(record *perf.Record) {
	s := r.space(record.PID)
	r.passed++
	if r.passed%max(1, r.Thin) != 0 {
		return
	}
	thread := checkpoint.Thread{PID: record.PID, TID: record.TID}
	if s.python || r.Python[record.PID] {
		l := Look{Thread: thread, At: record.At}
		r.guarded(func() { r.interpreted(s, record, &l) })
		r.looks = append(r.looks, l)
		return
	}
	path := r.guardedPath(s, record)
	if before := r.paths[thread]; slices.Equal(before, path) {
		path = before
	} else {
		r.paths[thread] = path
	}
	r.looks = append(r.looks, Look{Thread: thread, At: record.At, Path: path})
}

// guardedPath is the functions of a sample, none where a file holds what cg has no answer to.
func (r *Reader) guardedPath(s *space, record *perf.Record) (path []checkpoint.SiteID) {
	r.guarded(func() { path = r.path(s, record) })
	return path
}

// guarded does something with a file, which may hold what cg has no answer to.
func (r *Reader) guarded(do func()) {
	defer func() { _ = recover() }()
	do()
}

// walker begins at a sample's frame.
func walker(record *perf.Record) *walk {
	base := record.Registers[unwind.StackPointer]
	return &walk{frame: unwind.Frame{Registers: record.Registers, Exact: true}, memory: func(at uint64) (uint64, bool) {
		if at < base || at-base+8 > uint64(len(record.Stack)) || at-base+8 < 8 {
			return 0, false
		}
		return binary.LittleEndian.Uint64(record.Stack[at-base:]), true
	}}
}

// path is the functions of a sample.
func (r *Reader) path(s *space, record *perf.Record) (path []checkpoint.SiteID) {
	w := walker(record)
	frame, memory := w.frame, w.memory
	for range mostFrames {
		m := s.find(frame.Lookup())
		if m == nil {
			break
		}
		site, image := r.site(s, m, frame.Lookup(), record.At)
		if len(path) == 0 && image == nil && frame.Exact && isMade(m) && s.made.at(frame.Lookup()) == nil {
			r.unnamed(s)
		}
		// Functions of a file that has no names stand as one.
		again := len(path) > 0 && path[len(path)-1] == site && image != nil && !image.named(m, frame.Lookup())
		if site != 0 && !again {
			path = append(path, site)
		}
		if !caller(&frame, m, image, memory) {
			break
		}
	}
	slices.Reverse(path)
	return path
}

// unnamed counts a look at code that no map names.
func (r *Reader) unnamed(s *space) {
	if len(r.Unnamed) < mostSpaces || r.Unnamed[s.pid] > 0 {
		r.Unnamed[s.pid]++
		r.ofJava[s.pid] = s.java
	}
}

// IsJava tells whether a process that Unnamed has runs Java.
func (r *Reader) IsJava(pid uint32) bool { return r.ofJava[pid] }

// isMade tells whether a mapping has code that the program made.
func isMade(m *perf.Mapping) bool { return m.Name == "" || m.Name == "//anon" }

// site is the function at an address, and its file, which is nil for code that was made there.
func (r *Reader) site(s *space, m *perf.Mapping, at uint64, now checkpoint.Instant) (checkpoint.SiteID, *image) {
	if !isFile(m) {
		if made, ok := s.made.find(s, at, now); ok {
			return r.files.number(made), nil
		}
		return r.files.number(checkpoint.Site{Func: "[" + label(m.Name) + "]", Kind: checkpoint.Function}), nil
	}
	image := r.files.image(s.pid, m)
	return image.site(&r.files, m, at), image
}

// caller changes a frame into that of the caller, false where there is none.
func caller(f *unwind.Frame, m *perf.Mapping, image *image, memory unwind.Memory) bool {
	if image != nil && image.table != nil {
		if linked, ok := image.linked(m, f.Lookup()); ok {
			more, err := image.table.Step(f, f.Lookup()-linked, memory)
			if err != unwind.ErrNone {
				return more && err == nil
			}
		}
	}
	if f.Exact && ofLeaf(f, m, image, memory) {
		return true
	}
	pointer := f.Registers[unwind.FramePointer]
	if pointer < f.Registers[unwind.StackPointer] || pointer%8 != 0 {
		return false
	}
	next, ok := memory(pointer)
	back, also := memory(pointer + 8)
	if !ok || !also || back == 0 {
		return false
	}
	f.Registers[unwind.FramePointer], f.Registers[unwind.StackPointer] = next, pointer+16
	f.Registers[unwind.Address], f.Exact = back, false
	return true
}

// ofLeaf changes the frame of a function that keeps none, as it calls no other, into that of the
// caller: the top of the stack is behind a call of it.
func ofLeaf(f *unwind.Frame, m *perf.Mapping, image *image, memory unwind.Memory) bool {
	back, ok := memory(f.Registers[unwind.StackPointer])
	if !ok || image == nil || back < m.Start || back >= m.End {
		return false
	}
	linked, ok := image.linked(m, back)
	function := image.find(m, f.Lookup())
	if !ok || function == nil || !image.calls(linked, function.start) {
		return false
	}
	f.Registers[unwind.StackPointer] += 8
	f.Registers[unwind.Address], f.Exact = back, false
	return true
}

// unnamedCode is what code is called that the program made and no map names.
const unnamedCode = "code made by the program"

// label is the name of memory that is no file's.
func label(name string) string {
	switch name {
	case "", "//anon":
		return unnamedCode
	case "[vdso]", "[vsyscall]":
		return name[1 : len(name)-1]
	}
	return fmt.Sprintf("%.64s", name)
}
