package laboratory

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cg/nemb/counter"
	"cg/nemb/simulate"
)

// What the file of a counter shows is what the counter does, also where its first digits change.
func TestTree(t *testing.T) {
	root := t.TempDir()
	of := simulate.Counter{Power: simulate.Constant(7), Unit: simulate.UnitIntel, Period: time.Millisecond,
		Range: 262143328850, Start: 1e9}
	tree, err := newTree(root, []simulate.Zone{{Dir: "intel-rapl:0", Name: "package-0", Counter: of}})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.close()
	f, err := os.Open(filepath.Join(root, "sys/class/powercap/intel-rapl:0/energy_uj"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := counter.Counter{FD: int32(f.Fd()), Form: counter.Text}
	for _, at := range []time.Duration{0, time.Millisecond, time.Second, 2 * time.Second, 11 * time.Hour} {
		tree.show(at)
		if got, err := c.Read(); err != nil || uint64(got) != of.Read(at) {
			t.Errorf("%v: %d, %v, want %d", at, got, err, of.Read(at))
		}
	}
}

// What the machine makes of the power of what runs: half of it at the lower frequency, less beside a neighbour on the
// same core, and less on a small core.
func TestLevels(t *testing.T) {
	b := &board{machine: Machine{Siblings: true, Little: true}}
	for _, c := range []struct {
		worker      int
		beside, low time.Duration
		want        float64
	}{{0, 0, 0, 1}, {0, 10, 0, 0.65}, {0, 0, 10, 0.5}, {0, 5, 5, 0.825 * 0.75}, {1, 0, 0, 0.4}} {
		if got := b.level(c.worker, 10, c.beside, c.low); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
