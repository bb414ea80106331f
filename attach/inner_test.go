package attach

import (
	"reflect"
	"strconv"
	"testing"

	"cg/checkpoint"
)

// met and told are the functions of looks, and those with checkpoints, of which two have one name and place.
var (
	met = []checkpoint.Site{
		1: {ID: 2, Language: "python", Func: "m.f", File: "/m.py", Line: 3},
		2: {ID: 3, Language: "python", Func: "m.g", File: "/m.py", Line: 7},
		3: {ID: 4, Language: "c", Func: "add", File: "/fast.so"},
		4: {ID: 5, Language: "python", Func: "json.dumps", File: "/json.py", Line: 9},
		5: {ID: 6, Language: "python", Func: "m.<lambda>", File: "/m.py", Line: 8},
		6: {ID: 7, Language: "c", Func: "cg_enter", File: "/cache/own.so"},
		7: {ID: 8, Language: "python", Func: "hook", File: "/run/hook.py", Line: 1},
		8: {ID: 9, Language: "java", Func: "m.J.run"},
		0: {ID: 1, Language: "python", Func: "m.<module>", File: "/m.py", Line: 1},
	}
	told = []checkpoint.Site{
		{ID: 1, Language: "python", Func: "m.g", File: "/m.py", Line: 7},
		{}, // a number of nothing
		{ID: 3, Language: "python", Func: "m.f", File: "/m.py", Line: 3},
		{ID: 4, Language: "python", Func: "m.<lambda>", File: "/m.py", Line: 8},
		{ID: 5, Language: "python", Func: "m.<lambda>", File: "/m.py", Line: 8},
		{ID: 6, Language: "python", Func: "m.f", File: "/m.py", Line: 4, Kind: checkpoint.LinePlace},
		{ID: 7, Language: "java", Func: "m.J.run", File: "/J.java", Line: 2},
		{ID: 8, Language: "c", Func: "add", File: "/add.c", Line: 2, Kind: checkpoint.Task},
	}
)

func innerOf(paths ...[]checkpoint.SiteID) *Inner {
	c := NewInner(func() []checkpoint.Site { return met }, func() []checkpoint.Site { return told },
		[]string{"/cache/own.so", "/run/"})
	for _, p := range paths {
		c.Add(Look{Path: p})
	}
	return c
}

// A look is of the innermost function with checkpoints, and what is below that is what it called.
func TestInner(t *testing.T) {
	const module, f, g, add, dumps, lambda, enter, hook, run = 1, 2, 3, 4, 5, 6, 7, 8, 9
	c := innerOf(
		[]checkpoint.SiteID{module, f, add},
		[]checkpoint.SiteID{module, f, add},
		[]checkpoint.SiteID{module, f},
		[]checkpoint.SiteID{module, f, g, dumps, dumps, add},
		[]checkpoint.SiteID{module, f, g, dumps, add, dumps},
		[]checkpoint.SiteID{hook, module, run}, // cg's own starts the program
		[]checkpoint.SiteID{module},            // no function with checkpoints
		[]checkpoint.SiteID{f, lambda, add},    // one of two
		[]checkpoint.SiteID{f, enter},          // a checkpoint
		[]checkpoint.SiteID{f, dumps, hook},
		nil,
	)
	c.Add(Look{Path: []checkpoint.SiteID{f, add}, Waiting: true})
	all, outside, own := c.All()
	want := []Inside{
		{Site: 1, Looks: 2, Parts: []Part{{met[add-1], 1, 2}, {met[dumps-1], 1, 2}}},
		{Site: 3, Looks: 3, Parts: []Part{{met[add-1], 2, 2}}},
		{Site: 7, Looks: 1},
	}
	if !reflect.DeepEqual(all, want) || outside != 2 || own != 2 {
		t.Errorf("%+v, outside %d, own %d; want %+v, outside 2, own 2", all, outside, own, want)
	}
}

// A function is known by its place, however the path of its file is written.
func TestInnerPathsOfFiles(t *testing.T) {
	met := []checkpoint.Site{
		{ID: 1, Language: "python", Func: "..lib.m.f", File: "/a/../lib/m.py", Line: 3},
		{ID: 2, Language: "python", Func: "m.g", File: "/lib/m.py", Line: 5},
		{ID: 3, Language: "python", Func: "..lib.m.<listcomp>", File: "/a/../lib/m.py", Line: 3},
	}
	told := []checkpoint.Site{
		{ID: 1, Language: "python", Func: "m.f", File: "/lib/m.py", Line: 3},
		{ID: 2, Language: "python", Func: "m.g", File: "/x/./../lib/m.py", Line: 5},
	}
	c := NewInner(func() []checkpoint.Site { return met }, func() []checkpoint.Site { return told }, nil)
	c.Add(Look{Path: []checkpoint.SiteID{1, 3}})
	c.Add(Look{Path: []checkpoint.SiteID{2}})
	all, outside, own := c.All()
	want := []Inside{{Site: 1, Looks: 1, Parts: []Part{{met[2], 1, 1}}}, {Site: 2, Looks: 1}}
	if !reflect.DeepEqual(all, want) || outside != 0 || own != 0 {
		t.Errorf("%+v, outside %d, own %d; want %+v", all, outside, own, want)
	}
}

// However many paths there are, few are kept, and none is lost.
func TestInnerPaths(t *testing.T) {
	const f, n = 2, 3 * mostInnerPaths
	of := met
	for i := range n {
		of = append(of, checkpoint.Site{ID: checkpoint.SiteID(len(of) + 1), Language: "c", Func: strconv.Itoa(i)})
	}
	c := NewInner(func() []checkpoint.Site { return of }, func() []checkpoint.Site { return told }, nil)
	for i := range n {
		c.Add(Look{Path: []checkpoint.SiteID{f, checkpoint.SiteID(len(met) + 1 + i)}})
		if len(c.paths) >= mostInnerPaths {
			t.Fatal("paths are not folded")
		}
	}
	if all, outside, own := c.All(); own != 0 || len(all) != 1 || all[0].Looks != n || len(all[0].Parts) != n || outside != 0 {
		t.Errorf("%d functions, outside %d", len(all), outside)
	}
}
