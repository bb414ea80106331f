package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var keys = []Key{
	{"", "precision", Text, func(s string) error {
		if s != "low" && s != "high" {
			return errors.New("use low or high")
		}
		return nil
	}},
	{"", "sensors", Texts, nil},
	{"measure", "precision", Text, nil},
	{"measure", "timeout", Time, nil},
	{"measure", "max-depth", Whole, nil},
	{"measure", "verbose", Boolean, nil},
	{"track", "tracker", Texts, nil},
	{"track", "freq-write", Number, nil},
	{"budget", Any, Text, func(s string) error {
		if s == "lots" {
			return errors.New("is no energy")
		}
		return nil
	}},
}

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want string // key=[texts]:line, sorted
		err  []string
	}{
		{"", "", nil},
		{"precision = 'high'\nsensors = ['nvml', \"powercap\"]\n\n[measure]\ntimeout = 90\nmax-depth = 1_000\nverbose = true\n",
			"measure.max-depth=[1000]:6 measure.timeout=[90]:5 measure.verbose=[true]:7 precision=[high]:1 sensors=[nvml powercap]:2", nil},
		{"measure.timeout = '1m30s' # so long\nmeasure.precision = \"low\"\n", "measure.precision=[low]:2 measure.timeout=[1m30s]:1", nil},
		{"track = {tracker = '0.1,rapl', freq-write = 1e3}\n", "track.freq-write=[1e3]:1 track.tracker=[0.1,rapl]:1", nil},
		{"[track]\ntracker = [\n  '0.1,rapl',\n  '1,hwmon',\n]\nfreq-write = 10\n", "track.freq-write=[10]:6 track.tracker=[0.1,rapl 1,hwmon]:2", nil},
		{"sensors = []\n", "sensors=[]:1", nil},
		{"[budget]\n\"shop.stock.fib\" = \"1 J\"\nshop.f = '2 J'\n", "budget.shop.f=[2 J]:3 budget.shop.stock.fib=[1 J]:2", nil},
		{"[budget]\nf = 3\ng = 'lots'\n", "", []string{"f.toml:2: budget.f: 3 is not a text in quotes", "f.toml:3: budget.g: is no energy"}},

		{"[colour]\nx = 3\n", "", []string{"f.toml:1: colour: there is no such table; known are budget, measure, track"}},
		{"precison = 'high'\n", "", []string{"f.toml:1: precison: there is no such key; did you mean \"precision\"?"}},
		{"[measure]\n\ntimeot = 3\n", "", []string{"f.toml:3: measure.timeot: there is no such key; did you mean \"timeout\"?"}},
		{"[mesure]\ntimeout = 3\n", "", []string{"f.toml:1: mesure: there is no such table; did you mean \"measure\"?"}},
		{"mesure.timeout = 3\n", "", []string{"f.toml:1: mesure.timeout: there is no such key; did you mean \"measure\"?"}},
		{"[[measure]]\ntimeout = 3\n", "measure.timeout=[3]:2", []string{"f.toml:1: measure: [[measure]] is a list of tables: write [measure]"}},
		{"precision = 3\n", "", []string{"f.toml:1: precision: 3 is not a text in quotes"}},
		{"precision = 'medium'\n", "", []string{"f.toml:1: precision: use low or high"}},
		{"sensors = 'nvml'\n[measure]\nmax-depth = 1.5\nverbose = 'yes'\ntimeout = true\n[track]\ntracker = [1]\nfreq-write = 2026-11-21\n", "sensors=[nvml]:1", []string{
			"f.toml:3: measure.max-depth: 1.5 is not a whole number",
			`f.toml:4: measure.verbose: "yes" is not true or false`,
			"f.toml:5: measure.timeout: true is not a number of seconds, or a time in quotes",
			"f.toml:7: track.tracker: ",
			"f.toml:8: track.freq-write: 2026-11-21 is not a number"}},
		{"precision = \n", "", []string{"f.toml:1:13: "}},
		{"precision = 'low'\nprecision = 'high'\n", "precision=[low]:1", []string{"f.toml:2: precision: is set already, in line 1"}},
		{"[track]\n[measure]\n[track]\n", "", []string{"f.toml: table track already exists"}},
		{"a = \xff\n", "", []string{"f.toml:1:"}},
	}
	for _, test := range tests {
		settings, err := Parse("f.toml", []byte(test.text), keys)
		var got []string
		for name, v := range settings {
			got = append(got, fmt.Sprintf("%s=%v:%d", name, v.Texts, v.Line))
			if v.Origin() != fmt.Sprintf("f.toml:%d", v.Line) {
				t.Errorf("origin %s", v.Origin())
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q: %s, want %s", test.text, strings.Join(got, " "), test.want)
		}
		var lines []string
		if err != nil {
			lines = strings.Split(err.Error(), "\n")
		}
		if !slices.EqualFunc(lines, test.err, strings.HasPrefix) {
			t.Errorf("%q: %q, want %q", test.text, lines, test.err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("precision = 'high'\n[measure]\ntimeout = 90\n[track]\ntracker = ['a']\n")
	f.Add("a.b.c = {d = [{}, [1]]}\n[[x]]\n[\"\".\"y z\"]\n")
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := Parse("f", []byte(text), keys)
		for name, v := range settings {
			if !slices.ContainsFunc(keys, func(k Key) bool { return k.String() == name }) || v.Line < 1 {
				t.Errorf("%s: %+v", name, v)
			}
		}
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%v", err)
		}
	})
}
