// Package saved reads a document of cg measure or cg run from its file.
package saved

import (
	"errors"
	"io"
	"slices"

	"cg/report"
	"cg/report/repeated"
)

// Document is what a file holds: a run, or repeated runs of commands.
type Document struct {
	Run      *report.Run
	Repeated *repeated.Result
}

// HasFunctions reports whether functions are told: those of a run, or of repeated runs of a
// program with checkpoints.
func (d Document) HasFunctions() bool {
	return d.Run != nil || d.Repeated != nil && slices.ContainsFunc(d.Repeated.All(),
		func(c repeated.Command) bool { return len(c.Functions) > 0 })
}

// Read decodes a file of cg measure or cg run and refuses what is neither, or
// is of another schema. The text need not be in memory.
func Read(f io.ReadSeeker) (Document, error) {
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
