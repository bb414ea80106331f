package condition

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cg/nemb/sysfs"
)

// Other is a program that measures on the machine.
type Other struct {
	Program string `json:"program"` // such as cg monitor
	PID     int    `json:"pid"`
	// Counts is whose energy it tells, as "all processes"; "" where that is not known.
	Counts string `json:"counts"`
}

func (o Other) String() string {
	if o.Counts == "" {
		return fmt.Sprintf("%s (pid %d)", o.Program, o.PID)
	}
	return fmt.Sprintf("%s (pid %d: %s)", o.Program, o.PID, o.Counts)
}

// Names are those of programs, for people.
func Names(others []Other) (names []string) {
	for _, o := range others {
		names = append(names, o.String())
	}
	return names
}

// counts is whose energy each command of cg tells that reads counters.
var counts = map[string]string{
	"measure": "its program", "run": "its program", "gate": "its program", "monitor": "all processes",
	"track": "the whole machine", "sampler": "the whole machine, for a session", "session": "the whole machine",
}

// watchers are programs of others that read the same counters.
var watchers = []string{"codegreen", "wattameter"}

// Others finds the programs that measure on this machine now, besides this one: none of them is an empty list, and
// nil says that nobody can look. A session of cg that samples has a thread of the sampler's name; cg monitor and cg
// track have none, and are known by their executable and their command line. The packages for sessions keep a list of
// the processes of a user (docs/session.md). Processes that this user may not look into are missing.
//
// It looks for patience at most, and then gives what it has found. Runs that follow each other share a look: for
// twenty times as long as it took, what it found is given again.
func Others() []Other { return others.find() }

var others = search{look: look, patience: 2 * time.Second}

// search looks for others, one look at a time.
type search struct {
	look     func(add func(Other)) error
	patience time.Duration

	mu   sync.Mutex
	last *sight // nil before
}

// sight is what a look found.
type sight struct {
	mu    sync.Mutex
	found []Other // nil where nobody can look
	until time.Time
	done  chan struct{}
}

func (s *sight) so() []Other {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.found)
}

// find gives what the last look found, or looks. A look that still waits for a process is not begun anew: the kernel
// makes whoever reads a command line wait for the process's memory (proc_pid_cmdline(5)).
func (s *search) find() []Other {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		select {
		case <-s.last.done:
			if time.Now().Before(s.last.until) {
				return s.last.so()
			}
		default:
			return s.last.so()
		}
	}
	now := &sight{found: []Other{}, done: make(chan struct{})}
	s.last = now
	go func() {
		began := time.Now()
		err := s.look(func(o Other) {
			now.mu.Lock()
			defer now.mu.Unlock()
			now.found = append(now.found, o)
		})
		now.mu.Lock()
		defer now.mu.Unlock()
		if err != nil {
			now.found = nil
		}
		now.until = time.Now().Add(20 * time.Since(began))
		close(now.done)
	}()
	select {
	case <-now.done:
	case <-time.After(s.patience):
	}
	return now.so()
}

// look calls add for each program that measures.
func look(add func(Other)) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	listed := listedSessions()
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		o := Other{}
		if pid != os.Getpid() {
			o = watcherOf(e.Name())
		}
		if slices.Contains(listed, pid) {
			o.Program = cmp.Or(o.Program, "codegreen")
			o.Counts = cmp.Or(o.Counts, counts["session"])
			listed = slices.DeleteFunc(listed, func(other int) bool { return other == pid })
		}
		if o.Program != "" {
			o.PID = pid
			add(o)
		}
	}
	for _, pid := range listed { // that /proc does not show
		add(Other{"codegreen", pid, counts["session"]})
	}
	return nil
}

// listedSessions are the processes of the lists of this user that are there, once each.
func listedSessions() (pids []int) {
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()} {
		if dir == "" {
			continue
		}
		list := listAt(filepath.Join(dir, fmt.Sprintf("codegreen-%d.pids", os.Getuid())))
		for line := range strings.Lines(list) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			pid, err := strconv.Atoi(word)
			if err != nil || pid <= 0 || unix.Kill(pid, 0) == unix.ESRCH {
				continue
			}
			if !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// longestList is how much of a list is read, in bytes.
const longestList = 1 << 16

// listAt is the list of a file of this user, "" for everything else: others may put files there, and
// opening a pipe waits.
func listAt(name string) string {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	var is unix.Stat_t
	if unix.Fstat(int(f.Fd()), &is) != nil || is.Mode&unix.S_IFMT != unix.S_IFREG || int(is.Uid) != os.Getuid() {
		return ""
	}
	list, _ := io.ReadAll(io.LimitReader(f, longestList))
	return string(list)
}

// watcherOf is what a process measures with, without a name for one that does not.
func watcherOf(pid string) Other {
	line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	args := bytes.Split(line, []byte{0})
	for i, arg := range args {
		if name := filepath.Base(string(arg)); i < 3 && slices.Contains(watchers, strings.TrimSuffix(name, ".py")) {
			return Other{Program: name}
		}
	}
	command := ""
	if len(args) > 1 {
		command = string(args[1])
	}
	// cg track has commands of its own, which read nothing.
	reads := command == "monitor" ||
		command == "track" && (len(args) < 3 || len(args[2]) == 0 || args[2][0] == '-')
	if reads && isCg(pid, string(args[0])) {
		return Other{Program: "cg " + command, Counts: counts[command]}
	}
	var at unix.Stat_t
	if folder := filepath.Join("/proc", pid, "task"); unix.Stat(folder, &at) != nil || at.Nlink == 2+1 {
		return Other{} // one link for each thread: a sampler is never the only one
	}
	tasks, _ := filepath.Glob(filepath.Join("/proc", pid, "task/*/comm"))
	for _, task := range tasks {
		if sysfs.Line(task) != "cg-sampler" {
			continue
		}
		if counts[command] != "" {
			return Other{Program: "cg " + command, Counts: counts[command]}
		}
		return Other{Program: "cg"}
	}
	return Other{}
}

// isCg reports whether a process is a cg: this one's executable, or one of that name.
func isCg(pid, name string) bool {
	own, err := os.Readlink("/proc/self/exe")
	exe, failed := os.Readlink(filepath.Join("/proc", pid, "exe"))
	return err == nil && failed == nil && exe == own || filepath.Base(name) == "cg"
}
