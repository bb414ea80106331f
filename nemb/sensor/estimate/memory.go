package estimate

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
)

// Memory is the part of the estimated power that the program's memory draws, by
// the resident set of its process tree. It lies in the machine's figure, which
// is of whole servers, and is the program's alone.
//
// Pages of files and shared memory that several of its processes have count
// once: those of the process that has most.
type Memory struct {
	mu       sync.Mutex
	pid      int
	tree     []int
	scanned  time.Time
	resident int64
	last     checkpoint.Instant
	sum      float64 // uJ
	closed   bool
}

// memoryWatts is W per GB: 0.392 kWh per TB and hour, the mean of the modules
// that Micron and Crucial publish figures of, as Cloud Carbon Footprint takes it
// (cloudcarbonfootprint.org/docs/methodology, Memory). A module of 64 GB with 5 W
// has 0.08, one of 16 GB with 10 W 0.63: those are the bounds.
const (
	memoryWatts = 0.392
	memoryLo    = 0.2
	memoryHi    = 1.6
)

// Memory is read, and the tree looked through, so often.
const (
	memoryPeriod = 250 * time.Millisecond
	memoryScan   = time.Second
)

// NewMemory returns the model of a program's memory. ok is false where the
// sensors need none, since they measure the machine, or the kernel does not
// tell who a process's children are (CONFIG_PROC_CHILDREN).
func NewMemory(sensors []nemb.Sensor) (m *Memory, ok bool) {
	estimated := slices.ContainsFunc(sensors, func(s nemb.Sensor) bool { _, is := s.(nemb.Modelled); return is })
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%[1]d/children", os.Getpid()))
	return &Memory{}, estimated && err == nil
}

// Watch follows the process tree of pid from now on. Until then nothing is
// charged.
func (m *Memory) Watch(pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pid = pid
}

// Domains has one: memory, inside the estimated machine.
func (m *Memory) Domains() []nemb.Domain {
	return []nemb.Domain{{
		ID: "memory", Parent: "machine", Kind: "nested", Method: nemb.Estimated, Period: memoryPeriod,
		Lo: memoryLo, Hi: memoryHi, Program: true,
		Source: fmt.Sprintf("estimate: %g W/GB of the program's resident set", memoryWatts),
	}}
}

// Every is how often it is read.
func (m *Memory) Every() time.Duration { return memoryPeriod }

// Read adds what the memory drew since the last Read. Processes that are gone
// have none.
func (m *Memory) Read(dst []nemb.Energy) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fmt.Errorf("memory: %w", fs.ErrClosed)
	}
	now := checkpoint.Monotime()
	if m.pid != 0 {
		if at := time.Now(); at.Sub(m.scanned) >= memoryScan {
			m.scanned, m.tree = at, descendants(m.pid)
		}
		resident := residentBytes(m.tree)
		if m.last != 0 {
			// W/GB * B * ns = 1e-18 J
			m.sum += memoryWatts * float64(resident+m.resident) / 2 * float64(now-m.last) * 1e-12
		}
		m.resident, m.last = resident, now
	}
	dst[0] = nemb.Energy(m.sum)
	return nil
}

// Close ends it; there is nothing to release.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// descendants lists a process and those below it. /proc/PID/task/TID/children
// (proc_tid_children(5)) names those that a thread started.
func descendants(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", all[i]))
		if err != nil {
			continue // it ended
		}
		for _, t := range threads {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", all[i], t.Name()))
			for _, field := range bytes.Fields(text) {
				if child, err := strconv.Atoi(string(field)); err == nil && !slices.Contains(all, child) {
					all = append(all, child)
				}
			}
		}
	}
	return all
}

// residentBytes adds up what processes have in memory.
func residentBytes(pids []int) int64 {
	var own, shared int64
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if r, s, ok := parseStatm(text); err == nil && ok {
			own += r - s
			shared = max(shared, s)
		}
	}
	return (own + shared) * int64(unix.Getpagesize())
}

// parseStatm reads the second and third number of /proc/PID/statm
// (proc_pid_statm(5)): pages that are resident, and those of them that are of
// files or shared memory.
func parseStatm(text []byte) (resident, shared int64, ok bool) {
	fields := bytes.Fields(text)
	if len(fields) < 3 {
		return 0, 0, false
	}
	resident, err := strconv.ParseInt(string(fields[1]), 10, 48)
	if err != nil {
		return 0, 0, false
	}
	shared, err = strconv.ParseInt(string(fields[2]), 10, 48)
	return resident, shared, err == nil && 0 <= shared && shared <= resident
}
