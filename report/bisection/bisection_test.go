package bisection_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/gate"
	"cg/nemb"
	"cg/report"
	"cg/report/bisection"
	"cg/report/format"
	_ "cg/report/format/all"
	"cg/report/reporttest"
	"cg/statistics"
)

func commit(n byte) gate.Revision {
	return gate.Revision{Name: "v" + string(n), Commit: strings.Repeat(string(n), 40), Subject: "change " + string(n), Changed: []string{}}
}

func trial(n byte, v gate.Verdict, change float64) gate.Trial {
	lo, hi := change-0.01, change+0.01
	return gate.Trial{Commit: commit(n).Commit, Subject: commit(n).Subject, Verdict: v, Attempts: 2, Pairs: 18, Change: &change,
		Lo: &lo, Hi: &hi}
}

func search(t *testing.T, first *gate.Revision, candidates []gate.Revision, trials ...gate.Trial) *bisection.Result {
	r := &bisection.Result{Meta: reporttest.Example(t, nemb.Measured).Meta, Warnings: []report.Warning{},
		Found: gate.Found{First: first, Candidates: candidates, Trials: trials},
		Bisection: bisection.Search{Command: []string{"./bench", "a b"}, Metric: "energy", Counter: "powercap", Threshold: 0.05,
			Good: commit('1'), Bad: commit('9'), Commits: 8, Alpha: 0.05, CheckAlpha: 0.05 / 12, Attempts: 3}}
	r.Conclude()
	return r
}

func TestResults(t *testing.T) {
	first := commit('5')
	bad := trial('9', statistics.Regression, 0.2)
	failed := gate.Trial{Commit: commit('4').Commit, Subject: "change 4", Verdict: statistics.Inconclusive, Attempts: 1, Why: "the build failed: status 2\nmore"}
	unclear := trial('6', statistics.Inconclusive, 0.04)
	for _, c := range []struct {
		r      *bisection.Result
		status int
		want   []string
	}{
		{search(t, &first, []gate.Revision{}, bad, failed, trial('5', statistics.Regression, 0.21), trial('3', statistics.Pass, 0.001)), 0,
			[]string{"the first commit that costs more is 5555555555 change 5", "4444444444: the build failed: status 2\n",
				"9999999999 change 9     18  +20.0 %  [+19.0 %, +21.0 %]   bad", "./bench 'a b'",
				"false alarms: a check wrongly calls a commit bad in at most 0.42 %"}},
		{search(t, nil, []gate.Revision{commit('6'), commit('7')}, bad, unclear), 3,
			[]string{"is one of 2, which could not be told apart", "  6666666666 change 6\n  7777777777 change 7\n",
				"6666666666: inconclusive in 2 checks, the last of 18 pairs"}},
		{search(t, nil, []gate.Revision{}, trial('9', statistics.Pass, 0)), 1, []string{"v9 does not cost +5.0 % more than v1: there is nothing to search for"}},
		{search(t, nil, []gate.Revision{}, trial('9', statistics.Inconclusive, 0)), 3, []string{"it could not be told whether v9 costs more than v1"}},
	} {
		if c.r.Bisection.ExitStatus != c.status {
			t.Errorf("%s: status %d, want %d", c.r.Sentence(), c.r.Bisection.ExitStatus, c.status)
		}
		text := string(reporttest.Write(t, "text", c.r, format.Options{Terminal: format.Terminal{Width: 100}}))
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		b, err := c.r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err == nil {
			err = reporttest.Documented(t, "bisection", bisection.Schema()).Validate(v)
		}
		if err != nil {
			t.Error(err)
		}
		if f, _ := format.Named("json", c.r); f.Read == nil {
			t.Error("it is not read")
		} else if again, err := f.Read(bytes.NewReader(b)); err != nil {
			t.Error(err)
		} else if same, err := again.(*bisection.Result).JSON(); err != nil || !bytes.Equal(b, same) {
			t.Errorf("%v\n%s", err, same)
		}
	}
	for as, wants := range map[string][]string{
		"html": {"<h1>Search for the first commit at which ./bench &#39;a b&#39; costs more</h1>", `<p class="lead">the first commit that costs more is 5555555555 change 5</p>`,
			"<td>9999999999 change 9</td><td>18</td><td>&#43;20.0 %</td>", "<td>bad</td>", `class="changes"`, "skipped: 4444444444: the build failed: status 2"},
		"markdown": {"is 5555555555 change 5", "| 9999999999 change 9 | 18 | +20.0 % |", "| skip |", "- skipped: 4444444444: the build failed"},
	} {
		text := string(reporttest.Write(t, as, search(t, &first, []gate.Revision{commit('6')}, bad, failed, trial('3', statistics.Pass, 0.001)), format.Options{}))
		for _, want := range append(wants, "6666666666 change 6", "3333333333 change 3") {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", as, want, text)
			}
		}
	}
	evil := search(t, &first, []gate.Revision{}, bad)
	evil.Trials[0].Subject, evil.Trials[0].Why = "\x1b[31m\nfake", "\x1b[1m"
	if text := string(reporttest.Write(t, "text", evil, format.Options{Terminal: format.Terminal{Width: 100}})); strings.ContainsAny(text, "\x1b") || strings.Contains(text, "\nfake") {
		t.Errorf("%q", text)
	}
	for _, as := range []string{"html", "markdown"} {
		if text := string(reporttest.Write(t, as, evil, format.Options{})); strings.ContainsAny(text, "\x1b") || strings.Contains(text, "\nfake") {
			t.Errorf("%s: %q", as, text)
		}
	}
	for _, text := range []string{`{"bisection": {}, "meta": {"schema_version": "99", "cg_version": "9"}}`, `{"bisection": 3}`} {
		if r, err := bisection.Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
}
