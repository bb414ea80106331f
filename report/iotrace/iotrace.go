// Package iotrace is the document of a trace of Recorder: what its calls come to, and the
// calls themselves, with a writer for each format that can show it.
//
// What comes in is an open trace (package recorder) and its analysis
// (recorder/analysis). The writers that show single calls read the trace again while they
// write, so that none of them is in memory.
package iotrace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"cg/recorder"
	"cg/recorder/analysis"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/shown"
)

// Document is a trace with its analysis.
type Document struct {
	Trace    *recorder.Trace
	Analysis *analysis.Analysis
	// Name is what the user called the trace, and Version that of cg.
	Name, Version string
	// From and To are the first rank that is shown and the one behind the last.
	From, To int
	// Most is how many records of each rank JSON has; below 0 all.
	Most int
	// Meters are those of the analysis.
	Meters []*analysis.Meter
}

// Kind names a trace.
func (*Document) Kind() string { return "a trace of Recorder" }

// Title is the document's for people.
func (d *Document) Title() string {
	ranks := "1 rank"
	if n := d.To - d.From; n != 1 {
		ranks = figures.Count(uint64(n)) + " ranks"
	}
	if d.To-d.From < d.Trace.Ranks {
		ranks = fmt.Sprintf("%s (%d to %d) of %s", ranks, d.From, d.To-1, figures.Count(uint64(d.Trace.Ranks)))
	}
	return fmt.Sprintf("%s: Recorder %s, %s, %s records", d.Name, d.Trace.Version, ranks,
		figures.Count(d.Analysis.Performance.Records))
}

// energies says whether there are any energies to show.
func (d *Document) energies() bool { return len(d.Meters) > 0 }

// mark is before energies that are estimated.
func (d *Document) mark() string {
	for _, m := range d.Meters {
		if m.Kind == "estimated" {
			return "~"
		}
	}
	return ""
}

// Record is a record by the names of Recorder's own.
type Record struct {
	TStart   float64  `json:"tstart"`
	TEnd     float64  `json:"tend"`
	Level    uint8    `json:"level"`
	FuncID   int      `json:"func_id"`
	TID      uint64   `json:"tid"`
	ArgCount int      `json:"arg_count"`
	Args     []string `json:"args"`
}

// recordOf gives a record as it is told.
func (d *Document) recordOf(r *recorder.Record) Record {
	args := r.Call.Args()
	if args == nil {
		args = []string{}
	}
	return Record{d.Trace.Seconds(r.Start), d.Trace.Seconds(r.End), r.Call.Level, r.Call.Func, r.Call.Thread,
		len(args), args}
}

// errEnough ends the reading of a rank.
var errEnough = errors.New("enough")

// each gives the records of a rank to f, until it returns an error; errEnough is none.
func (d *Document) each(rank int, f func(r *recorder.Record) error) error {
	ranks, err := d.Trace.Rank(rank)
	if err != nil {
		return err
	}
	defer ranks.Close()
	var record recorder.Record
	for {
		err := ranks.Next(&record)
		if err == nil {
			err = f(&record)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// whole is what the JSON has but for the records, which follow.
type whole struct {
	CgVersion       string        `json:"cg_version"`
	RecorderVersion string        `json:"recorder_version"`
	Name            string        `json:"name"`
	GM              recorder.Meta `json:"GM"`
	Funcs           []string      `json:"funcs"`
	*analysis.Analysis
	RecordsShown int `json:"records_shown"` // of each rank, -1 for all
}

// complete is the JSON with what follows.
type complete struct {
	whole
	LMs     []analysis.Rank `json:"LMs"`
	Records [][]Record      `json:"records"`
}

// Schema is the JSON Schema of the JSON: docs/recorder.schema.json.
func Schema() map[string]any {
	return report.SchemaOf(reflect.TypeFor[complete](), "A trace of Recorder as cg report writes it")
}

// ranks writes what the ranks did, each for itself.
func (d *Document) ranks(w io.Writer, between string) error {
	for i, r := range d.Analysis.Ranks {
		b, err := encode(r, "")
		if err != nil {
			return err
		}
		comma := between
		if i > 0 {
			comma = "," + between
		}
		if _, err := io.WriteString(w, comma+strings.TrimSpace(string(b))); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes everything that the document has, with the names of recorder-viz: GM,
// LMs and records.
func WriteJSON(w io.Writer, d *Document, _ format.Options) error {
	b, err := encode(whole{CgVersion: d.Version, RecorderVersion: d.Trace.Version, Name: d.Name, GM: d.Trace.Meta,
		Funcs: d.Trace.Functions, Analysis: d.Analysis, RecordsShown: d.Most}, "  ")
	if err != nil {
		return err
	}
	text := strings.TrimSuffix(strings.TrimSpace(string(b)), "\n}")
	if _, err := io.WriteString(w, text+",\n  \"LMs\": ["); err != nil {
		return err
	}
	if err := d.ranks(w, "\n    "); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "],\n  \"records\": ["); err != nil {
		return err
	}
	for rank := d.From; rank < d.To; rank++ {
		comma := "\n    ["
		if rank > d.From {
			comma = ",\n    ["
		}
		if _, err := io.WriteString(w, comma); err != nil {
			return err
		}
		n := 0
		err := error(nil)
		if d.Most != 0 {
			err = d.each(rank, func(r *recorder.Record) error {
				b, err := encode(d.recordOf(r), "")
				if err != nil {
					return err
				}
				lead := ",\n      "
				if n == 0 {
					lead = "\n      "
				}
				if _, err := io.WriteString(w, lead+strings.TrimSpace(string(b))); err != nil {
					return err
				}
				if n++; n == d.Most {
					return errEnough
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, "]"); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "]\n}\n")
	return err
}

func encode(v any, indent string) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return []byte(b.String()), err
}

// WriteLines writes a line for the trace, with its ranks, and one for each record.
func WriteLines(w io.Writer, d *Document, _ format.Options) error {
	w = shown.JSONWriter(w)
	head := struct {
		GM    recorder.Meta `json:"GM"`
		Funcs []string      `json:"funcs"`
	}{d.Trace.Meta, d.Trace.Functions}
	b, err := encode(head, "")
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, strings.TrimSuffix(string(b), "}\n")+`,"LMs":[`); err != nil {
		return err
	}
	if err := d.ranks(w, ""); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "]}\n"); err != nil {
		return err
	}
	type line struct {
		Rank int `json:"rank"`
		Record
	}
	for rank := d.From; rank < d.To && d.Most != 0; rank++ {
		n := 0
		err := d.each(rank, func(r *recorder.Record) error {
			b, err := encode(line{rank, d.recordOf(r)}, "")
			if err == nil {
				_, err = w.Write(b)
			}
			if n++; err == nil && n == d.Most {
				err = errEnough
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
