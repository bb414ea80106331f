// Package perf samples the threads of running programs by perf_event_open(2).
//
// It takes the numbers of threads and gives records: the registers and the top of the stack of a
// thread after each interval of its processor time, and what programs map, start and end meanwhile.
// Threads and processes that those start are sampled, too. It stops and writes nothing. It knows
// x86-64 alone.
package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// StackBytes is how much of a stack is copied at most, from its top.
const StackBytes = 16 << 10

// The size of the ring of a processor in bytes: the kernel may allow less for all of a user's together
// (perf_event_mlock_kb in Documentation/admin-guide/sysctl/kernel.rst, and RLIMIT_MEMLOCK).
const mostRing, leastRing = 4 << 20, 64 << 10

// errRing is that a ring cannot be as large.
var errRing = errors.New("there is no room for what the kernel writes: raise ulimit -l, or sudo sysctl " +
	"kernel.perf_event_mlock_kb")

// Sampler has the events of some threads, and of what they start.
type Sampler struct {
	interval  time.Duration
	online    []int   // processors
	rings     []*ring // one a processor
	ringBytes int     // of each
	events    []int
	buffer    []byte
	owner     map[uint64]uint32 // thread that an event was opened for, by the event's number
	own       map[uint32]bool   // threads with events of their own
	// UserOnly tells that the time that threads spend in the kernel has no samples, as the kernel
	// permits no more.
	UserOnly bool
}

// ring is what the kernel writes for a processor.
type ring struct {
	fd     int // of the event whose output it is
	memory []byte
}

// Open makes a Sampler of no threads, which takes a sample each interval of a thread's processor time.
func Open(interval time.Duration) (*Sampler, error) {
	if runtime.GOARCH != "amd64" {
		return nil, errors.New("functions of machine code are read on x86-64 alone")
	}
	online, err := processors()
	if err != nil {
		return nil, err
	}
	s := &Sampler{interval: interval, online: online, ringBytes: mostRing, owner: map[uint64]uint32{},
		own: map[uint32]bool{}}
	s.clear()
	return s, nil
}

// clear makes rings without memory.
func (s *Sampler) clear() {
	s.rings = s.rings[:0]
	for range s.online {
		s.rings = append(s.rings, &ring{fd: -1})
	}
}

// Add samples a thread from now on, and what it starts. A thread may inherit the events of the one that
// started it, too: its samples come once. The error says what to do where the kernel does not permit
// it; it is unix.ESRCH for a thread that has ended. A thread that was added is left as it is.
func (s *Sampler) Add(thread int) error {
	if s.own[uint32(thread)] {
		return nil
	}
	if err := s.openAll(thread, 0); err != nil {
		return err
	}
	s.own[uint32(thread)] = true
	return nil
}

// Inherit samples the programs that the calling thread executes in the processes that it starts next,
// from their first instruction on, and what those start. The thread itself, and a process before it
// has become a program, have no samples. The error is that of Add.
func (s *Sampler) Inherit() error {
	return s.openAll(0, unix.PerfBitDisabled|unix.PerfBitEnableOnExec)
}

// openAll opens the events of a thread on each processor, with rings as large as is permitted.
func (s *Sampler) openAll(thread int, bits uint64) error {
	for {
		first := len(s.events) == 0
		err := s.open(thread, bits)
		switch {
		case err == nil:
			return nil
		case !first || !errors.Is(err, errRing) || s.ringBytes <= leastRing:
			return explained(err)
		}
		s.Close()
		s.clear()
		s.ringBytes /= 2
	}
}

// open opens the events of a thread on each processor. Where it fails, those that are open stay, and
// their samples count.
func (s *Sampler) open(thread int, bits uint64) error {
	opened := 0
	for n, processor := range s.online {
		switch err := s.add(s.rings[n], processor, thread, bits); {
		case err == nil:
			opened++
		case !errors.Is(err, unix.ENODEV): // which went offline
			return err
		}
	}
	if opened == 0 {
		return unix.ENODEV
	}
	return nil
}

// Check tells why a thread cannot be sampled, nil where it can.
func Check(thread int) error {
	s, err := Open(time.Second)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Add(thread)
}

// add samples a thread on a processor.
func (s *Sampler) add(r *ring, processor, thread int, bits uint64) error {
	attr := attributes(s.interval, s.UserOnly)
	attr.Bits |= bits
	fd, err := unix.PerfEventOpen(attr, thread, processor, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, fs.ErrPermission) && !s.UserOnly && len(s.events) == 0 {
		s.UserOnly = true
		return s.add(r, processor, thread, bits)
	}
	if err != nil {
		return err
	}
	if err := s.direct(r, fd); err != nil {
		unix.Close(fd)
		return err
	}
	s.events = append(s.events, fd)
	var id uint64
	_, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id)))
	if no != 0 {
		return no
	}
	s.owner[id] = uint32(thread)
	return nil
}

