package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strings"
	"testing"
)

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		patterns  string // one a line
		out, errs string
		want      string // counts, or the error
	}{
		{`tokens: (\d+)`, "start\ntokens: 42\nend\n", "", "map[unit:42]"},
		{`tokens: (?P<token>\d+)`, "tokens: 42", "", "map[token:42]"},
		{`tokens: (?P<token>\d+)`, "", "tokens: 7\r\n", "map[token:7]"},
		{`^rate=([0-9.]+)$`, "rate=1.5\r\n", "", "map[unit:1.5]"},
		{"tokens: (?P<token>\\d+)\nreqs: (?P<request>\\d+)", "tokens: 42\nreqs: 2\n", "", "map[request:2 token:42]"},
		{`sum:done (\d+)`, "done 1\ndone 2 done 3\n", "done 4\n", "map[unit:10]"},
		{`last:done (\d+)`, "done 1\ndone 2 done 3\n", "done 4\n", "map[unit:3]"},
		{`last:done (\d+)`, "\n", "done 4\ndone 5\n", "map[unit:5]"},
		{`count:^ok`, "ok\nno\nok ok\n", "", "map[unit:2]"},
		{`count:^(?P<request>GET|POST) `, "GET /\nPOST /\nPUT /\n", "", "map[request:2]"},
		{`json:.usage.total_tokens`, `{"usage": {"total_tokens": 12}}`, "", "map[total_tokens:12]"},
		{`json:token=$.usage.total_tokens`, "log line\n{\n \"usage\": {\n\"total_tokens\": 12}}\nbye", "", "map[token:12]"},
		{`sum:json:row=.n`, "{\"n\": 1}\n{\"n\": 2}\n{\"m\": 5}\n", "", "map[row:3]"},
		{`last:json:row=.n`, "{\"n\": 1} {\"n\": 2}\n", "", "map[row:2]"},
		{`sum:json:row=.all[].n`, `{"all": [{"n": 1}, {"n": 4}, {}]}`, "", "map[row:5]"},
		{`json:row=.all[1]["a b"]`, `{"all": [0, {"a b": "17"}]}`, "", "map[row:17]"},
		{`json:row=.n`, "{ broken\n{\"n\": 3}\n", "", "map[row:3]"},
		{`tokens: (\d+)`, "nothing\n", "", `"tokens: (\\d+)" is not in the output`},
		{`json:.n`, "{\"n\": null}", "", `"json:.n" is not in the output`},
		{`json:.n`, "{\"n\": [1]}", "", `"json:.n" leads to what is no number in the output`},
		{`n (\d+)`, "n 1\nn 2\n", "", `"n (\\d+)" is 2 times in the output: put sum: in front of it to add them up, or ` +
			"last: to take the last one"},
		{`n (\S+)`, "n 1,234\n", "", `"n (\\S+)" has "1,234" in the output, which is no count: use a group of digits, ` +
			`such as (\d+)`},
		{`n (\S+)`, "n inf\n", "", `"n (\\S+)" has "inf" in the output, which is no count: use a group of digits, such ` +
			`as (\d+)`},
		{`n (\d+)`, "n 0\n", "", `"n (\\d+)" counts 0 in the output: a unit's energy needs a count above 0`},
	} {
		patterns, err := ParseAll(strings.Split(c.patterns, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		counts, err := Counts(t.Context(), patterns, strings.NewReader(c.out), strings.NewReader(c.errs))
		got := fmt.Sprint(counts)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s in %q and %q: %s, want %s", c.patterns, c.out, c.errs, got, c.want)
		}
	}
}

