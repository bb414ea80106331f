package native

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// made is the code that a just-in-time compiler made, by the map that it writes for perf:
// /tmp/perf-PID.map, a line for each function with address and size in hexadecimal, and the name
// (tools/perf/Documentation/jit-interface.txt).
type made struct {
	functions []madeFunction // by address
	file      os.FileInfo    // the map, nil for none so far
	read      int64          // bytes of it
	asked     checkpoint.Instant
}

type madeFunction struct {
	start, end uint64
	name       string
}

// mapEvery is how often a map is looked at, mostMap how many bytes of it are read.
const (
	mapEvery = 250 * time.Millisecond
	mostMap  = 64 << 20
)

// find is the function at an address. What the map has got since comes first: memory is used again.
func (m *made) find(s *space, at uint64, now checkpoint.Instant) (checkpoint.Site, bool) {
	if m.asked == 0 || now-m.asked > checkpoint.Instant(mapEvery) {
		m.asked = now
		m.load(s.pid)
	}
	f := m.at(at)
	if f == nil {
		return checkpoint.Site{}, false
	}
	return madeSite(f.name, s.java), true
}

func (m *made) at(at uint64) *madeFunction {
	n, found := slices.BinarySearchFunc(m.functions, at, func(f madeFunction, at uint64) int {
		return cmp.Compare(f.start, at)
	})
	if !found {
		n--
	}
	if n < 0 || at >= m.functions[n].end {
		return nil
	}
	return &m.functions[n]
}

// load reads what the map of a process has got.
func (m *made) load(pid uint32) {
	inner, owner := identity(pid)
	name := fmt.Sprintf("/proc/%d/root/tmp/perf-%d.map", pid, inner)
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Sys().(*syscall.Stat_t).Uid != owner {
		return
	}
	if time.Since(info.ModTime()) > age(pid)+time.Second { // it is of one that had the number before
		return
	}
	if m.file == nil || !os.SameFile(m.file, info) || info.Size() < m.read { // it was written anew
		m.functions, m.read = nil, 0
	}
	m.file = info
	room := mostMap - m.read
	b, err := io.ReadAll(io.NewSectionReader(f, m.read, room))
	if err == nil {
		m.add(string(b))
	}
	if int64(len(b)) == room {
		m.read = mostMap
	}
}

// add adds the whole lines of a text, in place of the functions that were there.
func (m *made) add(text string) {
	text = text[:strings.LastIndexByte(text, '\n')+1]
	m.read += int64(len(text))
	var added []madeFunction
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(fields) < 3 {
			continue
		}
		start, err := strconv.ParseUint(strings.TrimPrefix(fields[0], "0x"), 16, 64)
		size, failed := strconv.ParseUint(strings.TrimPrefix(fields[1], "0x"), 16, 32)
		if err != nil || failed != nil || size == 0 || start+size < start {
			continue
		}
		added = append(added, madeFunction{start: start, end: start + size, name: fields[2]})
	}
	if len(added) == 0 {
		return
	}
	slices.Reverse(added) // of two at one address the later
	slices.SortStableFunc(added, func(a, b madeFunction) int { return cmp.Compare(a.start, b.start) })
	added = slices.CompactFunc(added, func(a, b madeFunction) bool { return a.start == b.start })
	all, end := make([]madeFunction, 0, len(m.functions)+len(added)), uint64(0)
	for _, f := range m.functions {
		for ; len(added) > 0 && added[0].start <= f.start; added = added[1:] {
			all, end = append(all, added[0]), added[0].end
		}
		if f.start >= end && (len(added) == 0 || added[0].start >= f.end) {
			all = append(all, f)
		}
	}
	m.functions = append(all, added...)
}

// madeSite is the site of a name in a map: "int Sum.of(int)" of Java, or of V8
// "JS:*sum file:///x/y.js:3:14".
func madeSite(name string, java bool) checkpoint.Site {
	s := checkpoint.Site{Language: "jit", Func: name, Kind: checkpoint.Function}
	if java {
		s.Language = "java"
		head, _, called := strings.Cut(name, "(")
		if words := strings.Fields(head); called && len(words) > 0 {
			s.Func = words[len(words)-1]
		}
		return s
	}
	tag, rest, ok := strings.Cut(name, ":")
	if !ok || !slices.Contains([]string{"JS", "LazyCompile", "Function", "Script", "Eval"}, tag) {
		return s
	}
	s.Language = "javascript"
	rest = strings.TrimLeft(rest, "*~^+'")
	s.Func = rest
	if at := strings.LastIndexByte(rest, ' '); at >= 0 {
		s.Func = rest[:at]
		place := strings.Split(strings.TrimPrefix(rest[at+1:], "file://"), ":")
		if n := len(place); n >= 3 {
			s.File = strings.Join(place[:n-2], ":")
			s.Line, _ = strconv.Atoi(place[n-2])
		}
	}
	if s.Func == "" {
		s.Func = "(anonymous of " + path.Base(s.File) + ")"
	}
	return s
}

// identity is the number that a process has for itself, and the user it writes files as: NSpid and Uid
// of proc_pid_status(5).
func identity(pid uint32) (inner, owner uint32) {
	inner, owner = pid, math.MaxUint32
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, err := strconv.ParseUint(fields[len(fields)-1], 10, 32)
		switch {
		case err != nil:
		case fields[0] == "NSpid:":
			inner = uint32(n)
		case fields[0] == "Uid:":
			owner = uint32(n)
		}
	}
	return inner, owner
}

// ticks is how many of them the kernel counts in a second for programs (USER_HZ).
const ticks = 100

// age is how long ago a process was started: field 22 of proc_pid_stat(5). It is -1 s for none.
func age(pid uint32) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from field 3 on
	var now unix.Timespec
	if len(fields) < 20 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return -time.Second
	}
	start, _ := strconv.ParseInt(fields[22-3], 10, 64)
	return time.Duration(now.Nano()) - time.Duration(start)*(time.Second/ticks)
}
