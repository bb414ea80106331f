package rows

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"cg/pmsampling"
	"cg/pmsampling/cgpm"
	"cg/pmsampling/cupti"
)

var head = cgpm.Head{Chip: "GH100", GPU: `H "100"`, Config: pmsampling.Config{Metrics: []string{"a.avg", "b,c"}}}

func timed(from, to int64, values ...float64) pmsampling.Timed {
	return pmsampling.Timed{From: 10, To: 20, Sample: pmsampling.Sample{Start: from, End: to, Values: values}}
}

func write(t *testing.T, ending string, tail *cgpm.Tail) string {
	t.Helper()
	var b bytes.Buffer
	w, err := New(&b, ending, head)
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range [][]pmsampling.Timed{{timed(1, 2, 0.5, math.NaN())}, nil, {timed(2, 3, 1e300, -7)}} {
		if err := w.Add(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(tail); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	if got := write(t, ".csv", nil); got != "start_ns,end_ns,gpu_start_ns,gpu_end_ns,a.avg,\"b,c\"\n10,20,1,2,0.5,\n10,20,2,3,1e+300,-7\n" {
		t.Errorf("%q", got)
	}
	if got := write(t, ".jsonl", nil); got != `{"start_ns":10,"end_ns":20,"gpu_start_ns":1,"gpu_end_ns":2,"values":{"a.avg":0.5,"b,c":null}}
{"start_ns":10,"end_ns":20,"gpu_start_ns":2,"gpu_end_ns":3,"values":{"a.avg":1e+300,"b,c":-7}}
` {
		t.Errorf("%q", got)
	}
	type document struct {
		GPU     string
		Whole   bool
		Clock   *struct{ Drift_ppm *float64 }
		Counts  *pmsampling.Counts
		Samples []struct {
			Start_ns int64
			Values   []*float64
		}
	}
	for _, tail := range []*cgpm.Tail{nil, {Counts: pmsampling.Counts{Samples: 2}},
		{Clock: pmsampling.Clock{After: cupti.Pair{Mono: 1000, GPU: 1001}}}} {
		var d document
		text := write(t, ".json", tail)
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if d.GPU != head.GPU || d.Whole != (tail != nil) || len(d.Samples) != 2 || d.Samples[0].Values[1] != nil ||
			*d.Samples[1].Values[1] != -7 || (tail != nil) != (d.Counts != nil) {
			t.Errorf("%s", text)
		}
		if tail != nil && (d.Clock.Drift_ppm == nil) != (tail.Clock.After.Mono == 0) {
			t.Errorf("%s", text)
		}
	}
	if _, err := New(nil, ".xml", head); err == nil || !strings.Contains(err.Error(), `no format ends with ".xml": use .csv, .jsonl, .json`) {
		t.Error(err)
	}
}

// The mean is over time, and over what is told.
func TestSums(t *testing.T) {
	s := Sums{Metrics: []string{"a", "long"}}
	if text := s.String(); !strings.Contains(text, "?") {
		t.Error(text)
	}
	long := timed(0, 1, 4, math.NaN())
	long.To = 40
	s.Add([]pmsampling.Timed{timed(0, 1, 0, 3), long})
	if text := s.String(); text != "metric         mean          min          max\na                 3            0            4\n"+
		"long              3            3            3\n" || s.Samples != 2 {
		t.Errorf("%s", text)
	}
}
