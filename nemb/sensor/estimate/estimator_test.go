package estimate

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/processor"
)

// cpuinfo writes n processors of one socket.
func cpuinfo(n, sockets int, vendor string, family, model, stepping int, name, flags string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "processor\t: %d\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: %s\nstepping\t: %d\n"+
			"physical id\t: %d\nflags\t\t: fpu %s sse2\n\n", i, vendor, family, model, name, stepping, i*sockets/n, flags)
	}
	return b.String()
}

func TestEstimator(t *testing.T) {
	tests := []struct {
		name       string
		text       string
		source     string
		base, full float64 // W idle and with all processors busy
		lo, hi     float64
	}{
		{name: "Milan guest", text: cpuinfo(2, 1, processor.AMD, 25, 1, 1, "AMD EPYC", "hypervisor"),
			source: "estimate: AMD Milan 2021, 2 of 128 threads, 225 W TDP, wall power by SPECpower medians",
			base:   .20 * 225 * 2 / 128, full: 1.04 * 225 * 2 / 128, lo: .5, hi: 1.5},
		{name: "two sockets of Cascade Lake", text: cpuinfo(80, 2, processor.Intel, 6, 85, 7, "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", ""),
			source: "estimate: Intel Cascade Lake 2019, 2 x 150 W TDP, wall power by SPECpower medians",
			base:   .20 * 300, full: 1.04 * 300, lo: .5, hi: 1.5},
		{name: "Skylake SP", text: cpuinfo(4, 1, processor.Intel, 6, 85, 4, "Intel(R) Xeon(R) Platinum 8171M", "hypervisor"),
			source: "estimate: Intel Skylake SP 2017, 4 of 40 threads, 150 W TDP, wall power by SPECpower medians",
			base:   .16 * 15, full: 1.08 * 15, lo: .5, hi: 1.5},
		{name: "laptop", text: cpuinfo(8, 1, processor.Intel, 6, 0x8c, 1, "11th Gen Intel(R) Core(TM) i7-1165G7", ""),
			source: "estimate: Intel Tiger Lake U 2020, 1 x 28 W TDP, wall power by SPECpower medians",
			base:   .20 * 28, full: 1.04 * 28, lo: .5, hi: 1.5},
		{name: "Naples is not Summit Ridge", text: cpuinfo(16, 1, processor.AMD, 23, 1, 1, "AMD Ryzen 7 1800X Eight-Core Processor", ""),
			source: "estimate: AMD Summit Ridge 2017, 1 x 95 W TDP, wall power by SPECpower medians",
			base:   .16 * 95, full: 1.08 * 95, lo: .5, hi: 1.5},
		{name: "Haswell", text: cpuinfo(2, 1, processor.Intel, 6, 63, 2, "Intel(R) Xeon(R) CPU E5-2676 v3", "hypervisor"),
			source: "estimate: Intel Haswell EP 2014, 2 of 24 threads, 120 W TDP, wall power by SPECpower medians",
			base:   .28 * 10, full: 1.05 * 10, lo: .5, hi: 1.5},
		{name: "Turin", text: cpuinfo(2, 1, processor.AMD, 26, 2, 1, "AMD EPYC", "hypervisor"),
			source: "estimate: AMD Turin 2024, 2 of 256 threads, 500 W TDP, wall power by SPECpower medians",
			base:   .22 * 500 / 128, full: .84 * 500 / 128, lo: .5, hi: 1.5},
		{name: "unknown", text: cpuinfo(4, 1, "HygonGenuine", 24, 1, 1, "Hygon C86", ""),
			source: "estimate: Hygon C86 not in the table, 4 threads, wall power by SPECpower medians per thread",
			base:   4 * .55, full: 4 * 3.1, lo: .3, hi: 3},
		{name: "Graviton 2", text: strings.Repeat("processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\n", 2),
			source: "estimate: Neoverse N1 2020, 1 x 210 W TDP, wall power by SPECpower medians",
			base:   .20 * 210, full: 1.04 * 210, lo: .5, hi: 1.5},
	}
	for _, test := range tests {
		root := nemb.Root{Dir: t.TempDir()}
		os.Mkdir(filepath.Join(root.Dir, "proc"), 0o755)
		if err := os.WriteFile(root.Proc("cpuinfo"), []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		cpu := root.CPU()
		e := newEstimator(cpu)
		d := e.domain
		if d.Source != test.source || d.Lo != test.lo || d.Hi != test.hi || d.Method != nemb.Estimated || !d.InTotal {
			t.Errorf("%s: %+v", test.name, d)
		}
		second := time.Second
		idle := e.Model(second, 0).Joules()
		full := e.Model(second, second*time.Duration(cpu.Processors)).Joules()
		if math.Abs(idle-test.base) > 1e-5 || math.Abs(full-test.full) > 1e-5 || d.Base != test.base && math.Abs(d.Base-test.base) > 1e-9 {
			t.Errorf("%s: %g W to %g W, want %g to %g", test.name, idle, full, test.base, test.full)
		}
	}
}

func FuzzCPUInfo(f *testing.F) {
	f.Add(cpuinfo(2, 1, processor.AMD, 25, 1, 1, "AMD EPYC", "hypervisor"))
	f.Add("processor: 0\nmodel:\n:\n")
	f.Fuzz(func(t *testing.T, text string) {
		if c := processor.Parse(text); c.Processors > 0 {
			if d := newEstimator(c).domain; !(d.Base > 0) {
				t.Errorf("%+v: base %g", c, d.Base)
			}
		}
	})
}