// direct has the kernel write the samples of an event into a ring.
func (s *Sampler) direct(r *ring, fd int) (err error) {
	if r.fd >= 0 {
		return unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fd)
	}
	if r.memory, err = mapRing(fd, s.ringBytes); err == nil {
		r.fd = fd
	}
	return err
}

// attributes is what an event has: struct perf_event_attr of perf_event_open(2).
func attributes(interval time.Duration, userOnly bool) *unix.PerfEventAttr {
	attr := &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: uint64(interval),
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ID |
			unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER,
		Bits: unix.PerfBitInherit | unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec |
			unix.PerfBitTask | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitExcludeHv,
		Clockid: unix.CLOCK_MONOTONIC, Sample_regs_user: registersMask, Sample_stack_user: StackBytes,
	}
	if userOnly {
		attr.Bits |= unix.PerfBitExcludeKernel
	}
	return attr
}

// mapRing maps the ring of an event; errRing where the kernel allows less.
func mapRing(fd, size int) ([]byte, error) {
	memory, err := unix.Mmap(fd, 0, os.Getpagesize()+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOMEM) {
		return nil, errRing
	}
	return memory, err
}

// Close ends the sampling.
func (s *Sampler) Close() {
	for _, r := range s.rings {
		if r.memory != nil {
			unix.Munmap(r.memory)
		}
	}
	for _, fd := range s.events {
		unix.Close(fd)
	}
	s.rings, s.events = nil, nil
	clear(s.owner)
	clear(s.own)
}

// Read gives the records that were written since the last Read, those of a processor in the order
// of time. A record is valid until the next one.
func (s *Sampler) Read(each func(*Record)) {
	for _, r := range s.rings {
		if r.memory != nil {
			s.buffer = drain(r.memory, os.Getpagesize(), s.buffer, func(record *Record) {
				if s.counts(record) {
					each(record)
				}
			})
		}
	}
}

// counts tells whether a record is to be given. A thread that has events of its own, and inherited those
// of another, writes each record twice.
func (s *Sampler) counts(r *Record) bool {
	if s.own[r.by] && s.owner[r.event] != r.by {
		return false
	}
	if r.Kind == Exit {
		delete(s.own, r.TID) // another thread may get its number
	}
	return true
}

// The fields of struct perf_event_mmap_page that a reader needs (linux/perf_event.h).
const headAt, tailAt = 1024, 1032

// drain reads a ring: a page of the kernel's, and the records behind it.
func drain(memory []byte, page int, buffer []byte, each func(*Record)) []byte {
	head := (*uint64)(unsafe.Pointer(&memory[headAt]))
	tail := (*uint64)(unsafe.Pointer(&memory[tailAt]))
	data := memory[page:]
	end, at := atomic.LoadUint64(head), atomic.LoadUint64(tail)
	for at < end {
		header := span(data, at, headerBytes, &buffer)
		size := uint64(order.Uint16(header[6:]))
		if size < headerBytes || size > end-at {
			at = end
			break
		}
		if r, ok := parse(span(data, at, size, &buffer)); ok {
			each(r)
		}
		at += size
		atomic.StoreUint64(tail, at)
	}
	atomic.StoreUint64(tail, at)
	return buffer
}

// span is part of a ring in one piece: itself, or a copy where it goes over the end.
func span(data []byte, at, size uint64, buffer *[]byte) []byte {
	from := at & (uint64(len(data)) - 1)
	if from+size <= uint64(len(data)) {
		return data[from : from+size]
	}
	*buffer = append((*buffer)[:0], data[from:]...)
	*buffer = append(*buffer, data[:size-uint64(len(*buffer))]...)
	return *buffer
}

// processors lists those that are online (Documentation/admin-guide/cputopology.rst).
func processors() (all []int, err error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("perf events: %w", err)
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if ranged && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil || bits.Len(uint(to)) > 16 {
			return nil, fmt.Errorf("perf events: /sys/devices/system/cpu/online has %q", text)
		}
		for n := from; n <= to; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}

// explained is an error of perf_event_open(2) with what to do.
func explained(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		paranoid, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
		return fmt.Errorf("perf events are not permitted (%w; kernel.perf_event_paranoid is %s): run cg as root or "+
			"as the program's user, with sudo sysctl kernel.perf_event_paranoid=2 or less; in a container with "+
			"--cap-add PERFMON and a seccomp profile that has perf_event_open", err,
			strings.TrimSpace(string(paranoid)))
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("this kernel has no perf events (%w): it takes one with CONFIG_PERF_EVENTS", err)
	case errors.Is(err, unix.EMFILE):
		return fmt.Errorf("perf events: %w: there is one for each thread and processor; raise ulimit -n", err)
	}
	return fmt.Errorf("perf events: %w", err)
}
