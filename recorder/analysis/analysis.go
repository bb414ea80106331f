// Package analysis computes what the calls of a trace of Recorder come to: by rank, layer,
// function and file, over time and by size, and the energy beside them.
//
// What comes in is a trace (package recorder) and, if there are any, meters of the energy
// of its machines. The ranks are read one after the other, each record once, and memory is
// bounded by the limits below, whatever the number of records. What is beyond a limit is
// left out of the section concerned, and Notes say so.
//
// The sections are those of the report of recorder-viz (github.com/wangvsa/recorder-viz).
// Sizes are those that were asked for: Recorder does not keep what a call returned.
package analysis

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"cg/recorder"
)

// Limits of what is kept.
const (
	maxFiles     = 200_000  // files with figures of their own
	maxIntervals = 1 << 20  // accesses that are compared with each other
	maxSizes     = 1 << 16  // distinct sizes
	maxUser      = 10_000   // functions of the program
	maxPoints    = 1 << 20  // accesses that are drawn, of all files
	maxFilePoint = 2048     // of a file
	maxNames     = 1 << 22  // files of ranks, each once for each rank
	maxText      = 64 << 20 // bytes of names of files and functions
)

// Options choose what is read.
type Options struct {
	// From and To are the first rank and the one behind the last; 0 and 0 are all.
	From, To int
	// Meters tell the energy of machines.
	Meters []*Meter
	// Progress is told how many ranks were read; it may be nil.
	Progress func(done int)
}

// Analysis is what the calls come to.
type Analysis struct {
	Performance Performance `json:"performance"`
	// Ranks are those that were read, in their order.
	Ranks []Rank `json:"-"`
	// Layers are the calls of each layer that has any.
	Layers   []Layer  `json:"layers"`
	Patterns Patterns `json:"patterns"`
	// Functions are by seconds, the longest first.
	Functions []Function `json:"functions"`
	Activity  Activity   `json:"activity"`
	// Files are those with data, by bytes, the most first.
	Files []File `json:"files"`
	// ReadSizes and WriteSizes are the distinct sizes of accesses, the smallest first.
	ReadSizes  []Size `json:"read_sizes"`
	WriteSizes []Size `json:"write_sizes"`
	// Repairs are what the times needed.
	Repairs recorder.Repairs `json:"repairs"`
	// Notes say what was left out, and of what a reader has to know.
	Notes []string `json:"notes"`
}

// Performance is the whole in a few figures.
type Performance struct {
	Records uint64 `json:"total_records"`
	// SpanS is from the first beginning to the last end, in seconds.
	SpanS float64 `json:"span_s"`
	// IOS is how long ranks were in calls of I/O, each moment once, summed over ranks.
	IOS float64 `json:"io_s"`
	Data
	// Energy is that of all ranks from the first beginning to the last end; IOEnergy is
	// that of their phases of I/O.
	Energy   *Energy `json:"energy"`
	IOEnergy *Energy `json:"io_energy"`
}

// Data is what was moved, and how long the calls took that did.
type Data struct {
	ReadBytes    int64   `json:"bytes_read"`
	ReadS        float64 `json:"read_s"`
	WrittenBytes int64   `json:"bytes_written"`
	WriteS       float64 `json:"write_s"`
	// MetaS is how long calls took that open, close, seek or sync.
	MetaS float64 `json:"metadata_s"`
}

// ReadMBs and WriteMBs are the bandwidth in MiB/s while a call moved data, 0 where none did.
func (d Data) ReadMBs() float64  { return rate(d.ReadBytes, d.ReadS) }
func (d Data) WriteMBs() float64 { return rate(d.WrittenBytes, d.WriteS) }

func rate(bytes int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(bytes) / seconds / (1 << 20)
}

