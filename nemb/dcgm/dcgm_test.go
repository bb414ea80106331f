package dcgm

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"cg/nemb/leaks"
	"cg/nemb/simulate"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// two are the UUIDs of the stand-in's GPUs.
var two = [2]string{"GPU-10101010-1010-1010-1010-101010101010", "GPU-11111111-1111-1111-1111-111111111111"}

// machine makes the stand-ins of both libraries.
func machine(t *testing.T, gpus, conf string) (folder, path string) {
	t.Helper()
	folder = t.TempDir()
	if _, err := simulate.NVML(folder, gpus); err != nil {
		t.Fatal(err)
	}
	path, err := simulate.DCGM(folder, conf)
	if err != nil {
		t.Fatal(err)
	}
	return folder, path
}

const instances = "gpus 2\nmigmode 0\nmigmode 1\ninstance 0 1 3\ninstance 0 5 2 hidden\ninstance 1 1 7\n" +
	"process 0 41 60 100 0 1e9\nin 41 1 50\nprocess 1 42 30 100 0 1e9\nin 42 1\n"

// The engine lists the instances of one GPU, and tells how active each was in each period.
func TestActivity(t *testing.T) {
	folder, path := machine(t, instances, "engine\n")
	e, err := Open(Where{Library: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	all, err := e.Instances(two[0])
	if got := fmt.Sprint(all, err); got != "[{1 3 0} {5 2 1}] <nil>" {
		t.Error(got)
	}
	if none, err := e.Instances("GPU-0"); len(none) > 0 || err != nil {
		t.Error(none, err)
	}
	for _, test := range []struct {
		conf string
		sms  bool
	}{{"engine\n", true}, {"engine\nnosm\n", false}} {
		if err := simulate.NVMLConf(path, test.conf); err != nil {
			t.Fatal(err)
		}
		w, err := e.Watch("cg-test", all, 100_000)
		if err != nil {
			t.Fatal(err)
		}
		last := map[string]int64{}
		for deadline := time.Now().Add(time.Minute); len(last) < 2 || test.sms && len(last) < 4; {
			samples, err := w.Since()
			if err != nil || time.Now().After(deadline) {
				t.Fatal(samples, err)
			}
			for _, s := range samples {
				want := map[string]float64{"1 false": 0.6, "1 true": 0.3, "5 false": 0, "5 true": 0}
				key := fmt.Sprint(s.ID, " ", s.SMs)
				if math.Abs(s.Value-want[key]) > 1e-3 || s.At%100_000 != 0 || s.At <= last[key] || s.SMs && !test.sms {
					t.Errorf("%+v", s)
				}
				last[key] = s.At
			}
			time.Sleep(time.Millisecond)
		}
		w.Close()
	}
}

// Where there is no engine, one in this process is used if that is allowed. All that fails says what did.
func TestOpen(t *testing.T) {
	for _, test := range []struct {
		name, conf, address string
		embedded            bool
		engine, err         string
	}{
		{"a host engine", "engine\nembedded\n", "", true, "the host engine of this machine (nv-hostengine)", ""},
		{"another's", "engine\n", "10.0.0.1:5555", false, "the host engine at 10.0.0.1:5555", ""},
		{"a socket", "engine\n", "/run/dcgm", false, "the host engine at /run/dcgm", ""},
		{"none", "", "", false, "", "dcgm: the host engine of this machine (nv-hostengine): no engine answers there (DCGM -21)"},
		{"in this process", "embedded\n", "", true, "an engine in this process", ""},
		{"not even that", "", "", true, "", "dcgm: no host engine answers (DCGM -21), and none can be started in this process: it cannot begin (DCGM -7)"},
		{"none at the address", "embedded\n", "10.0.0.1", true, "", "dcgm: the host engine at 10.0.0.1: no engine answers there (DCGM -21)"},
	} {
		folder, _ := machine(t, instances, test.conf)
		w := Where{Library: folder, Address: test.address, Embedded: test.embedded}
		e, err := Open(w)
		if test.err != "" || err != nil {
			if err == nil || err.Error() != test.err {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		again, err := Open(w)
		if err != nil || again != e || e.Engine() != test.engine {
			t.Errorf("%s: %v, %s", test.name, err, e.Engine())
		}
		e.Close()
		if _, err := again.Instances(two[0]); err != nil {
			t.Errorf("%s: closed for both: %v", test.name, err)
		}
		again.Close()
	}
	if _, err := Open(Where{Library: t.TempDir()}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "libdcgm.so.4") {
		t.Error(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(broken+"/libdcgm.so.3", []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Where{Library: broken}); err == nil || !strings.Contains(err.Error(), "libdcgm.so.3") {
		t.Error(err)
	}
}

// What an engine refuses is an error with its number.
func TestRefusals(t *testing.T) {
	folder, path := machine(t, instances, "engine\n")
	e, err := Open(Where{Library: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	all, _ := e.Instances(two[1])
	w, err := e.Watch("cg-test", all, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := simulate.NVMLConf(path, "fail hierarchy -8\nfail watch -29\nfail since -99\n"); err != nil {
		t.Fatal(err)
	}
	_, list := e.Instances(two[0])
	_, watch := e.Watch("cg-other", all, 100_000)
	_, none := e.Watch("cg-other", nil, 100_000)
	_, since := w.Since()
	for _, test := range []struct {
		err  error
		want string
	}{
		{list, "dcgm: instances: NVML failed (DCGM -8)"}, {watch, "dcgm: watch: the engine must run as root (DCGM -29)"},
		{none, "dcgm: the GPU has no instance"}, {since, "dcgm: values: error (DCGM -99)"},
	} {
		if test.err == nil || test.err.Error() != test.want {
			t.Errorf("%v, want %s", test.err, test.want)
		}
	}
}
