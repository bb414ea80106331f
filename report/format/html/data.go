package html

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/report"
	"cg/report/compare"
	"cg/report/saved"
)

// pageRun is a run whose long lists stand in columns, and whose names and files
// stand once: a sixth of the bytes. base.js takes it apart again.
type pageRun struct {
	*report.Run
	Functions pageFunctions `json:"functions"`
	Sites     pageSites     `json:"sites"`
	Tasks     pageTasks     `json:"tasks"`
	Paths     pagePaths     `json:"paths"`
	Samples   pageSamples   `json:"samples"`
	Texts     []string      `json:"texts"` // what numbers of texts stand for
	// FootprintLines are report.Lines.
	FootprintLines [][2]string `json:"footprint_lines,omitempty"`
	StateLine      string      `json:"state_line,omitempty"`
	HoursLine      string      `json:"hours_line,omitempty"`
	// TaskWord is report.Run.TaskWord; ThreadNames are the names of threads that have one.
	TaskWord    string   `json:"task_word"`
	ThreadNames []string `json:"thread_names,omitempty"`
	// Sampled says that functions have stack samples where others have calls.
	Sampled bool `json:"sampled,omitempty"`
	// Timeline is null where nothing tells of calls over time.
	Timeline *pageTimeline `json:"timeline"`
}

// pageFunctions are the functions. What a figure can be computed from is left out.
type pageFunctions struct {
	Name     []int     `json:"name"` // number of a text
	File     []int     `json:"file"`
	Language []int     `json:"language"`
	Line     []int     `json:"line"`
	Calls    []uint64  `json:"calls"` // stack samples where the run is Sampled
	Self     []*uint64 `json:"self_uj"`
	Lo       []*uint64 `json:"lo_uj"`
	Hi       []*uint64 `json:"hi_uj"`
	Whole    []*uint64 `json:"inclusive_uj"`
	SelfNs   []int64   `json:"self_ns"`
	WholeNs  []int64   `json:"inclusive_ns"`
	Method   []int     `json:"method"` // number of a text
	// More is what few functions have, by their number.
	More map[int]pageFunction `json:"more,omitempty"`
}

// pageFunction is what is told of a function besides figures that all have.
type pageFunction struct {
	Unresolved     string              `json:"unresolved,omitempty"`
	UnresolvedWith []string            `json:"unresolved_with,omitempty"`
	CallsCut       uint64              `json:"calls_cut,omitempty"`
	CallsEnergy    *report.CallsEnergy `json:"calls_energy,omitempty"`
	CallsTime      *report.CallsTime   `json:"calls_time,omitempty"`
	Places         *pagePlaces         `json:"places,omitempty"`
	Inner          []pageInner         `json:"inner,omitempty"`
}

// pageInner is a function without checkpoints in one that has them (report.InnerFunction).
type pageInner struct {
	Name    string  `json:"name"`
	Samples int     `json:"samples"`
	Self    *uint64 `json:"self_uj"`
	Lo      *uint64 `json:"lo_uj"`
	Hi      *uint64 `json:"hi_uj"`
}

// innerOf are those of a function that were seen themselves, as the page shows them.
func innerOf(f report.Function) (all []pageInner) {
	for _, g := range f.Inner {
		if g.StackSamples > 0 {
			all = append(all, pageInner{g.Name, g.StackSamples, micro(g.SelfEnergyJ), micro(g.SelfEnergyLoJ),
				micro(g.SelfEnergyHiJ)})
		}
	}
	return all
}

// pagePlaces are the lines or blocks of a function that took time, and the rest, which is the last.
type pagePlaces struct {
	Line  []int     `json:"line"`
	End   []int     `json:"end_line"`
	Count []uint64  `json:"count"`
	Self  []*uint64 `json:"self_uj"`
	Ns    []int64   `json:"self_ns"`
}

// placesOf are the places of a function, nil where it has none.
func placesOf(f report.Function) *pagePlaces {
	if len(f.Places) == 0 {
		return nil
	}
	p := &pagePlaces{}
	for i, g := range f.Places {
		if g.Count > 0 || g.SelfTimeS > 0 || i == len(f.Places)-1 {
			p.Line, p.End, p.Count = append(p.Line, g.Line), append(p.End, g.EndLine), append(p.Count, g.Count)
			p.Self, p.Ns = append(p.Self, micro(g.SelfEnergyJ)), append(p.Ns, nanos(g.SelfTimeS))
		}
	}
	return p
}

