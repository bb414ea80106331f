package instrument_test

import (
	"testing"

	"cg/instrument"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"f", "f", true},
		{"f", "g", false},
		{"f*", "f", true},
		{"*", "", true},
		{"", "", true},
		{"", "f", false},
		{"?", "f", true},
		{"?", "", false},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "aXcYb", false},
		{"a*a", "a", false},
		{"**", "anything", true},
		{"Shop.*", "Shop.sell", true},
		{"Shop.*", "Shop", false},
		{"*.<locals>.*", "f.<locals>.<lambda>", true},
		{"[a]", "a", false}, // no character classes
		{"orders.py", "/home/u/shop/orders.py", true},
		{"orders*", "/home/u/shop/orders.py", true},
		{"shop", "/home/u/shop/orders.py", false},
		{"*/shop/*", "/home/u/shop/orders.py", true},
		{"*/lib/python3*/*", "/usr/lib/python3.11/json/decoder.py", true},
		{"*/test/*", "/usr/lib/python3.11/json/decoder.py", false},
		{"/home/*.py", "/home/u/shop/orders.py", true},
		{"é?", "éa", true},
	} {
		if got := instrument.Match(c.glob, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.glob, c.name, got)
		}
	}
}

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		name             string
		include, exclude []string
		file             string
		own, fileWanted  bool
		function         string
		nameWanted       bool
	}{
		{name: "no filters", file: "/u/a.py", own: true, fileWanted: true, function: "f", nameWanted: true},
		{name: "not the program's", file: "/lib/a.py", fileWanted: false, function: "f", nameWanted: true},
		{name: "asked for by path", include: []string{"/lib/*"}, file: "/lib/a.py", fileWanted: true, function: "f", nameWanted: true},
		{name: "asked for by path, left out by another", include: []string{"/lib/*"}, exclude: []string{"a.py"}, file: "/lib/a.py", function: "f", nameWanted: true},
		{name: "a name includes no file", include: []string{"a.py"}, file: "/lib/a.py", function: "f", nameWanted: false},
		{name: "by name", include: []string{"f*"}, file: "/u/a.py", own: true, fileWanted: true, function: "fib", nameWanted: true},
		{name: "by another name", include: []string{"g", "h"}, file: "/u/a.py", own: true, fileWanted: true, function: "f", nameWanted: false},
		{name: "left out by name", exclude: []string{"f"}, file: "/u/a.py", own: true, fileWanted: true, function: "f", nameWanted: false},
		{name: "left out beats included", include: []string{"f"}, exclude: []string{"f"}, file: "/u/a.py", own: true, fileWanted: true, function: "f", nameWanted: false},
		{name: "left out file", exclude: []string{"*/a.py"}, file: "/u/a.py", own: true, function: "f", nameWanted: true},
	} {
		o := instrument.Options{Include: c.include, Exclude: c.exclude}
		if got := o.FileWanted(c.file, c.own); got != c.fileWanted {
			t.Errorf("%s: FileWanted(%q, %v) = %v", c.name, c.file, c.own, got)
		}
		if got := o.NameWanted(c.function); got != c.nameWanted {
			t.Errorf("%s: NameWanted(%q) = %v", c.name, c.function, got)
		}
	}
}

func TestParseGranularity(t *testing.T) {
	for in, ok := range map[string]bool{"coarse": true, "fine": true, "": false, "Fine": false} {
		if g, err := instrument.ParseGranularity(in); (err == nil) != ok || ok && string(g) != in {
			t.Errorf("%q: %q, %v", in, g, err)
		}
	}
}

// FuzzMatch: Match never panics, a star matches everything, and a name without
// wild cards matches itself.
func FuzzMatch(f *testing.F) {
	f.Add("a*b?c", "aXbYc")
	f.Fuzz(func(t *testing.T, glob, name string) {
		instrument.Match(glob, name)
		if !instrument.Match("*", name) || !instrument.Match(name, name) {
			t.Errorf("%q does not match itself", name)
		}
	})
}
