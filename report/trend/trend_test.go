package trend_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/report/format"
	_ "cg/report/format/all"
	"cg/report/reporttest"
	"cg/report/trend"
	"cg/report/verdict"
)

// history is that of a command on a machine: a check of each commit, of which the nth costs
// what cost says.
func history(t testing.TB, n int, cost func(i int) float64, change func(*trend.Line)) (lines []trend.Line) {
	t.Helper()
	g := reporttest.Saved[verdict.Check](t, "gate")
	g.Meta.CPUModel, g.Meta.Platform, g.Meta.CgVersion = "a processor", "linux", "test"
	g.Meta.StartedAt = "2026-01-02T03:04:05.000000+00:00"
	g.Head.Changed, g.Head.WorkingTree = nil, false
	measured := g.Result.Head[0]
	for i := range n {
		g.Result.Head = nil
		for _, off := range []float64{-0.02, 0.01, 0, 0.02, -0.01, 0.005} {
			m := measured
			m.Value = cost(i) * (1 + off)
			g.Result.Head = append(g.Result.Head, m)
		}
		g.Head.Commit, g.Head.Subject = fmt.Sprintf("%010x%030x", 0x1234567*(i+1), i), fmt.Sprintf("commit <%d>", i+1)
		l, err := trend.LineOf(g, 8)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(&l)
		}
		lines = append(lines, l)
	}
	return lines
}

func stepped(i int) float64 {
	v := 2 + 0.01*float64(i*7%5)
	if i >= 20 {
		v *= 1.1
	}
	return v
}

