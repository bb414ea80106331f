// Package rows writes evaluated samples of a GPU as CSV, as JSON lines, or as one JSON object, and sums them up.
//
// It takes samples in their order, a batch at a time, and keeps none. Times are nanoseconds: start_ns and end_ns of
// CLOCK_MONOTONIC, gpu_start_ns and gpu_end_ns of the GPU's own clock. A value that the GPU does not tell is an empty
// cell, or null. docs/gpu.md describes the columns.
package rows

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"cg/pmsampling"
	"cg/pmsampling/cgpm"
)

// Writer takes a recording: samples, then how it went.
type Writer interface {
	Add(samples []pmsampling.Timed) error
	// End completes the file; t is nil for a recording that was cut off.
	End(t *cgpm.Tail) error
}

// begin makes the writer of each ending.
var begin = map[string]func(io.Writer, cgpm.Head) (Writer, error){
	".csv": newCSV, ".jsonl": newLines, ".json": newJSON}

// Endings are how names of files end that New takes.
var Endings = []string{".csv", ".jsonl", ".json"}

// New begins a file of a kind, an ending.
func New(w io.Writer, ending string, h cgpm.Head) (Writer, error) {
	if !slices.Contains(Endings, ending) {
		return nil, fmt.Errorf("rows: no format ends with %q: use %s", ending, strings.Join(Endings, ", "))
	}
	return begin[ending](w, h)
}

// number is a value as text, "" for none.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// times are the first columns.
var times = []string{"start_ns", "end_ns", "gpu_start_ns", "gpu_end_ns"}

func timesOf(s pmsampling.Timed) [4]int64 {
	return [4]int64{int64(s.From), int64(s.To), s.Start, s.End}
}

type table struct{ w *csv.Writer }

func newCSV(w io.Writer, h cgpm.Head) (Writer, error) {
	t := table{csv.NewWriter(w)}
	err := t.w.Write(append(slices.Clone(times), h.Config.Metrics...))
	t.w.Flush()
	return t, err
}

func (t table) Add(samples []pmsampling.Timed) error {
	var row []string
	for _, s := range samples {
		row = row[:0]
		for _, at := range timesOf(s) {
			row = append(row, strconv.FormatInt(at, 10))
		}
		for _, v := range s.Values {
			row = append(row, number(v))
		}
		if err := t.w.Write(row); err != nil {
			return err
		}
	}
	t.w.Flush()
	return t.w.Error()
}

func (t table) End(*cgpm.Tail) error { return t.w.Error() }

// object writes a sample as JSON, its values by names (keys) or as an array.
func object(b *bufio.Writer, s pmsampling.Timed, keys []string) {
	for i, at := range timesOf(s) {
		fmt.Fprintf(b, "%s%q:%d", map[bool]string{true: "{", false: ","}[i == 0], times[i], at)
	}
	open, end := "[", "]"
	if keys != nil {
		open, end = "{", "}"
	}
	b.WriteString(`,"values":` + open)
	for i, v := range s.Values {
		if i > 0 {
			b.WriteByte(',')
		}
		if keys != nil {
			b.WriteString(keys[i])
		}
		if text := number(v); text != "" {
			b.WriteString(text)
		} else {
			b.WriteString("null")
		}
	}
	b.WriteString(end + "}")
}

type lines struct {
	b    *bufio.Writer
	keys []string // "name":
}

func newLines(w io.Writer, h cgpm.Head) (Writer, error) {
	l := lines{b: bufio.NewWriter(w)}
	for _, m := range h.Config.Metrics {
		key, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		l.keys = append(l.keys, string(key)+":")
	}
	return l, nil
}

func (l lines) Add(samples []pmsampling.Timed) error {
	for _, s := range samples {
		object(l.b, s, l.keys)
		l.b.WriteByte('\n')
	}
	return l.b.Flush()
}

func (l lines) End(*cgpm.Tail) error { return l.b.Flush() }

type whole struct {
	b     *bufio.Writer
	begun bool
}

func newJSON(w io.Writer, h cgpm.Head) (Writer, error) {
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	j := &whole{b: bufio.NewWriter(w)}
	j.b.WriteString(`{"gpu_samples":1,`)
	j.b.Write(head[1 : len(head)-1])
	j.b.WriteString(`,"samples":[`)
	return j, nil
}

func (j *whole) Add(samples []pmsampling.Timed) error {
	for _, s := range samples {
		if j.begun {
			j.b.WriteByte(',')
		}
		j.b.WriteByte('\n')
		object(j.b, s, nil)
		j.begun = true
	}
	return j.b.Flush()
}

// drift is the JSON of a clock; nil where no time passed.
type drift struct {
	PPM    *float64 `json:"drift_ppm"`
	Within *float64 `json:"drift_within_ppm"`
	Times  int64    `json:"uncertainty_ns"`
}

func (j *whole) End(t *cgpm.Tail) error {
	end := struct {
		Whole  bool               `json:"whole"` // the recording ended
		Clock  *drift             `json:"clock"`
		Counts *pmsampling.Counts `json:"counts"`
	}{Whole: t != nil}
	if t != nil {
		d := drift{Times: max(t.Clock.Before.Uncertainty, t.Clock.After.Uncertainty)}
		if ppm, within := t.Clock.Drift(); !math.IsNaN(ppm) {
			d.PPM, d.Within = &ppm, &within
		}
		end.Clock, end.Counts = &d, &t.Counts
	}
	text, err := json.Marshal(end)
	if err != nil {
		return err
	}
	j.b.WriteString("\n],")
	j.b.Write(text[1:])
	j.b.WriteByte('\n')
	return j.b.Flush()
}

// Sums are what samples come to, by metric.
type Sums struct {
	Metrics []string
	Samples int
	seconds []float64 // for which each metric has values
	value   []float64 // times seconds
	min     []float64
	max     []float64
}

// Add takes samples.
func (s *Sums) Add(samples []pmsampling.Timed) {
	if s.seconds == nil {
		n := len(s.Metrics)
		s.seconds, s.value = make([]float64, n), make([]float64, n)
		s.min, s.max = slices.Repeat([]float64{math.Inf(1)}, n), slices.Repeat([]float64{math.Inf(-1)}, n)
	}
	s.Samples += len(samples)
	for _, t := range samples {
		for i, v := range t.Values {
			if math.IsNaN(v) {
				continue
			}
			d := float64(t.To - t.From)
			s.seconds[i] += d
			s.value[i] += d * v
			s.min[i], s.max[i] = min(s.min[i], v), max(s.max[i], v)
		}
	}
}

// String is a table: mean over time, lowest and highest value; ? for what the GPU does not tell.
func (s *Sums) String() string {
	var b strings.Builder
	width := len("metric")
	for _, m := range s.Metrics {
		width = max(width, len(m))
	}
	fmt.Fprintf(&b, "%-*s %12s %12s %12s\n", width, "metric", "mean", "min", "max")
	for i, m := range s.Metrics {
		mean, low, high := "?", "?", "?"
		if s.seconds != nil && s.seconds[i] > 0 {
			mean, low, high = short(s.value[i]/s.seconds[i]), short(s.min[i]), short(s.max[i])
		}
		fmt.Fprintf(&b, "%-*s %12s %12s %12s\n", width, m, mean, low, high)
	}
	return b.String()
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
