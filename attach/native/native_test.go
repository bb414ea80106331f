package native

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/attach/perf"
	"cg/attach/unwind"
	"cg/checkpoint"
	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// named numbers functions by their names.
type named struct{ all []checkpoint.Site }

func (n *named) number(s checkpoint.Site) checkpoint.SiteID {
	at := slices.Index(n.all, s)
	if at < 0 {
		at = len(n.all)
		n.all = append(n.all, s)
	}
	return checkpoint.SiteID(at + 1)
}

func (n *named) path(ids []checkpoint.SiteID) string {
	var names []string
	for _, id := range ids {
		names = append(names, n.all[id-1].Func)
	}
	return strings.Join(names, ">")
}

const base, top = 0x400000, 0x7000

// simulated is a reader of a process 7 with a program of three functions, main, outer and leaf, and a
// library without names.
func simulated() (*Reader, *named) {
	n := &named{}
	r := newReader(n.number)
	text := make([]byte, 0x300)
	text[0x150-5] = 0xe8 // outer calls leaf, and returns to 0x150
	binary.LittleEndian.PutUint32(text[0x150-4:], 0x200-0x150)
	r.files.known[file{8, 1, 99}] = &image{name: "/bin/app", text: text, textAt: 0x1000,
		segments: []elf.ProgHeader{{Off: 0, Vaddr: 0x1000, Filesz: 0x300}},
		functions: []function{{start: 0x1000, end: 0x1100, name: "main"}, {start: 0x1100, end: 0x1200, name: "outer"},
			{start: 0x1200, end: 0x1300, name: "_Z4leafi"}}}
	r.files.known[file{8, 1, 100}] = &image{name: "/lib/libx.so"}
	s := newSpace(7)
	s.add(perf.Mapping{Start: base, End: base + 0x1000, Major: 8, Minor: 1, Inode: 99, Name: "/bin/app"})
	s.add(perf.Mapping{Start: 2 * base, End: 2*base + 0x1000, Major: 8, Minor: 1, Inode: 100, Name: "/lib/libx.so"})
	s.add(perf.Mapping{Start: 3 * base, End: 3*base + 0x1000, Name: "//anon"})
	s.made.asked = 1
	s.made.add("c00010 20 JS:*sum file:///x/y.js:3:14\n")
	r.spaces[7] = s
	return r, n
}

// sampled is a sample: the address, the frame pointer, and the stack in words from top on.
func sampled(at, frame uint64, stack ...uint64) *perf.Record {
	r := &perf.Record{Kind: perf.Sample, PID: 7, TID: 8, At: 1}
	r.Registers[unwind.Address], r.Registers[unwind.FramePointer], r.Registers[unwind.StackPointer] = at, frame, top
	for _, w := range stack {
		r.Stack = binary.LittleEndian.AppendUint64(r.Stack, w)
	}
	return r
}

func TestPaths(t *testing.T) {
	for _, test := range []struct {
		name   string
		sample *perf.Record
		want   string
	}{
		{"by frame pointers", sampled(base+0x120, top+8, 5, 0, base+0x20, 0), "main>outer"},
		{"a leaf without a frame", sampled(base+0x210, top+16, base+0x150, 5, 0, base+0x20), "main>outer>leaf"},
		{"no leaf's caller", sampled(base+0x210, top+16, base+0x151, 5, 0, base+0x20), "main>leaf"},
		{"functions without names are one", sampled(2*base+0x10, top, top+16, 2*base+0x20, 0, base+0x20), "main>[libx.so]"},
		{"code that was made", sampled(3*base+0x18, top, 0, base+0x20), "main>sum"},
		{"code that no map has", sampled(3*base+0x40, top, 0, base+0x20), "main>[code made by the program]"},
		{"nowhere", sampled(0x10, top, 0, base+0x20), ""},
		{"no stack", sampled(base+0x120, top), "outer"},
		{"a frame pointer that points down", sampled(base+0x120, top-8, 0, base+0x20), "outer"},
	} {
		r, n := simulated()
		r.take(test.sample)
		if len(r.looks) != 1 || n.path(r.looks[0].Path) != test.want {
			t.Errorf("%s: %q, want %q", test.name, n.path(r.looks[0].Path), test.want)
		}
		if unnamed := test.name == "code that no map has"; unnamed != (r.Unnamed[7] == 1) {
			t.Errorf("%s: %d looks at code without a name", test.name, r.Unnamed[7])
		}
	}
}

