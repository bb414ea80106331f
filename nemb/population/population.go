// Package population tells how much processor time each process and each control group of
// a host has used.
//
// It takes a /proc and a hierarchy of control groups (cgroup v2,
// Documentation/admin-guide/cgroup-v2.rst) and gives, at each reading, a row for each
// process and for each group: cumulative processor time. A process is known by its number
// and its start, so a number that is used again is another process. Groups count what ever
// ran in them, also processes that lived too shortly to be seen. The package keeps no
// history, divides nothing, and knows nothing of energy.
package population

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/nemb/account"
)

// ID is one process. Start is when it began, in ticks of 10 ms since the machine started
// (field 22 of /proc/PID/stat, proc_pid_stat(5)).
type ID struct {
	PID   int
	Start uint64
}

// Process is a process that is there at a reading.
type Process struct {
	ID
	Parent int    // its number
	Name   string // as the kernel has it: of 15 bytes at most
	Group  string // path of its control group, "/" for the root and where there are none
	// CPU is what its threads used since it began. Children is what those of its children
	// used, with theirs, that have ended and that it has waited for, in ticks of 10 ms.
	CPU      time.Duration
	Children time.Duration
	Over     bool // it has ended, and nobody has waited for it yet
}

// Group is a control group that is there at a reading. The root is none: the kernel counts
// its time in another way.
type Group struct {
	Path string        // below the root: "/system.slice/nginx.service"
	CPU  time.Duration // of all that ever ran in it and in the groups below it
}

// Reading is what a host's processors were used for, up to a moment.
type Reading struct {
	// Busy is the time for which all processors together were in use, in ticks of 10 ms
	// (/proc/stat); not known where KnowsBusy is false.
	Busy      time.Duration
	KnowsBusy bool
	Processes []Process // in no order
	Groups    []Group   // in no order; parents may come after their children
}

// Config says where a host is. Zero values are the live machine's.
type Config struct {
	Proc string // "" is /proc
	// Groups is the folder of the root group, "" is where /proc/self/mountinfo has it.
	Groups string
	// Clock is the processor time of a process since it began; nil asks the kernel
	// (clock_getcpuclockid(3)), which counts in nanoseconds.
	Clock func(pid int) (time.Duration, error)
	// Files is how many files of groups may be kept open; 0 takes half of what the
	// process may have.
	Files int
}

// Host reads a host. It is used from one goroutine.
type Host struct {
	config     Config
	proc       *os.File
	known      map[int]*member
	generation int
	own        bool   // its processes have the numbers that they have for cg, and its loadavg is the kernel's
	created    int    // the process or thread that was made last, as the reading before knows; 0: not known
	calm       int    // for so many readings none was made
	root       *node  // nil without control groups
	above      string // path of the group at which the paths in /proc begin
	nodes      []*node
	byPath     map[string]*node
	files      int // that may still be kept open
	text       [4096]byte
	entries    []byte // of /proc, as the kernel writes them
}

// Open opens a host. An error says that there is no /proc. A host without control groups
// is none: all of its processes are in "/".
func Open(c Config) (*Host, error) {
	if c.Proc == "" {
		c.Proc = "/proc"
	}
	if c.Clock == nil {
		c.Clock = processClock
	}
	if c.Files == 0 {
		c.Files = keptFiles()
	}
	proc, err := os.Open(c.Proc)
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	h := &Host{config: c, proc: proc, known: map[int]*member{}, byPath: map[string]*node{}, files: c.Files}
	self, err := os.Readlink(filepath.Join(c.Proc, "self"))
	h.own = err == nil && self == strconv.Itoa(os.Getpid()) && !isForeign(filepath.Join(c.Proc, "loadavg"))
	dir, prefix, above := c.Groups, "/", "/"
	if dir == "" {
		dir, prefix, above = h.mounted()
	}
	h.above = above
	if dir != "" {
		h.root = &node{dir: dir, path: prefix, fd: -1}
		h.scan(h.root)
	}
	return h, nil
}

// isForeign reports whether a program answers for a file of /proc, as lxcfs does for containers (fuse(4)): its loadavg
// is brought up to date each few seconds only.
func isForeign(file string) bool {
	var on unix.Statfs_t
	return unix.Statfs(file, &on) == nil && on.Type == unix.FUSE_SUPER_MAGIC
}

// HasGroups reports whether the host has control groups of version 2.
func (h *Host) HasGroups() bool { return h.root != nil }

// Close closes the host's files.
func (h *Host) Close() error {
	for _, n := range h.nodes {
		n.close()
	}
	h.nodes, h.root = nil, nil
	return h.proc.Close()
}

// keptFiles is half of the file descriptors that the process may have.
func keptFiles() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 256
	}
	return int(min(1<<16, limit.Cur/2))
}

// ProcessTime is what a process has used since it began, as the kernel tells it.
func ProcessTime(pid int) (time.Duration, error) { return processClock(pid) }