// pageSites are the sites of a page that has source, which shows where they end.
type pageSites struct {
	ID   []uint32 `json:"id"`
	Name []int    `json:"name"`
	File []int    `json:"file"`
	Line []int    `json:"line"`
	End  []int    `json:"end_line"`
}

type pageTasks struct {
	Name   []int     `json:"name"`
	Depth  []int     `json:"depth"`
	Begin  []int64   `json:"begin_ns"`
	End    []int64   `json:"end_ns"`
	Time   []int64   `json:"time_ns"`
	Energy []*uint64 `json:"energy_uj"`
	Lo     []*uint64 `json:"lo_uj"`
	Hi     []*uint64 `json:"hi_uj"`
	// Outlived are those whose power is not known, see report.Task.
	Outlived []int `json:"outlived,omitempty"`
	// Units are those of work, of the few tasks that counted any, by their number.
	Units map[int][]report.Unit `json:"units,omitempty"`
	// Gauges are what gauges showed, of the tasks with a reading, by their number.
	Gauges map[int]map[string]report.Gauge `json:"gauges,omitempty"`
	// GPUs are whose the energies of GPUs were, of the tasks of which that is told, by their number.
	GPUs map[int][]report.TaskGPU `json:"gpus,omitempty"`
}

// pagePaths are the call paths. There can be a million of them, so their columns stand in
// the page's block (appendTo), and what they are of, once for each function, here.
type pagePaths struct {
	Program string `json:"program"`
	Size    int    `json:"size"`
	Energy  bool   `json:"energy"` // whether it is known
	Name    []int  `json:"name"`   // by kind: number of a text
	File    []int  `json:"file"`
	Line    []int  `json:"line"`

	columns [][]uint64
}

// pathsOf numbers what the paths are of: functions by name and place, since a property's getter and setter have one
// name; tasks by name.
func pathsOf(r *report.Run, text func(string) int) pagePaths {
	n := len(r.Paths)
	p := pagePaths{Program: r.Title(), Size: n, Energy: true, Name: []int{}, File: []int{}, Line: []int{}}
	type kind struct{ name, file, line int }
	numbers := map[kind]int{}
	number := func(name, file string, line int) int {
		k := kind{text(name), text(file), line}
		i, known := numbers[k]
		if !known {
			i = len(p.Name)
			numbers[k] = i
			p.Name, p.File, p.Line = append(p.Name, k.name), append(p.File, k.file), append(p.Line, k.line)
		}
		return i
	}
	sites := make(map[uint32]*report.Site, len(r.Sites))
	for i := range r.Sites {
		sites[r.Sites[i].ID] = &r.Sites[i]
	}
	kindOf := map[uint32]int{} // by site
	of := func(i int, path *report.Path) int {
		if i == 0 || path.Task != "" {
			return number(cmp.Or(path.Task, p.Program), "", 0)
		}
		k, known := kindOf[path.Site]
		if !known {
			if s := sites[path.Site]; s != nil {
				k = number(s.Name, s.File, s.Line)
			} else if path.Site == 0 {
				k = number("(further calls)", "", 0)
			} else {
				k = number("(unknown)", "", 0)
			}
			kindOf[path.Site] = k
		}
		return k
	}
	p.columns = make([][]uint64, pathColumns)
	for c := range p.columns {
		p.columns[c] = make([]uint64, n)
	}
	for i := range r.Paths {
		path := &r.Paths[i]
		for c, v := range [pathColumns]uint64{uint64(i - path.Parent), uint64(of(i, path)), path.Calls,
			uint64(max(0, micros(path.SelfTimeS))), uint64(max(0, micros(path.CPUTimeS)))} {
			p.columns[c][i] = v
		}
		if p.Energy = p.Energy && path.SelfEnergyJ != nil; p.Energy {
			p.columns[pathColumns-1][i] = uint64(*path.SelfEnergyJ)
		}
	}
	if n == 0 || !p.Energy {
		p.Energy, p.columns = false, p.columns[:pathColumns-1]
	}
	return p
}

// The columns of paths: how far before it the caller stands, the number of its kind, calls,
// own time and processor time in microseconds, and energy in microjoules, where it is known.
const pathColumns = 6

