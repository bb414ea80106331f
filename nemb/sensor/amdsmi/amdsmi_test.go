package amdsmi

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/simulate"
)

// fake makes a machine with the library of simulate.
func fake(t *testing.T, conf string, define ...string) (root nemb.Root, path string) {
	t.Helper()
	root = nemb.Root{Dir: t.TempDir()}
	path, err := simulate.AMDSMI(filepath.Join(root.Dir, "lib"), conf, define...)
	if err != nil {
		t.Fatal(err)
	}
	return root, path
}

// each lists joined errors as absent, denied or broken.
func each(err error) (errs []string) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		switch {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, "absent: "+err.Error())
		case errors.Is(err, fs.ErrPermission):
			errs = append(errs, "denied: "+err.Error())
		default:
			errs = append(errs, "broken: "+err.Error())
		}
	}
	return errs
}

func TestSensors(t *testing.T) {
	const counter, power = "measured AMD SMI energy counter", "derived AMD SMI power"
	root, path := fake(t, "")
	for _, test := range []struct {
		name, conf string
		domains    []string
		errs       []string // beginnings
	}{
		{"two", "gpus 2\n", []string{"gpu-amd-0 " + counter, "gpu-amd-1 " + counter}, nil},
		{"a list that grows", "gpus 2\ngrow 5000\n", []string{"gpu-amd-0 " + counter, "gpu-amd-1 " + counter}, nil},
		{"no counter on one", "gpus 2\nfail 1 energy 2\n", []string{"gpu-amd-0 " + counter, "gpu-amd-1 " + power}, nil},
		{"a counter that stands at 0", "watts 0 0\n", nil, []string{"absent: amdsmi: gpu-amd-0 tells neither energy nor power"}},
		{"nothing", "fail * energy 2\nfail * power 2\n", nil, []string{"absent: amdsmi: gpu-amd-0 tells neither energy nor power"}},
		{"no rights on one", "gpus 2\nfail 0 energy 10\n", []string{"gpu-amd-1 " + counter},
			[]string{"denied: amdsmi: gpu-amd-0: energy: denied: the user needs access to /dev/kfd"}},
		{"no driver", "fail * init 34\n", nil, []string{"absent: amdsmi: initialize: the driver (amdgpu) is not loaded (AMD SMI 34)"}},
		{"it does not begin", "fail * init 18\n", nil, []string{"denied: amdsmi: initialize: error (AMD SMI 18)"}},
		{"it does not list", "fail * sockets 7\n", nil, []string{"denied: amdsmi: list the GPUs: the driver refuses it"}},
		{"no GPU", "gpus 0\n", nil, []string{"absent: amdsmi: the driver knows no GPU"}},
		{"no version", "fail * version 1\n", nil, []string{"denied: amdsmi: version of the library: invalid"}},
	} {
		if err := simulate.NVMLConf(path, test.conf); err != nil {
			t.Fatal(err)
		}
		sensors, err := nemb.OpenSource(root, name)
		var domains []string
		for _, s := range sensors {
			d := s.Domains()[0]
			domains = append(domains, fmt.Sprintf("%s %s %s", d.ID, d.Method, strings.TrimSuffix(d.Source, ", integrated")))
			if d.Kind != nemb.KindGPU || !d.InTotal || d.Lo != 0.95 || d.Hi != 1.05 {
				t.Errorf("%s: %+v", test.name, d)
			}
			if err := errors.Join(s.Close(), s.Close()); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			if err := s.Read(make([]nemb.Energy, 1)); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%s: read after close: %v", test.name, err)
			}
		}
		if !slices.Equal(domains, test.domains) {
			t.Errorf("%s: %q, want %q", test.name, domains, test.domains)
		}
		if errs := each(err); !slices.EqualFunc(errs, test.errs, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", test.name, errs, test.errs)
		}
	}
}

func TestNoLibrary(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	if _, err := nemb.OpenSource(root, name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no library: %v", err)
	}
	os.Mkdir(filepath.Join(root.Dir, "lib"), 0o755)
	os.WriteFile(filepath.Join(root.Dir, "lib", "libamd_smi.so"), []byte("text"), 0o644)
	if _, err := nemb.OpenSource(root, name); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "install ROCm's") {
		t.Errorf("no library but a text: %v", err)
	}
}

// Who ends takes the library from nobody else, though it does not count who began.
func TestOthersEnd(t *testing.T) {
	root, _ := fake(t, "")
	sensors, err := nemb.OpenSource(root, name)
	if err != nil {
		t.Fatal(err)
	}
	defer sensors[0].Close()
	g, err := nemb.OpenMetric(root, "amdsmi-power")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := sensors[0].Read(make([]nemb.Energy, 1)); err != nil {
		t.Error(err)
	}
}

// A library without a function is one that does not support it.
func TestMissingFunction(t *testing.T) {
	root, _ := fake(t, "", "NO_ENERGY")
	sensors, err := nemb.OpenSource(root, name)
	if err != nil || len(sensors) != 1 || sensors[0].Domains()[0].Method != nemb.Derived {
		t.Fatalf("%v, %v", sensors, err)
	}
	sensors[0].Close()
}

