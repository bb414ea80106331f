package experiment

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cg/measure"
	"cg/nemb"
	"cg/nemb/attribute"
	"cg/nemb/idle"
	"cg/runtimes"
)

// still is a sensor that is never read.
type still struct{ domains []nemb.Domain }

func (s still) Domains() []nemb.Domain   { return s.domains }
func (s still) Read([]nemb.Energy) error { panic("read") }
func (s still) Close() error             { return nil }

// The idle machine is measured before a run only where that is worth its time: nobody asked for
// more, it is not remembered, its counters are fast enough, and nothing runs.
func TestIdleBefore(t *testing.T) {
	pkg := nemb.Domain{ID: "package-0", Method: nemb.Measured, InTotal: true, Period: time.Millisecond}
	slow, estimated := pkg, pkg
	slow.Period, estimated.Method = time.Second, nemb.Estimated
	gpu := nemb.Domain{ID: "gpu0", Kind: nemb.KindGPU, Method: nemb.Measured, InTotal: true, Period: time.Second}
	known := nemb.IdlePower{Power: 5, Lo: 4, Hi: 6, Method: nemb.IdleRun}
	bound := nemb.IdlePower{Power: 5, Hi: 5, Method: nemb.IdleBound}
	asked := &measure.Baseline{}
	idleNow := measure.Baseline{Span: quietSpan, Busy: .02, Use: .01, Domains: []measure.IdlePower{{ID: "package-0", Power: 4, Lo: 3, Hi: 5}}}
	for _, tt := range []struct {
		name     string
		domains  []nemb.Domain
		loadavg  string
		memory   bool
		known    nemb.IdlePower
		asked    *measure.Baseline
		interval time.Duration
		found    measure.Baseline
		want     string // what is used: "", asked, before
	}{
		{"idle", []nemb.Domain{pkg, gpu}, "0.10 0.20 0.30 1/99 7", true, nemb.IdlePower{}, nil, time.Millisecond, idleNow, "before"},
		{"only a bound is known", []nemb.Domain{pkg}, "0.10 0.20 0.30 2/99 7", true, bound, nil, time.Millisecond, idleNow, "before"},
		{"asked", []nemb.Domain{pkg}, "0.10 0.20 0.30 1/99 7", true, nemb.IdlePower{}, asked, time.Millisecond, idleNow, "asked"},
		{"no memory", []nemb.Domain{pkg}, "0.10 0.20 0.30 1/99 7", false, nemb.IdlePower{}, nil, time.Millisecond, idleNow, ""},
		{"remembered", []nemb.Domain{pkg}, "0.10 0.20 0.30 1/99 7", true, known, nil, time.Millisecond, idleNow, ""},
		{"others run", []nemb.Domain{pkg}, "0.10 0.20 0.30 3/99 7", true, nemb.IdlePower{}, nil, time.Millisecond, idleNow, ""},
		{"no load is told", []nemb.Domain{pkg}, "", true, nemb.IdlePower{}, nil, time.Millisecond, idleNow, ""},
		{"slow counter", []nemb.Domain{pkg, slow}, "0.10 0.20 0.30 1/99 7", true, nemb.IdlePower{}, nil, time.Millisecond, idleNow, ""},
		{"slow samples", []nemb.Domain{pkg}, "0.10 0.20 0.30 1/99 7", true, nemb.IdlePower{}, nil, time.Second, idleNow, ""},
		{"estimate", []nemb.Domain{estimated}, "0.10 0.20 0.30 1/99 7", true, nemb.IdlePower{}, nil, time.Millisecond, idleNow, ""},
		{"busy meanwhile", []nemb.Domain{pkg}, "0.10 0.20 0.30 1/99 7", true, nemb.IdlePower{}, nil, time.Millisecond,
			measure.Baseline{Span: quietSpan, Busy: .4, Use: .2, Domains: idleNow.Domains}, ""},
	} {
		root := nemb.Root{Dir: t.TempDir()}
		if err := os.Mkdir(filepath.Join(root.Dir, "proc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root.Proc("loadavg"), []byte(tt.loadavg), 0o644); err != nil {
			t.Fatal(err)
		}
		m := &Machine{Root: root, Found: nemb.Found{Sensors: []nemb.Sensor{still{tt.domains}}}}
		if tt.memory {
			cache, err := runtimes.OpenCache(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			m.Idle = idle.Open(cache, cache.Dir, idle.Conditions{Machine: "m"})
			if err := m.Idle.Note(map[string]nemb.IdlePower{"package-0": tt.known}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		got := Conditions{Machine: m, Interval: tt.interval}.idleBy(tt.asked,
			func(_ context.Context, _ []nemb.Sensor, interval, span time.Duration) (*measure.Baseline, error) {
				if span > 200*time.Millisecond {
					t.Errorf("%s: it takes %v", tt.name, span)
				}
				found := tt.found
				return &found, nil
			})
		used := ""
		switch {
		case got == nil:
		case got == tt.asked:
			used = "asked"
		case got.Unasked:
			used = "before"
		}
		if used != tt.want {
			t.Errorf("%s: %q is used, want %q", tt.name, used, tt.want)
		}
	}
}

// What a run showed, and what was measured before it, is remembered; of a busy machine nothing.
func TestNoteIdle(t *testing.T) {
	cache, err := runtimes.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{Idle: idle.Open(cache, cache.Dir, idle.Conditions{Machine: "m"})}
	o := &measure.Outcome{Domains: []nemb.Domain{{ID: "package-0"}, {ID: "package-1"}}}
	o.Attributed = attribute.Result{Seen: []nemb.IdlePower{{Power: 7, Lo: 6, Hi: 8, Method: nemb.IdleRun}, {}}}
	o.Baseline = &measure.Baseline{Busy: 1, Use: .5, Domains: []measure.IdlePower{{ID: "package-1", Power: 3, Lo: 2, Hi: 4}}}
	if err := m.noteIdle(o, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if p, q := m.Idle.Recall("package-0"), m.Idle.Recall("package-1"); p.Power != 7 || q.Hi != 0 {
		t.Errorf("%+v, %+v", p, q)
	}
	o.Baseline.Busy, o.Baseline.Use = .02, .01
	if err := m.noteIdle(o, time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	if p := m.Idle.Recall("package-1"); p.Power != 3 || p.Lo != 2 || p.Hi != 4 {
		t.Errorf("%+v", p)
	}
	if err := (&Machine{}).noteIdle(o, time.Unix(3, 0)); err != nil {
		t.Error(err)
	}
}
