package compare

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"cg/checkpoint"
	"cg/nemb/attribute"
	"cg/report"
	"cg/statistics"
)

// PlaceChange is the change of what a line, a block or the rest of a function used itself.
type PlaceChange struct {
	Change
	Kind     string `json:"kind"` // line, block or rest
	Line     int    `json:"line"` // in HEAD
	EndLine  int    `json:"end_line"`
	BaseLine int    `json:"base_line"`
	Text     string `json:"text,omitempty"` // the line in HEAD, where it is known
	// Was is the line in BASE where it is another, and MatchedBy how it was found: text, neighbours (it stands between
	// lines that are the same) or place (its distance from the first line of the function).
	Was       string `json:"was,omitempty"`
	MatchedBy string `json:"matched_by"`
	// BaseCount and HeadCount are how often a call came there, means over the runs that tell places of the function (as
	// all figures of places); 0 of the rest.
	BaseCount float64 `json:"base_count"`
	HeadCount float64 `json:"head_count"`
	// BaseOwnPowerRuns and HeadOwnPowerRuns are in how many runs the data show a power of its own. In the others its
	// energy is a part of its function's, by time.
	BaseOwnPowerRuns int `json:"base_own_power_runs"`
	HeadOwnPowerRuns int `json:"head_own_power_runs"`
}

// OneSidedPlace is a line or block of a compared function that the runs of one side came to.
type OneSidedPlace struct {
	Kind    string   `json:"kind"`
	Line    int      `json:"line"`
	EndLine int      `json:"end_line"`
	Text    string   `json:"text,omitempty"`
	Count   float64  `json:"count"`         // mean over the runs that tell places of the function
	EnergyJ *float64 `json:"self_energy_j"` // mean over them
}

// PlaceIn is a change of a place with the function that it is in.
type PlaceIn struct {
	PlaceChange
	Function *FunctionChange
}

// OneSidedIn is a place of one side with the function that it is in.
type OneSidedIn struct {
	OneSidedPlace
	Function *FunctionChange
}

// byNeighbours is how a line is found whose text has changed: it alone stands between lines that have not.
const byNeighbours = "neighbours"

// part is a place of a function in the runs of a side.
type part struct {
	at    partKey
	text  string
	count float64
	own   int     // runs in which the data show its power
	ownIn int     // the last of them
	runs  []bound // in each run of the side
}

// partKey tells the places of a side's functions of one name apart. first is the function's first line.
type partKey struct {
	file             string
	first, line, end int
	kind             string
	ordinal          int
}

func (p *part) isRest() bool { return p.at.kind == string(checkpoint.RestPlace) }

// parts adds the places of a function of a file, as the program's folder sees it, in run number i of a side.
func (b *body) parts(f *report.Function, file string, i int, runs []comparedRun) {
	b.met[i], b.told[i] = true, b.told[i] || len(f.Places) > 0
	for _, p := range f.Places {
		key := partKey{file, f.Line, p.Line, p.EndLine, p.Kind, p.Ordinal}
		if key.kind == string(checkpoint.RestPlace) { // a function has one, wherever it stands
			key = partKey{kind: key.kind, line: b.line}
		}
		q := b.placeAt[key]
		if q == nil {
			q = &part{at: key, runs: make([]bound, len(runs)), ownIn: -1}
			for n := range runs {
				q.runs[n] = zeroIf(runs[n].program.value != nil)
			}
			b.places, b.placeAt[key] = append(b.places, q), q
		}
		self := bounded(p.SelfEnergyJ, p.SelfEnergyLoJ, p.SelfEnergyHiJ)
		if runs[i].program.value == nil {
			self = bound{}
		}
		q.text = cmp.Or(p.Text, q.text)
		q.count += float64(p.Count) / float64(len(runs))
		q.runs[i] = plus(q.runs[i], self)
		if p.EnergyMethod == attribute.Regression && q.ownIn != i { // several functions of a name have one rest
			q.own, q.ownIn = q.own+1, i
		}
	}
}

