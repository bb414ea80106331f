package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"cg/report"
)

// Benchmarks is what BenchmarkDotNet's JSON exporters write (JsonExporter.Full, and the others: the measurements of the
// full one are in the statistics of all). It has times, and no energy.
// https://benchmarkdotnet.org/articles/configs/exporters.html
type Benchmarks struct {
	Title string `json:"Title"`
	Host  struct {
		Version      string        `json:"BenchmarkDotNetVersion"`
		OS           string        `json:"OsVersion"`
		Processor    processorName `json:"ProcessorName"`
		Runtime      string        `json:"RuntimeVersion"`
		Architecture string        `json:"Architecture"`
	} `json:"HostEnvironmentInfo"`
	All []Benchmark `json:"Benchmarks"`
}

// Benchmark is one of them with one set of parameters.
type Benchmark struct {
	DisplayInfo string `json:"DisplayInfo"` // TYPE.METHOD: JOB [PARAMETERS]
	Type        string `json:"Type"`
	Method      string `json:"Method"`
	Parameters  string `json:"Parameters"`
	FullName    string `json:"FullName"`
	Statistics  *struct {
		Values []float64 `json:"OriginalValues"` // ns of an operation, one of each iteration
	} `json:"Statistics"` // null where it failed
}

// processorName is a text, and of old versions an object that has it.
type processorName string

func (p *processorName) UnmarshalJSON(b []byte) error {
	var old struct{ Value string }
	if err := json.Unmarshal(b, &old); err == nil {
		*p = processorName(old.Value)
		return nil
	}
	var text *string
	err := json.Unmarshal(b, &text)
	if text != nil {
		*p = processorName(*text)
	}
	return err
}

// Name tells a benchmark apart from the others of a file.
func (b Benchmark) Name() string {
	name := b.Type + "." + b.Method
	if b.Type == "" || b.Method == "" {
		name = b.FullName
	}
	_, job, is := strings.Cut(b.DisplayInfo, ": ")
	job, _, _ = strings.Cut(job, " [")
	if is && job != "" && job != "DefaultJob" {
		name += ", " + job
	}
	if b.Parameters != "" {
		name += " (" + b.Parameters + ")"
	}
	return name
}

// Seconds are the times of an operation, none where the benchmark failed.
func (b Benchmark) Seconds() (all []float64) {
	if b.Statistics != nil {
		for _, ns := range b.Statistics.Values {
			all = append(all, ns*1e-9)
		}
	}
	return all
}

// isBenchmarks reports whether a text is one of BenchmarkDotNet's.
func isBenchmarks(f io.ReadSeeker) bool { return report.BeginsWith(f, "Title") }

// readBenchmarks reads one, and refuses what is none, and what tells no time.
func readBenchmarks(f io.Reader) (*Benchmarks, error) {
	b := &Benchmarks{}
	if err := json.NewDecoder(f).Decode(b); err != nil {
		return nil, fmt.Errorf("not a report of BenchmarkDotNet (JsonExporter.Full): %w", err)
	}
	if len(b.All) == 0 {
		return nil, errors.New("a report of BenchmarkDotNet without a benchmark: it is that of JsonExporter.Full " +
			"which cg reads, NAME-report-full.json")
	}
	failed := 0
	for _, one := range b.All {
		if len(one.Seconds()) == 0 {
			failed++
		}
	}
	if failed == len(b.All) {
		return nil, fmt.Errorf("a report of BenchmarkDotNet in which none of %d benchmarks has statistics: see in its "+
			"log why they failed", failed)
	}
	return b, nil
}
