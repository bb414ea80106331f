package native

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// made is the code that a just-in-time compiler made, by the map that it writes for perf:
// /tmp/perf-PID.map, a line for each function with address and size in hexadecimal, and the name
// (tools/perf/Documentation/jit-interface.txt).
type made struct {
	functions []madeFunction // by address
	read      int64          // bytes of the map
	asked     checkpoint.Instant
}

type madeFunction struct {
	start, end uint64
	name       string
}

// mapEvery is how often the map is looked at, mostMap more than it has.
const (
	mapEvery = 250 * time.Millisecond
	mostMap  = 64 << 20
)

// find is the function at an address.
func (m *made) find(s *space, at uint64, now checkpoint.Instant) (checkpoint.Site, bool) {
	f := m.at(at)
	if f == nil && (m.asked == 0 || now-m.asked > checkpoint.Instant(mapEvery)) {
		m.asked = now
		m.load(s.pid)
		f = m.at(at)
	}
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
	name := fmt.Sprintf("/proc/%d/root/tmp/perf-%d.map", pid, innerOf(pid))
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if info.Size() < m.read { // it was written anew
		m.functions, m.read = nil, 0
	}
	b, err := io.ReadAll(io.NewSectionReader(f, m.read, mostMap))
	if err == nil {
		m.add(string(b))
	}
}

// add adds the whole lines of a text. What is later stands in place of what was there.
func (m *made) add(text string) {
	text = text[:strings.LastIndexByte(text, '\n')+1]
	m.read += int64(len(text))
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
		m.functions = append(m.functions, madeFunction{start: start, end: start + size, name: fields[2]})
	}
	slices.Reverse(m.functions)
	slices.SortStableFunc(m.functions, func(a, b madeFunction) int { return cmp.Compare(a.start, b.start) })
	m.functions = slices.CompactFunc(m.functions, func(a, b madeFunction) bool { return a.start == b.start })
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

// innerOf is the number that a process has for itself (NSpid of proc_pid_status(5)).
func innerOf(pid uint32) uint32 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "NSpid:" {
			if n, err := strconv.ParseUint(fields[len(fields)-1], 10, 32); err == nil {
				return uint32(n)
			}
		}
	}
	return pid
}