// What a process is follows the records: it forks, runs another program, and ends.
func TestProcesses(t *testing.T) {
	r, n := simulated()
	r.take(&perf.Record{Kind: perf.Fork, PID: 1 << 30, Parent: 7, TID: 1 << 30})
	forked := sampled(base+0x120, 0)
	forked.PID, forked.TID = 1<<30, 1<<30
	r.take(forked)
	r.take(&perf.Record{Kind: perf.Exec, PID: 1 << 30, TID: 1 << 30})
	r.take(forked)
	python := perf.Mapping{Start: 1, End: 9, Name: "/usr/bin/python3.11"}
	r.take(&perf.Record{Kind: perf.Map, PID: 1 << 30, Mapping: python})
	r.take(forked)
	r.take(&perf.Record{Kind: perf.Exit, PID: 1 << 30, TID: 1 << 30})
	r.take(&perf.Record{Kind: perf.Lost, Lost: 3})
	var got []string
	for _, l := range r.looks {
		got = append(got, fmt.Sprintf("%s %v %v", n.path(l.Path), l.Began, l.Ended))
	}
	began := " true false"
	if want := []string{began, "outer false false", began, " false false", " false false", " false true"}; !slices.Equal(got, want) || r.Lost != 3 {
		t.Errorf("%q, %d lost, want %q", got, r.Lost, want)
	}
	if r.spaces[1<<30] != nil || r.spaces[7] == nil {
		t.Error("the process that ended is kept, or the other is not")
	}
	r.Thin = 2
	r.looks = nil
	for range 4 {
		r.take(sampled(base, 0))
	}
	if len(r.looks) != 2 {
		t.Errorf("%d looks of 4 samples", len(r.looks))
	}
	r.Thin, r.looks, r.Python = 1, nil, map[uint32]bool{7: true}
	if r.take(sampled(base, 0)); len(r.looks) != 1 || !r.looks[0].Python || r.looks[0].Interpreted {
		t.Errorf("%+v", r.looks)
	}
}

// Of a thread that executes Python the functions below the interpreter's loop are told, from the first one on
// that is neither the interpreter's nor the C library's, and what the loop holds.
func TestInterpreted(t *testing.T) {
	const extension, library = 4 * base, 5 * base
	for _, test := range []struct {
		name   string
		sample *perf.Record
		want   string
		held   []uint64
	}{
		{"the loop itself", sampled(base+0x10, top+16, 0xa, 0xb, 0, base+0x120), "", []uint64{0xa, 0xb, 0, base + 0x120}},
		{"the interpreter's own", sampled(base+0x110, top, top+24, base+0x20, 0xa, 0, base+0x120), "", []uint64{0xa, 0,
			base + 0x120}},
		{"an extension's", sampled(extension+0x10, top, top+16, base+0x130, top+40, base+0x20, 0xa, 0, base+0x120),
			"inner", []uint64{0xa, 0, base + 0x120}},
		{"the C library for an extension", sampled(library+0x10, top, top+16, extension+0x10, top+40, base+0x20, 0xa, 0,
			base+0x120), "inner>malloc", []uint64{0xa, 0, base + 0x120}},
		{"the C library for the interpreter", sampled(library+0x10, top, top+24, base+0x20, 0xa, 0, base+0x120), "",
			[]uint64{0xa, 0, base + 0x120}},
	} {
		r, n := simulated()
		i := r.files.known[file{8, 1, 99}]
		i.name, i.functions[0].name = "/bin/python3.11", evalLoop
		s := r.spaces[7]
		s.python = true
		for at, name := range map[uint64]string{extension: "/x/inner.so", library: "/lib/libc.so.6"} {
			s.add(perf.Mapping{Start: at, End: at + 0x1000, Major: 8, Minor: 1, Inode: at, Name: name})
			f := function{start: 0x1000, end: 0x1100, name: strings.TrimSuffix(filepath.Base(name), ".so")}
			if at == library {
				f.name = "malloc"
			}
			r.files.known[file{8, 1, at}] = &image{name: name, functions: []function{f},
				segments: []elf.ProgHeader{{Off: 0, Vaddr: 0x1000, Filesz: 0x300}}}
		}
		r.take(test.sample)
		if len(r.looks) != 1 {
			t.Fatalf("%s: %+v", test.name, r.looks)
		}
		l := r.looks[0]
		if !l.Interpreted || n.path(l.Path) != test.want || !slices.Equal(l.Held[HeldRegisters:], test.held) {
			t.Errorf("%s: %v %q %x", test.name, l.Interpreted, n.path(l.Path), l.Held)
		}
	}
}

func TestMappings(t *testing.T) {
	m, ok := parseMapping("7f00-8f00 r-xp 00001000 08:01 99                 /usr/lib/a b.so")
	want := perf.Mapping{Start: 0x7f00, End: 0x8f00, Offset: 0x1000, Major: 8, Minor: 1, Inode: 99,
		Name: "/usr/lib/a b.so"}
	if !ok || m != want {
		t.Errorf("%+v", m)
	}
	if _, ok := parseMapping("7f00-8f00 rw-p 00001000 08:01 99 /usr/lib/a.so"); ok {
		t.Error("data is code")
	}
	if m, _ := parseMapping("7f00-8f00 r-xp 00000000 00:00 0 [vdso]"); m.Name != "[vdso]" || isFile(&m) {
		t.Errorf("%+v", m)
	}
	s := newSpace(1)
	s.add(perf.Mapping{Start: 10, End: 20, Name: "a"})
	s.add(perf.Mapping{Start: 30, End: 40, Name: "b"})
	s.add(perf.Mapping{Start: 15, End: 30, Name: "c"})
	if s.find(12) != nil || s.find(20).Name != "c" || s.find(30).Name != "b" || s.find(40) != nil {
		t.Errorf("%+v", s.code)
	}
}

