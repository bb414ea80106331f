package idle

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cg/nemb"
	"cg/runtimes"
)

var here = Conditions{Machine: "0123", Kernel: "6.12", Governor: "powersave"}

func cache(t *testing.T) runtimes.Cache {
	t.Helper()
	c, err := runtimes.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(hour int) time.Time { return time.Date(2030, 1, 1, hour, 0, 0, 0, time.UTC) }

func one(domain string, p nemb.IdlePower) map[string]nemb.IdlePower {
	return map[string]nemb.IdlePower{domain: p}
}

// What was measured lowest is remembered with the interval of all measurements, and what a
// domain does not exceed where nothing was measured.
func TestRecall(t *testing.T) {
	c := cache(t)
	m := Open(c, c.Dir, here)
	for i, step := range []struct{ note, want nemb.IdlePower }{
		{nemb.IdlePower{}, nemb.IdlePower{}},
		{nemb.IdlePower{Power: 9, Hi: 9, Method: nemb.IdleBound}, nemb.IdlePower{Power: 9, Hi: 9, Method: nemb.IdleBound}},
		{nemb.IdlePower{Power: 7, Hi: 7, Method: nemb.IdleBound}, nemb.IdlePower{Power: 7, Hi: 7, Method: nemb.IdleBound}},
		{nemb.IdlePower{Power: 8, Hi: 8, Method: nemb.IdleBound}, nemb.IdlePower{Power: 7, Hi: 7, Method: nemb.IdleBound}},
		{nemb.IdlePower{Power: 5, Lo: 4.5, Hi: 5.5, Method: nemb.IdleRun},
			nemb.IdlePower{Power: 5, Lo: 4.5, Hi: 5.5, Method: nemb.IdleRemembered}},
		{nemb.IdlePower{Power: 6, Lo: 5.9, Hi: 6.1, Method: nemb.IdleBaseline},
			nemb.IdlePower{Power: 5, Lo: 4.5, Hi: 6.1, Method: nemb.IdleRemembered}},
		{nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4.1, Method: nemb.IdleBefore},
			nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 6.1, Method: nemb.IdleRemembered}},
		{nemb.IdlePower{Power: 3.95, Hi: 3.95, Method: nemb.IdleBound},
			nemb.IdlePower{Power: 3.95, Lo: 3.9, Hi: 3.95, Method: nemb.IdleRemembered}},
		{nemb.IdlePower{Power: 3, Hi: 3, Method: nemb.IdleBound}, nemb.IdlePower{Power: 3, Hi: 3, Method: nemb.IdleRemembered}},
		{nemb.IdlePower{Power: 4, Lo: 2.5, Hi: 4.1, Method: nemb.IdleBefore},
			nemb.IdlePower{Power: 3, Hi: 3, Method: nemb.IdleRemembered}},
	} {
		if err := m.Note(one("package-0", step.note), at(i)); err != nil {
			t.Fatal(err)
		}
		again := Open(c, c.Dir, here)
		if got, later := m.Recall("package-0"), again.Recall("package-0"); got != step.want || later != step.want {
			t.Errorf("step %d: %+v, then %+v, want %+v", i, got, later, step.want)
		}
	}
	for _, other := range []Conditions{
		{Machine: "4567", Kernel: "6.12", Governor: "powersave"}, {Machine: "0123", Kernel: "6.13", Governor: "powersave"},
		{Machine: "0123", Kernel: "6.12", Governor: "performance"},
	} {
		if p := Open(c, c.Dir, other).Recall("package-0"); p.Hi != 0 {
			t.Errorf("%+v: %+v", other, p)
		}
	}
	domains := []nemb.Domain{{ID: "package-0"}, {ID: "package-1"}, {ID: "package-0", Program: true},
		{ID: "package-0", Method: nemb.Estimated}}
	m.Set(domains)
	if domains[0].Remembered.Power != 3 || domains[1].Remembered.Hi+domains[2].Remembered.Hi+domains[3].Remembered.Hi != 0 {
		t.Errorf("%+v", domains)
	}
	var none *Memory
	if none.Recall("package-0").Hi != 0 || none.Note(one("a", nemb.IdlePower{Power: 1, Hi: 1}), at(0)) != nil || none.Fault() != nil {
		t.Error("no memory remembers")
	}
}