// leaveUntold leaves out the runs in which the function was called and its places are not told: --lines auto chooses
// anew in each run. Nothing is known of them there, which is not 0 J.
func (b *body) leaveUntold() {
	untold := func(i int) bool { return b.met[i] && !b.told[i] }
	for _, p := range b.places {
		var runs []bound
		for i, r := range p.runs {
			if !untold(i) {
				runs = append(runs, r)
			}
		}
		p.count *= float64(len(p.runs)) / float64(len(runs))
		p.runs = runs
	}
}

// ordered are the places but for the rest, in the order of the source.
func (b *body) ordered() []*part {
	all := slices.DeleteFunc(slices.Clone(b.places), (*part).isRest)
	slices.SortFunc(all, func(x, y *part) int {
		return cmp.Or(strings.Compare(x.at.file, y.at.file), cmp.Compare(x.at.first, y.at.first),
			cmp.Compare(x.at.line, y.at.line), cmp.Compare(x.at.end, y.at.end), cmp.Compare(x.at.ordinal, y.at.ordinal))
	})
	return all
}

// pairOf is a place of BASE and the one of HEAD that it is.
type pairOf struct {
	base, head *part
	by         string
}

// comparePlaces holds the places of a function against each other, if both sides have some.
func (f *FunctionChange) comparePlaces(b, h *body) {
	if len(b.places) == 0 || len(h.places) == 0 {
		f.onOneSide = len(b.places)+len(h.places) > 0
		return
	}
	pairs := pairPlaces(b, h)
	for _, rest := range h.places {
		if k := slices.IndexFunc(b.places, (*part).isRest); rest.isRest() && k >= 0 {
			pairs = append(pairs, pairOf{b.places[k], rest, byPlace})
		}
	}
	for _, p := range pairs {
		c := PlaceChange{Change: Change{Of: "self_energy_j", Name: f.Name, Unit: "J"}, Kind: p.head.at.kind,
			Line: p.head.at.line, EndLine: p.head.at.end, BaseLine: p.base.at.line, Text: p.head.text, MatchedBy: p.by,
			BaseCount: p.base.count, HeadCount: p.head.count, BaseOwnPowerRuns: p.base.own,
			HeadOwnPowerRuns: p.head.own}
		if p.base.text != p.head.text {
			c.Was = p.base.text
		}
		c.value(0, p.base.runs)
		c.value(1, p.head.runs)
		c.compute()
		f.Places = append(f.Places, c)
	}
	found := map[*part]bool{}
	for _, p := range pairs {
		found[p.base], found[p.head] = true, true
	}
	left := func(all []*part) (out []OneSidedPlace) {
		for _, p := range all {
			if found[p] {
				continue
			}
			one := body{runs: p.runs}
			out = append(out, OneSidedPlace{Kind: p.at.kind, Line: p.at.line, EndLine: p.at.end, Text: p.text,
				Count: p.count, EnergyJ: one.energy()})
		}
		return out
	}
	f.PlacesOnlyInBase = left(b.ordered())
	f.PlacesOnlyInHead = left(h.ordered())
}

// pairPlaces finds the places of BASE in HEAD, but for the rest, in the order of HEAD. In a function whose whole text
// is the same they stand where they stood. Else they are found by their texts, in their order (a difference of the
// lines that the runs came to). Where texts are not known their distance from the function's first line counts.
func pairPlaces(b, h *body) (pairs []pairOf) {
	base, head := b.ordered(), h.ordered()
	unknown := func(p *part) bool { return p.text == "" }
	switch {
	case b.text != "" && b.text == h.text:
		return byDistance(base, head, byText)
	case !slices.ContainsFunc(base, unknown) && !slices.ContainsFunc(head, unknown):
		return byDifference(base, head)
	case b.place == "" || h.place == "": // several functions of a name
		return nil
	}
	return byDistance(base, head, byPlace)
}

func byDistance(base, head []*part, by string) (pairs []pairOf) {
	from := func(p *part) partKey {
		return partKey{kind: p.at.kind, line: p.at.line - p.at.first, end: p.at.end - p.at.first, ordinal: p.at.ordinal}
	}
	at := map[partKey]*part{}
	for _, p := range base {
		at[from(p)] = p
	}
	for _, p := range head {
		if was := at[from(p)]; was != nil {
			pairs = append(pairs, pairOf{was, p, by})
		}
	}
	return pairs
}

