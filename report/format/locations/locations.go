// Package locations writes a line for each function as compilers write theirs, FILE:LINE: and a text, for what jumps to
// such places: the problem matchers of Visual Studio Code, vim's quickfix list, Emacs's compilation mode, terminals.
package locations

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/shown"
)

func init() {
	format.Register(format.Format{
		Name: "locations", Title: "FILE:LINE: joules, a line for each function", Endings: []string{".locations"},
		Writers: []format.Writer{format.Writes(write)},
	})
}

// write writes the functions of files, the one that used most itself first.
func write(w io.Writer, r *report.Run, _ format.Options) error {
	functions := slices.DeleteFunc(slices.Clone(r.Functions), func(f report.Function) bool { return !f.IsPlaced() })
	slices.SortStableFunc(functions, func(a, b report.Function) int {
		return cmp.Or(cmp.Compare(orNone(b.SelfEnergyJ), orNone(a.SelfEnergyJ)), cmp.Compare(b.SelfTimeS, a.SelfTimeS))
	})
	b := bufio.NewWriter(w)
	for _, f := range functions {
		mark := report.Mark(f.EnergyKind)
		text := "self " + mark + figures.Energy(f.SelfEnergyJ)
		if f.SelfEnergyJ != nil {
			text += " " + figures.Interval(f.SelfEnergyLoJ, f.SelfEnergyHiJ)
		}
		text += ", inclusive " + mark + figures.Energy(f.InclusiveEnergyJ)
		if f.Calls > 0 {
			text += ", calls " + figures.Count(f.Calls)
		}
		name := f.File
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.Meta.Cwd, name)
		}
		fmt.Fprintf(b, "%s:%d: %s: %s\n", shown.Line(name), f.Line, shown.Line(f.Name), text)
	}
	return b.Flush()
}

func orNone(e *report.Joules) int64 {
	if e == nil {
		return -1
	}
	return int64(*e)
}
