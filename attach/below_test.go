package attach

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/attach/native"
	"cg/attach/perf"
	"cg/attach/python"
	"cg/checkpoint"
)

// A look takes over what the nearest sample shows that is of its own function and of no other.
func TestBelow(t *testing.T) {
	const ms = checkpoint.Instant(1e6)
	f, g, x := python.Span{From: 0x1000, To: 0x1100}, python.Span{From: 0x1200, To: 0x1300}, uint64(5)
	thread := checkpoint.Thread{PID: 7, TID: 7}
	padding := make([]uint64, native.HeldRegisters)
	in := func(words ...uint64) []uint64 { return append(slices.Clone(padding), words...) }
	for _, test := range []struct {
		name    string
		samples []native.Look
		waiting bool
		want    []checkpoint.SiteID
	}{
		{"none", nil, false, []checkpoint.SiteID{1, 2}},
		{"of it", []native.Look{{At: 99 * ms, Held: in(x, 0x1010), Path: []checkpoint.SiteID{9}}}, false,
			[]checkpoint.SiteID{1, 2, 9}},
		{"of another", []native.Look{{At: 99 * ms, Held: in(0x1210), Path: []checkpoint.SiteID{9}}}, false,
			[]checkpoint.SiteID{1, 2}},
		{"of either", []native.Look{{At: 99 * ms, Held: in(0x1210, 0x1010), Path: []checkpoint.SiteID{9}}}, false,
			[]checkpoint.SiteID{1, 2}},
		{"of it by a register", []native.Look{{At: 99 * ms, Held: append([]uint64{0x1010}, in(0x1210)...),
			Path: []checkpoint.SiteID{9}}}, false, []checkpoint.SiteID{1, 2, 9}},
		{"the nearer one, after it", []native.Look{{At: 98 * ms, Held: in(0x1010), Path: []checkpoint.SiteID{8}},
			{At: 101 * ms, Held: in(0x1010), Path: []checkpoint.SiteID{9}}}, false, []checkpoint.SiteID{1, 2, 9}},
		{"the interpreter itself", []native.Look{{At: 98 * ms, Held: in(0x1010), Path: []checkpoint.SiteID{8}},
			{At: 101 * ms, Held: in(0x1010)}}, false, []checkpoint.SiteID{1, 2}},
		{"too long ago", []native.Look{{At: 40 * ms, Held: in(0x1010), Path: []checkpoint.SiteID{9}}}, false,
			[]checkpoint.SiteID{1, 2}},
		{"it waited", []native.Look{{At: 99 * ms, Held: in(0x1010), Path: []checkpoint.SiteID{9}}}, true,
			[]checkpoint.SiteID{1, 2}},
	} {
		var b below
		other := &Look{Thread: thread, Path: []checkpoint.SiteID{1, 3}}
		b.meet(other, g)
		l := &Look{Thread: thread, Path: []checkpoint.SiteID{1, 2}, Waiting: test.waiting}
		b.meet(l, f)
		other.when, l.when = 0, 100*ms
		for _, s := range test.samples {
			s.Thread = thread
			b.add(s)
		}
		b.settle([]*Look{l}, 105*ms)
		if l.leaf.To == 0 || len(l.Path) != 2 {
			t.Errorf("%s: it does not wait for later samples", test.name)
		}
		b.settle([]*Look{l}, 111*ms)
		if l.leaf.To != 0 || !slices.Equal(l.Path, test.want) {
			t.Errorf("%s: %d, want %d", test.name, l.Path, test.want)
		}
		if b.settle(nil, 1000*ms); len(b.samples) != 0 {
			t.Errorf("%s: samples are kept", test.name)
		}
	}
}

// Memory in which several functions lay tells of none; a function that takes another's place is known.
func TestSpans(t *testing.T) {
	s := &spans{sites: map[python.Span]checkpoint.SiteID{}}
	s.add(python.Span{From: 100, To: 200}, 1)
	s.add(python.Span{From: 300, To: 400}, 2)
	s.add(python.Span{From: 300, To: 400}, 3)
	s.add(python.Span{From: 150, To: 350}, 4)
	if len(s.all) != 1 || len(s.sites) != 1 {
		t.Errorf("%+v", s)
	}
	one := &Look{Path: []checkpoint.SiteID{4}, leaf: python.Span{From: 150, To: 350}}
	if _, ok := s.find(349); !ok || !s.has(one) {
		t.Errorf("%+v", s)
	}
	if _, ok := s.find(350); ok {
		t.Error("what is behind a function is it")
	}
	if s.add(python.Span{From: 150, To: 350}, 5); s.has(one) {
		t.Error("two functions in one place")
	}
}

// What an extension module does stands below the Python function that called it, and a thread that knows no Python
// has its own functions.
func TestBelowPython(t *testing.T) {
	if err := perf.Check(os.Getpid()); err != nil {
		t.Skip(err)
	}
	for _, path := range append([]string{"python3"}, filepath.SplitList(os.Getenv("CG_PYTHONS"))...) {
		t.Run(filepath.Base(path), func(t *testing.T) { belowPython(t, path) })
	}
}

func belowPython(t *testing.T, path string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	include, err := exec.CommandContext(ctx, path, "-c",
		"import sys, sysconfig; print(sys.executable); print(sysconfig.get_path('include'))").Output()
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(string(include))
	dir := t.TempDir()
	gcc := exec.CommandContext(ctx, "gcc", "-O2", "-shared", "-fPIC", "-I"+paths[1],
		"-idirafter"+filepath.Dir(paths[1]), "-o", filepath.Join(dir, "below.so"), "testdata/below.c")
	if out, err := gcc.CombinedOutput(); err != nil {
		if _, missing := os.Stat(filepath.Join(paths[1], "Python.h")); missing != nil && os.Getenv("CI") != "true" {
			t.Skip("Python has no headers here")
		}
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(ctx, paths[0], "testdata/below.py", dir, "0.5", "200000", "spawn")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := Start(Config{PID: cmd.Process.Pid, Interval: time.Millisecond, Clock: checkpoint.SystemClock()})
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	sites, seen := s.Sites(), map[string]int{}
	for _, l := range s.Take(math.MaxUint64) {
		var path []string
		for _, id := range l.Path {
			path = append(path, sites[id-1].Func)
		}
		if all := strings.Join(path, ">"); !l.Waiting {
			for _, part := range []string{"f>a>inner_a", "g>b>inner_b", "f>b", "g>a", "plain>", "foreign", "PyEval"} {
				if strings.Contains(all, part) {
					seen[part]++
				}
			}
		}
	}
	for _, want := range []string{"f>a>inner_a", "g>b>inner_b", "foreign"} {
		if seen[want] == 0 {
			t.Errorf("no %s: %v", want, seen)
		}
	}
	wrong := seen["f>b"] + seen["g>a"] + seen["plain>"] + seen["PyEval"]
	if right := seen["f>a>inner_a"] + seen["g>b>inner_b"]; wrong > right/20 {
		t.Errorf("%d paths that are none: %v", wrong, seen)
	}
}
