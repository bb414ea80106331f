package iotrace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"

	"cg/recorder"
	"cg/report/format"
)

// most is how many readings of a log a trace for Perfetto shows.
const mostReadings = 4000

// lengths counts calls by how long they took, in classes that are a sixteenth of a power
// of two wide.
type lengths [64 * 16]uint64

func class(ticks int64) int {
	if ticks < 16 {
		return int(max(ticks, 0))
	}
	n := bits.Len64(uint64(ticks)) - 5
	return (n+1)*16 + int(ticks>>n)&15
}

// shortest is the class from which on there are no more than so many calls; what is in it
// alone is cut off by whoever counts.
func (l *lengths) shortest(most uint64) int {
	n := uint64(0)
	for c := len(l) - 1; c > 0; c-- {
		if n += l[c]; n > most {
			return c + 1
		}
	}
	return 0
}

// WritePerfetto writes the longest calls as slices, a process for each rank and a line for
// each of its threads, in the Trace Event Format of Chrome
// (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), and the power
// of the logs as counters. Time is in microseconds since the beginning of each rank.
func WritePerfetto(w io.Writer, d *Document, o format.Options) error {
	most := uint64(cmp.Or(o.Slices, format.DefaultSlices))
	var all lengths
	for rank := d.From; rank < d.To; rank++ {
		if err := d.each(rank, func(r *recorder.Record) error { all[class(r.End-r.Start)]++; return nil }); err != nil {
			return err
		}
	}
	least := 0
	if d.Analysis.Performance.Records > most {
		least = all.shortest(most)
	}
	b := bufio.NewWriter(w)
	note := "every call"
	if least > 0 {
		note = fmt.Sprintf("the calls from some %.9f s on; --slices N shows more", d.Trace.Seconds(shortestOf(least)))
	}
	other, err := json.Marshal(map[string]string{"exporter": "cg " + d.Version, "trace": d.Title(), "calls": note,
		"clock": "microseconds since each rank's beginning"})
	if err != nil {
		return err
	}
	fmt.Fprintf(b, `{"displayTimeUnit":"ms","otherData":%s,"traceEvents":[`, other)
	comma := ""
	put := func(v any) error {
		line, err := json.Marshal(v)
		b.WriteString(comma)
		b.Write(line)
		comma = ",\n"
		return err
	}
	if err := d.counters(put); err != nil {
		return err
	}
	for rank := d.From; rank < d.To; rank++ {
		if err := d.slices(rank, least, put); err != nil {
			return err
		}
	}
	b.WriteString("]}\n")
	return b.Flush()
}

// shortestOf is the shortest length of a class.
func shortestOf(class int) int64 {
	if class < 32 {
		return int64(class)
	}
	return int64(16+class%16) << (class/16 - 1)
}

type event struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	At    float64        `json:"ts"`
	Long  *float64       `json:"dur,omitempty"`
	Cat   string         `json:"cat,omitempty"`
	Args  map[string]any `json:"args"`
}

// slices gives the calls of a rank.
func (d *Document) slices(rank, least int, put func(any) error) error {
	pid := rank + 1 // 0 is the idle task
	err := put(event{Name: "process_name", Phase: "M", PID: pid,
		Args: map[string]any{"name": fmt.Sprintf("rank %d", rank)}})
	threads := map[uint64]int{}
	if err != nil {
		return err
	}
	return d.each(rank, func(r *recorder.Record) error {
		if class(r.End-r.Start) < least {
			return nil
		}
		tid, known := threads[r.Call.Thread]
		if !known {
			tid = len(threads) + 1
			threads[r.Call.Thread] = tid
		}
		long := micros(d.Trace.Seconds(r.End - r.Start))
		args := map[string]any{"level": r.Call.Level}
		if all := r.Call.Args(); len(all) > 0 {
			args["args"] = all
		}
		return put(event{Name: r.Call.Name, Phase: "X", PID: pid, TID: tid, At: micros(d.Trace.Seconds(r.Start)),
			Long: &long,
			Cat:  r.Call.Layer.String(), Args: args})
	})
}

func micros(seconds float64) float64 { return math.Round(seconds*1e9) / 1e3 }

// counters gives the powers of the logs, each at the first of two readings.
func (d *Document) counters(put func(any) error) error {
	pid := d.Trace.Ranks + 1
	for i, m := range d.Meters {
		name := fmt.Sprintf("power (W, %s) of ranks %d to %d", m.Kind, m.From, m.To-1)
		if m.Shares != nil {
			name = fmt.Sprintf("power (W, %s)", m.Kind)
		}
		if err := put(event{Name: "process_name", Phase: "M", PID: pid + i,
			Args: map[string]any{"name": m.Name}}); err != nil {
			return err
		}
		step := max(1, len(m.Unix)/mostReadings)
		for k := 0; k+step < len(m.Unix); k += step {
			watts := (m.Joules[k+step] - m.Joules[k]) / (m.Unix[k+step] - m.Unix[k])
			if err := put(event{Name: name, Phase: "C", PID: pid + i, At: micros(m.Unix[k] - d.Trace.Start),
				Args: map[string]any{"watts": math.Round(watts*1e3) / 1e3}}); err != nil {
				return err
			}
		}
	}
	return nil
}