// Rank is what a rank did. The first four fields are those of Recorder's LocalMetadata.
type Rank struct {
	Rank     int      `json:"rank"`
	Records  uint64   `json:"total_records"`
	NumFiles int      `json:"num_files"`
	Filemap  []string `json:"filemap"`
	// FunctionCount is by the numbers of the trace's functions.
	FunctionCount Counts `json:"function_count"`
	// Accessed is NumFiles without those of the system, pipes and the like.
	Accessed int     `json:"files_accessed"`
	StartS   float64 `json:"start_s"`
	EndS     float64 `json:"end_s"`
	IOS      float64 `json:"io_s"`
	Data
	IOEnergy *Energy          `json:"io_energy"`
	Repairs  recorder.Repairs `json:"-"`
}

// Counts are how often each function was called, by its number. Only those that were are kept;
// in JSON there is a number for each function of the trace.
type Counts struct {
	functions int
	called    []called
}

type called struct {
	function int32
	calls    uint64
}

// countsOf keeps counts.
func countsOf(calls []uint64) Counts {
	c := Counts{functions: len(calls)}
	for i, n := range calls {
		if n > 0 {
			c.called = append(c.called, called{int32(i), n})
		}
	}
	return c
}

// Of is how often a function was called.
func (c Counts) Of(function int) uint64 {
	for _, one := range c.called {
		if int(one.function) == function {
			return one.calls
		}
	}
	return 0
}

// Schema describes the JSON.
func (Counts) Schema() map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"type": "integer"}}
}

// MarshalJSON writes a number for each function.
func (c Counts) MarshalJSON() ([]byte, error) {
	all := make([]uint64, c.functions)
	for _, one := range c.called {
		all[one.function] = one.calls
	}
	return json.Marshal(all)
}

// Layer is how many calls a layer has.
type Layer struct {
	Name  string `json:"name"`
	Calls uint64 `json:"calls"`
}

// Function is what a function took, over all ranks.
type Function struct {
	Name  string `json:"name"`
	Layer string `json:"layer"`
	Calls uint64 `json:"calls"`
	// Seconds are from beginning to end, with what it called.
	Seconds float64 `json:"seconds"`
	Energy  *Energy `json:"energy"`
	sum     joule
}

// reader is an analysis under way.
type reader struct {
	trace *recorder.Trace
	out   *Analysis
	files files
	act   activity

	byName   map[nameLayer]int // of out.Functions
	layers   [len(recorder.Layers)]uint64
	user     int
	left     map[string]uint64 // what was left out, by why
	names    int
	text     int      // bytes of names
	counts   []uint64 // of the rank's calls, by the numbers of functions
	first    float64
	last     float64
	energy   *meters
	whole    joule
	phases   joule
	table    *recorder.Call // first call of the table that ops are of
	ops      []op
	busy     int64 // end of the rank's I/O so far, in ticks
	position int   // of the rank among those read
}

type nameLayer struct {
	name  string
	layer recorder.Layer
}

// Of computes everything from a trace. An error is one of the trace's files.
func Of(t *recorder.Trace, o Options) (*Analysis, error) {
	if o.To == 0 {
		o.To = t.Ranks
	}
	if o.From < 0 || o.To > t.Ranks || o.From >= o.To {
		return nil, fmt.Errorf("ranks %d to %d: the trace has 0 to %d", o.From, o.To-1, t.Ranks-1)
	}
	m, err := metersOf(o.Meters, t, o.From, o.To)
	if err != nil {
		return nil, err
	}
	a := &reader{trace: t, out: &Analysis{Layers: []Layer{}, Functions: []Function{}, Notes: []string{}},
		byName: map[nameLayer]int{}, left: map[string]uint64{}, energy: m, files: newFiles(),
		counts: make([]uint64, len(t.Functions)),
		act:    newActivity(o.To-o.From, t.Resolution)}
	for rank := o.From; rank < o.To; rank++ {
		a.position = rank - o.From
		if err := a.rank(rank); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(rank - o.From + 1)
		}
	}
	a.finish()
	return a.out, nil
}

