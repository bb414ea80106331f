package nvml

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/simulate"
)

// occupiedGPU opens the GPU of a stand-in.
func occupiedGPU(t *testing.T, conf string, define ...string) (*gpuEnergy, string) {
	t.Helper()
	root, path := fakeNVML(t, conf, define...)
	sensors, err := nemb.OpenSource(root, "nvml")
	if err != nil || len(sensors) != 1 {
		t.Fatal(sensors, err)
	}
	t.Cleanup(func() { sensors[0].Close() })
	s, ok := sensors[0].(nemb.Occupied)
	if !ok {
		t.Fatalf("%T tells nothing of processes", sensors[0])
	}
	g := s.(*gpuEnergy)
	g.who.local = func(int) bool { return true }
	return g, path
}

// at is a moment of the clock of the stand-in, in seconds.
func at(i checkpoint.Instant) float64 { return float64(i) * 1e-9 }

// askedUntil asks until the driver has samples up to a moment, and adds what it tells up: the
// seconds in which kernels of each process ran.
func askedUntil(t *testing.T, g *gpuEnergy, until checkpoint.Instant) map[int]float64 {
	t.Helper()
	ran := map[int]float64{}
	for deadline := time.Now().Add(time.Minute); ; {
		o := g.Occupants()
		if !o.KnowsUses || o.To < o.From || o.To > o.At {
			t.Fatalf("%+v", o)
		}
		for _, u := range o.Uses {
			if u.Part < u.Lo || u.Part > u.Hi {
				t.Errorf("%+v", u)
			}
			ran[u.PID] += u.Part * at(o.To-o.From)
		}
		if o.To >= until {
			return ran
		}
		if time.Now().After(deadline) {
			t.Fatalf("no samples: %+v", o)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Two processes use the SMs for a while: the samples add up to for how long, and to nothing
// afterwards.
func TestOccupants(t *testing.T) {
	g, path := occupiedGPU(t, "idle 0 50\nevery 20\n")
	if o := g.Occupants(); !o.KnowsUses || len(o.Uses) > 0 || !o.KnowsContexts || len(o.Contexts) > 0 || !o.Quiet {
		t.Errorf("nobody: %+v", o)
	}
	begin := at(checkpoint.Monotime())
	conf := fmt.Sprintf("idle 0 50\nevery 20\nprocess 0 41 60 100 %f %f\nprocess 0 42 20 300 %f %f\n", begin, begin+0.4,
		begin, begin+1e6)
	if err := simulate.NVMLConf(path, conf); err != nil {
		t.Fatal(err)
	}
	contexts := g.Occupants().Contexts
	ran := askedUntil(t, g, checkpoint.Instant((begin+0.6)*1e9))
	for _, want := range []struct {
		pid int
		s   float64
	}{{41, 0.4 * 0.6}, {42, 0.6 * 0.2}} {
		if got := ran[want.pid]; got < want.s*0.7 || got > want.s*1.5+0.2 {
			t.Errorf("process %d: kernels ran for %v s, want %v", want.pid, got, want.s)
		}
	}
	if len(contexts) != 2 || contexts[0].PID != 41 || contexts[1].Memory != 300<<20 {
		t.Errorf("contexts: %+v", contexts)
	}
}

// What a driver does not tell is told, with the reason.
func TestOccupantsRefused(t *testing.T) {
	life := at(checkpoint.Monotime()) - 100
	process := fmt.Sprintf("idle 0 50\nprocess 0 41 25 100 %f %f\n", life, life+1e6)
	for _, test := range []struct {
		name, conf string
		define     []string
		refused    nemb.Refusal
		contexts   bool
		busy       time.Duration // by accounting
	}{
		{"an old driver", process, []string{"NO_PROCESSES", "NO_CONTEXTS"}, nemb.RefusedUnsupported, false, 0},
		{"an old GPU", process + "fail 0 processes 3\n", nil, nemb.RefusedUnsupported, true, 0},
		{"no permission", process + "fail 0 processes 4\nfail 0 contexts 4\n", nil, nemb.RefusedDenied, false, 0},
		{"MIG", process + "migmode 0\n", nil, nemb.RefusedPartitioned, true, 0},
		{"unknown error", process + "fail 0 processes 999\n", nil, nemb.RefusedFailed, true, 0},
		{"accounting", process + "accounting 0\nfail 0 processes 3\n", nil, nemb.RefusedUnsupported, true, 25 * time.Second},
		{"accounting fails", process + "accounting 0\nfail 0 processes 3\nfail 0 accounting 999\n", nil, nemb.RefusedUnsupported, true, 0},
	} {
		g, _ := occupiedGPU(t, test.conf, test.define...)
		o := g.Occupants()
		if o.KnowsUses || o.Refused != test.refused || o.KnowsContexts != test.contexts || o.Err == nil {
			t.Errorf("%s: %+v", test.name, o)
		}
		if o.KnowsLifetimes != (test.busy > 0) {
			t.Errorf("%s: accounting is %v", test.name, o.KnowsLifetimes)
		} else if test.busy > 0 {
			l := o.Lifetimes[0]
			if l.PID != 41 || math.Abs(float64(l.Busy-test.busy)) > 0.02*float64(test.busy)+float64(3*time.Second) || l.Lo > l.Busy || l.Hi < l.Busy {
				t.Errorf("%s: %+v", test.name, l)
			}
		}
	}
}

// More samples than there were a moment before are asked for again.
func TestUtilizationGrows(t *testing.T) {
	calls := 0
	d := &mock.Device{GetProcessUtilizationFunc: func(uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) {
		all := make([]nvml.ProcessUtilizationSample, 2)
		if calls++; calls < 3 {
			return all[:max(3, calls+2)], nvml.ERROR_INSUFFICIENT_SIZE // as go-nvml does
		}
		return all, nvml.SUCCESS
	}}
	if all, code := utilization(d, 0); len(all) != 2 || code != nvml.SUCCESS || calls != 3 {
		t.Errorf("%v, %v after %d calls", all, code, calls)
	}
	calls = -9
	if all, code := utilization(d, 0); all != nil || code != nvml.ERROR_INSUFFICIENT_SIZE {
		t.Errorf("%v, %v", all, code)
	}
}

// A process that draws holds a context, too. Where it is not told which draw, it is not known who holds one.
func TestOccupantsThatDraw(t *testing.T) {
	now := at(checkpoint.Monotime())
	processes := fmt.Sprintf("process 0 41 60 100 %f %f\nprocess 0 42 5 30 %f %f\ndraws 0 42\n", now-1, now+1e6, now-1, now+1e6)
	for _, test := range []struct {
		fails string
		knows bool
		n     int
	}{{"", true, 2}, {"fail 0 graphics 3\n", true, 1}, {"fail 0 graphics 4\n", false, 1}} {
		g, _ := occupiedGPU(t, processes+test.fails)
		if o := g.Occupants(); o.KnowsContexts != test.knows || len(o.Contexts) != test.n || o.Contexts[0].PID != 41 {
			t.Errorf("%q: %+v", test.fails, o)
		}
	}
}

// Clients of MPS run side by side. Each is listed once.
func TestOccupantsOfMPS(t *testing.T) {
	now := at(checkpoint.Monotime())
	g, _ := occupiedGPU(t, fmt.Sprintf("process 0 41 60 100 %f %f\nmps 0 41\n", now-1, now+1e6))
	if o := g.Occupants(); !o.AtOnce || len(o.Contexts) != 1 {
		t.Errorf("%+v", o)
	}
}

// Within a PID namespace, a number is one of ours where that process holds a GPU.
func TestHoldsDevice(t *testing.T) {
	proc := t.TempDir()
	for pid, target := range map[string]string{"7": "/dev/nvidia0", "8": "/dev/null", "9": "/dev/nvidia-uvm"} {
		dir := filepath.Join(proc, pid, "fd")
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Symlink(target, filepath.Join(dir, "3"))); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int]bool{7: true, 8: false, 9: true, 10: false} {
		if account.Holds(proc, pid, deviceFile()) != want {
			t.Errorf("process %d: %v", pid, !want)
		}
	}
	g, _ := occupiedGPU(t, fmt.Sprintf("process 0 41 60 100 0 %f\n", at(checkpoint.Monotime())+1e6))
	g.who.local = func(pid int) bool { return account.Holds(proc, pid, deviceFile()) }
	if o := g.Occupants(); len(o.Contexts) != 1 || o.Contexts[0].PID != 0 {
		t.Errorf("%+v", o)
	}
}

// The structures of the stand-in are those of nvml.h.
func TestStandInHasTheHeadersLayout(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		t.Fatal(err)
	}
	const text = `#include <stdio.h>
#include <stddef.h>
#include "nvml.h"
int main(void) { printf("%zu %zu %zu %zu %zu %zu %zu", sizeof(nvmlProcessUtilizationSample_t),
	offsetof(nvmlProcessUtilizationSample_t, smUtil), sizeof(nvmlProcessInfo_t), offsetof(nvmlProcessInfo_t, usedGpuMemory),
	sizeof(nvmlAccountingStats_t), offsetof(nvmlAccountingStats_t, time), offsetof(nvmlAccountingStats_t, isRunning)); }`
	program := filepath.Join(t.TempDir(), "layout")
	cc := exec.Command("cc", "-x", "c", "-", "-o", program, "-I", filepath.Join(strings.TrimSpace(string(dir)), "pkg/nvml"))
	cc.Stdin = strings.NewReader(text)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(program).Output()
	if want := "32 16 24 8 56 16 32"; err != nil || string(out) != want {
		t.Errorf("%s, want %s: %v", out, want, err)
	}
}
