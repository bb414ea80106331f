package cores

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"cg/nemb"
	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestBusy(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	stat := filepath.Join(root.Dir, "proc/stat")
	if _, err := nemb.OpenMetric(root, "cpu-util"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no /proc/stat: %v", err)
	}
	write(t, stat, "cpu  100 0 100 1000 0 0 0 0 0 0\ncpu0 1\n")
	g, err := nemb.OpenMetric(root, "cpu-util")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, step := range []struct {
		text string
		want float64 // NaN: not known
		err  bool
	}{
		{"cpu  130 5 110 1100 55 3 2 0 9 9\n", 100 * 50. / 205, false}, // guests are in user
		{"cpu  130 5 110 1100 55 3 2 0 9 9\n", math.NaN(), false},      // nothing was counted since
		{"cpu  180 5 110 1100 55 3 2 50 9 9\n", 100, false},            // stolen time is not counted
		{"cpu  80 5 110 1100 55 3 2 50 9 9\n", math.NaN(), false},      // a counter that went back
		{"cpu  80 5\n", math.NaN(), true},
		{"cpu  80 5 110 x 55 3 2 50 9 9\n", math.NaN(), true},
	} {
		write(t, stat, step.text)
		v := []float64{7}
		err := g.Read(v)
		if (err != nil) != step.err || !(v[0] == step.want || math.IsNaN(v[0]) && math.IsNaN(step.want)) {
			t.Errorf("%q: %v %%, %v, want %v", step.text, v[0], err, step.want)
		}
	}
}

func TestClocks(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	if _, err := nemb.OpenMetric(root, "cpu-clock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no cpufreq: %v", err)
	}
	file := func(cpu int) string {
		return filepath.Join(root.Dir, fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu))
	}
	write(t, file(0), "1200000\n")
	write(t, file(11), "3400500\n")
	g, err := nemb.OpenMetric(root, "cpu-clock")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var v [2]float64
	if err := g.Read(v[:]); err != nil || v != [2]float64{2300.25, 3400.5} {
		t.Errorf("%v MHz, %v", v, err)
	}
	write(t, file(11), "<unknown>\n") // as the kernel writes where a driver does not tell
	if err := g.Read(v[:]); err != nil || v != [2]float64{1200, 1200} {
		t.Errorf("one that does not tell: %v MHz, %v", v, err)
	}
	write(t, file(0), "")
	if err := g.Read(v[:]); err == nil || !math.IsNaN(v[0]) || !math.IsNaN(v[1]) {
		t.Errorf("none that tells: %v MHz, %v", v, err)
	}
}
