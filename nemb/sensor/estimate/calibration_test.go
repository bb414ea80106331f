package estimate

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/processor"
)

// Two points of a meter replace the table, narrow the band and leave the
// estimate an estimate; another machine keeps the table.
func TestCalibratedEstimator(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	root := nemb.Root{Dir: t.TempDir()}
	os.Mkdir(filepath.Join(root.Dir, "proc"), 0o755)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(root.Proc("cpuinfo"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *estimator {
		t.Helper()
		sensors, err := openEstimator(root)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sensors[0].Close() })
		return sensors[0].(*estimator)
	}
	write(cpuinfo(4, 1, processor.AMD, 25, 1, 1, "AMD EPYC", "hypervisor"))
	path, err := CalibrationFile()
	if err != nil {
		t.Fatal(err)
	}
	made := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	if err := WriteCalibrations(path, map[string]Calibration{root.CPU().Identity(): {38, 112, "a wall meter", made}}); err != nil {
		t.Fatal(err)
	}
	e := open()
	d := e.domain
	if d.Method != nemb.Estimated || d.Lo != 0.75 || d.Hi != 1.25 || d.Base != 38 || d.Source != "estimate: 38 W idle to 112 W busy, calibrated 2026-11-21 by a wall meter" {
		t.Errorf("%+v", d)
	}
	for busy, want := range map[time.Duration]float64{0: 38, time.Second: 56.5, 4 * time.Second: 112} {
		if got := e.Model(time.Second, busy).Joules(); math.Abs(got-want) > 1e-5 {
			t.Errorf("%v: %g J, want %g J", busy, got, want)
		}
	}
	write(cpuinfo(8, 1, processor.AMD, 25, 1, 1, "AMD EPYC", "hypervisor"))
	if d := open().domain; d.Lo != 0.5 || !strings.Contains(d.Source, "SPECpower") {
		t.Errorf("another machine: %+v", d)
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "/.*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	for text, want := range map[string]string{"{": "unexpected end", `{"x": {"idle_w": 50, "load_w": 40}}`: "40 W is no power of a busy machine"} {
		os.WriteFile(path, []byte(text), 0o644)
		if _, err := openEstimator(root); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLinearCalibration(t *testing.T) {
	for _, test := range []struct {
		share1, watts1, share2, watts2 float64
		idle, load                     float64
		err                            string
	}{
		{0, 30, 1, 90, 30, 90, ""},
		{0.8, 70, 0.1, 35, 30, 80, ""},
		{0.02, 31, 0.98, 89, 29.7917, 90.2083, ""},
		{0.5, 60, 0.7, 70, 0, 0, "30 % apart"},
		{0, 30, 1, 30, 0, 0, "30 W is no power of a busy machine"},
		{0.5, 10, 1, 90, 0, 0, "-70 W is no power of an idle machine"},
		{math.NaN(), 10, 1, 90, 0, 0, "30 % apart"},
	} {
		c, err := LinearCalibration(test.share1, test.watts1, test.share2, test.watts2)
		switch {
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%+v: %v", test, err)
		case test.err == "" && (err != nil || math.Abs(c.Idle-test.idle) > 1e-3 || math.Abs(c.Load-test.load) > 1e-3):
			t.Errorf("%+v: %+v, %v", test, c, err)
		}
	}
}
