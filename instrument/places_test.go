package instrument_test

import (
	"slices"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
)

func TestPlacesWanted(t *testing.T) {
	const lines, fine = instrument.Lines, instrument.Fine
	in := func(file, name string) []instrument.FunctionIn {
		return []instrument.FunctionIn{{File: file, Name: name}}
	}
	for _, c := range []struct {
		granularity      instrument.Granularity
		of               []instrument.FunctionIn
		file, name       string
		want, anyInFile  bool
		unplaced, hasKey bool
	}{
		{lines, nil, "/a.x", "work", true, true, false, false},
		{fine, nil, "/a.x", "work", false, false, false, false},
		{fine, in("/a.x", "work"), "/a.x", "work", false, false, false, false},
		{lines, in("/a.x", "m.work"), "/a.x", "work", true, true, false, true},
		{lines, in("/a.x", "work"), "/a.x", "work", true, true, false, true},
		{lines, in("/a.x", "m.overwork"), "/a.x", "work", false, true, true, true},
		{lines, in("/a.x", "work"), "/b.x", "work", false, false, true, false},
		{lines, in("", "wor?"), "/b.x", "work", true, true, false, false},
		{lines, in("", "Parser.*"), "/b.x", "Parser.parse", true, true, false, false},
		{lines, in("", "parse"), "/b.x", "Parser.parse", false, true, false, false},
		{lines, in("", "other"), "/b.x", "work", false, true, true, false},
	} {
		o := instrument.Options{Granularity: c.granularity, PlacesOf: c.of}
		site := checkpoint.Site{Func: c.name, File: c.file}
		if got := o.PlacesWanted(c.file, site); got != c.want {
			t.Errorf("%v, %s in %s: wanted %v", c.of, c.name, c.file, got)
		}
		if got := o.PlacesIn(c.file); got != c.anyInFile {
			t.Errorf("%v: in %s: %v", c.of, c.file, got)
		}
		if got := o.Unplaced([]checkpoint.Site{{Func: "m"}, site}); len(got) > 0 != c.unplaced {
			t.Errorf("%v: unplaced %v", c.of, got)
		}
		if _, got := o.PlacesKeys()[c.file]; got != c.hasKey {
			t.Errorf("%v: keys %v", c.of, o.PlacesKeys())
		}
	}
}

// TestPlacesKeys: a file's key stands for its functions, in any order, and for what is told of them.
func TestPlacesKeys(t *testing.T) {
	key := func(g instrument.Granularity, names ...string) string {
		o := instrument.Options{Granularity: g, PlacesOf: []instrument.FunctionIn{{File: "/b.x", Name: "z"}}}
		for _, n := range names {
			o.PlacesOf = append(o.PlacesOf, instrument.FunctionIn{File: "/a.x", Name: n})
		}
		return o.PlacesKeys()["/a.x"]
	}
	one := key(instrument.Lines, "f", "g")
	if again := key(instrument.Lines, "g", "f", "g"); again != one {
		t.Errorf("%s and %s", one, again)
	}
	others := []string{one, key(instrument.Blocks, "f", "g"), key(instrument.Lines, "f"), key(instrument.Lines, "f g")}
	slices.Sort(others)
	if len(slices.Compact(others)) != 4 {
		t.Errorf("keys that are equal: %v", others)
	}
}
