package monitor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/population"
)

// The reading at the end is handed on, once, whether it comes with one of the grid or before
// the first.
func TestLastReadingIsHandedOn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte("cpu  100 0 50 1000 0 5 5 3 0 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	host, err := population.Open(population.Config{Proc: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	over, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer cancel()
	for _, ctx := range []context.Context{ended, over, lagging{over}} {
		s, err := Start(nil, host, nil, func(text string) { t.Error(text) })
		if err != nil {
			t.Fatal(err)
		}
		var readings []int
		every := time.Hour
		if _, ok := ctx.(lagging); ok {
			every = time.Nanosecond
		}
		last, err := s.Run(ctx, every, func(s *Snapshot) bool { readings = append(readings, s.Readings); return true })
		if err != nil || len(readings) != 1 || readings[0] != last.Readings || last.Readings != 2 {
			t.Errorf("%v: readings %v were handed on, %v", ctx, readings, err)
		}
	}
}

// asked is a GPU whose driver is asked, and which tells when.
type asked struct{ told func() nemb.Occupancy }

func (asked) Domains() []nemb.Domain {
	return []nemb.Domain{{ID: "gpu0", Kind: nemb.KindGPU, Source: "nvml", Method: nemb.Measured, InTotal: true}}
}
func (asked) Read(dst []nemb.Energy) error { dst[0] = 1; return nil }
func (asked) Close() error                 { return nil }
func (g asked) Occupants() nemb.Occupancy  { return g.told() }

// A driver keeps its samples of processes for some seconds. It is asked between readings that are further apart, and
// what it tells then is divided with the next reading; where readings are as frequent, it is asked with these alone.
func TestGPUsAreAskedBetweenReadings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte("cpu  100 0 50 1000 0 5 5 3 0 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	host, err := population.Open(population.Config{Proc: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	for _, test := range []struct {
		every, ask time.Duration
		between    bool
	}{{time.Hour, time.Millisecond, true}, {time.Millisecond, time.Hour, false}} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		questions := 0
		gpu := asked{func() nemb.Occupancy {
			questions++
			if test.between && questions == 5 {
				cancel()
			}
			now := checkpoint.Instant(questions)
			return nemb.Occupancy{At: now, From: now - 1, To: now, KnowsUses: true, KnowsContexts: true}
		}}
		s, err := Start([]nemb.Sensor{gpu}, host, nil, func(text string) { t.Error(text) })
		if err != nil {
			t.Fatal(err)
		}
		s.unasked = test.ask
		readings := 1
		last, err := s.Run(ctx, test.every, func(*Snapshot) bool { readings++; return readings < 5 })
		if err != nil {
			t.Fatal(err)
		}
		if got := questions > last.Readings; got != test.between || questions < 5 {
			t.Errorf("each %v: %d questions to the driver, %d readings", test.every, questions, last.Readings)
		}
	}
}

// That requests are left out because too many are open is told, once.
func TestTooManyOpen(t *testing.T) {
	dir := t.TempDir()
	pid := os.Getpid() + 1
	for name, text := range map[string]string{"stat": "cpu  100 0 50 1000 0 5 5 3 0 0\n", "uptime": "1 1\n",
		fmt.Sprintf("%d/stat", pid): fmt.Sprintf("%d (x) S 1 0 0 0 -1 0 0 0 0 0 7 3 20 10 20 0 1 0 50 1000 1\n", pid)} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	host, err := population.Open(population.Config{Proc: dir, Groups: dir, Clock: func(int) (time.Duration, error) { return time.Second, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	var said []string
	s, err := Start(nil, host, nil, func(text string) { said = append(said, text) })
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	s.Annotations = func() (all []Annotation) {
		for range mostRequests {
			next++
			all = append(all, Annotation{From: 1, ID: fmt.Sprint(next), Name: "x", Begin: true, Thread: Thread{PID: pid}, CPU: -1})
		}
		return all
	}
	for i, want := range []int{0, 1, 1} {
		if got, err := s.Next(); err != nil || len(said) != want || got.Ignored != i*mostRequests {
			t.Errorf("reading %d: %v, %v, %d left out", i, said, err, got.Ignored)
		}
	}
}

// lagging is a context whose end nobody has told yet.
type lagging struct{ context.Context }

func (lagging) Done() <-chan struct{} { return nil }
