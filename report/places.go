package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute"
)

// Place is a part of the code of a function: a line, a block (a loop, or an arm of a branch), or the rest, which is in
// no other place. The places of a function have all of its self time and self energy. The energy is divided among
// them by processor time, or by time where none is known, but for those whose power the data show (EnergyMethod).
type Place struct {
	Kind    string `json:"kind"` // line, block or rest
	Line    int    `json:"line"`
	EndLine int    `json:"end_line"`
	// Ordinal tells places of one kind, line and end line of a function apart: which of them it is in the source, from
	// 0 on, however many of them the run came to.
	Ordinal     int     `json:"ordinal,omitempty"`
	Count       uint64  `json:"count"` // how often a call came there; 0 of the rest
	SelfTimeS   float64 `json:"self_time_s"`
	CPUTimeS    float64 `json:"cpu_time_s"`
	SelfEnergyJ *Joules `json:"self_energy_j"`
	// SelfEnergyLoJ and SelfEnergyHiJ are its interval (95 %): that of the function, and how far the power of the place
	// is known. EnergyMethod is "regression" where the data show that power, else "time-share".
	SelfEnergyLoJ *Joules `json:"self_energy_lo_j,omitempty"`
	SelfEnergyHiJ *Joules `json:"self_energy_hi_j,omitempty"`
	EnergyMethod  string  `json:"energy_method,omitempty"`
	// Text is the line as the source has it, without its indentation, at most mostQuoted bytes; none where the source
	// cannot be read or has changed since.
	Text string `json:"text,omitempty"`
}

// mostQuoted is how much of a line is quoted, in bytes.
const mostQuoted = 160

// quote gives the places of functions the text of their lines.
func (r *Run) quote(read func(file string) ([]byte, time.Time, error)) {
	files := map[string][]string{}
	for i := range r.Functions {
		f := &r.Functions[i]
		if read == nil || len(f.Places) == 0 {
			continue
		}
		lines, seen := files[f.File]
		if !seen {
			if text, modified, err := read(f.File); err == nil && len(text) <= MostSource &&
				!modified.After(r.started) {
				lines = strings.Split(string(text), "\n")
			}
			files[f.File] = lines
		}
		for k := range f.Places {
			if p := &f.Places[k]; !p.IsRest() && p.Line >= 1 && p.Line <= len(lines) {
				line := strings.TrimSpace(lines[p.Line-1])
				p.Text = strings.ToValidUTF8(line[:min(len(line), mostQuoted)], "")
			}
		}
	}
}

// PlaceIn is a place with the function that it is in.
type PlaceIn struct {
	Place
	Function *Function
}

