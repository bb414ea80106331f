package python

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"cg/pattern"
)

// ErrNoPython is of a process that runs no CPython.
var ErrNoPython = errors.New("it runs no CPython 3.8 to 3.15")

// The interpreters that can be read: 3.8 to 3.15.
const oldest, newest = 8, 15

// runtime is where the interpreter of a process is.
type runtime struct {
	state    uint64 // address of _PyRuntime
	codeType uint64 // address of PyCode_Type
	minor    int    // of 3.minor
	layout   layout
}

// image is a file that is mapped into a process.
type image struct {
	path  string // as the process names it
	start uint64 // of its first mapping
	from  uint64 // the offset in the file of that
}

// images are the files that may hold an interpreter, those named as one first.
func images(pid int) ([]image, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, denied(pid, err)
	}
	defer f.Close()
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	exe = strings.TrimSuffix(exe, " (deleted)")
	var named, others []image
	seen := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || !strings.HasPrefix(fields[5], "/") {
			continue
		}
		path := strings.Join(fields[5:], " ")
		path = strings.TrimSuffix(path, " (deleted)")
		if seen[path] {
			continue
		}
		seen[path] = true
		low, _, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(low, 16, 64)
		from, err2 := strconv.ParseUint(fields[2], 16, 64)
		if err != nil || err2 != nil {
			continue
		}
		i := image{path, start, from}
		if strings.HasPrefix(filepath.Base(path), "libpython3") {
			named = append(named, i)
		} else if path == exe {
			others = append(others, i)
		}
	}
	return append(named, others...), lines.Err()
}

// symbols are where a file has what is looked for, and of which version it is.
type symbols struct {
	state, codeType uint64 // addresses as in the file
	base            uint64 // the address of offset 0 of the file
	fixed           bool   // it is mapped where it says (ET_EXEC)
	minor           int    // 0 where its name does not tell
}

// known keeps the symbols of files, by path, size and time: processes come and go.
var known sync.Map

type fileID struct {
	path       string
	size, time int64
}

// largestImage is more bytes than a file with an interpreter has.
const largestImage = 512 << 20

// openFile opens a file that a process names, which may be any: a FIFO must not hold cg up, and one
// without end not fill its memory.
func openFile(name string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > largestImage) {
		err = fmt.Errorf("%s is no file of at most %d MiB", name, largestImage>>20)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// symbolsOf reads a file of a process.
func symbolsOf(pid int, path string) (symbols, error) {
	file := fmt.Sprintf("/proc/%d/root%s", pid, path)
	f, info, err := openFile(file)
	if err != nil { // deleted since, perhaps
		if f, info, err = openFile(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
			return symbols{}, err
		}
	}
	defer f.Close()
	id := fileID{path, info.Size(), info.ModTime().UnixNano()}
	if s, ok := known.Load(id); ok {
		if s.(symbols).state == 0 {
			return symbols{}, ErrNoPython
		}
		return s.(symbols), nil
	}
	s, err := readSymbols(f)
	if err == nil || errors.Is(err, ErrNoPython) {
		if err != nil {
			s = symbols{} // of a file that has none
		} else if m := versionName().FindStringSubmatch(filepath.Base(path)); m != nil {
			s.minor, _ = strconv.Atoi(m[1])
		} else {
			s.minor = versionInside(f)
		}
		known.Store(id, s)
	}
	return s, err
}

// versionName finds the version in python3.12 and libpython3.12.so.1.0.
var versionName = pattern.Later(`python3\.(\d+)`)

// versionTag finds the version in a file: the tag of its compiled modules.
var versionTag = pattern.Later(`cpython-3(\d\d?)\b`)

func versionInside(f io.ReaderAt) (minor int) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, largestImage))
	if err != nil {
		return 0
	}
	if m := versionTag().FindSubmatch(text); m != nil {
		minor, _ = strconv.Atoi(string(m[1]))
	}
	return minor
}

func readSymbols(file io.ReaderAt) (s symbols, err error) {
	f, err := elf.NewFile(file)
	if err != nil {
		return s, err
	}
	for _, table := range []func() ([]elf.Symbol, error){f.DynamicSymbols, f.Symbols} {
		all, err := table()
		if err != nil {
			continue
		}
		for _, y := range all {
			switch {
			case y.Value == 0:
			case y.Name == "_PyRuntime":
				s.state = y.Value
			case y.Name == "PyCode_Type":
				s.codeType = y.Value
			}
		}
		if s.state != 0 && s.codeType != 0 {
			break
		}
	}
	if s.state == 0 || s.codeType == 0 {
		return s, ErrNoPython
	}
	s.fixed = f.Type == elf.ET_EXEC
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			s.base = p.Vaddr - p.Off
			break
		}
	}
	return s, nil
}

// find looks for the interpreter of a process.
func find(m *memory) (r runtime, err error) {
	all, err := images(m.pid)
	if err != nil {
		return r, err
	}
	for _, i := range all {
		s, err := symbolsOf(m.pid, i.path)
		if err != nil {
			continue
		}
		bias := i.start - i.from - s.base
		if s.fixed {
			bias = 0
		}
		r.state, r.codeType, r.minor = s.state+bias, s.codeType+bias, s.minor
		return r, r.setLayout(m)
	}
	return r, ErrNoPython
}

// setLayout takes the layout that the interpreter tells, or that of its version.
func (r *runtime) setLayout(m *memory) error {
	text, err := m.bytes(r.state, 8*debugWords)
	if err != nil {
		return denied(m.pid, err)
	}
	switch {
	case bytes.HasPrefix(text, []byte(debugCookie)):
		version := text[8*wordVersion:]
		r.minor = int(version[2])
		if r.minor > newest {
			return fmt.Errorf("it is Python 3.%d, which is newer than what cg can read from outside: 3.%d to 3.%d",
				r.minor, oldest, newest)
		}
		l, err := debugLayout(text)
		if err != nil {
			return fmt.Errorf("the interpreter's description of itself cannot be used: %w", err)
		}
		r.layout = l
	case r.minor < oldest || r.minor > newest:
		return fmt.Errorf("it is Python 3.%d, which cannot be read from outside: cg can read 3.%d to 3.%d", r.minor,
			oldest, newest)
	default:
		l, ok := tables[r.minor]
		if !ok {
			return fmt.Errorf("this Python 3.%d does not describe itself", r.minor)
		}
		r.layout = l
	}
	return nil
}