func byDifference(base, head []*part) (pairs []pairOf) {
	texts := func(all []*part) (out []string) {
		for _, p := range all {
			out = append(out, p.at.kind+"\x00"+p.text)
		}
		return out
	}
	m := difflib.NewMatcherWithJunk(texts(base), texts(head), false, nil)
	for _, op := range m.GetOpCodes() {
		switch {
		case op.Tag == 'e':
			for k := range op.I2 - op.I1 {
				pairs = append(pairs, pairOf{base[op.I1+k], head[op.J1+k], byText})
			}
		case op.Tag == 'r' && op.I2-op.I1 == 1 && op.J2-op.J1 == 1 && hasChanged(base, head, op.I1, op.J1):
			pairs = append(pairs, pairOf{base[op.I1], head[op.J1], byNeighbours})
		}
	}
	return pairs
}

// hasChanged reports whether place j of HEAD is place i of BASE with another text: the places around them are the same,
// and as many lines away. Others stand elsewhere, and one side did not come to each of them.
func hasChanged(base, head []*part, i, j int) bool {
	away := func(all []*part, from, to int) partKey {
		x, y := all[from].at, all[to].at
		return partKey{kind: x.kind, line: y.line - x.line, first: y.first - x.first}
	}
	before, after := i > 0 && j > 0, i+1 < len(base) && j+1 < len(head)
	return base[i].at.kind == head[j].at.kind && (before || after) &&
		(!before || away(base, i, i-1) == away(head, j, j-1)) && (!after || away(base, i, i+1) == away(head, j, j+1))
}

// judgePlaces says what the changes of places come to, of all functions together (Holm).
func (c *Result) judgePlaces(threshold float64) {
	var all []*PlaceChange
	for i := range c.Functions {
		for k := range c.Functions[i].Places {
			all = append(all, &c.Functions[i].Places[k])
		}
	}
	var tested []*PlaceChange
	var ps []float64
	for _, p := range all {
		if p.P != nil {
			tested, ps = append(tested, p), append(ps, *p.P)
		}
	}
	for k, p := range statistics.Holm(ps) {
		tested[k].P = &p
	}
	for _, p := range all {
		p.judge(threshold)
	}
}

