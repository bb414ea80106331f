package python

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// The tables are what the headers of each interpreter of the machine say, where it has headers.
func TestTables(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	compared := 0
	for version, path := range pythons(t) {
		out, err := exec.Command(path, "-c", "import sysconfig; print(sysconfig.get_path('include'))").Output()
		include := strings.TrimSpace(string(out))
		if _, missing := os.Stat(filepath.Join(include, "internal/pycore_pystate.h")); err != nil || missing != nil {
			continue
		}
		program := filepath.Join(t.TempDir(), "offsets")
		if out, err := exec.Command(cc, "-w", "-I", include, "-I", include+"/internal",
			"-idirafter", filepath.Dir(include), "-o", program,
			"testdata/offsets.c").CombinedOutput(); err != nil {
			t.Errorf("%s: %s", version, out)
			continue
		}
		var minor int
		fmt.Sscanf(version, "3.%d.", &minor)
		l, ok := tables[minor]
		if !ok {
			cmd := start(t, path, waiting)
			p, _ := open(t, cmd.Process.Pid)
			l = p.runtime.layout // which tells itself
		}
		told, err := exec.Command(program).Output()
		if err != nil {
			t.Fatal(err)
		}
		fields := l.fields()
		for line := range strings.Lines(string(told)) {
			var name string
			var at uint64
			if _, err := fmt.Sscan(line, &name, &at); err != nil {
				t.Fatal(err)
			}
			if got, ok := fields[name]; !ok || got != at {
				t.Errorf("%s: %s is at %d, and the table says %d", version, name, at, got)
			}
		}
		compared++
	}
	if compared == 0 && os.Getenv("CI") == "true" {
		t.Error("no interpreter has headers")
	}
}

// Interpreters describe themselves as their headers do: words of each and what testdata/offsets.c says of it, as
// testdata/describe.sh prints them.
func TestDescriptions(t *testing.T) {
	files, err := filepath.Glob("testdata/described/3.*")
	if err != nil || len(files) != len(described) {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var told []byte
		fields, compared := map[string]uint64{}, 0
		for line := range strings.Lines(string(text)) {
			var name string
			var n uint64
			if _, err := fmt.Sscan(line, &name, &n); err != nil {
				t.Fatal(err)
			}
			if name == "word" {
				told = binary.LittleEndian.AppendUint64(told, n)
				continue
			}
			if compared++; compared == 1 {
				l, err := debugLayout(told)
				if err != nil {
					t.Fatal(file, err)
				}
				fields = l.fields()
			}
			if got, ok := fields[name]; !ok || got != n {
				t.Errorf("%s: %s is at %d, and is taken to be at %d", file, name, n, got)
			}
		}
		if compared != 21 {
			t.Errorf("%s: %d fields", file, compared)
		}
	}
}

// fields are those of a layout by the names of testdata/offsets.c.
func (l layout) fields() map[string]uint64 {
	return map[string]uint64{
		"interpreters": l.interpreters, "interpreter.next": l.interpreter.next, "interpreter.threads": l.interpreter.threads,
		"thread.native": l.thread.native, "thread.next": l.thread.next, "thread.id": l.thread.id, "thread.frame": l.thread.frame,
		"cframe.frame": l.cFrame, "frame.code": l.frame.code, "frame.previous": l.frame.previous, "frame.owner": l.frame.owner,
		"code.qualname": l.code.qualname, "code.filename": l.code.filename, "code.name": l.code.name, "code.line": l.code.line,
		"code.instructions": l.code.instructions, "object.size": varSize,
		"object.type": l.objectType, "string.length": l.text.length, "string.state": l.text.state,
		"string.ascii": l.text.ascii, "string.wide": l.text.wide,
	}
}

// What does not describe a version that cg knows is refused.
func TestForeignDescriptions(t *testing.T) {
	for minor, w := range described {
		good := make([]byte, 8*debugWords)
		copy(good, debugCookie)
		binary.LittleEndian.PutUint64(good[8*wordVersion:], 0x030000f0|uint64(minor)<<16)
		if _, err := debugLayout(good); err != nil {
			t.Error(err)
		}
		for name, change := range map[string]func([]byte) []byte{
			"short":  func(b []byte) []byte { return b[:100] },
			"cookie": func(b []byte) []byte { b[0] = 'X'; return b },
			"3.16":   func(b []byte) []byte { b[8*wordVersion+2] = 16; return b },
			"4.13":   func(b []byte) []byte { b[8*wordVersion+3] = 4; return b },
		} {
			if _, err := debugLayout(change(bytes.Clone(good))); err == nil {
				t.Errorf("3.%d, %s: no error", minor, name)
			}
		}
		for i := range w.into(new(layout)) {
			b := bytes.Clone(good)
			b[8*i+2] = 1
			if _, err := debugLayout(b); err == nil {
				t.Errorf("3.%d, word %d: no error of an offset of 65536", minor, i)
			}
		}
	}
}

// Memory of any content ends a Read, with no stack that is none, and without hanging.
func TestAnyMemory(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 3))
		p := &Process{memory: newMemory(1), codes: map[uint64]*code{}, threads: map[uint64]bool{}}
		p.site = func(Function) checkpoint.SiteID { return 1 }
		p.tids.list = func(int) map[uint32]uint32 { // each is a thread's
			all := map[uint32]uint32{}
			for n := range uint32(64) {
				all[0x10000+8*n] = 1 + n
			}
			return all
		}
		minor := 8 + int(seed%5)
		p.runtime = runtime{state: 0x10000, codeType: 0x20008, minor: minor, layout: tables[minor]}
		p.memory.system = func(_ int, local []unix.Iovec, far []unix.RemoteIovec) (n int, err error) {
			for i := range far {
				if random.IntN(8) == 0 {
					return n, unix.EFAULT
				}
				page := unsafeBytes(local[i])
				for at := 0; at < len(page); at += 8 { // most words are addresses of such memory
					binary.LittleEndian.PutUint64(page[at:], 0x10000+random.Uint64N(64)*8)
				}
				n += pageSize
			}
			return n, nil
		}
		for range 5 {
			if _, err := p.Read(); err != nil && !Gone(err) {
				t.Fatal(err)
			}
		}
	}
}