// appendTo appends the columns one after the other, each value as a varint (encoding/binary).
func (p *pagePaths) appendTo(block []byte) []byte {
	for _, column := range p.columns {
		for _, v := range column {
			block = binary.AppendUvarint(block, v)
		}
	}
	return block
}

type pageSamples struct {
	StartNs int64                 `json:"start_ns"`
	TUs     []int64               `json:"t_us"`
	Domains map[string]pageDomain `json:"domains"`
	Program []int64               `json:"program_us"`
	Own     []int64               `json:"own_us"`
	Other   []int64               `json:"other_us"`
}

type pageDomain struct {
	UJ []uint64   `json:"uj"`
	W  []*float64 `json:"w"`
}

// drawn is the times of calls as the page shows them: without bins that it could not draw.
func drawn(t *report.CallsTime) *report.CallsTime {
	if t == nil || t.HasBins() {
		return t
	}
	without := *t
	without.Bins = nil
	return &without
}

func functionsOf(r *report.Run, text func(string) int) pageFunctions {
	f := pageFunctions{Name: []int{}, More: map[int]pageFunction{}}
	for i, g := range r.Functions {
		f.Method = append(f.Method, text(g.EnergyMethod))
		// A page that has many functions leaves out what can be computed: the mean.
		each := g.CallsEnergy
		if each != nil && each.N == 0 {
			each = nil
		}
		inner := innerOf(g)
		if g.Unresolved != "" || g.CallsCut > 0 || each != nil || g.CallsTime != nil || len(g.Places)+len(inner) > 0 {
			f.More[i] = pageFunction{g.Unresolved, g.UnresolvedWith, g.CallsCut, each, drawn(g.CallsTime), placesOf(g),
				inner}
		}
		f.Name, f.File, f.Language = append(f.Name, text(g.Name)), append(f.File, text(g.File)),
			append(f.Language, text(g.Language))
		counted := g.Calls
		if r.StackSampling != nil {
			counted = g.StackSamples
		}
		f.Line, f.Calls = append(f.Line, g.Line), append(f.Calls, counted)
		f.Self, f.Lo, f.Hi, f.Whole = append(f.Self, micro(g.SelfEnergyJ)), append(f.Lo, micro(g.SelfEnergyLoJ)),
			append(f.Hi, micro(g.SelfEnergyHiJ)), append(f.Whole, micro(g.InclusiveEnergyJ))
		f.SelfNs, f.WholeNs = append(f.SelfNs, nanos(g.SelfTimeS)), append(f.WholeNs, nanos(g.InclusiveTimeS))
	}
	return f
}

func sitesOf(r *report.Run, text func(string) int, source bool) pageSites {
	s := pageSites{ID: []uint32{}}
	for _, g := range r.Sites {
		if source {
			s.ID, s.Name, s.File = append(s.ID, g.ID), append(s.Name, text(g.Name)), append(s.File, text(g.File))
			s.Line, s.End = append(s.Line, g.Line), append(s.End, g.EndLine)
		}
	}
	return s
}

func tasksOf(r *report.Run, text func(string) int) pageTasks {
	t := pageTasks{Name: []int{}}
	for i, g := range r.Tasks {
		if g.Outlived {
			t.Outlived = append(t.Outlived, i)
		}
		if len(g.Units) > 0 {
			if t.Units == nil {
				t.Units = map[int][]report.Unit{}
			}
			t.Units[i] = g.Units
		}
		if len(g.Gauges) > 0 {
			if t.Gauges == nil {
				t.Gauges = map[int]map[string]report.Gauge{}
			}
			t.Gauges[i] = g.Gauges
		}
		if len(g.GPUs) > 0 {
			if t.GPUs == nil {
				t.GPUs = map[int][]report.TaskGPU{}
			}
			t.GPUs[i] = g.GPUs
		}
		t.Name, t.Depth = append(t.Name, text(g.Name)), append(t.Depth, g.Depth)
		t.Begin, t.End, t.Time = append(t.Begin, g.StartedAtMonoNs), append(t.End, g.EndedAtMonoNs),
			append(t.Time, nanos(g.DurationS))
		e, lo, hi := g.Used()
		t.Energy, t.Lo, t.Hi = append(t.Energy, micro(e)), append(t.Lo, micro(lo)), append(t.Hi, micro(hi))
	}
	return t
}

