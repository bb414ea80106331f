package compare

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/report"
	"cg/statistics"
)

// FunctionChange is the change of what a function used itself.
type FunctionChange struct {
	Change
	Language string `json:"language"`
	File     string `json:"file"` // in HEAD
	Line     int    `json:"line"`
	// Was is the function's name in BASE where it has another in HEAD, and MatchedBy
	// how it was found: name, text or place.
	Was       string  `json:"was,omitempty"`
	MatchedBy string  `json:"matched_by"`
	BaseCalls float64 `json:"base_calls"` // means over runs
	HeadCalls float64 `json:"head_calls"`
	// CallP95 is the change of the 95th percentile of how long its calls took, none where a run of
	// a side does not tell it.
	CallP95 *Change `json:"call_time_p95,omitempty"`
	// Places are the lines or blocks that runs of both sides came to, in the order of HEAD, the rest last.
	Places           []PlaceChange   `json:"places,omitempty"`
	PlacesOnlyInBase []OneSidedPlace `json:"places_only_in_base,omitempty"`
	PlacesOnlyInHead []OneSidedPlace `json:"places_only_in_head,omitempty"`

	onOneSide bool // one side has places of it, and the other none
}

// OneSided is a function that one side has.
type OneSided struct {
	Name     string   `json:"name"`
	Language string   `json:"language"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Calls    float64  `json:"calls"`
	EnergyJ  *float64 `json:"self_energy_j"` // mean over runs
}

// How a function of BASE is found in HEAD.
const (
	byName  = "name"
	byText  = "text"
	byPlace = "place"
)

// body is a function in the runs of a side.
type body struct {
	language, name, kind, file string
	line                       int
	text, place                string // "" where not known, or not its own
	calls                      float64
	runs                       []bound // in each run of the side
	times                      []*report.CallsTime
	places                     []*part
	rel                        string // the file, as the program's folder sees it
	placeAt                    map[partKey]*part
	met, told                  []bool // in each run of the side: whether it was called, and whether its places are told
}

func (b *body) key() string { return b.language + "\x00" + b.name }

// energy is the mean of what it used itself.
func (b *body) energy() *float64 {
	sum := 0.0
	for _, r := range b.runs {
		if r.value == nil {
			return nil
		}
		sum += *r.value
	}
	return statistics.Known(sum / float64(len(b.runs)))
}

// bodies are the functions of runs. Those of one name and language are one,
// with the energies of all; in a run that did not call it a function used nothing.
func bodies(runs []comparedRun, take func(string) bool) []*body {
	found := map[string]*body{}
	var all []*body
	for i, r := range runs {
		type spot struct {
			name, file string
			line       int
		}
		sites := map[spot]report.Site{}
		for _, site := range r.run.Sites {
			sites[spot{site.Name, site.File, site.Line}] = site
		}
		for _, f := range r.run.Functions {
			if take != nil && !take(f.Name) {
				continue
			}
			rel, key := within(r.run.Meta.Cwd, f.File), f.Language+"\x00"+f.Name
			b, self := found[key], bounded(f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ)
			if r.program.value == nil { // of these functions only what they used at least is known
				self = bound{}
			}
			if b == nil {
				b = &body{language: f.Language, name: f.Name, kind: f.Kind, file: f.File, line: f.Line,
					rel: rel, runs: make([]bound, len(runs)), times: make([]*report.CallsTime, len(runs)),
					placeAt: map[partKey]*part{}, met: make([]bool, len(runs)), told: make([]bool, len(runs))}
				for k := range b.runs {
					b.runs[k] = zeroIf(runs[k].program.value != nil)
				}
				b.text = sites[spot{f.Name, f.File, f.Line}].TextID
				b.place = f.Language + "\x00" + f.Kind + "\x00" + rel + "\x00" + strconv.Itoa(f.Line)
				found[key] = b
				all = append(all, b)
			} else if b.rel != rel || b.line != f.Line { // several of a name have no text and place
				b.text, b.place = "", ""
			}
			b.calls += float64(f.Calls) / float64(len(runs))
			b.runs[i] = plus(b.runs[i], self)
			b.times[i] = b.times[i].Plus(f.CallsTime)
			b.parts(&f, rel, i, runs)
		}
	}
	for _, b := range all {
		b.leaveUntold()
	}
	return all
}

func zeroIf(is bool) bound {
	if !is {
		return bound{}
	}
	lo, value, hi := 0.0, 0.0, 0.0
	return bound{&value, &lo, &hi}
}

func plus(a, b bound) bound {
	sum := func(a, b *float64) *float64 {
		if a == nil || b == nil {
			return nil
		}
		return statistics.Known(*a + *b)
	}
	return bound{sum(a.value, b.value), sum(a.lo, b.lo), sum(a.hi, b.hi)}
}

// within is a file as the program's folder sees it: two checkouts of a project
// have the same files.
func within(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return file
}

// functions compares what functions used themselves: first those of one name,
// then of the rest those of one text, then those that stand in one place.
func (c *Result) functions(sides [2]*sideRuns, o Options) {
	var of [2][]comparedRun
	for i, s := range sides {
		of[i] = slices.DeleteFunc(slices.Clone(s.runs), func(r comparedRun) bool { return r.run == nil })
	}
	if len(of[0]) == 0 || len(of[1]) == 0 {
		return
	}
	base, head := bodies(of[0], o.Function), bodies(of[1], o.Function)
	pair := func(by string, key func(*body) string) {
		at := func(all []*body) map[string]*body {
			out := map[string]*body{}
			for _, b := range all {
				k := key(b)
				if _, twice := out[k]; twice {
					out[k] = nil // it could be either
				} else if k != "" {
					out[k] = b
				}
			}
			return out
		}
		of, to := at(base), at(head)
		for _, b := range base {
			if k := key(b); k != "" && of[k] != nil && to[k] != nil {
				f := changed(b, to[k], by)
				if !c.otherPlaces() {
					f.comparePlaces(b, to[k])
				}
				c.Functions = append(c.Functions, f)
			}
		}
		left := func(all []*body) []*body {
			return slices.DeleteFunc(all, func(b *body) bool {
				k := key(b)
				return k != "" && of[k] != nil &&
					to[k] != nil
			})
		}
		base, head = left(base), left(head)
	}
	pair(byName, (*body).key)
	pair(byText, func(b *body) string {
		if b.text == "" {
			return ""
		}
		return b.language + "\x00" + b.kind + "\x00" + b.text
	})
	// Where the texts are known and differ, what stands in a place is another function.
	pair(byPlace, func(b *body) string {
		if b.text != "" {
			return ""
		}
		return b.place
	})
	var tested []int
	var ps []float64
	for i := range c.Functions {
		if p := c.Functions[i].P; p != nil {
			tested, ps = append(tested, i), append(ps, *p)
		}
	}
	for k, p := range statistics.Holm(ps) {
		c.Functions[tested[k]].P = &p
	}
	for i := range c.Functions {
		c.Functions[i].judge(o.Threshold)
	}
	c.judgeDurations(o.Threshold)
	c.judgePlaces(o.Threshold)
	slices.SortStableFunc(c.Functions, func(a, b FunctionChange) int {
		return cmp.Or(cmp.Compare(size(b.Difference), size(a.Difference)), strings.Compare(a.Name, b.Name))
	})
	c.OnlyInBase, c.OnlyInHead = oneSided(base), oneSided(head)
}

func changed(b, h *body, by string) FunctionChange {
	f := FunctionChange{
		Change:   Change{Of: "self_energy_j", Name: h.name, Unit: "J"},
		Language: h.language, File: h.file, Line: h.line, MatchedBy: by, BaseCalls: b.calls, HeadCalls: h.calls,
	}
	if b.name != h.name {
		f.Was = b.name
	}
	f.value(0, b.runs)
	f.value(1, h.runs)
	f.compute()
	f.CallP95 = durations(b, h)
	return f
}

// size is how large a difference is; what is not known comes last.
func size(difference *float64) float64 {
	if difference == nil {
		return -1
	}
	return math.Abs(*difference)
}

func oneSided(all []*body) []OneSided {
	out := []OneSided{}
	for _, b := range all {
		out = append(out, OneSided{Name: b.name, Language: b.language, File: b.file, Line: b.line, Calls: b.calls,
			EnergyJ: b.energy()})
	}
	slices.SortStableFunc(out, func(a, b OneSided) int {
		return cmp.Or(cmp.Compare(size(b.EnergyJ), size(a.EnergyJ)), strings.Compare(a.Name, b.Name))
	})
	return out
}
