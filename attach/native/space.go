package native

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"cg/attach/perf"
	"cg/pattern"
)

// space is the code in the memory of a process, by address.
type space struct {
	pid    uint32
	code   []perf.Mapping
	made   made
	python bool // CPython is in it
	java   bool
}

func newSpace(pid uint32) *space { return &space{pid: pid} }

// fork is the memory of a process that was forked.
func (s *space) fork(pid uint32) *space {
	return &space{pid: pid, code: slices.Clone(s.code), python: s.python, java: s.java}
}

// mostMappings is more than a program has of code.
const mostMappings = 1 << 15

// interpreter is the name of a file with CPython.
var interpreter = pattern.Later(`^(lib)?python3(\.\d+)?[a-z]*(\.so[.\d]*)?$`)

// add adds a mapping, in place of what was there.
func (s *space) add(m perf.Mapping) {
	if m.End <= m.Start {
		return
	}
	from, _ := slices.BinarySearchFunc(s.code, m.Start, func(a perf.Mapping, at uint64) int {
		if a.End <= at {
			return -1
		}
		return 1
	})
	to := from
	for to < len(s.code) && s.code[to].Start < m.End {
		to++
	}
	if to == from && len(s.code) >= mostMappings {
		return
	}
	s.code = slices.Replace(s.code, from, to, m)
	name := path.Base(m.Name)
	s.python = s.python || interpreter().MatchString(name)
	s.java = s.java || name == "libjvm.so"
}

// find is the mapping of an address, nil for none.
func (s *space) find(at uint64) *perf.Mapping {
	n, found := slices.BinarySearchFunc(s.code, at, func(a perf.Mapping, at uint64) int {
		switch {
		case a.End <= at:
			return -1
		case a.Start > at:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &s.code[n]
}

// list reads what a process has mapped: proc_pid_maps(5).
func (s *space) list() {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", s.pid))
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if m, ok := parseMapping(lines.Text()); ok {
			s.add(m)
		}
	}
}

// parseMapping reads a line of /proc/PID/maps, false for what is no code.
func parseMapping(line string) (m perf.Mapping, ok bool) {
	var rights string
	n, _ := fmt.Sscanf(line, "%x-%x %s %x %x:%x %d", &m.Start, &m.End, &rights, &m.Offset, &m.Major, &m.Minor, &m.Inode)
	if n < 7 || len(rights) < 3 || rights[2] != 'x' {
		return m, false
	}
	if fields := strings.SplitN(line, "/", 2); len(fields) == 2 && m.Inode != 0 {
		m.Name = "/" + fields[1]
	} else if at := strings.IndexByte(line, '['); at >= 0 {
		m.Name = line[at:]
	}
	return m, true
}

// isFile tells whether a mapping is one of a file.
func isFile(m *perf.Mapping) bool {
	return m.Inode != 0 && strings.HasPrefix(m.Name, "/") && !strings.HasPrefix(m.Name, "/memfd:") &&
		!strings.HasPrefix(m.Name, "//") && !strings.HasPrefix(m.Name, "/dev/")
}
