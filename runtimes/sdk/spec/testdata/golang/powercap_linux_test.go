package codegreen

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// tree makes CG_SYSROOT a tree of powercap zones, and returns their folder.
func tree(t *testing.T, zones int) string {
	t.Helper()
	root := t.TempDir()
	folder := filepath.Join(root, "sys/class/powercap")
	for n := range zones {
		zone := filepath.Join(folder, fmt.Sprint("intel-rapl:", n))
		if err := os.MkdirAll(zone, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"name": fmt.Sprint("package-", n), "energy_uj": "5000000", "max_energy_range_uj": "262143328850"} {
			if err := os.WriteFile(filepath.Join(zone, name), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("CG_SYSROOT", root)
	return folder
}

// A pipe in the place of a file of a sensor is not waited for.
func TestPipesInThePlaceOfSensors(t *testing.T) {
	folder := tree(t, 4)
	for n, name := range []string{"energy_uj", "name", "max_energy_range_uj"} {
		path := filepath.Join(folder, fmt.Sprint("intel-rapl:", n), name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, why := openPowercap(0, false)
	if s == nil {
		t.Fatal(why)
	}
	defer s.close()
	if len(s.domains) != 1 || s.domains[0].ID != "package-3" {
		t.Errorf("%+v", s.domains)
	}
	said := strings.Join(why, "\n")
	for n, name := range []string{"energy_uj", "name", "max_energy_range_uj"} {
		if want := fmt.Sprintf("intel-rapl:%d/%s: not a regular file", n, name); !strings.Contains(said, want) {
			t.Errorf("no %q in %q", want, said)
		}
	}
	if r, err := openRing(filepath.Join(folder, "intel-rapl:0/energy_uj")); err == nil {
		t.Error("a ring", r)
	}
}

// What does not answer is given up, and what does is there.
func TestAnswers(t *testing.T) {
	answer = 50 * time.Millisecond
	defer func() { answer = answerNs }()
	never := make(chan struct{})
	defer close(never)
	values, errs := answers([]string{"a", "b", "c", "d"}, func(path string) (string, error) {
		if path == "b" || path == "c" {
			<-never
		}
		return path + "!", nil
	})
	if !slices.Equal(values, []string{"a!", "", "", "d!"}) || errs[0] != nil || errs[3] != nil || fmt.Sprint(errs[1], errs[2]) != "b: no answer in 50ms c: no answer in 50ms" {
		t.Error(values, errs)
	}
}

// hanging is a counter that counts with each reading, and then stops to answer.
type hanging struct {
	stuck, never chan struct{}
	readings     *atomic.Int64
}

func (h hanging) ReadAt(b []byte, _ int64) (int, error) {
	select {
	case <-h.stuck:
		<-h.never
	default:
	}
	return copy(b, fmt.Sprintln(5000000+20000*h.readings.Add(1))), nil
}

func (h hanging) Close() error { return nil }

// A counter that hangs while the program runs holds neither a task nor the end,
// and what it has not shown is not known.
func TestCounterThatHangs(t *testing.T) {
	answer = 50 * time.Millisecond
	defer func() { answer = answerNs }()
	t.Setenv("CODEGREEN_CG", "")
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	tree(t, 1)
	out := filepath.Join(t.TempDir(), "session.json")
	var said []string
	s, err := Start("hangs", Output(out), SampleInterval(time.Millisecond), OnWarning(func(slug, _ string) { said = append(said, slug) }))
	if err != nil {
		t.Fatal(err)
	}
	h := hanging{make(chan struct{}), make(chan struct{}), new(atomic.Int64)}
	defer close(h.never)
	s.source.counter.close()
	s.source.counter = newPowercap([]counter{{file: h, wrap: 1 << 40}}, time.Millisecond)
	_, before := s.Task(t.Context(), "before")
	before.End()
	if e := before.EnergyJ(); !(e >= 0) { // NaN is not
		t.Error(e)
	}
	close(h.stuck)
	for range 100 {
		_, task := s.Task(t.Context(), "t")
		task.End()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Meta struct {
			Quality string `json:"measurement_quality"`
		}
		Tasks []struct {
			Energy *float64 `json:"energy_j"`
		}
	}
	if err := json.Unmarshal(b, &f); err != nil || f.Meta.Quality != "failed" || len(f.Tasks) != 101 || f.Tasks[0].Energy == nil || f.Tasks[100].Energy != nil {
		t.Errorf("%v\n%.600s", err, b)
	}
	if !slices.Contains(said, "sampler-ended") {
		t.Error(said)
	}
}

// What a terminal would obey is escaped where a warning is printed.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a b/ü €.json": "a b/ü €.json", "\x1b[2J\nfake\t\x7f\x00": `\x1b[2J\nfake\t\x7f\x00`, "\u202e\u2028\u009b": `\u202e\u2028\u009b`, "\xff\uFFFD": "\\xff\uFFFD",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A device or a pipe in the place of the file stays one.
func TestFilesThatAreNone(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	write := func(path string) error {
		s, err := Start("x", Output(path), OnWarning(func(slug, message string) {}))
		if err != nil {
			t.Fatal(err)
		}
		return s.Close()
	}
	if err := write(pipe); err == nil {
		t.Error("a pipe that nobody reads was written")
	}
	if err := write("/dev/full"); err == nil {
		t.Error("/dev/full was written")
	}
	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := write(pipe); err != nil {
		t.Error(err)
	}
	b := make([]byte, 1<<16)
	if n, err := reader.Read(b); err != nil || !json.Valid(b[:n]) {
		t.Errorf("%v\n%s", err, b[:n])
	}
	for path, want := range map[string]os.FileMode{pipe: os.ModeNamedPipe, "/dev/full": os.ModeCharDevice} {
		if info, err := os.Stat(path); err != nil || info.Mode()&want == 0 {
			t.Error(path, info, err)
		}
	}
}
