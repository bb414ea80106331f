package all

import (
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/launcher"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
	"cg/report"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/reporttest"
	"cg/report/saved"
)

// peak is the most memory that is live or was garbage since, while f runs, in
// bytes: what the heap takes from the system, looked at each millisecond.
func peak(f func()) uint64 {
	runtime.GC()
	var most atomic.Uint64
	end, ended := make(chan struct{}), make(chan struct{})
	look := func() {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
		metrics.Read(s)
		most.Store(max(most.Load(), s[0].Value.Uint64()+s[1].Value.Uint64()))
	}
	go func() {
		defer close(ended)
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-tick.C:
				look()
			case <-end:
				tick.Stop()
				return
			}
		}
	}()
	f()
	look()
	close(end)
	<-ended
	return most.Load()
}

// huge is a run with as many paths and samples as one can have, and n functions,
// each with a site, and n/10 tests: what grows with a program.
func huge(tb testing.TB, n int) *report.Run {
	r := reporttest.Largest(tb)
	r.Sites, r.Functions = nil, nil
	energies := make([]report.Joules, n)
	for i := range n {
		energies[i] = report.Joules(n - i)
		e := &energies[i]
		f := report.Function{Name: fmt.Sprintf("com.example.package%d.Class%d.method%d", i%400, i%9000, i),
			File: fmt.Sprintf("/home/user/project/src/main/java/com/example/package%d/Class%d.java", i%400, i%9000),
			Line: i % 3000, Language: "java", Kind: "method", EnergyKind: nemb.Measured, EnergyMethod: report.MethodShare,
			Calls: uint64(i), SelfEnergyJ: e, SelfEnergyLoJ: e, SelfEnergyHiJ: e,
			InclusiveEnergyJ: e, InclusiveEnergyLoJ: e, InclusiveEnergyHiJ: e, SelfTimeS: float64(i) * 1.234567e-6,
			Domains: map[string]report.Joules{"package-0": *e, "core": *e, "dram": *e, "gpu0": *e}}
		r.Functions = append(r.Functions, f)
		r.Sites = append(r.Sites, report.Site{ID: uint32(i + 1), Name: f.Name, File: f.File, Line: f.Line, EndLine: i + 9,
			Language: "java", Kind: "method", Calls: f.Calls, TextID: "0123456789abcdef"})
		if i%10 == 0 {
			t := r.Tasks[0]
			t.Name, t.Depth, t.Parent = f.Name+"Test", 1, &r.Tasks[0].Name
			each := (t.EndedAtMonoNs - t.StartedAtMonoNs) * 10 / int64(n)
			t.StartedAtMonoNs += int64(i/10) * each
			t.EndedAtMonoNs = t.StartedAtMonoNs + each
			t.DurationS = float64(each) * 1e-9
			r.Tasks = append(r.Tasks, t)
		}
	}
	for i := range r.Paths {
		if i > 0 {
			r.Paths[i].Site = uint32(1 + i*7%n)
		}
	}
	r.Totals.NTasks = len(r.Tasks)
	return r
}

// The largest runs, read and written in every format: how long, how much memory,
// how many bytes.
//
//	go test ./report/format/all -run xxx -bench Largest -benchtime 1x
func BenchmarkLargest(b *testing.B) {
	page, err := format.Named("html", report.Several{})
	if err != nil {
		b.Fatal(err)
	}
	const n = 100_000
	r := huge(b, n)
	text, err := r.JSON()
	if err != nil {
		b.Fatal(err)
	}
	measured := func(b *testing.B, f func() int) {
		size, most := 0, uint64(0)
		for b.Loop() {
			most = max(most, peak(func() { size = f() }))
		}
		b.ReportMetric(float64(size)/1e6, "MB")
		b.ReportMetric(float64(most)/(1<<20), "MiB-heap")
	}
	b.Run("read", func(b *testing.B) {
		measured(b, func() int {
			if _, err := report.Read(text); err != nil {
				b.Fatal(err)
			}
			return len(text)
		})
	})
	b.Run("check", func(b *testing.B) {
		measured(b, func() int { r.Check(); return len(text) })
	})
	for _, f := range format.Of((*report.Run)(nil)) {
		b.Run(f.Name, func(b *testing.B) {
			measured(b, func() int {
				w := &counted{}
				if f.IsFolder(r) {
					create := func(string) (io.WriteCloser, error) { return w, nil }
					if err := f.WriteFolder(create, r, format.Options{}); err != nil {
						b.Fatal(err)
					}
					return w.n
				}
				if err := f.Write(w, report.Together([]*report.Run{r}), format.Options{}); err != nil {
					b.Fatal(err)
				}
				return w.n
			})
		})
	}
	other := huge(b, n)
	other.Meta.RunID = "other"
	b.Run("compare", func(b *testing.B) {
		measured(b, func() int {
			side := func(name string, r *report.Run) compare.Side {
				return compare.Side{Names: []string{name}, Saved: []saved.Document{{Run: r}}}
			}
			c, err := compare.Compare(side("a", r), side("b", other), compare.Options{})
			if err != nil {
				b.Fatal(err)
			}
			text, err := c.JSON()
			if err != nil {
				b.Fatal(err)
			}
			return len(text)
		})
	})
	b.Run("html-of-two", func(b *testing.B) {
		measured(b, func() int {
			w := &counted{}
			if err := page.Write(w, report.Several{r, other}, format.Options{}); err != nil {
				b.Fatal(err)
			}
			return w.n
		})
	})
}

