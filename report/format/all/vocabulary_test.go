package all

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"cg/nemb"
	"cg/report"
	"cg/report/cluster"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
	"cg/report/usage"
	"cg/report/verdict"
)

// noOwner is an energy of which it is not told whether it is the program's or the machine's.
var noOwner = regexp.MustCompile(`(?m)^ *(- )?Energy[ :]+[~?\d]|<dt>[Ee]nergy</dt>|^\| energy \| interval \| machine`)

// totals are the words of a text, in lower case, each once: those that begin a line or a cell, as the names of
// totals do.
func totals(text string) (words []string) {
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?mi)(?:^[ -]*|\| |<pre>|<t[dh]>|<dt>|the )(program|machine|memory|time)\b`).
		FindAllStringSubmatch(text, -1) {
		if word := strings.ToLower(m[1]); !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

// Every kind of document tells the program's energy before the machine's, and time after both, by these words,
// in every format for people.
func TestOneVocabulary(t *testing.T) {
	gate := func(metric, unit string) *verdict.Check {
		g := reporttest.Saved[verdict.Check](t, "gate")
		g.Metric, g.Unit, g.Budgets, g.Functions, g.Warnings = metric, unit, nil, nil, nil
		g.EnergyBaseJ, g.EnergyHeadJ = g.Program.Base, g.Program.Head
		return g
	}
	for name, c := range map[string]struct {
		d    format.Document
		want string // the words there are, at least
	}{
		"run":        {reporttest.Example(t, nemb.Measured), "program machine"},
		"repeated":   {reporttest.Repeated(t, nemb.Measured, 3), "program machine time"},
		"runs":       {report.Several{reporttest.Example(t, nemb.Measured), reporttest.Faster(t)}, "program machine time"},
		"ranks":      {reporttest.Saved[cluster.Run](t, "cluster"), "program machine time"},
		"comparison": {reporttest.Saved[compare.Result](t, "compare-several"), "program machine"},
		"cpu-energy": {gate("cpu-energy", "J"), "program"},
		"energy":     {gate("energy", "J"), "program machine"},
		"cpu-time":   {gate("cpu-time", "s"), "program"},
		"monitor":    {reporttest.Saved[usage.Document](t, "monitor"), "machine"},
	} {
		for _, f := range []string{"text", "markdown", "html"} {
			if _, err := format.Named(f, c.d); err != nil {
				continue // it says which formats there are
			}
			text := string(reporttest.Write(t, f, c.d, format.Options{Terminal: format.Terminal{Width: 100}, Top: 1}))
			if _, after, found := strings.Cut(text, "<noscript>"); found {
				text, _, _ = strings.Cut(after, "</noscript>") // what the script shows has tests of its own
			} else if _, after, found := strings.Cut(text, "<main>"); found {
				text = after
			}
			words := totals(text)
			at := 0
			for _, w := range strings.Fields(c.want) {
				if k := index(words, w); k < at {
					t.Errorf("%s as %s has %q, and not %s in this order, in %s", name, f, words, c.want, text[:min(len(text), 900)])
				} else {
					at = k
				}
			}
			if found := noOwner.FindString(text); found != "" {
				t.Errorf("%s as %s has an energy of nothing, %q: %s", name, f, found, text[:min(len(text), 900)])
			}
		}
	}
}

// index is where a word stands, -1 for nowhere.
func index(words []string, word string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}
	return -1
}

// Tables have the columns in the same order, and text for machines says whose each energy is.
func TestOneVocabularyOfTables(t *testing.T) {
	runs := reporttest.Repeated(t, nemb.Measured, 3)
	head, _, _ := strings.Cut(string(reporttest.Write(t, "csv", runs, format.Options{})), "\n")
	columns := strings.Split(head, ",")
	if p, m, d := index(columns, "program_energy_j"), index(columns, "energy_j"), index(columns, "duration_s"); p < 0 || p > m || m > d {
		t.Errorf("%q", head)
	}
	for _, d := range []format.Document{runs, reporttest.Saved[verdict.Check](t, "gate")} {
		for line := range strings.Lines(string(reporttest.Write(t, "openmetrics", d, format.Options{}))) {
			joules := strings.Contains(line, "energy") || strings.HasSuffix(line, " J\n")
			if strings.HasPrefix(line, "# HELP") && joules && !strings.Contains(line, "the program") && !strings.Contains(line, "the machine") {
				t.Errorf("%T: %q", d, line)
			}
		}
	}
	p, err := profile.Parse(bytes.NewReader(reporttest.Write(t, "pprof", reporttest.Example(t, nemb.Measured), format.Options{})))
	if err != nil || !strings.Contains(strings.Join(p.Comments, " "), "the program's") {
		t.Error(p, err)
	}
}

// What runs differ by is told on the scale of a run's noise.
func TestOneNoiseScale(t *testing.T) {
	for _, percent := range []float64{0.5, 2, 4, 8.6, 30} {
		cv := percent
		c := repeated.Command{ProgramEnergyJ: &repeated.Statistic{CVPercent: &cv}}
		c.Runs.MeasurementRuns = 3
		if word := report.DefaultNoise.Name(percent); !strings.Contains(c.Spread(), "("+word+")") {
			t.Errorf("%g %%: %q in runs, %q in a run", percent, c.Spread(), word)
		}
	}
}
