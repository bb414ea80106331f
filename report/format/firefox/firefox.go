// Package firefox writes runs for profiler.firefox.com.
package firefox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/stream"
	"cg/report/timeline"
)

func init() {
	format.Register(format.Format{
		Name: "firefox", JSON: true,
		Title: "for profiler.firefox.com: call paths, power over time, tasks as markers and, from an event log, " +
			"calls over time",
		Endings: []string{".firefox.json"}, Time: true,
		Writers: []format.Writer{format.Writes(write), stream.AsRun(write)},
	})
}

// formatVersion is the version of the processed profile format: the first in
// which counters and process ids have the form of today
// (docs-developer/CHANGELOG-formats.md). The viewer brings older versions up to its own, so
// that an early one is read by every viewer since.
const formatVersion = 48

// The parts of a processed profile that are used here
// (github.com/firefox-devtools/profiler, src/types/profile). Tables have their
// columns side by side, all of the table's length; an index that is null is none.
type (
	profileFile struct {
		Meta     profileMeta      `json:"meta"`
		Libs     []any            `json:"libs"`
		Pages    []any            `json:"pages"`
		Counters []profileCounter `json:"counters"`
		Threads  []profileThread  `json:"threads"`
	}

	profileMeta struct {
		Version      int     `json:"preprocessedProfileVersion"`
		Gecko        int     `json:"version"` // of the browser's own format, which is not used
		Product      string  `json:"product"`
		ImportedFrom string  `json:"importedFrom"`
		Interval     float64 `json:"interval"`  // ms
		Start        float64 `json:"startTime"` // ms since 1970; times in tables count from it
		StartMono    int64   `json:"startTimeAsClockMonotonicNanosecondsSinceBoot"`
		// What is shown lies between these, in ms from Start. Without them that is what
		// threads have, and the energy after the last of it is left out.
		RangeStart    float64           `json:"profilingStartTime"`
		RangeEnd      float64           `json:"profilingEndTime"`
		ProcessType   int               `json:"processType"`
		StackWalk     int               `json:"stackwalk"`
		Symbolicated  bool              `json:"symbolicated"`
		NoSymbols     bool              `json:"symbolicationNotSupported"`
		OneStackType  bool              `json:"usesOnlyOneStackType"`
		NoImplement   bool              `json:"doesNotUseFrameImplementation"`
		NotSearchfox  bool              `json:"sourceCodeIsNotOnSearchfox"`
		KeepOrder     bool              `json:"keepProfileThreadOrder"`
		Arguments     string            `json:"arguments"`
		CPUName       string            `json:"CPUName,omitempty"`
		Categories    []profileCategory `json:"categories"`
		MarkerSchemas []profileSchema   `json:"markerSchema"`
		Extra         []profileExtra    `json:"extra"`
	}

	profileCategory struct {
		Name          string   `json:"name"`
		Color         string   `json:"color"`
		Subcategories []string `json:"subcategories"`
	}

	// profileField is a field of a marker or, with a value, of the notes on a profile.
	profileField struct {
		Key    string `json:"key,omitempty"`
		Label  string `json:"label"`
		Format string `json:"format"`
		Value  string `json:"value,omitempty"`
	}

	profileSchema struct {
		Name    string         `json:"name"`
		Tooltip string         `json:"tooltipLabel"`
		Table   string         `json:"tableLabel"`
		Chart   string         `json:"chartLabel"`
		Display []string       `json:"display"`
		Fields  []profileField `json:"data"`
	}

	profileExtra struct {
		Label   string         `json:"label"`
		Entries []profileField `json:"entries"`
	}

	// profileCounter counts picowatt-hours since the sample before.
	profileCounter struct {
		Name        string `json:"name"`
		Category    string `json:"category"`
		Description string `json:"description"`
		PID         string `json:"pid"`
		Thread      int    `json:"mainThreadIndex"`
		Samples     struct {
			Time   []float64 `json:"time"`
			Count  []int64   `json:"count"`
			Length int       `json:"length"`
		} `json:"samples"`
	}

	profileThread struct {
		ProcessType string         `json:"processType"`
		ProcessName string         `json:"processName"`
		Name        string         `json:"name"`
		Main        bool           `json:"isMainThread"`
		PID         string         `json:"pid"`
		TID         int            `json:"tid"`
		ProcStart   float64        `json:"processStartupTime"`
		ProcEnd     *float64       `json:"processShutdownTime"`
		Register    float64        `json:"registerTime"`
		Unregister  *float64       `json:"unregisterTime"`
		Paused      []any          `json:"pausedRanges"`
		Samples     profileSamples `json:"samples"`
		Markers     profileMarkers `json:"markers"`
		profileCode
	}

	profileSamples struct {
		Stack      []*int    `json:"stack"` // null: no call
		Time       []float64 `json:"time"`
		Weight     []float64 `json:"weight"`
		WeightType string    `json:"weightType"`
		Length     int       `json:"length"`
	}

	profileMarkers struct {
		Data     []map[string]string `json:"data"`
		Name     []int               `json:"name"`
		Start    []float64           `json:"startTime"`
		End      []float64           `json:"endTime"`
		Phase    []int               `json:"phase"`
		Category []int               `json:"category"`
		Length   int                 `json:"length"`
	}

	// profileCode is what samples refer to.
	profileCode struct {
		Strings []string `json:"stringArray"`
		Stacks  struct {
			Frame       []int  `json:"frame"`
			Prefix      []*int `json:"prefix"`
			Category    []int  `json:"category"`
			Subcategory []int  `json:"subcategory"`
			Length      int    `json:"length"`
		} `json:"stackTable"`
		Frames struct {
			Address        []int  `json:"address"` // -1: none
			InlineDepth    []int  `json:"inlineDepth"`
			Category       []int  `json:"category"`
			Subcategory    []int  `json:"subcategory"`
			Func           []int  `json:"func"`
			Symbol         []*int `json:"nativeSymbol"`
			Window         []*int `json:"innerWindowID"`
			Implementation []*int `json:"implementation"`
			Line           []*int `json:"line"`
			Column         []*int `json:"column"`
			Length         int    `json:"length"`
		} `json:"frameTable"`
		Funcs struct {
			Name     []int  `json:"name"`
			JS       []bool `json:"isJS"`
			ForJS    []bool `json:"relevantForJS"`
			Resource []int  `json:"resource"` // -1: none
			File     []*int `json:"fileName"`
			Line     []*int `json:"lineNumber"`
			Column   []*int `json:"columnNumber"`
			Length   int    `json:"length"`
		} `json:"funcTable"`
		Resources struct {
			Lib    []int `json:"lib"`
			Name   []int `json:"name"`
			Host   []int `json:"host"`
			Type   []int `json:"type"`
			Length int   `json:"length"`
		} `json:"resourceTable"`
		Symbols struct {
			Lib     []int `json:"libIndex"`
			Address []int `json:"address"`
			Name    []int `json:"name"`
			Size    []int `json:"functionSize"`
			Length  int   `json:"length"`
		} `json:"nativeSymbols"`
		index     map[string]int
		functions map[report.Frame]int
	}
)

