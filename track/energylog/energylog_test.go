package energylog

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// Logs as cg track and WattAMeter write them.
func TestRead(t *testing.T) {
	at := func(s string) float64 {
		v, err := time.ParseInLocation("2006-01-02_15:04:05.000000", s, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return float64(v.UnixNano()) * 1e-9
	}
	cases := []struct {
		what, text string
		unix       []float64
		joules     []float64
		kind       string
		columns    string
	}{
		{"csv: packages and memory, not their parts", `unix_ns,mono_ns,reading_ns,package-0_j,package-0_w,core-0_j,core-0_w,dram-0_j,dram-0_w,psys_j,psys_w,run
1000000000000,1,1,5,,2,,1,,100,,x
1001000000000,1,1,15,10,4,2,2,1,120,20,x
1002000000000,1,1,25,10,6,2,,,140,20,x
1003000000000,1,1,35,10,8,2,4,1,160,20,x
10040`, []float64{1000, 1001, 1003}, []float64{0, 11, 33}, "measured", "package-0_j dram-0_j"},
		{"csv: a machine of one package", "unix_ns,mono_ns,reading_ns,package-0_j,core_j,uncore_j,dram_j,gpu0_derived_j,psys_j,run\n" +
			"1000000000000,1,1,5,1,1,1,1,90,\n1002000000000,1,1,15,9,9,2,4,900,\n", []float64{1000, 1002}, []float64{0, 14}, "derived",
			"package-0_j dram_j gpu0_derived_j"},
		{"csv: estimated", "unix_ns,mono_ns,reading_ns,machine_estimated_j,machine_estimated_w,run\n1000000000000,1,1,0,,\n" +
			"1002000000000,1,1,30,15,\n", []float64{1000, 1002}, []float64{0, 30}, "estimated", "machine_estimated_j"},
		{"csv: powers only", "unix_ns,mono_ns,reading_ns,gpu-0_power_w,gpu-0_average_power_w,run\n1000000000000,1,1,100,90,\n" +
			"1002000000000,1,1,200,90,\n", []float64{1000, 1002}, []float64{0, 300}, "derived", "gpu-0_power_w"},
		{"csv: a counter that began anew", "unix_ns,mono_ns,reading_ns,package-0_j,run\n1000000000000,1,1,50,\n" +
			"1001000000000,1,1,3,\n1002000000000,1,1,5,\n", []float64{1000, 1001, 1002}, []float64{0, 0, 2}, "derived", "package-0_j"},
		{"jsonl", `{"columns":[{"name":"package-0_j","unit":"J","kind":"measured","source":"rapl"},{"name":"package-0_w","unit":"W","kind":"derived","source":"rapl"},{"name":"gpu-0_derived_j","unit":"J","kind":"derived","source":"nvml"}],"interval_s":1,"run":"x"}
{"unix_ns":1000000000000,"mono_ns":1,"reading_ns":1,"package-0_j":1,"package-0_w":null,"gpu-0_derived_j":1}
{"unix_ns":1001000000000,"mono_ns":1,"reading_ns":1,"package-0_j":null,"package-0_w":null,"gpu-0_derived_j":2}
{"unix_ns":1002000000000,"mono_ns":1,"reading_ns":1,"package-0_j":7,"package-0_w":3,"gpu-0_derived_j":4}
{"unix_ns":10`, []float64{1000, 1002}, []float64{0, 9}, "derived", "package-0_j gpu-0_derived_j"},
		{"WattAMeter", `# 2026-11-20_23:47:40.000000 - WattAMeter run x
# timestamp                  reading-time[ns] cpu-0[uJ] cpu-0-core[uJ] cpu-0-dram[uJ] cpu-0[W] cpu-0-core[W]
  2026-11-20_23:47:45.000000 1200 1000000 1 500000 10 0
  2026-11-20_23:47:46.000000 1200 11000000 1 1500000 inf 0
  2026-11-20_23:47:47.000000 1200 inf 1 2500000
  2026-11-20_23:47:48.000000 1200 31000000 1 3500000`,
			[]float64{at("2026-11-20_23:47:45.000000"), at("2026-11-20_23:47:46.000000"), at("2026-11-20_23:47:48.000000")},
			[]float64{0, 11, 33}, "measured", "cpu-0[uJ] cpu-0-dram[uJ]"},
		{"WattAMeter: GPUs", "# timestamp reading-time[ns] gpu-0[mW] gpu-1[mW]\n2026-11-20_23:47:45.000000 1 1000 2000\n" +
			"2026-11-20_23:47:47.000000 1 3000 2000\n", []float64{at("2026-11-20_23:47:45.000000"), at("2026-11-20_23:47:47.000000")},
			[]float64{0, 8}, "derived", "gpu-0[mW] gpu-1[mW]"},
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
	for _, c := range cases {
		log, err := Read(strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		anew := 0
		if strings.Contains(c.what, "began anew") {
			anew = 1
		}
		if log.Anew != anew {
			t.Errorf("%s: %d counters began anew, want %d", c.what, log.Anew, anew)
		}
		if !slices.EqualFunc(log.Unix, c.unix, near) || !slices.EqualFunc(log.Joules, c.joules, near) || log.Kind != c.kind ||
			strings.Join(log.Columns, " ") != c.columns {
			t.Errorf("%s: %+v", c.what, log)
		}
	}
}

func TestNoLog(t *testing.T) {
	for text, want := range map[string]string{
		"": "it is empty", "a,b\n1,2\n": "it is no log of cg track or WattAMeter", "{}": "does not describe columns",
		"unix_ns,0_package-0_j,0_power_w,power_w\n1,2,3,3\n2,3,3,3\n": "it is a table that cg track merge made",
		"# nothing\n":                        "no line names columns",
		"unix_ns,temp_c\n1,2\n":              "no column of energy or power",
		"unix_ns,package-0_j\n1,2\n":         "fewer than two readings",
		"unix_ns,package-0_j\nsoon,2\n":      "row 1",
		"# timestamp r[ns] cpu-0[uJ]\nx 1 1": "is no time of WattAMeter's",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Whatever stands in a file, reading it ends, and energies never fall.
func FuzzRead(f *testing.F) {
	f.Add("unix_ns,package-0_j\n1,2\n3,4\n")
	f.Add("# timestamp r[ns] cpu-0[uJ]\n2026-11-20_23:47:45.000000 1 1\n2026-11-20_23:47:46.000000 1 9\n")
	f.Add(`{"columns":[{"name":"package-0_j"}]}` + "\n" + `{"unix_ns":1,"package-0_j":1}` + "\n" + `{"unix_ns":2,"package-0_j":3}`)
	f.Fuzz(func(t *testing.T, text string) {
		log, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for i := 1; i < len(log.Unix); i++ {
			if log.Unix[i] <= log.Unix[i-1] {
				t.Fatalf("moments %g, %g", log.Unix[i-1], log.Unix[i])
			}
		}
	})
}
