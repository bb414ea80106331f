// Package saved reads a document of cg measure or cg run from its file.
package saved

import (
	"errors"
	"fmt"
	"io"

	"cg/report"
	"cg/report/repeated"
)

// Document is what a file holds: a run, or repeated runs of commands.
type Document struct {
	Run      *report.Run
	Repeated *repeated.Result
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
	case head.Holds["measurements"] && head.Holds["functions"]:
		return Document{}, errors.New("not a saved run: it has the functions of cg measure and the measurements of " +
			"cg run")
	case !head.Holds["measurements"] && !head.Holds["command"]:
		r, err := report.ReadFrom(f)
		return Document{Run: r}, err
	}
	r := &repeated.Result{}
	if err := report.Decode(f, r); err != nil {
		return Document{}, fmt.Errorf("not a saved run: %w", err)
	}
	report.Renew(&r.Meta, r)
	for _, c := range r.All() {
		if len(c.Measurements) == 0 {
			return Document{}, errors.New("it has no measurement: the command failed before the first was whole")
		}
	}
	return Document{Repeated: r}, nil
}