// threadNames are the names of threads that have one, in the order in which the run tells of them.
func threadNames(r *report.Run) (list []string) {
	names := r.ThreadNames()
	for _, t := range r.Threads {
		if name := names[checkpoint.Thread{PID: t.PID, TID: t.TID}]; name != "" {
			list = append(list, name)
		}
	}
	return list
}

func micro(j *report.Joules) *uint64 { return (*uint64)(j) }

func nanos(s float64) int64 { return int64(s*1e9 + 0.5) }

func micros(s float64) int64 { return int64(s*1e6 + 0.5) }

// orEmpty is a list that is [] in JSON, and not null, when there is none.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func pageRunOf(r *report.Run, source bool) pageRun {
	whole := *r
	whole.Sources = nil // stand beside the runs
	if r.GPUs != nil {
		gpus := *r.GPUs
		gpus.KernelRuns = nil // stand in the timeline
		gpus.Ranges = nil     // stand with the tasks
		whole.GPUs = &gpus
	}
	whole.GPUMetrics, whole.Threads = nil, nil // the page shows none of those, and these by their names
	whole.Ledger, whole.Skipped, whole.Warnings = orEmpty(r.Ledger), orEmpty(r.Skipped), orEmpty(r.Warnings)
	whole.Meta.Argv = orEmpty(r.Meta.Argv)
	if r.Meta.DomainTopology == nil {
		whole.Meta.DomainTopology = map[string]report.Topology{}
	}
	if r.Totals.Kind == "" {
		whole.Totals.Kind = nemb.Unavailable
	}
	out := pageRun{Run: &whole, Texts: []string{}, FootprintLines: report.Lines(r.Footprint, r.Mark()),
		StateLine: r.StateLine(), HoursLine: r.Totals.Hours.Line(), Sampled: r.StackSampling != nil,
		TaskWord: r.TaskWord(), ThreadNames: threadNames(r)}
	numbers := map[string]int{}
	text := func(s string) int {
		n, known := numbers[s]
		if !known {
			n = len(out.Texts)
			numbers[s] = n
			out.Texts = append(out.Texts, s)
		}
		return n
	}
	out.Functions, out.Sites, out.Tasks = functionsOf(r, text), sitesOf(r, text, source), tasksOf(r, text)
	out.Paths = pathsOf(r, text)
	s := &out.Samples
	s.Domains, s.TUs, s.Program, s.Own, s.Other = map[string]pageDomain{}, []int64{}, []int64{}, []int64{}, []int64{}
	for i, sample := range r.Samples {
		if i == 0 {
			s.StartNs = sample.TNs
		}
		s.TUs = append(s.TUs, (sample.TNs-s.StartNs)/1000)
		s.Program, s.Own, s.Other = append(s.Program, micros(sample.ProgramCPUS)),
			append(s.Own, micros(sample.OwnCPUS)), append(s.Other, micros(sample.OtherCPUS))
		for id, e := range sample.DomainJ {
			d := s.Domains[id]
			var power *float64
			if w, ok := sample.DomainW[id]; ok {
				power = &w
			}
			d.UJ, d.W = append(d.UJ, uint64(e)), append(d.W, power)
			s.Domains[id] = d
		}
	}
	return out
}

// pageComparison is what a page shows of a Comparison. Its functions are numbers
// of those of its run, each the first of its name.
type pageComparison struct {
	Threshold float64           `json:"threshold"`
	Weak      bool              `json:"weak"`
	Totals    []compare.Change  `json:"totals"`
	Of        []int             `json:"of"`
	Was       map[int]string    `json:"was"` // by number of a function
	Why       map[int]string    `json:"why"`
	Base      []*float64        `json:"base"`
	Head      []*float64        `json:"head"`
	Lo        []*float64        `json:"lo"`
	Hi        []*float64        `json:"hi"`
	Verdict   []int             `json:"verdict"`
	Verdicts  []compare.Verdict `json:"verdicts"`
	Notes     []string          `json:"notes"`
	Places    *pagePlaceChanges `json:"places,omitempty"`
}

// pagePlaceChanges are the lines or blocks whose energies differ most, and those of one side, at most mostRows of each.
type pagePlaceChanges struct {
	Word    string            `json:"word"` // line or block
	Changes []pagePlaceChange `json:"changes"`
	More    int               `json:"more,omitempty"` // are left out
}

