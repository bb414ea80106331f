package pprof

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// The go command's own viewer opens the profile and finds the figures.
func TestPprofOpens(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command") // which builds the tests, so it is there in CI
	}
	for _, c := range []struct {
		run  *report.Run
		args []string
		want []string
	}{
		{reporttest.Example(t, nemb.Measured), nil, []string{"microjoules", "shop.stock.prüfsumme", "Type: energy",
			"energies are the program's, measured"}},
		{reporttest.Example(t, nemb.Measured), []string{"-sample_index=calls"}, []string{"Type: calls", "shop.stock.Stock.refill"}},
		{reporttest.Example(t, nemb.Unavailable), nil, []string{"Type: cpu"}},
		{reporttest.Suite(t, nemb.Measured), []string{"-tagfocus=task=test_work"}, []string{"shop.work"}},
		{reporttest.Hostile(t), nil, []string{"alert"}},
		{reporttest.Kind(t, "two-socket"), []string{"-tags"}, []string{"package-0", "package-1", "domain: Total"}},
		{reporttest.Example(t, nemb.Measured), []string{"-tags"}, []string{"domain: Total", "package-0"}},
	} {
		file := filepath.Join(t.TempDir(), "run.pb.gz")
		if err := os.WriteFile(file, reporttest.Write(t, "pprof", c.run, format.Options{}), 0o644); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(c.args, "-tags") {
			c.args = append(c.args, "-top")
		}
		out, err := exec.Command("go", append(append([]string{"tool", "pprof", "-unit=microjoules"}, c.args...),
			file)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, w := range c.want {
			if !strings.Contains(string(out), w) {
				t.Errorf("%v: no %q in\n%s", c.args, w, out)
			}
		}
	}
}

// Where the total has several domains, the samples of each add up to what is the
// program's in it, and calls and times count once.
func TestPprofDomains(t *testing.T) {
	for _, name := range []string{"two-socket", "gpu", "small"} {
		r := reporttest.Kind(t, name)
		p, err := profile.ParseData(reporttest.Write(t, "pprof", r, format.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		var calls, wantCalls int64
		energy := map[string]int64{}
		for _, s := range p.Sample {
			if len(s.Label["domain"]) != 1 {
				t.Fatalf("%s: labels %v", name, s.Label)
			}
			energy[s.Label["domain"][0]] += s.Value[0]
			calls += s.Value[3]
		}
		for _, path := range r.Paths {
			wantCalls += int64(path.Calls)
		}
		if calls != wantCalls {
			t.Errorf("%s: %d calls, want %d", name, calls, wantCalls)
		}
		for id, got := range energy {
			var want report.Joules
			for _, l := range r.Ledger {
				if l.Name == report.LineFunctions || l.Name == report.LineUninstrumented {
					want += l.Domains[id]
				}
			}
			if got != int64(want) {
				t.Errorf("%s: %d uJ in %s, want %d", name, got, id, want)
			}
		}
		if len(energy) == 0 {
			t.Errorf("%s: no domains", name)
		}
	}
}
