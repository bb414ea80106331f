package all

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/cluster"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
	"cg/report/saved"
	"cg/report/trend"
	"cg/report/usage"
	"cg/report/verdict"
)

func TestFormatOf(t *testing.T) {
	for file, want := range map[string]string{
		"a.json": "json", "a.speedscope.json": "speedscope", "a.perfetto.json": "perfetto",
		"a.firefox.json": "firefox", "a.hespas.json": "hespas", "A.MD": "markdown", "x/run.pb.gz": "pprof",
		"a.folded": "collapsed", "a.lsp.json": "lsp", "a.csv": "csv", "a.txt": "text",
	} {
		if f, err := format.For(file, (*report.Run)(nil)); err != nil || f.Name != want {
			t.Errorf("%s: %s, %v", file, f.Name, err)
		}
	}
	if _, err := format.For("a.doc", (*report.Run)(nil)); err == nil {
		t.Error("a.doc has a format")
	}
	for _, f := range format.Of((*report.Run)(nil)) {
		if f.Title == "" || len(f.Endings) == 0 || len(f.Writers) == 0 {
			t.Errorf("%s lacks a title, an ending or a writer", f.Name)
		}
		if _, err := f.Writer(report.Several{}); err != nil {
			if err := f.Write(&bytes.Buffer{}, report.Together([]*report.Run{reporttest.Example(t, nemb.Measured), reporttest.Example(t, nemb.Measured)}),
				format.Options{}); err == nil {
				t.Errorf("%s takes two runs", f.Name)
			}
		}
	}
}