// The counter, and the integral of power where there is none.
func TestEnergy(t *testing.T) {
	root, _ := fake(t, "gpus 2\nwatts 0 300\nwatts 1 50\nfail 1 energy 2\n")
	sensors, err := nemb.OpenSource(root, name)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{300, 50} {
		defer sensors[i].Close()
		var from, to [1]nemb.Energy
		if err := sensors[i].Read(from[:]); err != nil {
			t.Fatal(err)
		}
		begin := checkpoint.Monotime()
		for range 20 {
			time.Sleep(25 * time.Millisecond)
			if err := sensors[i].Read(to[:]); err != nil {
				t.Fatal(err)
			}
		}
		elapsed := float64(checkpoint.Monotime()-begin) * 1e-9
		if watts := (to[0] - from[0]).Joules() / elapsed; math.Abs(watts-want) > 0.05*want {
			t.Errorf("gpu-amd-%d: %.1f W, want %.0f W", i, watts, want)
		}
	}
}

// Powers are found in the layout of each version of the library, and the average where a GPU does
// not know the one of now.
func TestMetrics(t *testing.T) {
	root, path := fake(t, "")
	read := func(metric string) (text string, err error) {
		g, err := nemb.OpenMetric(root, metric)
		if g == nil {
			return "", err
		}
		defer g.Close()
		values := make([]float64, len(g.Columns()))
		if err := g.Read(values); err != nil {
			t.Errorf("%s: %v", metric, err)
		}
		for i, c := range g.Columns() {
			text += fmt.Sprintf("%s %s %v %s; ", c.Scope, c.Name, values[i], c.Unit)
		}
		return strings.TrimSuffix(text, "; "), err
	}
	two := "gpus 2\nwatts 0 300\nwatts 1 50\naverage 1\n"
	const powers = "gpu-amd-0 power_w 300 W; gpu-amd-1 power_w 50 W"
	for _, test := range []struct{ conf, metric, want, err string }{
		{two + "version 23 2\n", "amdsmi-power", powers, ""},
		{two + "version 23 4\n", "amdsmi-power", powers, ""},
		{two + "version 24 2\n", "amdsmi-power", powers, ""},
		{two + "version 25 3\n", "amdsmi-power", powers, ""},
		{two + "version 26 0\n", "amdsmi-power", powers, ""},
		{two, "amdsmi-temp", "gpu-amd-0 temperature_c 40 C; gpu-amd-1 temperature_c 41 C", ""},
		{two + "fail 1 temperature 2\n", "amdsmi-temp", "gpu-amd-0 temperature_c 40 C; gpu-amd-1 temperature_c 61 C", ""},
		{two, "amdsmi-util", "gpu-amd-0 gpu_percent 90 %; gpu-amd-1 gpu_percent 89 %; gpu-amd-0 memory_percent 30 %; gpu-amd-1 memory_percent 31 %", ""},
		{two, "amdsmi-clock", "gpu-amd-0 clock_mhz 2100 MHz; gpu-amd-1 clock_mhz 2101 MHz; gpu-amd-0 memory_clock_mhz 1600 MHz; gpu-amd-1 memory_clock_mhz 1600 MHz", ""},
		{two, "amdsmi-memory", "gpu-amd-0 memory_used_bytes 4.294967296e+09 bytes; gpu-amd-1 memory_used_bytes 4.294967296e+09 bytes", ""},
		{two + "fail 0 memory 2\n", "amdsmi-memory", "gpu-amd-1 memory_used_bytes 4.294967296e+09 bytes", "absent: amdsmi: gpu-amd-0: memory: the GPU does not tell it"},
		{two + "fail * power 10\n", "amdsmi-power", "", "denied: amdsmi: gpu-amd-0: power: denied"},
	} {
		if err := simulate.NVMLConf(path, test.conf); err != nil {
			t.Fatal(err)
		}
		got, err := read(test.metric)
		if got != test.want || !strings.HasPrefix(strings.Join(each(err), ""), test.err) || (test.err == "") != (err == nil) {
			t.Errorf("%s of %q: %q, %v; want %q, %q", test.metric, test.conf, got, err, test.want, test.err)
		}
	}
}

// A card that the kernel's hardware monitor shows, too, counts once, whatever its number there.
func TestCountedOnce(t *testing.T) {
	root, _ := fake(t, "gpus 1\n")
	for file, text := range map[string]string{
		"name": "amdgpu", "power1_average": "35000000", "power1_label": "PPT", "device/mem_info_vram_total": "17179869184",
	} {
		for _, monitor := range []string{"hwmon3", "hwmon5"} {
			path := filepath.Join(root.Dir, "sys/class/hwmon", monitor, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := nemb.Discover(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var got []string
	for _, d := range found.Domains() {
		if d.Kind == nemb.KindGPU {
			got = append(got, d.ID+" "+d.Source)
		}
	}
	if want := []string{"gpu-amd-0 AMD SMI energy counter"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
