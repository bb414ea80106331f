// Package openmetrics writes the figures of a check of a change, and of repeated runs, as OpenMetrics text.
package openmetrics

import (
	"fmt"
	"io"
	"strings"

	"cg/gate"
	"cg/report/format"
	"cg/report/verdict"
	"cg/shown"
)

func init() {
	format.Register(format.Format{
		Name: "openmetrics", Title: "figures for GitLab's metrics report and for Prometheus",
		Endings: []string{".prom"},
		Writers: []format.Writer{format.Writes(write), format.Writes(writeRepeated)},
	})
}

// write writes the figures for GitLab's metrics report and for Prometheus
// (openmetrics.io, version 1.0).
func write(w io.Writer, g *verdict.Check, _ format.Options) error {
	var b strings.Builder
	label := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	family := func(metric, help string, of func(gate.Comparison) *float64) {
		fmt.Fprintf(&b, "# TYPE %s gauge\n# HELP %s %s\n", metric, metric, help)
		for _, c := range append([]gate.Comparison{g.Program}, g.Functions...) {
			if v := of(c); v != nil {
				fmt.Fprintf(&b, "%s{metric=\"%s\",function=\"%s\"} %g\n", metric, label.Replace(shown.Line(g.Metric)),
					label.Replace(shown.Line(c.Name)), *v)
			}
		}
	}
	whole := g.Whole()
	family("cg_gate_change_ratio", "head relative to base: 0.05 is 5 percent more",
		func(c gate.Comparison) *float64 { return c.Change })
	family("cg_gate_base", "median of a run of base, "+whole+", in "+shown.Line(g.Unit),
		func(c gate.Comparison) *float64 { return c.Base })
	family("cg_gate_head", "median of a run of head, "+whole+", in "+shown.Line(g.Unit),
		func(c gate.Comparison) *float64 { return c.Head })
	family("cg_gate_detectable_ratio", "the smallest change that would have been found in four of five cases",
		func(c gate.Comparison) *float64 { return c.Detectable })
	b.WriteString("# EOF\n")
	_, err := io.WriteString(w, b.String())
	return err
}
