package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/idle"
	"cg/nemb/simulate"
	"cg/report"
	"cg/runtimes"
)

// A run takes the idle power that was measured on its machine before, says so, and keeps it for
// the next. A line of that memory that is damaged is told of, and the others stay.
func TestIdlePowerIsRemembered(t *testing.T) {
	python(t)
	dir, root, home := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	script := filepath.Join(dir, "busy.py")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(script, "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end:\n    pass\n")
	write(filepath.Join(root, "etc", "machine-id"), "0123456789abcdef\n")
	mount := t.TempDir()
	if err := os.Symlink(filepath.Join(mount, "sys"), filepath.Join(root, "sys")); err != nil {
		t.Fatal(err)
	}
	tree, err := simulate.Mount(mount, simulate.Machine{Zones: []simulate.Zone{{
		Dir: "intel-rapl:0", Name: "package-0",
		Counter: simulate.Counter{Power: simulate.Constant(20), Unit: simulate.UnitIntel, Period: time.Millisecond, Range: 262143328850, Seed: 1},
	}}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	here := idle.Here(nemb.Root{Dir: root})
	folder := filepath.Join(home, "cg", "idle")
	file := filepath.Join(folder, here.Machine+".jsonl")
	open := func() *idle.Memory {
		t.Helper()
		cache, err := runtimes.OpenCache(folder)
		if err != nil {
			t.Fatal(err)
		}
		return idle.Open(cache, cache.Dir, here)
	}
	known := map[string]nemb.IdlePower{
		"package-0": {Power: 6, Lo: 5.5, Hi: 6.5, Method: nemb.IdleRun}, "package-1": {Power: 9, Lo: 8, Hi: 10, Method: nemb.IdleRun},
	}
	if err := open().Note(known, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []bool{false, true} {
		if damaged {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			write(file, "{\"domain\n"+string(b))
		}
		r, _, err := measured(t, "--sysroot", root, "-p", "high", script)
		if err != nil {
			t.Fatal(err)
		}
		d := r.Idle.Domains["package-0"]
		if r.Idle.Method != nemb.IdleRemembered || d.PowerW != 6 || d.PowerLoW != 5.5 || d.PowerHiW != 6.5 {
			t.Errorf("idle power %+v, want the remembered 6 W", r.Idle)
		}
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s", strings.Join(faults, "\n"))
		}
		warns := slices.ContainsFunc(r.Warnings, func(w report.Warning) bool {
			return w.Slug == "idle-memory" && strings.Contains(w.Message, "line 1 of "+here.Machine)
		})
		if warns != damaged {
			t.Errorf("damaged %v: %+v", damaged, r.Warnings)
		}
		if p := open().Recall("package-1"); p.Power != 9 {
			t.Errorf("package-1 is lost: %+v", p)
		}
	}
}