// No format lets a text of a run through that a terminal obeys, that fakes a row,
// or that a spreadsheet runs.
func TestPoisonedRun(t *testing.T) {
	runs := map[string]func() *report.Run{
		"measured":  func() *report.Run { return reporttest.Example(t, nemb.Measured) },
		"estimated": func() *report.Run { return reporttest.Example(t, nemb.Estimated) },
		"unknown":   func() *report.Run { return reporttest.Example(t, nemb.Unavailable) },
		"suite":     func() *report.Run { return reporttest.Suite(t, nemb.Measured) },
	}
	for name, of := range runs {
		for _, f := range format.Of((*report.Run)(nil)) {
			if f.Name == "png" || f.Name == "pprof" || f.IsFolder((*report.Run)(nil)) {
				continue // not for terminals; pprof's names are those of frames; a folder's tests are its own
			}
			_, several := f.Writer(report.Several{})
			tables := []string{""}
			if f.Name == "csv" {
				tables = append(tables, f.Choices[0].Values...)
			}
			for _, table := range tables {
				for count := 1; count == 1 || count == 2 && several == nil; count++ {
					o := format.Options{Terminal: format.Terminal{Width: 160, Color: true, Verbose: true},
						Chosen: map[string]string{"table": table}}
					var all []*report.Run
					for k := range count {
						all = append(all, reporttest.Poisoned(of()))
						o.Names = append(o.Names, fmt.Sprint(reporttest.Evil, k))
					}
					var b bytes.Buffer
					if err := f.Write(&b, report.Together(all), o); err != nil {
						if name == "unknown" && f.Name == "collapsed" {
							continue // which says that there are no energies
						}
						t.Fatalf("%s, %s: %v", name, f.Name, err)
					}
					where := fmt.Sprintf("%s, %d as %s %s", name, count, f.Name, table)
					if found := reporttest.Harmless(b.String()); found != "" {
						t.Errorf("%s: %s", where, found)
					}
					if f.Name == "text" && strings.Contains(b.String(), "\nfake") {
						t.Errorf("%s: a row is faked", where)
					}
					if (f.Name == "markdown" || f.Name == "html") && strings.Contains(b.String(), "</script><b>") {
						t.Errorf("%s: HTML of the run's", where)
					}
					if f.Name == "csv" {
						cellsHarmless(t, where, b.Bytes())
					}
				}
			}
		}
		saved, err := reporttest.Poisoned(of()).JSON()
		if err != nil {
			t.Fatal(err)
		}
		r, err := report.Read(saved)
		if err != nil {
			t.Fatal(err)
		}
		if found := reporttest.Harmless(string(saved)); found != "" {
			t.Errorf("%s: saved: %s", name, found)
		}
		if got := r.Meta.Hostname; got != reporttest.Poisoned(of()).Meta.Hostname {
			t.Errorf("%s: the host is read back as %q", name, got)
		}
		for _, fault := range r.Check() {
			if strings.HasPrefix(fault, "sha256") {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
}

// cellsHarmless wants a table whose texts no spreadsheet runs, and whose negative
// numbers are numbers.
func cellsHarmless(t *testing.T, where string, table []byte) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for i, row := range all {
		for k, c := range row {
			if c == "" || !strings.ContainsAny(c[:1], "=+-@\t\r") {
				continue
			}
			if err := json.Unmarshal([]byte(c), new(float64)); err != nil {
				t.Errorf("%s: row %d, column %d: a spreadsheet runs %q", where, i, k, c)
			}
		}
	}
	if strings.Contains(where, "paths") && all[1][2] != "-1" {
		t.Errorf("%s: the first path's parent is %q", where, all[1][2])
	}
}

// So it is with repeated runs, comparisons and checks.
func TestPoisonedOthers(t *testing.T) {
	texts := map[string]string{}
	put := func(kind string, d format.Document) {
		for _, f := range format.Of(d) {
			if f.Name == "png" || f.Name == "pprof" || f.IsFolder(d) {
				continue // is no text
			}
			var b bytes.Buffer
			if err := f.Write(&b, d, format.Options{Terminal: format.Terminal{Width: 160, Color: true}}); err != nil {
				t.Fatalf("%s as %s: %v", kind, f.Name, err)
			}
			texts[kind+f.Endings[0]] = b.String()
		}
	}
	repeated := reporttest.Saved[repeated.Result](t, "repeated-estimated")
	repeated.Warnings = []report.Warning{{Slug: "slug", Message: "message"}}
	put("run", reporttest.Poisoned(repeated))
	base, head := reporttest.Poisoned(reporttest.Example(t, nemb.Measured)), reporttest.Poisoned(reporttest.Example(t, nemb.Measured))
	head.Meta.Hostname += "other"
	head.Meta.RunID += "other"
	side := func(name string, r *report.Run) compare.Side {
		return compare.Side{Names: []string{name}, Saved: []saved.Document{{Run: r}}}
	}
	c, err := compare.Compare(side(reporttest.Evil+"1", base), side(reporttest.Evil+"2", head), compare.Options{Allow: true})
	if err != nil {
		t.Fatal(err)
	}
	put("compare", c)
	g := reporttest.Poisoned(reporttest.Saved[verdict.Check](t, "gate"))
	put("gate", g)
	texts["gate.annotations"] = strings.Join(g.Annotations(), "\n")
	put("cluster", reporttest.Poisoned(reporttest.Saved[cluster.Run](t, "cluster")))
	put("trend", reporttest.Poisoned(reporttest.Saved[trend.Trend](t, "trend")))
	put("monitor", reporttest.Poisoned(reporttest.Saved[usage.Document](t, "monitor")))
	if len(texts) < 24 {
		t.Errorf("only %d texts: %q", len(texts), slices.Sorted(maps.Keys(texts)))
	}
	for name, text := range texts {
		if found := reporttest.Harmless(text); found != "" {
			t.Errorf("%s: %s", name, found)
		}
		if strings.HasSuffix(name, ".txt") && strings.Contains(text, "\nfake") {
			t.Errorf("%s: a row is faked", name)
		}
		if strings.HasSuffix(name, ".md") && strings.Contains(text, "</script><b>") {
			t.Errorf("%s: HTML of the run's", name)
		}
	}
	cellsHarmless(t, "run.csv", []byte(texts["run.csv"]))
	cellsHarmless(t, "monitor.csv", []byte(texts["monitor.csv"]))
}
