package instrument_test

import (
	"slices"
	"strings"
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
		{lines, in("", "parse"), "/b.x", "Parser.parse", false, true, true, false},
		{lines, in("", "other"), "/b.x", "work", false, true, true, false},
		{lines, in("", "M.f"), "/b.x", "M.f(int, T[])", true, true, false, false},
		{lines, in("", "M.f.<lambda>"), "/b.x", "M.f(int).<lambda>", true, true, false, false},
		{lines, in("", "M.f(int)"), "/b.x", "M.f(long)", false, true, true, false},
		{lines, in("/b.x", "M.f"), "/b.x", "M.f(long)", false, true, true, true},
	} {
		o := instrument.Options{Granularity: c.granularity, PlacesOf: c.of}
		if got := o.PlacesWanted("", c.file, checkpoint.Site{Func: c.name}); got != c.want {
			t.Errorf("%v, %s in %s: wanted %v", c.of, c.name, c.file, got)
		}
		if got := o.PlacesIn(c.file); got != c.anyInFile {
			t.Errorf("%v: in %s: %v", c.of, c.file, got)
		}
		s := &instrument.Server{Options: o}
		line := "S\tline\t1\t0\t1\t" + c.name
		if err := s.PlaceSites(c.file, line, 1); err != nil {
			t.Fatal(err)
		}
		if got := s.Unplaced(); len(got) > 0 != c.unplaced {
			t.Errorf("%v: unplaced %v", c.of, got)
		}
		if _, got := o.PlacesKeys()[c.file]; got != c.hasKey {
			t.Errorf("%v: keys %v", c.of, o.PlacesKeys())
		}
	}
}

// TestPlacesOfModules: a name may have its module in front, as a report has it, and stands for no other function then.
func TestPlacesOfModules(t *testing.T) {
	for _, c := range []struct {
		of           instrument.FunctionIn
		module, name string
		want         bool
	}{
		{instrument.FunctionIn{Name: "__main__.K.work"}, "__main__", "K.work", true},
		{instrument.FunctionIn{Name: "__main__.K.work"}, "__main__", "work", false},
		{instrument.FunctionIn{Name: "__main__.K.work"}, "m", "K.work", false},
		{instrument.FunctionIn{Name: "*.K.w*"}, "a.b", "K.work", true},
		{instrument.FunctionIn{File: "/a.x", Name: "a.b.K.work"}, "a.b", "K.work", true},
		{instrument.FunctionIn{File: "/a.x", Name: "a.b.K.work"}, "a.b", "work", false},
		{instrument.FunctionIn{File: "/a.x", Name: "a.b.work"}, "a.b", "K.work", false},
		{instrument.FunctionIn{File: "/a.x", Name: "__main__.work"}, "a.b", "work", true},
	} {
		o := instrument.Options{Granularity: instrument.Lines, PlacesOf: []instrument.FunctionIn{c.of}}
		if got := o.PlacesWanted(c.module, "/a.x", checkpoint.Site{Func: c.name}); got != c.want {
			t.Errorf("%v, %s of %s: %v", c.of, c.name, c.module, got)
		}
	}
}

// TestUnplaced: a name is found where a place of that very function was loaded, and not where its end is that of
// another's, or where the function was loaded without places.
func TestUnplaced(t *testing.T) {
	for _, c := range []struct {
		name, kind, loaded string
		want               bool
	}{
		{"work", "line", "work", false},
		{"work", "line", "K.work", true},
		{"K.work", "line", "K.work", false},
		{"m.K.work", "line", "K.work", false},
		{"n.K.work", "line", "K.work", true},
		{"b.m.work", "line", "work", true},
		{"m.work", "block", "work", false},
		{"m.work", "function", "work", true},
	} {
		s := &instrument.Server{Options: instrument.Options{Granularity: instrument.Lines,
			PlacesOf: []instrument.FunctionIn{{Name: c.name}}}}
		if got := instrument.Load(s, "m", "/m.x", "S\t"+c.kind+"\t1\t0\t1\t"+c.loaded); len(got) > 0 != c.want {
			t.Errorf("%s with %s of %s: %q", c.name, c.kind, c.loaded, got)
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

// A place has the number of its function, also where several have one name.
func TestSavedNames(t *testing.T) {
	at := func(kind checkpoint.SiteKind, line, col, end int) checkpoint.Site {
		return checkpoint.Site{Func: "f", Line: line, Col: col, EndLine: end, Kind: kind}
	}
	const function, line = checkpoint.Function, checkpoint.LinePlace
	names := instrument.SavedNames(&instrument.Plan{Sites: []checkpoint.Site{
		at(function, 1, 1, 9), at(function, 3, 5, 4), at(function, 11, 1, 11), at(function, 11, 30, 12),
		at(line, 2, 5, 2), at(line, 4, 9, 4), at(line, 5, 5, 5), at(line, 11, 20, 11),
		at(line, 11, 40, 11), at(line, 12, 2, 12),
		at(checkpoint.RestPlace, 3, 5, 4),
	}}, "/a.x", 100)
	var in []string
	for _, name := range names {
		if _, told, is := strings.Cut(name, "\t"); is {
			site, _, _ := strings.Cut(told, ",")
			in = append(in, site)
		}
	}
	want := []string{`"site": 100`, `"site": 101`, `"site": 100`, `"site": 102`, `"site": 103`, `"site": 103`,
		`"site": 101`}
	if !slices.Equal(in, want) {
		t.Errorf("%q", names)
	}
}