// A file is what its device and inode say, and not what has its name by now.
func TestFileOfAnotherInode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lib.so")
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	m := perf.Mapping{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev), Inode: st.Ino, Name: path}
	f := openMapped(1<<30, &m)
	if f == nil {
		t.Fatal("the file is not opened")
	}
	f.Close()
	m.Minor++ // as Btrfs and overlayfs tell it
	f = openMapped(uint32(os.Getpid()), &m)
	if (f != nil) != otherDevice(int(dir.Fd())) {
		t.Errorf("on a device of another number: %v", f)
	}
	if f.Close(); openMapped(1<<30, &m) != nil {
		t.Error("the file of this process stands for one of another")
	}
	m.Minor--
	m.Inode++
	if f := openMapped(1<<30, &m); f != nil {
		f.Close()
		t.Error("another file of that name is opened")
	}
}

// The functions of a program of Go have their names, files and lines.
func TestGo(t *testing.T) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	i := &image{name: "test"}
	i.read(&limited{f, mostFile})
	if i.golang == nil {
		t.Fatal("no table of functions")
	}
	fn := i.golang.LookupFunc("cg/attach/native.TestGo")
	if fn == nil {
		t.Fatal("no function TestGo")
	}
	s := i.describe(&function{start: fn.Entry, end: fn.End, name: fn.Name})
	if s.Language != "go" || s.Func != fn.Name || !strings.HasSuffix(s.File, "native_test.go") || s.Line == 0 {
		t.Errorf("%+v", s)
	}
}

func TestBrokenFile(t *testing.T) {
	whole, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	hostile := string(whole[:64]) + strings.Repeat("\xff", 1<<16)
	for _, text := range []string{"", "#!/bin/sh\n", string(whole[:4096]), hostile} {
		path := filepath.Join(t.TempDir(), "app")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		i := &image{name: path}
		i.read(&limited{f, mostFile})
		f.Close()
		if len(i.functions) != 0 {
			t.Errorf("%.20q has functions", text)
		}
	}
}

func TestMaps(t *testing.T) {
	for _, test := range []struct {
		name string
		java bool
		want checkpoint.Site
	}{
		{"int Sum.of(int, java.lang.String)", true, checkpoint.Site{Language: "java", Func: "Sum.of"}},
		{"Interpreter", true, checkpoint.Site{Language: "java", Func: "Interpreter"}},
		{"JS:*sum /x/y.js:3:14", false, checkpoint.Site{Language: "javascript", Func: "sum", File: "/x/y.js", Line: 3}},
		{"LazyCompile:~ file:///x/y.js:3:14", false, checkpoint.Site{Language: "javascript", File: "/x/y.js", Line: 3,
			Func: "(anonymous of y.js)"}},
		{"Builtin:Call", false, checkpoint.Site{Language: "jit", Func: "Builtin:Call"}},
	} {
		test.want.Kind = checkpoint.Function
		if got := madeSite(test.name, test.java); got != test.want {
			t.Errorf("%q is %+v, want %+v", test.name, got, test.want)
		}
	}
	var m made
	const whole = "10 10 a\n20 8 b\nbroken\n20 4 c\n"
	m.add(whole + "30")
	if m.at(0x14).name != "a" || m.at(0x22).name != "c" || m.at(0x26) != nil || m.read != int64(len(whole)) {
		t.Errorf("%+v", m)
	}
	m.add("18 4 d\n1e 4 e\n40 4 f\n") // memory that is used again
	for at, want := range map[uint64]string{0x14: "", 0x18: "d", 0x1f: "e", 0x22: "", 0x42: "f"} {
		if f := m.at(at); (f == nil) != (want == "") || f != nil && f.name != want {
			t.Errorf("%x is %+v, want %q", at, f, want)
		}
	}
}

// A map is of its process: what has grown is read, and what is older or another user's is not.
func TestMapFile(t *testing.T) {
	path := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	defer os.Remove(path)
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, now := newSpace(uint32(os.Getpid())), checkpoint.Instant(1)
	check := func(what, want string) {
		t.Helper()
		now += checkpoint.Instant(2 * mapEvery)
		if got, _ := s.made.find(s, 0x18, now); got.Func != want {
			t.Errorf("%s: %q, want %q", what, got.Func, want)
		}
	}
	write("10 10 of before\n")
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	check("older", "")
	write("10 10 first\n")
	check("new", "first")
	write("10 10 first\n10 10 second\n")
	check("grown", "second")
	write("10 10 a\n")
	check("written anew", "a")
	if os.Getuid() == 0 {
		if err := os.Chown(path, 4711, -1); err != nil {
			t.Skipf("the file cannot be given away: %v", err)
		}
		write("10 10 a\n10 10 of another\n")
		check("another user's", "a")
	}
}