// rank reads the records of a rank.
func (a *reader) rank(number int) error {
	r, err := a.trace.Rank(number)
	if err != nil {
		return err
	}
	defer r.Close()
	a.prepare(r.Calls())
	a.files.begin()
	a.energy.begin(number)
	a.busy = 0
	clear(a.counts)
	out := Rank{Rank: number, Records: r.Total(), Filemap: []string{}}
	var phases joule
	var record recorder.Record
	for first := true; ; first = false {
		if err := r.Next(&record); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		from, to := a.trace.Seconds(record.Start), a.trace.Seconds(record.End)
		if first || from < out.StartS {
			out.StartS = from
		}
		out.EndS = max(out.EndS, to)
		a.record(&out, &record, &phases)
	}
	out.Repairs = r.Repairs()
	out.IOEnergy = a.energy.of(phases)
	a.out.Repairs.Backward += out.Repairs.Backward
	a.out.Repairs.Long += out.Repairs.Long
	a.out.Repairs.Unsure += out.Repairs.Unsure
	out.FunctionCount = countsOf(a.counts)
	for _, id := range a.files.named {
		name := a.files.all[id].Name
		if !ignored(name) {
			out.Accessed++
		}
		if a.names++; a.names <= maxNames {
			out.Filemap = append(out.Filemap, name)
		}
	}
	slices.Sort(out.Filemap)
	out.NumFiles = len(a.files.named)
	if a.names > maxNames {
		a.left["names of files of ranks"]++
	}
	if out.Records > 0 {
		if a.out.Performance.Records == 0 || out.StartS < a.first {
			a.first = out.StartS
		}
		a.last = max(a.last, out.EndS)
		a.whole.join(a.energy.between(out.StartS, out.EndS))
	}
	p := &a.out.Performance
	p.Records += out.Records
	p.IOS += out.IOS
	p.add(out.Data)
	a.phases.join(phases)
	a.out.Ranks = append(a.out.Ranks, out)
	return nil
}

func (d *Data) add(o Data) {
	d.ReadBytes, d.ReadS = d.ReadBytes+o.ReadBytes, d.ReadS+o.ReadS
	d.WrittenBytes, d.WriteS = d.WrittenBytes+o.WrittenBytes, d.WriteS+o.WriteS
	d.MetaS += o.MetaS
}

// prepare looks at the calls of a table once.
func (a *reader) prepare(calls []recorder.Call) {
	if len(calls) > 0 && a.table == &calls[0] {
		return
	}
	a.table, a.ops = nil, a.ops[:0]
	if len(calls) > 0 {
		a.table = &calls[0]
	}
	for i := range calls {
		o := a.opOf(&calls[i])
		o.function = a.function(&calls[i])
		a.ops = append(a.ops, o)
	}
}

// function is the place of a call's function in the list.
func (a *reader) function(c *recorder.Call) int {
	key := nameLayer{c.Name, c.Layer}
	at, known := a.byName[key]
	if !known {
		if c.Layer == recorder.User {
			if a.user++; a.user > maxUser || !a.room(key.name) {
				a.left["functions of the program"]++
				key.name = "others"
				if at, known = a.byName[key]; known {
					return at
				}
			}
			key.name = strings.Clone(key.name)
		}
		at = len(a.out.Functions)
		a.byName[key] = at
		a.out.Functions = append(a.out.Functions, Function{Name: key.name, Layer: key.layer.String()})
	}
	return at
}

// room reports whether there is room for a name, and takes it.
func (a *reader) room(name string) bool {
	if a.text+len(name) > maxText {
		return false
	}
	a.text += len(name)
	return true
}

// record takes in a record of a rank.
func (a *reader) record(rank *Rank, r *recorder.Record, phases *joule) {
	c, o := r.Call, &a.ops[r.Call.ID]
	seconds := a.trace.Seconds(r.End - r.Start)
	from := a.trace.Seconds(r.Start)
	f := &a.out.Functions[o.function]
	f.Calls++
	f.Seconds += seconds
	a.layers[c.Layer]++
	if c.Func >= 0 && c.Func < len(a.counts) {
		a.counts[c.Func]++
	}
	if o.named >= 0 {
		a.files.name(o.named)
	}
	if a.energy != nil {
		f.sum.join(a.energy.add(&a.energy.functions, o.function, from, from+seconds))
	}
	if c.Layer == recorder.MPI || c.Layer == recorder.User {
		return
	}
	if begin := max(r.Start, a.busy); begin < r.End {
		rank.IOS += a.trace.Seconds(r.End - begin)
		if a.energy != nil {
			phases.join(a.energy.add(&a.energy.phases, 0, a.trace.Seconds(begin), from+seconds))
		}
		a.busy = r.End
	}
	if o.kind == nothing {
		return
	}
	a.data(rank, r, o, seconds)
}