// write writes a counter for the power of each domain, tasks as markers,
// and the call paths as a thread for each thing they are weighed with. Paths
// are sums and have no place in time: their samples are all at the start. From an event
// log there is each thread of the program, too, with its calls where they were.
func write(w io.Writer, r *report.Run, o format.Options) error {
	calls, err := timeline.Of(r, o)
	if err != nil {
		return err
	}
	note := "sums over the run, all at its start: no log of calls is kept"
	if calls != nil {
		note = "of the threads of the program: " + calls.Note +
			"; of those that are weighed with something: sums over the run, all at its start"
	}
	pid := strconv.Itoa(r.Meta.PID)
	base, start := begun(r)
	ms := func(ns int64) float64 { return float64(ns-base) / 1e6 }
	f := profileFile{Meta: metaOf(r, start, base, note), Libs: []any{}, Pages: []any{},
		Counters: []profileCounter{}, Threads: []profileThread{}}

	code := codeOf(r)
	free := r.Meta.PID // the first number that no thread has
	if calls != nil {
		for _, th := range calls.Threads() {
			free = max(free, int(th.TID)+1)
		}
	}
	begin := func(name, unit, pid string, tid int) profileThread {
		return profileThread{
			ProcessType: "default", ProcessName: r.Title(), Name: name, Main: len(f.Threads) == 0, PID: pid,
			TID: tid, Paused: []any{},
			Samples: profileSamples{Stack: []*int{}, Time: []float64{}, Weight: []float64{}, WeightType: unit},
			Markers: profileMarkers{Data: []map[string]string{}, Name: []int{}, Start: []float64{}, End: []float64{},
				Phase: []int{}, Category: []int{}},
		}
	}
	thread := func(name, unit string, weight func(report.Path) float64) {
		t := begin(name, unit, pid, free+len(f.Threads))
		for i, p := range r.Paths {
			if v := weight(p); v > 0 {
				t.Samples.Stack, t.Samples.Time, t.Samples.Weight = append(t.Samples.Stack, &i),
					append(t.Samples.Time, 0), append(t.Samples.Weight, v)
			}
		}
		t.Samples.Length = len(t.Samples.Stack)
		if t.Main {
			t.Markers = markersOf(r, code, ms)
		}
		t.profileCode = *code
		f.Threads = append(f.Threads, t)
	}
	if r.Totals.ProgramEnergyJ != nil {
		thread("energy in microjoules, "+string(r.Totals.Kind), "samples",
			func(p report.Path) float64 { return float64(*p.SelfEnergyJ) })
	}
	thread("processor time", "tracing-ms", func(p report.Path) float64 { return p.CPUTimeS * 1e3 })
	thread("wall-clock time", "tracing-ms", func(p report.Path) float64 { return p.SelfTimeS * 1e3 })

	if calls != nil {
		for _, th := range calls.Threads() {
			t := begin(fmt.Sprintf("thread %d", th.TID), "tracing-ms", strconv.Itoa(int(th.PID)), int(th.TID))
			t.Main = th.TID == th.PID && int(th.PID) != r.Meta.PID // of which the first of all is the main one
			t.profileCode = *samplesOf(calls, th, &t.Samples, ms)
			f.Threads = append(f.Threads, t)
		}
	}

	f.Meta.RangeEnd = endOf(r, f.Threads, ms) + f.Meta.Interval

	f.Counters = countersOf(r, pid, ms)
	return json.NewEncoder(w).Encode(f)
}

