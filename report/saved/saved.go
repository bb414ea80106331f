// Package saved reads a document of cg measure or cg run from its file, and what BenchmarkDotNet exports.
package saved

import (
	"errors"
	"io"
	"slices"

	"cg/report"
	"cg/report/repeated"
)

// Document is what a file holds: a run, repeated runs of commands, or benchmarks of .NET.
type Document struct {
	Run        *report.Run
	Repeated   *repeated.Result
	Benchmarks *Benchmarks
}

// HasFunctions reports whether functions are told: those of a run, or of repeated runs of a
// program with checkpoints.
func (d Document) HasFunctions() bool {
	return d.Run != nil || d.Repeated != nil && slices.ContainsFunc(d.Repeated.All(),
		func(c repeated.Command) bool { return len(c.Functions) > 0 })
}

// Read decodes a file of cg measure, cg run or BenchmarkDotNet and refuses what is none of them, or
// is of another schema. The text need not be in memory.
func Read(f io.ReadSeeker) (Document, error) {
	if isBenchmarks(f) {
		b, err := readBenchmarks(f)
		return Document{Benchmarks: b}, err
	}
	if r, err := report.ReadBlocks(f); r != nil || err != nil {
		return Document{Run: r}, err
	}
	head, err := report.HeadOf(f)
	switch {
	case err != nil:
		return Document{}, err
	case head.Holds["comparison"]:
		return Document{}, errors.New("not a saved run: it is what cg compare wrote; compare the runs themselves")
	case head.Holds["measurements"] && head.Holds["ledger"]:
		return Document{}, errors.New("not a saved run: it has the ledger of cg measure and the measurements of " +
			"cg run")
	case !head.Holds["measurements"] && !head.Holds["command"]:
		r, err := report.ReadFrom(f)
		return Document{Run: r}, err
	}
	r, err := repeated.Read(f)
	return Document{Repeated: r}, err
}
