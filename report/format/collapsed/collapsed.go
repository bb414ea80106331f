// Package collapsed writes a line for each call path of a run, for flame graph tools.
package collapsed

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"cg/report"
	"cg/report/cluster"
	"cg/report/format"
	"cg/report/stream"
)

// values are what a line of collapsed stacks can count: microjoules,
// microseconds of wall-clock or of processor time, or calls.
var values = format.Choice{Flag: "value", Usage: "`WHAT` lines count",
	Values: []string{"energy", "time", "cpu-time", "calls"}}

func init() {
	format.Register(format.Format{
		Name: "collapsed", Title: "a line for each call path, for flame graph tools (--value)",
		Endings: []string{".collapsed", ".folded"},
		Choices: []format.Choice{values},
		Writers: []format.Writer{format.Writes(write), stream.AsRun(write), cluster.AsRun(write)},
	})
}

// write writes "caller;callee value" lines
// (github.com/brendangregg/FlameGraph, stackcollapse).
func write(w io.Writer, r *report.Run, o format.Options) error {
	value, err := o.Choose(values)
	if err != nil {
		return err
	}
	if value == "energy" && r.Totals.ProgramEnergyJ == nil {
		return fmt.Errorf("the run has no energies of call paths: use --value time")
	}
	b := bufio.NewWriter(w)
	names := make([]string, len(r.Paths))
	for i, f := range r.Frames() {
		// A semicolon ends a frame.
		names[i] = strings.ReplaceAll(f.Name, ";", ":")
		if p := r.Paths[i].Parent; p >= 0 {
			names[i] = names[p] + ";" + names[i]
		}
	}
	for i, p := range r.Paths {
		var n uint64
		switch value {
		case "energy":
			n = uint64(*p.SelfEnergyJ)
		case "time":
			n = uint64(math.Round(p.SelfTimeS * 1e6))
		case "cpu-time":
			n = uint64(math.Round(p.CPUTimeS * 1e6))
		case "calls":
			n = p.Calls
		}
		if n > 0 {
			fmt.Fprintf(b, "%s %d\n", names[i], n)
		}
	}
	return b.Flush()
}
