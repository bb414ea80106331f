package python

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// files writes the files of a program below a new folder.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// modules is a program whose main.py imports n modules of a package, each of which imports one more.
func modules(n int) map[string]string {
	texts := map[string]string{"main.py": "import p\nprint(p.m0.f(1))\n", "p/__init__.py": ""}
	for i := range n {
		texts["p/__init__.py"] += fmt.Sprintf("from . import m%d\n", i)
		texts[fmt.Sprintf("p/m%d.py", i)] = fmt.Sprintf("from .n%d import g\n\ndef f(x):\n    return g(x)\n", i)
		texts[fmt.Sprintf("p/n%d.py", i)] = "def g(x):\n    return x + 1\n"
	}
	return texts
}

// hand is a helper whose answers a test gives.
type hand struct {
	asked, answers chan string
	ended          chan struct{}
}

func newHand() hand {
	return hand{make(chan string), make(chan string), make(chan struct{})}
}

func (h hand) start(ctx context.Context) (*helper, error) {
	return &helper{
		weave: func(path string) (string, error) {
			select {
			case h.asked <- filepath.Base(path):
			case <-ctx.Done():
				return "", ctx.Err()
			}
			select {
			case answer := <-h.answers:
				if answer == "" {
					return "", errors.New("it has ended")
				}
				return answer, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
		end: func() { close(h.ended) },
	}, nil
}

// TestAhead: what comes next is woven in the order of the imports, the program waits for what is being woven, and is
// told once.
func TestAhead(t *testing.T) {
	dir := files(t, modules(12))
	path := func(name string) string { return filepath.Join(dir, "p", name+".py") }
	h := newHand()
	a := newAhead(h.start, 1)
	defer a.close()
	meet := func(name string) bool { return a.meet("p."+name, path(name)) }
	if a.meet("__main__", filepath.Join(dir, "main.py")) || a.meet("p", path("__init__")) {
		t.Error("the first files are woven")
	}
	for _, name := range []string{"m0", "n0", "m1", "n1", "m2"} {
		if meet(name) {
			t.Error(name, "is woven")
		}
	}
	if meet("n2") { // the eighth
		t.Error("n2 is woven")
	}
	for _, want := range []string{"m3.py", "n3.py", "m4.py"} {
		if got := <-h.asked; got != want {
			t.Errorf("%s is woven, want %s", got, want)
		}
		if want != "m4.py" {
			h.answers <- "made"
		}
	}
	waits := make(chan bool)
	go func() { waits <- meet("m4") }() // while it is being woven
	h.answers <- "kept"                 // which the program would have found itself
	if <-waits {
		t.Error("m4 was there before")
	}
	if got := <-h.asked; got != "n4.py" {
		t.Errorf("%s is woven after what m4 imports", got)
	}
	if !meet("m3") || !meet("n3") || meet("m3") {
		t.Error("m3 and n3 are told once each")
	}
	if meet("m5") { // not begun: the program does it, and n5 is next
		t.Error("m5 is woven")
	}
	h.answers <- "none"
	if got := <-h.asked; got != "n5.py" {
		t.Errorf("%s is woven after the program has met m5", got)
	}
	if meet("n4") {
		t.Error("n4 could not be woven")
	}
	go func() { waits <- meet("n5") }()
	h.answers <- "" // it has ended
	if <-waits {
		t.Error("n5 was woven by nobody")
	}
	<-h.ended
	if meet("m6") || meet("n6") {
		t.Error("files are woven after the process has ended")
	}
}

// TestAheadHasALead: what the program never imports is not woven without end.
func TestAheadHasALead(t *testing.T) {
	dir := files(t, modules(100))
	h := newHand()
	a := newAhead(h.start, 1)
	for range enough - 1 {
		a.meet("__main__", filepath.Join(dir, "main.py"))
	}
	a.meet("p", filepath.Join(dir, "p/__init__.py"))
	var made []string
	for range lead {
		made = append(made, <-h.asked)
		h.answers <- "made"
	}
	select {
	case name := <-h.asked:
		t.Errorf("%s is woven after %d that nobody asked for", name, lead)
	case <-time.After(10 * time.Millisecond):
	}
	if !a.meet("p.m0", filepath.Join(dir, "p", made[0])) {
		t.Errorf("%s is not told", made[0])
	}
	if got := <-h.asked; slices.Contains(made, got) {
		t.Errorf("%s is woven again", got)
	}
	a.close()
	<-h.ended
	if a.meet("p.m99", filepath.Join(dir, "p/m99.py")) {
		t.Error("a file is told after the end")
	}
}

// awaitKept waits until all modules that the program has not met by m10 are woven: the last may be so before others.
func awaitKept(t *testing.T, dir string) {
	deadline := time.Now().Add(time.Minute)
	for i := 11; i < 20; i++ {
		for _, name := range []string{"m", "n"} {
			file := fmt.Sprintf("p/%s%d.py", name, i)
			for !isKept(filepath.Join(dir, file)) {
				if time.Now().After(deadline) {
					t.Errorf("%s is not woven ahead", file)
					return
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// TestAheadOfPrograms: a program has the same events whether or not its files were woven ahead, and finds those that
// were.
func TestAheadOfPrograms(t *testing.T) {
	defer func(before func(func(string, string) bool) func(string, string) bool) { meeting = before }(meeting)
	for _, python := range pythons(t) {
		if purely(python) {
			continue
		}
		t.Run(filepath.Base(python), func(t *testing.T) {
			dir := files(t, modules(20))
			settled := time.Now().Add(-time.Hour)
			filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
				return errors.Join(err, os.Chtimes(path, settled, settled))
			})
			var mu sync.Mutex
			told := map[string]bool{}
			meeting = func(meet func(string, string) bool) func(string, string) bool {
				return func(module, path string) bool {
					if module == "p.m10" {
						awaitKept(t, dir)
					}
					is := meet(module, path)
					mu.Lock()
					defer mu.Unlock()
					told[module] = is
					return is
				}
			}
			first := measured(t, dir, python, []string{"main.py"})
			for i := 11; i < 20; i++ {
				for _, name := range []string{"m", "n"} {
					module := fmt.Sprintf("p.%s%d", name, i)
					if is, asked := told[module]; asked && !is { // what is in the cache is not asked for
						t.Errorf("the program does not find %s", module)
					}
				}
			}
			if told["__main__"] || told["p.m0"] {
				t.Error("what the program met first is said to be woven ahead")
			}
			meeting = func(func(string, string) bool) func(string, string) bool {
				return func(string, string) bool { return false }
			}
			os.RemoveAll(filepath.Join(cacheDir, "woven"))
			alone := measured(t, dir, python, []string{"main.py"})
			if first.Stdout != "2\n" || first.Stdout != alone.Stdout || first.Stderr != alone.Stderr {
				t.Errorf("%q %q, want %q %q", first.Stdout, first.Stderr, alone.Stdout, alone.Stderr)
			}
			if got, want := first.Events, alone.Events; !slices.Equal(got, want) || len(want) < 40 {
				t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestAheadLeavesWarnings: the program is the first to hear what the interpreter says of its files.
func TestAheadLeavesWarnings(t *testing.T) {
	defer func(before func(func(string, string) bool) func(string, string) bool) { meeting = before }(meeting)
	python := pythons(t)[0]
	texts := modules(10)
	texts["p/n9.py"] = "def g(x):\n    assert (x, 'never')\n    return x\n" // SyntaxWarning
	dir := files(t, texts)
	meeting = func(meet func(string, string) bool) func(string, string) bool {
		return func(module, path string) bool {
			if module == "p.m8" {
				for deadline := time.Now().Add(time.Minute); !isKept(filepath.Join(dir, "p/m9.py")); time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Error("m9 is not woven ahead")
						break
					}
				}
			}
			is := meet(module, path)
			if is && module == "p.n9" {
				t.Error("n9 was put into the cache")
			}
			return is
		}
	}
	if r := measured(t, dir, python, []string{"main.py"}); strings.Count(r.Stderr, "SyntaxWarning") != 1 {
		t.Errorf("the program hears %q", r.Stderr)
	}
}

// isKept reports whether the cache of woven code has a file.
func isKept(path string) bool {
	names, _ := filepath.Glob(filepath.Join(cacheDir, "woven", "*"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil || len(b) < 56 {
			continue
		}
		at := 56 + int(binary.NativeEndian.Uint32(b[44:]))
		if end := at + int(binary.NativeEndian.Uint32(b[40:])); end <= len(b) && string(b[at:end]) == path {
			return true
		}
	}
	return false
}
