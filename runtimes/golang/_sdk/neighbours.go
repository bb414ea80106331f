package codegreen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// neighboursPath is of the file that lists the processes of this user that have a session, a line
// "PID START" for each (docs/session.md of cg).
func neighboursPath() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = neighboursFolder
	}
	return filepath.Join(dir, fmt.Sprintf(neighboursFile, os.Getuid()))
}

// statOf is what the kernel says of a process from its state on
// (proc_pid_stat(5)); nil where it says nothing.
func statOf(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// startOf is when a process started, in ticks; "" where it is gone.
func startOf(pid int) string {
	fields := statOf(pid)
	if len(fields) < 20 || slices.Contains(goneStates, fields[0]) {
		return ""
	}
	return fields[19]
}

// lockNeighbours opens the file and locks it; nil where that is not possible.
func lockNeighbours(path string) *os.File {
	for range 100 {
		f, err := openOwn(path)
		if err != nil {
			return nil
		}
		for n := 0; !tryLock(f); n++ {
			if n == 200 {
				f.Close()
				return nil
			}
			time.Sleep(5 * time.Millisecond)
		}
		mine, err1 := f.Stat()
		now, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(mine, now) {
			return f
		}
		f.Close() // it was removed or replaced meanwhile
	}
	return nil
}

// meet lists this process among those that have a session, or takes it out, and
// returns the others.
func meet(mine bool) (others []string) {
	path := neighboursPath()
	f := lockNeighbours(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 1<<20)
	n, _ := f.ReadAt(b, 0)
	var lines []string
	for line := range strings.Lines(string(b[:n])) {
		number, start, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		pid, _ := strconv.Atoi(number)
		if pid <= 0 || pid == os.Getpid() || strconv.Itoa(pid) != number {
			continue
		}
		if start != "" && startOf(pid) == start {
			lines, others = append(lines, number+" "+start+"\n"), append(others, number)
		}
	}
	if mine {
		lines = append(lines, fmt.Sprintf("%d %s\n", os.Getpid(), startOf(os.Getpid())))
	}
	if len(lines) == 0 {
		os.Remove(path)
		return nil
	}
	if f.Truncate(0) == nil {
		f.WriteAt([]byte(strings.Join(lines, "")), 0)
	}
	return others
}