// metaOf is what a profile tells of itself.
func metaOf(r *report.Run, start float64, base int64, note string) profileMeta {
	return profileMeta{
		Version: formatVersion, Gecko: 27, Product: r.Title(), ImportedFrom: r.Meta.Tool + " " + r.Meta.CgVersion,
		Interval: cmp.Or(r.Totals.SampleIntervalMs, 1), Start: start, StartMono: base,
		StackWalk: 1, Symbolicated: true, NoSymbols: true, OneStackType: true, NoImplement: true, NotSearchfox: true,
		KeepOrder: true,
		Arguments: strings.Join(r.Meta.Argv, " "), CPUName: r.Meta.CPUModel,
		Categories: []profileCategory{{"Other", "grey", []string{"Other"}}, {"Function", "blue", []string{"Other"}},
			{"Task", "orange", []string{"Other"}}},
		MarkerSchemas: []profileSchema{{
			Name: "Task", Tooltip: "{marker.name}", Table: "{marker.name} {marker.data.energy}", Chart: "{marker.name}",
			Display: []string{"marker-chart", "marker-table", "timeline-overview"},
			Fields: []profileField{
				{Key: "energy", Label: "Energy", Format: "string"},
				{Key: "interval", Label: "Interval", Format: "string"},
				{Key: "kind", Label: "Energy is", Format: "string"}, {Key: "power", Label: "Power", Format: "string"},
				{Key: "status", Label: "Ended", Format: "string"}, {Key: "package", Label: "Package", Format: "string"},
			},
		}},
		Extra: []profileExtra{{"Energy", []profileField{
			{Label: "Energies are", Format: "string", Value: string(r.Totals.Kind)},
			{Label: "Source", Format: "string", Value: cmp.Or(r.Totals.Source, "none")},
			{Label: "Call paths", Format: "string", Value: note},
		}}},
	}
}