// DearestPlaces lists the changes of places of all functions, the largest difference first. What used nothing on
// either side is left out.
func (c *Result) DearestPlaces() (all []PlaceIn) {
	for i := range c.Functions {
		for _, p := range c.Functions[i].Places {
			if p.Why != ZeroInBoth {
				all = append(all, PlaceIn{p, &c.Functions[i]})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y PlaceIn) int { return cmp.Compare(size(y.Difference), size(x.Difference)) })
	return all
}

// OneSidedPlaces lists the places that one side came to, in compared functions, the dearest first.
func (c *Result) OneSidedPlaces() (base, head []OneSidedIn) {
	for i := range c.Functions {
		f := &c.Functions[i]
		for _, p := range f.PlacesOnlyInBase {
			base = append(base, OneSidedIn{p, f})
		}
		for _, p := range f.PlacesOnlyInHead {
			head = append(head, OneSidedIn{p, f})
		}
	}
	for _, all := range [][]OneSidedIn{base, head} {
		slices.SortStableFunc(all, func(x, y OneSidedIn) int { return cmp.Compare(size(y.EnergyJ), size(x.EnergyJ)) })
	}
	return base, head
}

// Where is the place with its line in HEAD, and what it was in BASE where that is another line.
func (p PlaceIn) Where() string {
	if p.Kind == string(checkpoint.RestPlace) {
		return "(rest of " + p.Function.Name + ")"
	}
	out := where(p.Function, p.Line, p.Text)
	switch {
	case p.Was != "":
		return out + " (was " + p.Was + ")"
	case p.BaseLine != p.Line:
		return fmt.Sprintf("%s (was line %d)", out, p.BaseLine)
	}
	return out
}

// Where is the place with its line on its side.
func (p OneSidedIn) Where() string { return where(p.Function, p.Line, p.Text) }

func where(f *FunctionChange, line int, text string) string {
	return strings.TrimSpace(fmt.Sprintf("%s:%d %s", filepath.Base(f.File), line, text))
}

// PlaceWord is what the compared places are called, in the singular.
func (c *Result) PlaceWord() string {
	if c.Head.Granularity == "block" || c.Base.Granularity == "block" && c.Head.Granularity != "line" {
		return "block"
	}
	return "line"
}

// placeNotes say how places were found in the other side, and what their energies are worth.
func (c *Result) placeNotes(sides [2]*sideRuns) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	what, own, placed, oneSide := c.PlaceWord(), 0, 0, 0
	all := c.DearestPlaces()
	for _, p := range all {
		if p.BaseOwnPowerRuns > 0 && p.HeadOwnPowerRuns > 0 {
			own++
		}
		if p.MatchedBy == byPlace && p.Kind != string(checkpoint.RestPlace) {
			placed++
		}
	}
	for _, f := range c.Functions {
		if f.onOneSide {
			oneSide++
		}
	}
	if c.otherPlaces() {
		note("%s and %s tell different parts of functions: these are not compared", c.Base.Granularity,
			c.Head.Granularity)
	}
	if len(all) > 0 {
		note("%ss are found by their text, in the order of the source; one whose text has changed is told as such if "+
			"it alone stands between %ss that have not", what, what)
		but := ""
		if own > 0 {
			but = fmt.Sprintf(", but for %d of %d whose own power the data of both sides show", own, len(all))
		}
		note("the energy of a %s is its function's, divided by time%s; %ss count in no exit status", what, but, what)
	}
	if placed > 0 {
		note("found by their distance from the first line of the function, so that one that was put in moves those "+
			"below it: %d %ss, whose text is not in the files, because the source had changed or could not be read",
			placed, what)
	}
	if said := c.fellBackNote(sides); said != "" {
		notes = append(notes, said)
	} else if oneSide > 0 {
		note("of functions that both sides have, %d have %ss on one side only: --lines FILE.json with one and the "+
			"same report chooses the same functions on both", oneSide, what)
	}
	tested := 0
	for _, p := range all {
		if p.P != nil {
			tested++
		}
	}
	if tested > 1 {
		note("%d %ss are judged at once: their p-values are adjusted (Holm)", tested, what)
	}
	return notes
}

// otherPlaces reports whether one side tells lines and the other blocks.
func (c *Result) otherPlaces() bool {
	return isLined(c.Base.Granularity) && isLined(c.Head.Granularity) && c.Base.Granularity != c.Head.Granularity
}

// costOfLines says that the sides tell lines of other functions, as --lines auto chose, "" where they do not. What
// lines cost is in the energies then: these do not tell what a change of the program costs.
func (c *Result) costOfLines(sides [2]*sideRuns) string {
	oneSide := slices.ContainsFunc(c.Functions, func(f FunctionChange) bool { return f.onOneSide })
	auto := func(r comparedRun) bool {
		return r.run != nil && r.run.PlacesOf != nil && r.run.PlacesOf.Chosen == "auto"
	}
	if fellBack(sides) < 0 && !(oneSide && slices.ContainsFunc(slices.Concat(sides[0].runs, sides[1].runs), auto)) {
		return ""
	}
	return fmt.Sprintf("BASE and HEAD have %ss of different functions, and what %ss cost is in their energies: "+
		"measure both with --lines FILE.json", c.PlaceWord(), c.PlaceWord())
}

// LinesCost is why the energies of the two sides do not tell what a change of the program costs: lines of other
// functions. "" where they do.
func (c *Result) LinesCost() string { return c.linesCost }

// fellBackNote says that one side has no lines, and what that means for its functions; "" where there is no such side.
func (c *Result) fellBackNote(sides [2]*sideRuns) string {
	i := fellBack(sides)
	if i < 0 {
		return ""
	}
	names := [2]string{"BASE", "HEAD"}
	return fmt.Sprintf("%s has no %ss, which --lines auto found too dear there (lines-dear): functions are compared, "+
		"and what %ss cost is in the figures of %s alone; --lines FILE.json with one and the same report chooses the "+
		"same functions on both", names[i], c.PlaceWord(), c.PlaceWord(), names[1-i])
}