// data takes in a call that moves data or a file's position.
func (a *reader) data(rank *Rank, r *recorder.Record, o *op, seconds float64) {
	switch o.kind {
	case reading:
		rank.ReadBytes, rank.ReadS = rank.ReadBytes+o.count, rank.ReadS+seconds
	case writing:
		rank.WrittenBytes, rank.WriteS = rank.WrittenBytes+o.count, rank.WriteS+seconds
	default:
		rank.MetaS += seconds
	}
	if o.kind == reading || o.kind == writing {
		a.act.add(a.position, o.kind, r.Start, r.End)
	}
	if o.file < 0 {
		return
	}
	file := a.files.all[o.file]
	if a.energy != nil {
		file.sum.join(a.energy.add(&a.energy.files, int(o.file), a.trace.Seconds(r.Start), a.trace.Seconds(r.End)))
	}
	a.files.call(access{file: o.file, rank: int32(rank.Rank), from: r.Start, to: r.End}, o, seconds)
}

// finish makes the sections of what was collected.
func (a *reader) finish() {
	out := a.out
	for layer, n := range a.layers {
		if n > 0 {
			out.Layers = append(out.Layers, Layer{recorder.Layer(layer).String(), n})
		}
	}
	slices.SortStableFunc(out.Layers, func(x, y Layer) int { return cmp.Compare(y.Calls, x.Calls) })
	for i := range out.Functions {
		out.Functions[i].Energy = a.energy.of(out.Functions[i].sum)
	}
	out.Functions = slices.DeleteFunc(out.Functions, func(f Function) bool { return f.Calls == 0 })
	slices.SortStableFunc(out.Functions, func(x, y Function) int {
		return cmp.Or(cmp.Compare(y.Seconds, x.Seconds), cmp.Compare(x.Name, y.Name))
	})
	out.Performance.SpanS = max(0, a.last-a.first)
	out.Performance.Energy, out.Performance.IOEnergy = a.energy.of(a.whole), a.energy.of(a.phases)
	a.files.finish(a)
	out.Activity = a.act.finish()
	a.notes()
}

// notes say what was left out.
func (a *reader) notes() {
	say := func(format string, args ...any) { a.out.Notes = append(a.out.Notes, fmt.Sprintf(format, args...)) }
	for _, what := range []string{"functions of the program", "files", "names of files of ranks", "accesses drawn"} {
		if a.left[what] > 0 {
			say("%s beyond the limit of cg are summed up or left out", what)
		}
	}
	if n := a.left["sizes"]; n > 0 {
		say("%d accesses of other sizes than the first %d distinct ones are left out of the sizes", n, maxSizes)
	}
	if n := a.left["arguments"]; n > 0 {
		say("the arguments of %d distinct calls are not as Recorder writes them: they count as calls only", n)
	}
	if a.trace.Patterns {
		say("the trace has offsets relative to others (intraprocess pattern recognition): patterns, overlaps and " +
			"offsets " +
			"are of these")
	}
	if r := a.out.Repairs; r.Backward+r.Long > 0 {
		say("the times of %d records were repaired, of which Recorder's own reader adds %.1f s each", r.Backward+r.Long,
			float64(1<<32)*a.trace.Resolution)
	}
	if n := a.out.Repairs.Unsure; n > 0 {
		say("%d records could also have begun %.1f s later", n, float64(1<<32)*a.trace.Resolution)
	}
	if a.trace.Ranks > 1 {
		say("the times of each rank count from its own beginning; the trace tells only that of rank 0")
	}
	a.out.Notes = append(a.out.Notes, a.energy.notes()...)
}