// A line that cannot be read is told of. The others are used and kept.
func TestDamagedMemory(t *testing.T) {
	c := cache(t)
	m := Open(c, c.Dir, here)
	for _, domain := range []string{"package-0", "package-1"} {
		if err := m.Note(one(domain, nemb.IdlePower{Power: 4, Lo: 3, Hi: 5, Method: nemb.IdleRun}), at(1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, damage := range []string{"{", "\x00\xff", `{"domain": "dram", "power_w": -1}`, `{"domain": "dram", "power_w": 1e300}`,
		`{"domain": "dram", "power_w": 3, "power_lo_w": 4, "highest_w": 5}`, `{"power_w": 3, "highest_w": 5}`} {
		whole, err := c.Read(m.file())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.Dir, m.file()), append([]byte(damage+"\n"), whole...), 0o600); err != nil {
			t.Fatal(err)
		}
		again := Open(c, c.Dir, here)
		if f := again.Fault(); f == nil || !strings.HasPrefix(f.Error(), "line 1 of 0123.jsonl: ") {
			t.Errorf("%q: %v", damage, f)
		}
		if again.Recall("package-0").Power != 4 || again.Recall("package-1").Power != 4 || again.Recall("dram").Hi != 0 {
			t.Errorf("%q: %+v", damage, again.entries)
		}
		p := again.Recall("package-1")
		if err := again.Note(one("package-1", nemb.IdlePower{Power: p.Power, Lo: 3, Hi: p.Hi * 1.1, Method: nemb.IdleRun}), at(2)); err != nil {
			t.Fatal(err)
		}
		if last := Open(c, c.Dir, here); last.Fault() != nil || last.Recall("package-0").Power != 4 {
			t.Errorf("%q: %v, %+v", damage, last.Fault(), last.entries)
		}
	}
}

// Processes that write at the same time lose nothing of each other's.
func TestNotesAtOnce(t *testing.T) {
	c := cache(t)
	domains := "abcdefghijklmnop"
	var all sync.WaitGroup
	for _, domain := range domains {
		m := Open(c, c.Dir, here)
		all.Go(func() {
			if err := m.Note(one(string(domain), nemb.IdlePower{Power: 4, Lo: 3, Hi: 5, Method: nemb.IdleRun}), at(1)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	m := Open(c, c.Dir, here)
	for _, domain := range domains {
		if m.Recall(string(domain)).Power != 4 {
			t.Errorf("%c is lost: %+v", domain, m.entries)
		}
	}
}

// A file grows to a limit, and what changed last stays.
func TestMemoryIsLimited(t *testing.T) {
	c := cache(t)
	m := Open(c, c.Dir, here)
	for i := range most + 10 {
		name := "d" + time.Duration(i).String()
		if err := m.Note(one(name, nemb.IdlePower{Power: 4, Lo: 3, Hi: 5, Method: nemb.IdleRun}), at(i)); err != nil {
			t.Fatal(err)
		}
	}
	last := "d" + time.Duration(most+9).String()
	if n := len(Open(c, c.Dir, here).entries); n != most || m.Recall(last).Power != 4 || m.Recall("d"+time.Duration(0).String()).Hi != 0 {
		t.Errorf("%d entries", n)
	}
}

// A machine is known by its number and processors, and its number is in no name.
func TestHere(t *testing.T) {
	files := func(id, governor string) nemb.Root {
		root := nemb.Root{Dir: t.TempDir()}
		for path, text := range map[string]string{
			"etc/machine-id": id, "proc/sys/kernel/osrelease": "6.12.1\n", "proc/cpuinfo": "processor\t: 0\n",
			"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": governor + "\n",
		} {
			name := filepath.Join(root.Dir, path)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return root
	}
	a, b, c := Here(files("abc", "powersave")), Here(files("abc", "performance")), Here(files("def", "powersave"))
	if a.Machine != b.Machine || a.Machine == c.Machine || strings.Contains(a.Machine, "abc") || len(a.Machine) != 32 {
		t.Errorf("%+v %+v %+v", a, b, c)
	}
	if k := Here(files("", "powersave")); k != (Conditions{}) || Open(cache(t), "", k) != nil {
		t.Errorf("a machine without a number is %+v", k)
	}
	if a.Kernel != "6.12.1" || a.Governor != "powersave" || b.Governor != "performance" {
		t.Errorf("%+v %+v", a, b)
	}
}
