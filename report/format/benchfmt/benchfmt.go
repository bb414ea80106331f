// Package benchfmt writes the benchmarks of a run for benchstat.
package benchfmt

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"strings"

	"cg/report"
	"cg/report/format"
	"cg/shown"
)

func init() {
	format.Register(format.Format{
		Name: "benchfmt", Title: "benchmarks of the run for benchstat: J/op beside ns/op",
		Endings: []string{".benchfmt"},
		Writers: []format.Writer{format.Writes(write)},
	})
}

// write writes the benchmarks of a run in the format that benchstat reads
// (go.dev/design/14313-benchmark-format): joules and nanoseconds of each
// operation. Where the energy is unknown there is none. A run without
// benchmarks has no lines.
func write(w io.Writer, r *report.Run, _ format.Options) error {
	b := bufio.NewWriter(w)
	line := func(key, value string) {
		if value = shown.Line(strings.Join(strings.Fields(value), " ")); value != "" {
			fmt.Fprintf(b, "%s: %s\n", key, value)
		}
	}
	pkg, begun := "", false
	for _, t := range r.Tasks {
		if t.Iterations == nil || *t.Iterations == 0 {
			continue
		}
		if !begun {
			begun = true
			line("goos", r.Meta.Platform)
			line("goarch", runtime.GOARCH)
			line("cpu", r.Meta.CPUModel)
			line("energy", fmt.Sprint(r.UsedKind(t)))
			fmt.Fprintln(b, "Unit J/op better=lower")
		}
		if t.Package != nil && *t.Package != pkg {
			pkg = *t.Package
			line("pkg", pkg)
		}
		n := float64(*t.Iterations)
		fmt.Fprintf(b, "%s\t%d\t%.9g ns/op", shown.Line(t.Name), *t.Iterations, t.DurationS*1e9/n)
		if e, _, _ := t.Used(); e != nil {
			fmt.Fprintf(b, "\t%.9g J/op", float64(*e)*1e-6/n)
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}