// processClock is the kernel's clock of a process's threads, those that ended included.
// It takes no rights and opens no file. The call waits for nothing, so Go's scheduler is not
// told of it: that takes as long as the call.
func processClock(pid int) (time.Duration, error) {
	var at unix.Timespec
	clock := uintptr(int32(^pid<<3 | 2))
	if _, _, e := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&at)), 0); e != 0 {
		return 0, e
	}
	return time.Duration(at.Nano()), nil
}

// Read fills in a reading, in the memory of the one before it. An error says that
// processes cannot be listed.
func (h *Host) Read(r *Reading) error {
	r.Processes, r.Groups = r.Processes[:0], r.Groups[:0]
	h.generation++
	// Groups first: a process that ends meanwhile is in its group all the same.
	if h.root != nil {
		h.readGroups(r)
	}
	if err := h.readProcesses(r); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(h.config.Proc, "stat"))
	r.Busy, r.KnowsBusy = account.ParseBusy(text)
	r.KnowsBusy = r.KnowsBusy && err == nil
	return nil
}

// listEvery is at how many readings processes are listed in any case: some may be there that could not be seen before.
const listEvery = 10

func (h *Host) readProcesses(r *Reading) error {
	read := func(pid int) {
		if m := h.readProcess(pid); m != nil {
			m.generation = h.generation
			r.Processes = append(r.Processes, m.Process)
		}
	}
	created := h.lastCreated()
	if h.calm++; created == 0 || created != h.created {
		h.calm = 0
	}
	// One that is being made has its number a moment before it can be listed.
	if h.calm > 1 && h.generation%listEvery != 0 {
		for pid := range h.known {
			read(pid)
		}
	} else if err := h.list(read); err != nil {
		return fmt.Errorf("population: %s: %w", h.config.Proc, err)
	}
	h.created = created
	for pid, m := range h.known {
		if m.generation != h.generation {
			delete(h.known, pid)
		}
	}
	return nil
}

// lastCreated is the number of the process or thread that was made last, in the PID namespace of cg: the fifth field of
// /proc/loadavg (proc_loadavg(5)). It is 0 where that is not known, /proc is of another namespace, or a program
// answers for the file.
func (h *Host) lastCreated() int {
	text, err := h.file("loadavg")
	if err != nil || !h.own {
		return 0
	}
	last := bytes.TrimSpace(text[bytes.LastIndexByte(bytes.TrimSpace(text), ' ')+1:])
	number, _ := strconv.Atoi(string(last))
	return number
}

// listed is the memory for entries of /proc: of some 1300 processes for each call of the kernel.
const listed = 32 << 10

// list calls each for the number of every process.
func (h *Host) list(each func(pid int)) error {
	fd := int(h.proc.Fd())
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return err
	}
	if h.entries == nil {
		h.entries = make([]byte, listed)
	}
	for {
		n, err := unix.ReadDirent(fd, h.entries)
		if err != nil || n == 0 {
			return err
		}
		numbers(h.entries[:n], each)
	}
}

// numbers calls each for the entries of a folder whose name is a number (getdents64(2)):
//
//	inode 8 | offset 8 | length of the entry 2 | type 1 | name, with a 0 at its end
func numbers(entries []byte, each func(int)) {
	const lengthAt, nameAt = 16, 19
	for len(entries) > nameAt {
		length := int(binary.NativeEndian.Uint16(entries[lengthAt:]))
		if length <= nameAt || length > len(entries) {
			return
		}
		number, digits := 0, 0
		for _, c := range entries[nameAt:length] {
			if c < '0' || c > '9' || digits > 9 {
				if c != 0 {
					digits = 0
				}
				break
			}
			number, digits = 10*number+int(c-'0'), digits+1
		}
		if digits > 0 {
			each(number)
		}
		entries = entries[length:]
	}
}

// file reads a small file below /proc into the host's buffer.
func (h *Host) file(name string) ([]byte, error) {
	fd, err := unix.Openat(int(h.proc.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, h.text[:])
	if err != nil {
		return nil, err
	}
	return h.text[:n], nil
}

// ErrThread is the error of Find for the number of a thread.
type ErrThread struct{ Thread, Process int }

func (e *ErrThread) Error() string {
	return fmt.Sprintf("%d is a thread of process %d: use %d", e.Thread, e.Process, e.Process)
}

// Find is the process with that number; an error that is fs.ErrNotExist says that there
// is none, ErrThread that it is the number of a thread.
func (h *Host) Find(pid int) (Process, error) {
	if pid > 0 {
		// /proc has threads, too, and does not list them.
		if text, err := h.file(strconv.Itoa(pid) + "/status"); err == nil {
			if leader := parseLeader(text); leader > 0 && leader != pid {
				return Process{}, &ErrThread{pid, leader}
			}
		}
		if m := h.readProcess(pid); m != nil {
			return m.Process, nil
		}
	}
	return Process{}, fmt.Errorf("there is no process %d: %w", pid, fs.ErrNotExist)
}

// errShort is the error of a text that is not what the kernel writes.
var errShort = errors.New("not in the form of proc(5)")