func made(t testing.TB, lines []trend.Line) *trend.Trend {
	t.Helper()
	d, err := trend.New(lines, "test")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A trend in every format, and as it is saved.
func TestTrendGolden(t *testing.T) {
	d := made(t, append(history(t, 40, stepped, nil), history(t, 4, stepped, func(l *trend.Line) {
		l.Metric, l.Unit, l.Counter = "instructions", "instructions", "perf"
	})...))
	b, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "../reporttest/testdata/trend.json", b)
	schema := reporttest.Documented(t, "trend", trend.Schema())
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		t.Error(err)
	}
	if !trend.IsSaved(bytes.NewReader(b)) {
		t.Fatal("it is not known as a trend")
	}
	again, err := trend.ReadFrom(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := again.JSON(); err != nil || !bytes.Equal(b, c) {
		t.Errorf("it changes when it is read and written again: %v", err)
	}
	for _, name := range []string{"text", "markdown"} {
		reporttest.Golden(t, "testdata/trend."+name, reporttest.Write(t, name, d, format.Options{}))
	}
	page := string(reporttest.Write(t, "html", d, format.Options{}))
	for _, want := range []string{"10.0 % with 0017e4b173; one step in 40 commits", "commit &lt;21&gt;",
		"data:image/svg&#43;xml;base64,", "no step in 4 commits"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	svg := string(reporttest.Write(t, "svg", d, format.Options{}))
	if n := strings.Count(svg, "<path"); n < 2*44 { // a mark and an interval each
		t.Errorf("the picture has %d paths", n)
	}
}

func TestTrendNamesTheCommit(t *testing.T) {
	s := made(t, history(t, 40, stepped, nil)).Series[0]
	if len(s.Steps) != 1 || s.Steps[0].At != 20 || s.Steps[0].First != s.Points[20].Commit ||
		s.Steps[0].Last != s.Points[19].Commit || math.Abs(s.Steps[0].Change-0.1) > 0.002 ||
		s.Steps[0].ChangeLo > 0.1 || s.Steps[0].ChangeHi < 0.1 {
		t.Errorf("%+v", s.Steps)
	}
}

// What differs in anything that makes costs differ is another series. The name of the machine
// and its kernel are not among it.
func TestTrendSeries(t *testing.T) {
	one := history(t, 1, stepped, nil)[0]
	for what, c := range map[string]struct {
		change func(*trend.Line)
		want   int
	}{
		"the same":     {func(l *trend.Line) {}, 1},
		"host, kernel": {func(l *trend.Line) { l.Machine.Hostname, l.Machine.Kernel = "x", "y" }, 1},
		"machine":      {func(l *trend.Line) { l.Machine.Fingerprint = "x" }, 2},
		"command":      {func(l *trend.Line) { l.Command = []string{"x"} }, 2},
		"build":        {func(l *trend.Line) { l.Build = "x" }, 2},
		"metric":       {func(l *trend.Line) { l.Metric = "cpu-time" }, 2},
		"counter":      {func(l *trend.Line) { l.Counter = "x" }, 2},
		"kind":         {func(l *trend.Line) { l.Kind = "measured" }, 2},
		"checkpoints":  {func(l *trend.Line) { l.Granularity = "fine" }, 2},
	} {
		other := one
		c.change(&other)
		if got := len(made(t, []trend.Line{one, other}).Series); got != c.want {
			t.Errorf("%s: %d series, not %d", what, got, c.want)
		}
	}
}

// Checks of one commit are one point; those of changed files are points of their own.
func TestTrendPoints(t *testing.T) {
	lines := history(t, 2, func(int) float64 { return 2 }, nil)
	again, changed := lines[0], lines[0]
	again.Value, again.Pairs = 5, 12
	lo, hi := 4.0, 6.0
	again.Lo, again.Hi = &lo, &hi
	changed.Changed = true
	s := made(t, append(lines, again, changed, changed)).Series[0]
	if len(s.Points) != 4 || s.Points[0].Checks != 2 || s.Points[0].Pairs != 18 {
		t.Fatalf("%+v", s.Points)
	}
	first := s.Points[0]
	one := *lines[0].Hi - lines[0].Value
	if want := first.Value + math.Hypot(6*one, 12*(6-5))/18; math.Abs(*first.Hi-want) > 1e-9 || math.Abs(first.Value-(lines[0].Value+10)/3) > 1e-9 {
		t.Errorf("%g to %g, want %g", first.Value, *first.Hi, want)
	}
}

func TestReadHistory(t *testing.T) {
	var b bytes.Buffer
	lines := history(t, 3, stepped, nil)
	for _, l := range lines {
		text, err := l.JSON()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	whole := b.String()
	for what, c := range map[string]struct {
		text string
		n    int
		cut  bool
		err  string
	}{
		"whole":            {whole, 3, false, ""},
		"an empty line":    {"\n" + whole + "\n", 3, false, ""},
		"no end":           {strings.TrimSuffix(whole, "\n"), 3, false, ""},
		"cut off":          {whole[:len(whole)-9], 2, true, ""},
		"empty":            {"", 0, false, ""},
		"something else":   {"hello", 0, false, "line 1: no check of a history"},
		"a run":            {"{}\n" + whole, 0, false, "line 1: no check of a history: cg gate --history FILE makes them"},
		"broken":           {strings.Replace(whole, "\n{", "\n[", 1), 0, false, "line 2: no check of a history: "},
		"a later cg":       {strings.Replace(whole, `"schema_version":"2"`, `"schema_version":"9"`, 1), 0, false, "in schema version 9"},
		"costs nothing":    {strings.Replace(whole, `"value":`, `"value":-`, 1), 0, false, "is no cost"},
		"fields to come":   {strings.Replace(whole, `{"schema`, `{"later":1,"schema`, 1), 3, false, ""},
		"no end, a fault":  {"{", 0, false, "line 1: "},
		"of another cg, 1": {strings.ReplaceAll(whole, `"schema_version":"2"`, `"schema_version":"1"`), 3, false, ""},
	} {
		got, cut, err := trend.Read(strings.NewReader(c.text))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil || len(got) != c.n || cut != c.cut {
			t.Errorf("%s: %d lines, cut %v, %v", what, len(got), cut, err)
		}
	}
	// A file without lines is not read whole.
	rest := &io.LimitedReader{R: zeros{}, N: 1 << 40}
	_, _, err := trend.Read(io.MultiReader(strings.NewReader(whole), rest))
	if err == nil || err.Error() != "line 4: no check of a history: it is longer than 16 MiB" {
		t.Error(err)
	}
	if read := 1<<40 - rest.N; read > 32<<20 {
		t.Errorf("%d bytes of a line were read", read)
	}
	if _, err := trend.New(nil, ""); !errors.Is(err, trend.ErrEmpty) {
		t.Error(err)
	}
}

// zeros is as /dev/zero.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestLineRefuses(t *testing.T) {
	g := reporttest.Saved[verdict.Check](t, "gate")
	for i := range g.Result.Head {
		g.Result.Head[i].Value = 0
	}
	if _, err := trend.LineOf(g, 1); err == nil || !strings.HasPrefix(err.Error(), "0 J is no cost that a history can keep") {
		t.Error(err)
	}
	l := history(t, 1, stepped, func(l *trend.Line) { l.Command = []string{strings.Repeat("x", 16<<20)} })[0]
	if _, err := l.JSON(); err == nil || !strings.HasSuffix(err.Error(), "longer than 16 MiB") {
		t.Errorf("a line that no reader takes: %v", err)
	}
}

func TestReadTrendRefuses(t *testing.T) {
	b, _ := made(t, history(t, 40, stepped, nil)).JSON()
	for want, text := range map[string]string{
		"not a saved trend: it has no series":                             `{"trend": {"schema_version": "2"}, "series": []}`,
		"in schema version 9":                                             `{"trend": {"schema_version": "9"}}`,
		"not a saved trend: series[0].steps[0].at: there is no point 200": strings.Replace(string(b), `"at": 20,`, `"at": 200,`, 1),
		"not a saved trend: it ends in the middle":                        string(b[:len(b)/2]),
	} {
		if _, err := trend.ReadFrom(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// A long series is searched at its end only.
func TestLongTrend(t *testing.T) {
	s := made(t, history(t, 1030, func(i int) float64 { return map[bool]float64{true: 1, false: 2}[i < 600] }, nil)).Series[0]
	if s.Earlier != 30 || len(s.Points) != 1030 || !slices.ContainsFunc(s.Steps, func(p trend.Step) bool { return p.At == 600 }) {
		t.Errorf("%d earlier, %+v", s.Earlier, s.Steps)
	}
}
