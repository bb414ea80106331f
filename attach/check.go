package attach

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"cg/attach/perf"
	"cg/attach/python"
	"cg/checkpoint"
)

// Check tells why a process that runs cannot be looked at; nil where it can, itself or one that
// it has started.
func Check(pid int) error {
	if leader := leaderOf(pid); leader != pid {
		return fmt.Errorf("%d is a thread of process %d: use --pid %d", pid, leader, leader)
	}
	var first error
	for _, p := range family(pid) {
		err := readable(p)
		if err == nil {
			return nil
		}
		if first == nil || errors.Is(first, python.ErrNoPython) && !errors.Is(err, python.ErrNoPython) {
			first = fmt.Errorf("process %d (%s): %w", p, command(p), err)
		}
	}
	return first
}

// readable tells why a process cannot be read.
func readable(pid int) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = broken(problem)
		}
	}()
	_, err = python.Open(pid, func(python.Function) checkpoint.SiteID { return 0 })
	if !errors.Is(err, python.ErrNoPython) {
		return err
	}
	if denied := perf.Check(pid); denied != nil {
		return fmt.Errorf("%w; %w", err, denied)
	}
	return nil
}

// leaderOf is the process that a thread is of; the thread itself where that is not known.
func leaderOf(tid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "Tgid:"); ok {
			if leader, err := strconv.Atoi(strings.TrimSpace(n)); err == nil {
				return leader
			}
		}
	}
	return tid
}

// identity tells a process from another that got its number, and the program that it runs from
// one that took its place.
type identity struct {
	start, stack string // fields 22 and 28 of /proc/PID/stat (proc_pid_stat(5))
	program      string // its file
}

// identify reads the identity of a process, which is empty for none.
func identify(pid int) (id identity) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from field 3 on
	if len(fields) < 26 {
		return id
	}
	id.start, id.stack = fields[22-3], fields[28-3]
	id.program, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return id
}

// family is a process and those that it has started.
func family(pid int) (all []int) {
	all = []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}
