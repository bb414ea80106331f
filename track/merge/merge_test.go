package merge

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cg/track/energylog"
)

func read(t *testing.T, name, text string) Source {
	t.Helper()
	rows, err := energylog.ReadRows(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return Source{name, rows}
}

// second is a moment of the tests.
func second(s float64) int64 { return 1_795_273_200_000_000_000 + int64(s*1e9) }

// node is a log of cg track: a package of constant power, read each second; the readings in
// lost are not known, those in out are not there.
func node(from, n int, watts float64, lost, out []int) string {
	text := "unix_ns,mono_ns,reading_ns,package-0_j,package-0_w,core-0_j,core-0_w,gpu0_temperature_c,run\n"
	for i := range n {
		at := from + i
		switch {
		case slices.Contains(out, at):
		case slices.Contains(lost, at):
			text += fmt.Sprintf("%d,1,5,,,,,40,x\n", second(float64(at)))
		default:
			text += fmt.Sprintf("%d,1,5,%g,%g,1,1,40,x\n", second(float64(at)), watts*float64(at), watts)
		}
	}
	return text
}

// The logs' common time, their sum, and what is not known in them.
func TestAlign(t *testing.T) {
	l, err := Align([]Source{read(t, "n1", node(0, 20, 100, nil, nil)), read(t, "n2", node(2, 12, 50, []int{5}, []int{8, 9}))}, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The second has a mean interval of 11/9 s.
	if want := (1 + 11.0/9) / 2; l.Start != second(2) || math.Abs(l.step-want) > 1e-9 || l.Steps != int(11/want)+1 {
		t.Errorf("%d moments from %d, %v apart, want %v", l.Steps, l.Start-second(0), l.step, want)
	}
	if l, err = Align([]Source{read(t, "n1", node(0, 20, 100, nil, nil)), read(t, "n2", node(2, 12, 50, []int{5}, []int{8, 9}))}, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if l.Steps != 23 || l.At(22) != second(13) {
		t.Errorf("%d moments to %d", l.Steps, l.At(l.Steps-1)-second(0))
	}
	want := []string{"0_reading_ns", "0_package-0_j", "0_package-0_w", "0_core-0_j", "0_core-0_w", "0_gpu0_temperature_c"}
	if !slices.Equal(l.Columns[:6], want) || len(l.Columns) != 12 {
		t.Errorf("%q", l.Columns)
	}
	// One reading that failed lies between two that are two intervals apart; between 7 and 10 s there is a gap.
	for i := range l.Steps {
		at := 2 + float64(i)/2
		gap := at > 7 && at < 10
		if got := l.Parts[1].Power[i]; gap != math.IsNaN(got) || !gap && math.Abs(got-50) > 1e-6 {
			t.Errorf("%v s: %v W", at, got)
		}
		if got := l.Total.Power[i]; gap != math.IsNaN(got) || !gap && math.Abs(got-150) > 1e-6 {
			t.Errorf("%v s: %v W in all", at, got)
		}
		if got := l.Values[1][i]; math.Abs(got-100*at) > 1e-6 {
			t.Errorf("%v s: %v J, want %v", at, got, 100*at)
		}
	}
	// A counter knows what was used in a gap.
	for i, want := range []float64{1100, 550} {
		if p := l.Parts[i]; math.Abs(p.EnergyJ-want) > 1e-6 || p.Gap != 0 || p.Kind != "measured" {
			t.Errorf("%+v, want %v J", p, want)
		}
	}
	if s := l.Total; math.Abs(s.EnergyJ-1650) > 1e-6 || s.Known != 18 || math.Abs(s.Mean-150) > 1e-6 || s.Min != s.Median || s.Max < s.Min {
		t.Errorf("%+v", s)
	}
}

// A power has no energy in its gaps, and before its first and behind its last reading.
func TestAmount(t *testing.T) {
	nan := math.NaN()
	unix := []int64{second(0), second(1), second(2), second(3), second(6), second(7)}
	for _, test := range []struct {
		what     string
		values   []float64
		power    bool
		from, to float64
		want     float64
		gap      time.Duration
	}{
		{"counter", []float64{0, 10, 20, 30, 60, 70}, false, 0.5, 6.5, 60, 0},
		{"counter that began anew", []float64{50, 60, 0, 10, 20, 30}, false, 0, 7, 40, time.Second},
		{"counter that began anew, cut", []float64{50, 60, 0, 10, 20, 30}, false, 1.25, 7, 30, 750 * time.Millisecond},
		{"counter not known at its ends", []float64{nan, 10, 20, 30, 60, nan}, false, 0, 7, 50, 2 * time.Second},
		{"power", []float64{10, 10, 20, 20, 20, 40}, true, 0, 7, 10 + 15 + 20 + 30, 3 * time.Second},
		{"power, cut", []float64{10, 20, 20, 20, 20, 40}, true, 0.5, 2.5, 8.75 + 20 + 10, 0},
		{"nothing", []float64{nan, nan, nan, nan, nan, nan}, true, 1, 3, 0, 2 * time.Second},
	} {
		got, gap := amount(unix, test.values, test.power, window{second(test.from), second(test.to), 2_500_000_000})
		if math.Abs(got-test.want) > 1e-6 || gap != test.gap {
			t.Errorf("%s: %v, gap %v, want %v, %v", test.what, got, gap, test.want, test.gap)
		}
	}
}

func TestDescribe(t *testing.T) {
	s := Sum{Power: []float64{5, math.NaN(), 1, 3, 2}}
	if s.describe(); s.Mean != 2.75 || s.Min != 1 || s.Median != 2.5 || s.Max != 5 || s.Known != 4 {
		t.Errorf("%+v", s)
	}
	s = Sum{Power: []float64{math.NaN()}}
	if s.describe(); !math.IsNaN(s.Mean) || !math.IsNaN(s.Min) || !math.IsNaN(s.Median) || !math.IsNaN(s.Max) || s.Known != 0 {
		t.Errorf("%+v", s)
	}
}

// What people and spreadsheets get, with a log that has no power and one that is estimated.
func TestWrite(t *testing.T) {
	defer func(before *time.Location) { time.Local = before }(time.Local)
	time.Local = time.UTC
	estimated := "unix_ns,mono_ns,reading_ns,machine_estimated_j,machine_estimated_w,run\n"
	temperatures := `{"columns":[{"name":"gpu0_temperature_c","unit":"C"}],"interval_s":1,"run":"x"}` + "\n"
	for i := range 4 {
		estimated += fmt.Sprintf("%d,1,5,%d,%d,x\n", second(float64(i)), i*i, i)
		temperatures += fmt.Sprintf(`{"unix_ns":%d,"mono_ns":1,"reading_ns":1,"gpu0_temperature_c":%d}`+"\n", second(float64(i)), 40+i)
	}
	l, err := Align([]Source{read(t, "n1.csv", node(1, 4, 100, []int{1}, nil)), read(t, "n\x1b2.csv", estimated), read(t, "t.jsonl", temperatures)}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var text, table bytes.Buffer
	if err := l.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := `3 logs on one clock: 2026-11-21 15:00:01.000 +00:00 to 15:00:03.000, 3 moments, 1s apart

    energy J     mean W      min W   median W      max W  log
     100.000    100.000    100.000    100.000    100.000  n1.csv (energy without 1s of gaps; power not known at 1 of 3 moments)
      ~8.000      2.000      1.000      2.000      3.000  n\x1b2.csv (estimated, not measured)
           ?          ?          ?          ?          ?  t.jsonl (power not known at 3 of 3 moments)
    ~108.000    102.500    102.000    102.500    103.000  all (estimated, not measured; energy without 1s of gaps; power not known at 1 of 3 moments)
`
	if text.String() != want {
		t.Errorf("%s\nwant\n%s", &text, want)
	}
	if err := l.WriteCSV(&table); err != nil {
		t.Fatal(err)
	}
	want = `unix_ns,0_reading_ns,0_package-0_j,0_package-0_w,0_core-0_j,0_core-0_w,0_gpu0_temperature_c,1_reading_ns,1_machine_estimated_j,1_machine_estimated_w,2_gpu0_temperature_c,0_power_w,1_power_w,2_power_w,power_w
1795273201000000000,5,,,,,40,5,1,1,41,,1,,
1795273202000000000,5,200,100,1,1,40,5,4,2,42,100,2,,102
1795273203000000000,5,300,100,1,1,40,5,9,3,43,100,3,,103
`
	if table.String() != want {
		t.Errorf("%s\nwant\n%s", &table, want)
	}
}

// Where no log has a power, there is no sum of them.
func TestNoPower(t *testing.T) {
	text := "unix_ns,gpu0_temperature_c,run\n"
	for i := range 4 {
		text += fmt.Sprintf("%d,40,x\n", second(float64(i)))
	}
	one := read(t, "t", text)
	for _, sources := range [][]Source{{one}, {one, one}} {
		l, err := Align(sources, 0)
		if err != nil {
			t.Fatal(err)
		}
		if s := l.Total; !math.IsNaN(s.EnergyJ) || s.Known != 0 || !math.IsNaN(s.Mean) {
			t.Errorf("%d logs: %+v", len(sources), s)
		}
	}
}

func TestRefuses(t *testing.T) {
	a, b := read(t, "a", node(0, 5, 1, nil, nil)), read(t, "b", node(10, 5, 1, nil, nil))
	for _, test := range []struct {
		sources []Source
		step    time.Duration
		want    string
	}{{nil, 0, "no logs"}, {[]Source{a, b}, 0, "no time in common"}, {[]Source{a, a}, time.Nanosecond, "use a longer --step"}} {
		if _, err := Align(test.sources, test.step); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// WattAMeter's own align_and_concat_df makes the same table of the same logs. Its interpolation
// needs SciPy; where that is missing, pandas' own along the times stands in, which is the same
// for polynomials of order 1.
func TestAgainstWattAMeter(t *testing.T) {
	python := os.Getenv("CG_WATTAMETER_PYTHON")
	if python == "" {
		t.Skip("CG_WATTAMETER_PYTHON names no interpreter with wattameter, pandas and nvidia-ml-py")
	}
	dir := t.TempDir()
	var sources []Source
	args := []string{"-c", `
import json, sys
import pandas as pd
try:
    import scipy
except ImportError:
    own = pd.DataFrame.interpolate
    pd.DataFrame.interpolate = lambda self, method, order: own(self, method="index", limit_area="inside")
from wattameter.utils.postprocessing import file_to_df, align_and_concat_df
df = align_and_concat_df([file_to_df(open(f), skip_lines=1) for f in sys.argv[1:]])
print(df.to_json(orient="split", double_precision=15))`}
	for k, name := range []string{"rapl.log", "nvml.log"} {
		// As it writes them: the first begins later and loses a power at each flush.
		text := "# 2026-11-21_15:00:00.000000 - WattAMeter run j\n# timestamp                  reading-time[ns] "
		text += []string{"cpu-0[uJ] cpu-0-core[uJ] cpu-0[W] cpu-0-core[W]\n", "gpu-0[mW] gpu-0[C]\n"}[k]
		at := time.Date(2026, 11, 21, 15, 0, 0, 123_000_000*(2-k), time.Local)
		for i := range 60 {
			text += at.Format("  2006-01-02_15:04:05.000000") + fmt.Sprintf(" %d", 60_000+i)
			switch {
			case k == 1:
				text += fmt.Sprintf(" %d %d\n", 70_000+i*i, 40+i%3)
			case i%7 == 6:
				text += fmt.Sprintf(" %d %d\n", 1_000_000*i, 1000*i)
			default:
				text += fmt.Sprintf(" %d %d %g %g\n", 1_000_000*i, 1000*i, 80+float64(i%5), 0.5*float64(i))
			}
			at = at.Add(time.Duration(100_000+137*((i*7)%11)+k*900) * time.Microsecond)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
		sources = append(sources, read(t, name, text))
	}
	out, err := exec.Command(python, args...).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	var theirs struct {
		Columns []string
		Data    [][]*float64
	}
	if err := json.Unmarshal([]byte(all[len(all)-1]), &theirs); err != nil {
		t.Fatal(err)
	}
	l, err := Align(sources, 0)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := l.WriteCSV(&table); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows)-1 != len(theirs.Data) || len(theirs.Columns) != 8 {
		t.Fatalf("%d moments, want %d of %q", len(rows)-1, len(theirs.Data), theirs.Columns)
	}
	for c, name := range theirs.Columns {
		at := slices.Index(rows[0], name)
		if at < 0 {
			t.Fatalf("no %s in %q", name, rows[0])
		}
		for i, data := range theirs.Data {
			text := rows[i+1][at]
			if data[c] == nil || text == "" {
				if (data[c] == nil) != (text == "") {
					t.Errorf("%s, moment %d: %q, theirs is known: %v", name, i, text, data[c] != nil)
				}
				continue
			}
			// Their moments are whole microseconds.
			if v, _ := strconv.ParseFloat(text, 64); math.Abs(v-*data[c]) > 1e-4*max(1, math.Abs(*data[c])) {
				t.Errorf("%s, moment %d: %v, want %v", name, i, v, *data[c])
			}
		}
	}
}