// markersOf are the tasks.
func markersOf(r *report.Run, code *profileCode, ms func(int64) float64) profileMarkers {
	tasks := slices.Clone(r.Tasks)
	slices.SortStableFunc(tasks, func(a, b report.Task) int {
		return cmp.Compare(a.StartedAtMonoNs,
			b.StartedAtMonoNs)
	})
	m := profileMarkers{Data: []map[string]string{}, Name: []int{}, Start: []float64{}, End: []float64{},
		Phase: []int{}, Category: []int{}}
	for _, k := range tasks {
		m.Data, m.Name, m.Category = append(m.Data, taskOf(r, k)), append(m.Name, code.text(k.Name)),
			append(m.Category, 2)
		m.Start, m.End = append(m.Start, ms(k.StartedAtMonoNs)), append(m.End, ms(k.StartedAtMonoNs+k.LastedNs()))
		m.Phase = append(m.Phase, 1) // with a start and an end
	}
	m.Length = len(tasks)
	return m
}

// countersOf are the energies of the domains. A count is over the time since the
// sample before; sums of counts are exact.
func countersOf(r *report.Run, pid string, ms func(int64) float64) []profileCounter {
	all := []profileCounter{}
	for _, id := range (report.Several{r}).Domains() {
		c := profileCounter{Name: r.PowerName(id), Category: "power", Description: "energy of " + id + ", " +
			string(r.Totals.Kind), PID: pid}
		c.Samples.Time, c.Samples.Count = []float64{}, []int64{}
		before := int64(0)
		for _, s := range r.Samples {
			if e, ok := s.DomainJ[id]; ok {
				now := picowattHours(e)
				c.Samples.Time, c.Samples.Count = append(c.Samples.Time, ms(s.TNs)), append(c.Samples.Count, now-before)
				before = now
			}
		}
		c.Samples.Length = len(c.Samples.Time)
		all = append(all, c)
	}
	return all
}

// endOf is the last moment that a profile tells of.
func endOf(r *report.Run, threads []profileThread, ms func(int64) float64) (end float64) {
	for _, t := range r.Tasks {
		end = max(end, ms(t.StartedAtMonoNs+t.LastedNs()))
	}
	if n := len(r.Samples); n > 0 {
		end = max(end, ms(r.Samples[n-1].TNs))
	}
	for _, t := range threads {
		if n := len(t.Samples.Time); n > 0 {
			end = max(end, t.Samples.Time[n-1])
		}
	}
	return end
}

// picowattHours has the unit of the viewer's power counters: 3.6 nJ.
func picowattHours(e report.Joules) int64 { return int64(math.Round(float64(e) / 3.6e-3)) }

// begun is the earliest moment that a run tells of: nanoseconds on
// CLOCK_MONOTONIC, and milliseconds since 1970.
func begun(r *report.Run) (mono int64, unix float64) {
	mono = math.MaxInt64
	for _, t := range r.Tasks {
		mono = min(mono, t.StartedAtMonoNs)
	}
	if len(r.Samples) > 0 {
		mono = min(mono, r.Samples[0].TNs)
	}
	if len(r.Tasks) > 0 {
		return mono, r.Tasks[0].StartedAt*1e3 - float64(r.Tasks[0].StartedAtMonoNs-mono)/1e6
	}
	if mono == math.MaxInt64 {
		mono = 0
	}
	if t, err := time.Parse(time.RFC3339Nano, r.Meta.StartedAt); err == nil {
		unix = float64(t.UnixMicro()) / 1e3
	}
	return mono, unix
}

// taskOf is what the viewer shows of a task.
func taskOf(r *report.Run, t report.Task) map[string]string {
	e, lo, hi := t.Used()
	m := map[string]string{"type": "Task", "kind": string(r.UsedKind(t)), "energy": figures.Energy(e),
		"interval": figures.Interval(lo, hi), "power": figures.Watts(t.UsedPowerW())}
	if e != nil {
		m["energy"] = r.Mark() + m["energy"]
	}
	if t.Status != "" {
		m["status"] = t.Status
	}
	if t.Package != nil {
		m["package"] = *t.Package
	}
	return m
}

// text gives the index of a string.
func (c *profileCode) text(s string) int {
	k, ok := c.index[s]
	if !ok {
		k = len(c.Strings)
		c.Strings, c.index[s] = append(c.Strings, s), k
	}
	return k
}

// profileCode makes a stack of each path, of the path's index.
func codeOf(r *report.Run) *profileCode {
	c := newCode()
	for i, f := range r.Frames() {
		p := r.Paths[i]
		category := 0
		switch {
		case p.Task != "":
			category = 2
		case f.File != "":
			category = 1
		}
		c.stack(f, category, p.Parent)
	}
	return c
}