func TestLongLines(t *testing.T) {
	patterns, err := ParseAll([]string{`n: (\d+)`})
	if err != nil {
		t.Fatal(err)
	}
	counts, err := Counts(t.Context(), patterns, strings.NewReader(strings.Repeat("x", 1<<20)+"n: 5\n"))
	if err != nil || !maps.Equal(counts, map[string]float64{Unnamed: 5}) {
		t.Errorf("a line of 1 MiB: %v, %v", counts, err)
	}
	_, err = Counts(t.Context(), patterns, strings.NewReader("n: 5\n"+strings.Repeat("x", longest+1)))
	if err == nil || !strings.HasSuffix(err.Error(), "a line of the output is longer than 16 MiB") {
		t.Errorf("a line that is too long: %v", err)
	}
	if patterns, err = ParseAll([]string{"json:.n"}); err != nil {
		t.Fatal(err)
	}
	_, err = Counts(t.Context(), patterns, strings.NewReader(strings.Repeat("\n", largest+1)))
	if err == nil || !strings.HasSuffix(err.Error(), "the output is longer than 64 MiB") {
		t.Errorf("an output that is too long: %v", err)
	}
}

// endless is an output of one line again and again, which tells when it has given a number of them.
type endless struct {
	line  string
	lines int
	then  func()
}

func (e *endless) Seek(int64, int) (int64, error) { return 0, nil }

func (e *endless) Read(p []byte) (n int, err error) {
	for n+len(e.line) <= len(p) && e.lines > 0 {
		n += copy(p[n:], e.line)
		e.lines--
	}
	if n == 0 {
		e.then()
		return 0, io.EOF
	}
	return n, nil
}

// An output with many matches takes the memory of few.
func TestManyMatches(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const lines = 200_000
	for _, c := range []struct {
		pattern string
		want    float64
	}{{`sum:(\d+)`, lines * 12}, {`count:\d`, lines * 2}, {`last:(\d+)`, 12}} {
		patterns, err := ParseAll([]string{c.pattern})
		if err != nil {
			t.Fatal(err)
		}
		before, kept := heap(), uint64(0)
		output := &endless{line: "12\n", lines: lines, then: func() { kept = heap() - min(before, heap()) }}
		counts, err := Counts(t.Context(), patterns, output)
		if err != nil || counts[Unnamed] != c.want {
			t.Errorf("%s: %v, %v, want %v", c.pattern, counts, err, c.want)
		}
		if kept > 1<<20 {
			t.Errorf("%s: %d bytes are kept for %d matches", c.pattern, kept, lines)
		}
	}
}

// Who is asked to end does not read on.
func TestCountsEnd(t *testing.T) {
	for _, pattern := range []string{`count:x`, `last:json:n=.n`} {
		patterns, err := ParseAll([]string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		output := &endless{line: "x\n", lines: 100_000}
		output.then = func() { output.lines = 100_000; cancel() }
		if _, err := Counts(ctx, patterns, output, output); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                `"": there is nothing to look for: `,
		`tokens`:          `"tokens": it has 0 groups: `,
		`(a)(b)`:          `"(a)(b)": it has 2 groups: `,
		`count:(a)(b)`:    `"count:(a)(b)": it has 2 groups: `,
		`(`:               `"(": error parsing regexp: missing closing ): `,
		`json:`:           `"json:": the path is empty: `,
		`json:x`:          `"json:x": "x" is no step of a path, `,
		`json:.a[x]`:      `"json:.a[x]": "[x]" is no step of a path, `,
		`json:[""]`:       `"json:[\"\"]": [""] is no key: `,
		`count:json:.a`:   `"count:json:.a": count: is for regular expressions: `,
		`(\d+) then json`: "",
	} {
		_, err := Parse(text)
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := ParseAll([]string{`a (\d+)`, `b (\d+)`}); err == nil ||
		!strings.Contains(err.Error(), "the unit unit is counted twice") {
		t.Errorf("two patterns without names: %v", err)
	}
}

func FuzzCounts(f *testing.F) {
	f.Add(`tokens: (?P<token>\d+)`, "tokens: 4\n")
	f.Add(`json:a=.b[0]["c"]`, `{"b": [{"c": 1}]}`)
	f.Fuzz(func(t *testing.T, text, output string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		counts, err := Counts(t.Context(), []Pattern{p}, strings.NewReader(output))
		if n := counts[p.Name]; err == nil && !(n > 0) {
			t.Errorf("%q in %q: %v", text, output, counts)
		}
	})
}