// pagePlaceChange is a line or block of a function. One that one side alone came to is "base only" or
// "head only".
type pagePlaceChange struct {
	Where    string   `json:"where"`
	Function string   `json:"function"`
	Base     *float64 `json:"base"`
	Head     *float64 `json:"head"`
	Lo       *float64 `json:"lo"`
	Hi       *float64 `json:"hi"`
	Verdict  string   `json:"verdict"`
	Why      string   `json:"why,omitempty"`
}

// pagePlaceChangesOf is nil where no places were compared.
func pagePlaceChangesOf(c *compare.Result) *pagePlaceChanges {
	all := c.DearestPlaces()
	gone, added := c.OneSidedPlaces()
	if len(all)+len(gone)+len(added) == 0 {
		return nil
	}
	out := &pagePlaceChanges{Word: c.PlaceWord(), Changes: []pagePlaceChange{}}
	n := min(len(all), mostRows)
	out.More = len(all) - n
	for _, p := range all[:n] {
		out.Changes = append(out.Changes, pagePlaceChange{p.Where(), p.Function.Name, p.Base.Value, p.Head.Value,
			shortened(p.Lo), shortened(p.Hi), string(p.Verdict), p.Why})
	}
	for i, list := range [][]compare.OneSidedIn{gone, added} {
		n := min(len(list), mostRows)
		out.More += len(list) - n
		for _, p := range list[:n] {
			change := pagePlaceChange{Where: p.Where(), Function: p.Function.Name, Base: p.EnergyJ,
				Verdict: "base only"}
			if i == 1 {
				change.Base, change.Head, change.Verdict = nil, p.EnergyJ, "head only"
			}
			out.Changes = append(out.Changes, change)
		}
	}
	return out
}

// shortened has six digits, which are more than an interval tells.
func shortened(v *float64) *float64 {
	if v == nil {
		return nil
	}
	scale := math.Pow(10, 5-math.Floor(math.Log10(math.Max(math.Abs(*v), 1e-12))))
	rounded := math.Round(*v*scale) / scale
	return &rounded
}

// pageThreshold is the smallest change that a page calls one.
const pageThreshold = 0.05

// pageComparisonsOf holds each run against the first.
func pageComparisonsOf(runs []*report.Run, names []string) []*pageComparison {
	if len(runs) < 2 {
		return nil
	}
	out := make([]*pageComparison, len(runs))
	for i := range runs[1:] {
		out[i+1] = pageComparisonOf(runs, names, i+1)
	}
	return out
}

func pageComparisonOf(runs []*report.Run, names []string, n int) *pageComparison {
	c, err := compare.Compare(compare.Side{Names: names[:1], Saved: []saved.Document{{Run: runs[0]}}},
		compare.Side{Names: names[n : n+1], Saved: []saved.Document{{Run: runs[n]}}},
		compare.Options{Threshold: pageThreshold, Allow: true})
	if err != nil { // the same run twice
		return nil
	}
	type key struct{ language, name string }
	number := map[key]int{}
	for i, f := range runs[n].Functions {
		k := key{f.Language, f.Name}
		if _, known := number[k]; !known {
			number[k] = i
		}
	}
	out := &pageComparison{
		Threshold: pageThreshold, Weak: c.Totals[0].Weak, Totals: c.Totals, Was: map[int]string{},
		Why: map[int]string{}, Of: []int{},
		Verdicts: []compare.Verdict{compare.Higher, compare.Lower, compare.Within, compare.NoneShown,
			compare.NotComparable},
		Notes: c.Notes, Places: pagePlaceChangesOf(c),
	}
	for _, f := range c.Functions {
		i := number[key{f.Language, f.Name}]
		out.Of = append(out.Of, i)
		if f.Was != "" {
			out.Was[i] = f.Was
		}
		if f.Why != "" {
			out.Why[i] = f.Why
		}
		out.Base, out.Head = append(out.Base, f.Base.Value), append(out.Head, f.Head.Value)
		out.Lo, out.Hi = append(out.Lo, shortened(f.Lo)), append(out.Hi, shortened(f.Hi))
		out.Verdict = append(out.Verdict, slices.Index(out.Verdicts, f.Verdict))
	}
	return out
}