// samplesOf puts the calls of a thread into samples, weighed with milliseconds: one
// wherever the calls on it changed.
func samplesOf(t *timeline.Timeline, th checkpoint.Thread, to *profileSamples, ms func(int64) float64) *profileCode {
	c := newCode()
	type key struct {
		parent int
		site   checkpoint.SiteID
	}
	stacks := map[key]int{}
	end := checkpoint.Instant(0)
	sample := func(stack *int, at checkpoint.Instant, long float64) {
		to.Stack, to.Time, to.Weight = append(to.Stack, stack), append(to.Time, ms(int64(at))), append(to.Weight, long)
	}
	t.Segments(th, func(s timeline.Segment) {
		if end != 0 && s.From > end {
			sample(nil, end, 0)
		}
		at := -1
		for _, i := range s.Stack {
			k := key{at, t.Slices[i].Site}
			n, ok := stacks[k]
			if !ok {
				f := t.Places[k.site]
				f.Name = t.Name(t.Slices[i])
				n = c.stack(f, 1, at)
				stacks[k] = n
			}
			at = n
		}
		sample(&at, s.From, float64(s.To-s.From)/1e6)
		end = s.To
	})
	if end != 0 {
		sample(nil, end, 0)
	}
	to.Length = len(to.Stack)
	return c
}

// newCode has no stacks.
func newCode() *profileCode {
	c := &profileCode{Strings: []string{}, index: map[string]int{}, functions: map[report.Frame]int{}}
	c.Resources.Lib, c.Resources.Name, c.Resources.Host, c.Resources.Type = []int{}, []int{}, []int{}, []int{}
	c.Symbols.Lib, c.Symbols.Address, c.Symbols.Name, c.Symbols.Size = []int{}, []int{}, []int{}, []int{}
	s, fr, fn := &c.Stacks, &c.Frames, &c.Funcs
	s.Frame, s.Prefix, s.Category, s.Subcategory = []int{}, []*int{}, []int{}, []int{}
	fr.Address, fr.InlineDepth, fr.Category, fr.Subcategory, fr.Func = []int{}, []int{}, []int{}, []int{}, []int{}
	fr.Symbol, fr.Window, fr.Implementation, fr.Line, fr.Column = []*int{}, []*int{}, []*int{}, []*int{}, []*int{}
	fn.Name, fn.JS, fn.ForJS, fn.Resource, fn.File, fn.Line, fn.Column = []int{}, []bool{}, []bool{}, []int{},
		[]*int{}, []*int{}, []*int{}
	return c
}

// stack adds a stack, a frame called from the stack parent (-1 for none), and
// gives its index.
func (c *profileCode) stack(f report.Frame, category, parent int) int {
	known := func(v int, ok bool) *int {
		if !ok {
			return nil
		}
		return &v
	}
	s, fr, fn := &c.Stacks, &c.Frames, &c.Funcs
	k, ok := c.functions[f]
	if !ok {
		k = len(c.functions)
		c.functions[f] = k
		var file *int
		if f.File != "" {
			file = known(c.text(f.File), true)
		}
		line := known(f.Line, f.Line > 0)
		fn.Name, fn.JS, fn.ForJS, fn.Resource = append(fn.Name, c.text(f.Name)), append(fn.JS, false),
			append(fn.ForJS, false), append(fn.Resource, -1)
		fn.File, fn.Line, fn.Column = append(fn.File, file), append(fn.Line, line), append(fn.Column, nil)
		fr.Address, fr.InlineDepth, fr.Func = append(fr.Address, -1), append(fr.InlineDepth, 0), append(fr.Func, k)
		fr.Category, fr.Subcategory = append(fr.Category, category), append(fr.Subcategory, 0)
		fr.Symbol, fr.Window, fr.Implementation = append(fr.Symbol, nil), append(fr.Window, nil),
			append(fr.Implementation, nil)
		fr.Line, fr.Column = append(fr.Line, line), append(fr.Column, nil)
	}
	s.Frame, s.Prefix = append(s.Frame, k), append(s.Prefix, known(parent, parent >= 0))
	s.Category, s.Subcategory = append(s.Category, fr.Category[k]), append(s.Subcategory, 0)
	s.Length, fr.Length, fn.Length = len(s.Frame), len(fr.Func), len(fn.Name)
	return s.Length - 1
}
