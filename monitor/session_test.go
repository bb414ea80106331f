package monitor

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// lagging is a context whose end nobody has told yet.
type lagging struct{ context.Context }

func (lagging) Done() <-chan struct{} { return nil }