// DearestPlaces lists the places of all functions, the dearest first: by energy, else by time. What took no time is
// left out.
func (r *Run) DearestPlaces() (all []PlaceIn) {
	for i := range r.Functions {
		for _, p := range r.Functions[i].Places {
			if p.SelfTimeS > 0 {
				all = append(all, PlaceIn{p, &r.Functions[i]})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y PlaceIn) int {
		return cmp.Or(cmp.Compare(y.energy(), x.energy()), cmp.Compare(y.SelfTimeS, x.SelfTimeS))
	})
	return all
}

// PlaceWord is what places of functions are called, in the singular.
func (r *Run) PlaceWord() string {
	if r.Meta.Granularity == "block" {
		return "block"
	}
	return "line"
}

// PlacesNote says what the energies of places are worth, and of which functions they are told.
func (r *Run) PlacesNote() string {
	note := "the energy of a function is divided among its " + r.PlaceWord() + "s by time"
	if n := r.toldApart(); n > 0 {
		note += fmt.Sprintf(", but for %d whose power the data show", n)
	}
	return note + r.PlacesOf.Says()
}

// toldApart is how many places have a power of their own.
func (r *Run) toldApart() (n int) {
	for _, f := range r.Functions {
		for _, p := range f.Places {
			if p.EnergyMethod == attribute.Regression && !p.IsRest() {
				n++
			}
		}
	}
	return n
}

// IsRest reports whether a place is what is in no other place of its function.
func (p Place) IsRest() bool { return p.Kind == string(checkpoint.RestPlace) }

func (p Place) energy() Joules {
	if p.SelfEnergyJ == nil {
		return 0
	}
	return *p.SelfEnergyJ
}

// places gives the functions their places. sites are in the order of their ids.
func (r *Run) places(all []attribute.Place, costs []attribute.Cost, sites []checkpoint.Site) {
	of := map[checkpoint.SiteID][]attribute.Place{}
	for _, p := range all {
		of[p.Function] = append(of[p.Function], p)
	}
	if len(of) == 0 {
		return
	}
	ordinals := ordinalsOf(sites)
	k := 0 // functions are those of costs that have a site, in the same order
	for _, c := range costs {
		s, there := siteOf(sites, c.Site)
		if !there || s.Kind == checkpoint.Task {
			continue
		}
		if places := of[c.Site]; len(places) > 1 || len(places) == 1 && places[0].Site != 0 {
			r.Functions[k].divide(s, places, c, sites, ordinals)
		}
		k++
	}
}

// ordinalsOf are the ordinals of places, by their sites: of those that kind and lines do not tell apart, in the order
// of their columns. A site is known whether the run came to it or not, so each run of the same source has the same.
func ordinalsOf(sites []checkpoint.Site) map[checkpoint.SiteID]int {
	type key struct {
		file, function string
		kind           checkpoint.SiteKind
		line, end      int
	}
	alike := map[key][]checkpoint.Site{}
	for _, s := range sites {
		if s.Kind.IsPlace() {
			k := key{s.File, s.Func, s.Kind, s.Line, s.EndLine}
			alike[k] = append(alike[k], s)
		}
	}
	ordinals := map[checkpoint.SiteID]int{}
	for _, all := range alike {
		slices.SortFunc(all, func(x, y checkpoint.Site) int {
			return cmp.Or(cmp.Compare(x.Col, y.Col), cmp.Compare(x.ID, y.ID))
		})
		for i, s := range all {
			if i > 0 {
				ordinals[s.ID] = i
			}
		}
	}
	return ordinals
}

// divide divides what a function used itself among its places.
func (f *Function) divide(function checkpoint.Site, places []attribute.Place, c attribute.Cost,
	sites []checkpoint.Site, ordinals map[checkpoint.SiteID]int) {
	rest := Place{Kind: string(checkpoint.RestPlace), Line: function.Line, EndLine: function.EndLine}
	line := func(p attribute.Place) int {
		s, _ := siteOf(sites, p.Site)
		return s.Line
	}
	slices.SortStableFunc(places, func(x, y attribute.Place) int {
		return cmp.Or(cmp.Compare(line(x), line(y)), cmp.Compare(ordinals[x.Site], ordinals[y.Site]))
	})
	var wall, cpu, energy []float64
	last := attribute.Place{Method: attribute.Regression} // the rest
	bound := func(p *Place, of attribute.Place) {
		if f.SelfEnergyJ != nil && of.Energy > 0 {
			p.SelfEnergyLoJ, p.SelfEnergyHiJ, p.EnergyMethod = joules(of.Lo), joules(of.Hi), of.Method
		}
	}
	for _, p := range places {
		s, there := siteOf(sites, p.Site)
		if !there || s.Kind == checkpoint.RestPlace {
			last.Time, last.CPU, last.Energy = last.Time+p.Time, last.CPU+p.CPU, last.Energy+p.Energy
			last.Lo, last.Hi = last.Lo+p.Lo, last.Hi+p.Hi
			if p.Energy > 0 && p.Method != attribute.Regression {
				last.Method = p.Method
			}
			continue
		}
		place := Place{Kind: string(s.Kind), Line: s.Line, EndLine: s.EndLine, Ordinal: ordinals[p.Site],
			Count: p.Count}
		bound(&place, p)
		f.Places = append(f.Places, place)
		wall, cpu = append(wall, nanoseconds(p.Time)), append(cpu, nanoseconds(p.CPU))
		energy = append(energy, p.Energy)
	}
	bound(&rest, last)
	f.Places = append(f.Places, rest)
	wall, cpu = append(wall, nanoseconds(last.Time)), append(cpu, nanoseconds(last.CPU))
	energy = append(energy, last.Energy)
	if sum(energy) <= 0 {
		energy = cpu
	}
	if sum(energy) <= 0 {
		energy = wall
	}
	times, processor := parts(nanoseconds(c.SelfTime), wall), parts(nanoseconds(c.CPUTime), cpu)
	energies := parts(float64(c.Self.Energy), energy)
	for i := range f.Places {
		p := &f.Places[i]
		p.SelfTimeS, p.CPUTimeS = times[i]*1e-9, processor[i]*1e-9
		if f.SelfEnergyJ != nil {
			p.SelfEnergyJ = joules(nemb.Energy(energies[i]))
			p.within()
		}
	}
}

// within widens the interval of a place by what its energy was rounded.
func (p *Place) within() {
	if p.SelfEnergyLoJ != nil {
		*p.SelfEnergyLoJ = min(*p.SelfEnergyLoJ, *p.SelfEnergyJ)
		*p.SelfEnergyHiJ = max(*p.SelfEnergyHiJ, *p.SelfEnergyJ)
	}
}

func nanoseconds(d time.Duration) float64 { return float64(d) }

func sum(all []float64) (s float64) {
	for _, x := range all {
		s += x
	}
	return s
}

// parts divides a whole number in proportion to weights, into whole numbers whose sum it is. Without weights the last
// has it all.
func parts(whole float64, weights []float64) []float64 {
	out := make([]float64, len(weights))
	all, before, given := sum(weights), 0.0, 0.0
	for i, w := range weights {
		before += w
		until := whole
		if i+1 < len(weights) {
			until = 0
			if all > 0 {
				until = float64(int64(whole * before / all))
			}
		}
		out[i] = until - given
		given = until
	}
	return out
}
