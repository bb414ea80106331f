package sweep

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestRanges(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"1..4", "1 2 3 4"},
		{"1..10:3", "1 4 7 10"},
		{"1..1000*10", "1 10 100 1000"},
		{"3..100*2.5", "3 8 19 47"},
		{"1..3*1.1", "1 2 3"}, // whole numbers, each once
		{"0.5..1:0.25", "0.50 0.75 1.00"},
		{"0..0.3:0.1", "0.0 0.1 0.2 0.3"},
		{"-1..1", "-1 0 1"},
		{"5..5", "5"},
		{"1700000000..1700000003", "1700000000 1700000001 1700000002 1700000003"}, // seconds of a clock
		{"999999999999990..999999999999999:5", "999999999999990 999999999999995"},
		{"1..1000000000000000*10", "1 10 100 1000 10000 100000 1000000 10000000 100000000 1000000000 10000000000 " +
			"100000000000 1000000000000 10000000000000 100000000000000 1000000000000000"},
	} {
		p, err := Range("n", c.text)
		if got := strings.Join(p.Values, " "); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.text, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"4..1", "the range ends before it begins"},
		{"1-4", "want a range"}, {"1..", "want a range"}, {"a..b", "want a range"}, {"1..4:0", "want a range"},
		{"1..4*1", "want a range"}, {"0..4*2", "want a range"}, {"1..Inf", "want a range"}, {"1..NaN", "want a range"},
		{"1..1e9", "want a range"}, {"0x1..4", "want a range"}, {"1..9000000", "more than 1000000 values"},
		{"1..2*1.000000000001", "more than 1000000 values"}, {"1..2*1.0000000000000001", "want a range"},
	} {
		if p, err := Range("n", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", c.text, p, err, c.want)
		}
	}
	if _, err := Range("1n", "1..2"); err == nil {
		t.Error("a name of a digit")
	}
}

func TestLists(t *testing.T) {
	if p, err := List("mode", "fast,-O2,a b"); err != nil || fmt.Sprint(p.Values) != "[fast -O2 a b]" {
		t.Errorf("%v, %v", p, err)
	}
	for _, text := range []string{"", "a,,b", "a,b,a"} {
		if p, err := List("mode", text); err == nil {
			t.Errorf("%q: %v", text, p)
		}
	}
	if Check([]Parameter{{Name: "a"}, {Name: "b"}, {Name: "a"}}) == nil || Check([]Parameter{{Name: "a"}, {Name: "b"}}) != nil {
		t.Error("names")
	}
}

func TestPoints(t *testing.T) {
	size, _ := Range("size", "1..1000")
	all := []Parameter{{"threads", []string{"1", "2"}}, {"mode", []string{"x", "y"}}}
	var got []string
	for _, at := range Points(all, 0, nil) {
		got = append(got, at.Fill("{threads}{mode}{other}{{"))
	}
	if want := "1x{other}{{ 1y{other}{{ 2x{other}{{ 2y{other}{{"; strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
	drawn := func(seed uint64) (texts []string) {
		for _, at := range Points(append(all, size), 40, rand.New(rand.NewPCG(seed, 0))) {
			texts = append(texts, at.Fill("{threads} {mode} {size}"))
		}
		return texts
	}
	first := drawn(1)
	if len(first) != 40 || len(slices.Compact(slices.Sorted(slices.Values(first)))) != 40 {
		t.Errorf("%q", first)
	}
	if !slices.Equal(first, drawn(1)) || slices.Equal(first, drawn(2)) {
		t.Error("a seed decides, and another decides otherwise")
	}
	if n := len(Points(all, 99, nil)); n != 4 {
		t.Errorf("%d of 4", n)
	}
	// Each combination is drawn as often as any other.
	counts := map[string]int{}
	draw := rand.New(rand.NewPCG(3, 4))
	for range 4000 {
		for _, at := range Points(all, 1, draw) {
			counts[at.Fill("{threads}{mode}")]++
		}
	}
	for at, n := range counts {
		if n < 850 || n > 1150 || len(counts) != 4 {
			t.Errorf("%s: %d of 4000", at, n)
		}
	}
	if got := (Point{"n": "7"}).Fill("n={n}; echo ${n} {n}$"); got != "n=7; echo ${n} 7$" {
		t.Errorf("a shell's variable: %q", got)
	}
	if part := (Point{"n": "7", "m": "8"}).Of("echo ${n} ${m} {m}"); len(part) != 1 || part["m"] != "8" {
		t.Errorf("a shell's variable: %v", part)
	}
	if part := (Point{"a": "1", "b": "2"}).Of("x{b}", "y"); len(part) != 1 || part["b"] != "2" {
		t.Errorf("%v", part)
	}
}

func FuzzRange(f *testing.F) {
	for _, s := range []string{"1..10", "0.1..2:0.3", "1..1000*10", "-3..-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Range("n", text)
		if err == nil && (len(p.Values) == 0 || len(p.Values) > MostValues+1 || len(slices.Compact(slices.Clone(p.Values))) != len(p.Values)) {
			t.Errorf("%q: %d values", text, len(p.Values))
		}
	})
}