// spans is a run of n calls, each of which told where it began and ended: of
// sites functions, three deep, on a machine of 20 W.
func spans(n, sites int) *report.Run {
	const each = 2000 // ns of a call
	domains := []nemb.Domain{{ID: "package-0", Kind: "cpu_package", Source: "powercap", Method: nemb.Measured,
		InTotal: true, Lo: 1, Hi: 1}}
	a := attribute.New(domains, 2)
	all := make([]checkpoint.Site, sites)
	for i := range all {
		all[i] = checkpoint.Site{ID: checkpoint.SiteID(i + 1), Language: "go",
			Func: fmt.Sprintf("example/package%d.Function%d", i%100, i),
			File: fmt.Sprintf("/src/package%d/file.go", i%100), Line: i + 1, Kind: checkpoint.Function}
	}
	sample := func(t int64) nemb.Sample {
		return nemb.Sample{At: checkpoint.Tick(t + 1), Time: checkpoint.Instant(t + 1),
			Energy: []nemb.Energy{nemb.Energy(20 * t / 1000)}, Usage: account.Usage{Program: time.Duration(t)}}
	}
	series := nemb.Series{Domains: domains, Samples: []nemb.Sample{sample(0)}}
	a.Close(sample(0))
	run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1}
	var words []checkpoint.Word
	at := int64(0)
	word := func(kind checkpoint.Kind, site int) {
		at += each / 2
		words = append(words, checkpoint.Pack(checkpoint.Tick(at), kind, checkpoint.SiteID(site+1)))
	}
	for i := 0; i < n; i += 3 {
		outer, inner, leaf := i%97%sites, (i*31)%sites, (i*7919)%sites
		word(checkpoint.Enter, outer)
		word(checkpoint.Enter, inner)
		word(checkpoint.Enter, leaf)
		word(checkpoint.Exit, leaf)
		word(checkpoint.Exit, inner)
		word(checkpoint.Exit, outer)
		if len(words) > 10_000 { // some 10 ms
			run.Words = words
			words = append(words[:0], words[a.Fold(run, checkpoint.Tick(at+1), checkpoint.Tick(at+1)):]...)
			run.First = false
			s := sample(at)
			series.Samples = append(series.Samples, s)
			a.Close(s)
		}
	}
	run.Words = words
	a.Fold(run, checkpoint.Tick(at+1), checkpoint.Tick(at+1))
	last := sample(at + 1)
	series.Samples = append(series.Samples, last)
	a.Last(last)
	r := &report.Run{Skipped: []report.Skip{}, Warnings: []report.Warning{}}
	r.Meta = report.Meta{SchemaVersion: report.SchemaVersion, Tool: "cg", CgVersion: "test", RunID: "spans", Language: "go",
		Argv: []string{"cg"}, CgEnv: map[string]string{}}
	r.Finish(report.Facts{
		Outcome: &measure.Outcome{PID: 7, Domains: domains, Series: series, Attributed: a.Finish(),
			Result: launcher.Result{Exited: true}},
		Sites: all, CPUModel: "a processor", CPUKnown: true, CPUMethod: "test", Clock: checkpoint.Monotonic,
		Program: "spans", Interval: 10 * time.Millisecond,
	})
	return r
}

// However many calls a run had, its page is made of sums: five million make no more of
// it than fifty thousand on the same paths.
func TestSpansAreSummed(t *testing.T) {
	few, many := spans(60_000, 500), spans(600_000, 500)
	calls := func(r *report.Run) (n uint64) {
		for _, f := range r.Functions {
			n += f.Calls
		}
		return n
	}
	if calls(few) != 60_000 || calls(many) != 600_000 {
		t.Fatalf("%d and %d calls", calls(few), calls(many))
	}
	a, b := reporttest.Write(t, "html", few, format.Options{}), reporttest.Write(t, "html", many, format.Options{})
	if len(b)-len(a) > len(a)/2 {
		t.Errorf("a page of %d bytes for ten times the calls of one of %d", len(b), len(a))
	}
}

// What a function adds to a page is its figures and its name, once: a seventh of the bytes
// that it has in the saved run.
func TestPageGrowsWithFigures(t *testing.T) {
	few, many := huge(t, 2000), huge(t, 4000)
	for _, r := range []*report.Run{few, many} {
		r.Paths, r.Samples = r.Paths[:1], nil
	}
	text := func(r *report.Run) int {
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}
	page := (len(reporttest.Write(t, "html", many, format.Options{})) - len(reporttest.Write(t, "html", few, format.Options{}))) / 2000
	saved := (text(many) - text(few)) / 2000
	t.Logf("a function has %d bytes in a page and %d in a saved run", page, saved)
	if page > 200 || page*4 > saved {
		t.Errorf("a function has %d bytes in a page and %d in a saved run", page, saved)
	}
}

// A run of five million calls, from its saved JSON to a page.
//
//	go test ./report/format/all -run xxx -bench Spans -benchtime 1x
func BenchmarkSpans(b *testing.B) {
	page, err := format.Named("html", (*report.Run)(nil))
	if err != nil {
		b.Fatal(err)
	}
	r := spans(5_000_000, 20_000)
	text, err := r.JSON()
	if err != nil {
		b.Fatal(err)
	}
	most, size := uint64(0), 0
	for b.Loop() {
		most = max(most, peak(func() {
			r, err := report.Read(text)
			if err != nil {
				b.Fatal(err)
			}
			w := &counted{}
			if err := page.Write(w, r, format.Options{}); err != nil {
				b.Fatal(err)
			}
			size = w.n
		}))
	}
	b.ReportMetric(float64(len(text))/1e6, "MB-saved")
	b.ReportMetric(float64(size)/1e6, "MB")
	b.ReportMetric(float64(most)/(1<<20), "MiB-heap")
	b.ReportMetric(float64(len(r.Paths)), "paths")
}

// counted counts what is written to it.
type counted struct{ n int }

func (c *counted) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

func (*counted) Close() error { return nil }
