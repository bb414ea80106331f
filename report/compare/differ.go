package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cg/nemb"
)

// refused is why sides that differ in more than the program are not compared, nil where they do not or may.
func (c *Result) refused(o Options, how string) error {
	if len(c.Different) == 0 || o.Allow {
		return nil
	}
	var what []string
	for _, d := range c.Different {
		what = append(what, d.What+": "+d.Sides())
	}
	return errors.New("the sides cannot be compared: they differ in more than the program (" +
		strings.Join(what, "; ") +
		"): " + how + ", or --allow-different compares them all the same and says so")
}

// alike is what to do where the sides differ.
const alike = "measure both alike"

// howAlike is alike, with what runs of --lines auto need for it.
func howAlike(sides [2]*sideRuns) string {
	if slices.ContainsFunc(slices.Concat(sides[0].runs, sides[1].runs), comparedRun.fellBack) {
		return alike + ", with --lines FILE.json, since --lines auto found lines too dear in some runs (lines-dear)"
	}
	return alike
}

// distinct refuses a run that is there twice.
func distinct(sides [2]*sideRuns) error {
	file := map[string]string{} // by the id of a run
	for _, s := range sides {
		before := ""
		for _, r := range s.runs {
			if r.file == before || r.id == "" { // the runs of one file have its id
				continue
			}
			before = r.file
			if other, ok := file[r.id]; ok {
				return fmt.Errorf("%s and %s are the same run (%s): there is nothing to compare", other, r.file, r.id)
			}
			file[r.id] = r.file
		}
	}
	return nil
}

// differences are the properties, but for the program, in which any two runs
// differ: the first run and the first that is not like it.
func differences(sides [2]*sideRuns) []Difference {
	out := []Difference{}
	all := slices.Concat(sides[0].runs, sides[1].runs)
	first := all[0]
	granularity := func(r comparedRun) string { return r.meta.Granularity }
	if fellBack(sides) >= 0 {
		granularity = func(comparedRun) string { return "" }
	}
	for _, p := range []struct {
		what string
		of   func(comparedRun) string
	}{
		{"machines", func(r comparedRun) string { return r.meta.Hostname }},
		{"processors", func(r comparedRun) string { return r.meta.CPUModel }},
		{"sources of energy", func(r comparedRun) string { return r.source }},
		{"kinds of figures", func(r comparedRun) string { return string(cmp.Or(r.kind, nemb.Unavailable)) }},
		{"granularities", granularity},
		{"schema versions", func(r comparedRun) string { return r.meta.SchemaVersion }},
	} {
		for _, r := range all[1:] {
			if p.of(r) != p.of(first) {
				out = append(out, Difference{p.what, p.of(first), p.of(r)})
				break
			}
		}
	}
	statuses := func(s *sideRuns) string {
		seen := map[int]bool{}
		for _, r := range s.runs {
			seen[r.status] = true
		}
		return strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(seen))), "[]")
	}
	if a, b := statuses(sides[0]), statuses(sides[1]); a != b {
		out = append(out, Difference{"exit statuses", a, b})
	}
	return out
}

// fellBack is the side, 0 or 1, whose runs all have no lines since --lines auto found these too dear, where those of
// the other side all have them; -1 where there is none. They differ from the others in their lines alone.
func fellBack(sides [2]*sideRuns) int {
	for i, s := range sides {
		lined := sides[1-i].runs[0].meta.Granularity
		if isLined(lined) && !slices.ContainsFunc(s.runs, func(r comparedRun) bool { return !r.fellBack() }) &&
			!slices.ContainsFunc(sides[1-i].runs, func(r comparedRun) bool { return r.meta.Granularity != lined }) {
			return i
		}
	}
	return -1
}

// fellBack reports whether a run was to have lines, and has none since they would have cost too much.
func (r comparedRun) fellBack() bool {
	return r.run != nil && r.meta.Granularity == "fine" && r.run.PlacesOf != nil && len(r.run.PlacesOf.TooDear) > 0
}

// isLined reports whether runs of a granularity have lines or blocks.
func isLined(granularity string) bool { return granularity == "line" || granularity == "block" }
