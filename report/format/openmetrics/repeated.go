package openmetrics

import (
	"fmt"
	"io"
	"strings"

	"cg/report/format"
	"cg/report/repeated"
	"cg/shown"
)

// writeRepeated writes what repeated runs of commands come to, with the ends of the 95 % intervals. What is not
// known has no line. A command that was given twice has its place among the commands as a label (number), so that
// no series is there twice.
func writeRepeated(w io.Writer, r *repeated.Result, _ format.Options) error {
	var b strings.Builder
	label := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var owns []string
	times := map[string]int{}
	for _, c := range r.All() {
		own := fmt.Sprintf("command=\"%s\",kind=\"%s\"", label.Replace(shown.Line(c.Line())),
			label.Replace(shown.Line(string(c.Backend.Kind))))
		owns = append(owns, own)
		times[own]++
	}
	family := func(metric, help string, of func(repeated.Command, func(labels string, v *float64))) {
		fmt.Fprintf(&b, "# TYPE %s gauge\n# HELP %s %s\n", metric, metric, help)
		for i, c := range r.All() {
			own := owns[i]
			if times[own] > 1 {
				own += fmt.Sprintf(`,number="%d"`, i+1)
			}
			of(c, func(labels string, v *float64) {
				if v != nil {
					fmt.Fprintf(&b, "%s{%s%s} %g\n", metric, own, labels, *v)
				}
			})
		}
	}
	mean := func(of func(repeated.Command) *repeated.Statistic) func(repeated.Command, func(string, *float64)) {
		return func(c repeated.Command, line func(string, *float64)) {
			if s := of(c); s != nil {
				line(`,bound="mean"`, &s.Mean)
				line(`,bound="lower"`, s.CI95Lower)
				line(`,bound="upper"`, s.CI95Upper)
			}
		}
	}
	family("cg_run_program_energy_joules", "energy of the program in a run, its share of the machine's", mean(
		func(c repeated.Command) *repeated.Statistic { return c.ProgramEnergyJ }))
	family("cg_run_energy_joules", "energy of the machine in a run", mean(
		func(c repeated.Command) *repeated.Statistic { return c.EnergyJ }))
	family("cg_run_duration_seconds", "time of a run", mean(
		func(c repeated.Command) *repeated.Statistic { return c.DurationS }))
	if len(r.UnitNames()) > 0 {
		family("cg_run_unit_program_energy_joules", "energy of the program for a unit of its work",
			func(c repeated.Command, line func(string, *float64)) {
				for _, u := range c.Units {
					if q := u.EnergyJ; q != nil {
						unit := fmt.Sprintf(`,unit="%s"`, label.Replace(shown.Line(u.Name)))
						line(unit+`,bound="mean"`, &q.Ratio)
						line(unit+`,bound="lower"`, q.CI95Lower)
						line(unit+`,bound="upper"`, q.CI95Upper)
					}
				}
			})
	}
	b.WriteString("# EOF\n")
	_, err := io.WriteString(w, b.String())
	return err
}
