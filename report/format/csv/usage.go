package csv

import (
	"encoding/csv"
	"io"

	"cg/report/format"
	"cg/report/usage"
)

// usageTables are what a summary of cg monitor has.
var usageTables = format.Choice{Flag: "table",
	Values: []string{"requests", "processes", "cgroups", "targets", "domains", "ledger"}}

// writeUsage writes a table of a summary of cg monitor: the requests, unless another is chosen,
// or the processes where there are none.
func writeUsage(w io.Writer, d *usage.Document, o format.Options) error {
	table, err := o.Choose(usageTables)
	if err != nil {
		return err
	}
	if o.Chosen["table"] == "" && len(d.Requests) == 0 {
		table = "processes"
	}
	c := csv.NewWriter(w)
	row := func(fields ...any) {
		out := make([]string, len(fields))
		for i, f := range fields {
			out[i] = cell(f)
		}
		c.Write(out)
	}
	switch table {
	case "requests":
		row("name", "requests", "cut_short", "open", "energy_j", "energy_lo_j", "energy_hi_j", "energy_kind",
			"per_request_j", "time_s")
		for _, r := range d.Requests {
			row(r.Name, r.Requests, r.CutShort, r.Open, r.EnergyJ, r.EnergyLoJ, r.EnergyHiJ, string(r.EnergyKind),
				r.PerRequestJ, r.TimeS)
		}
	case "ledger":
		row("name", "energy_j")
		for _, l := range d.Ledger {
			row(l.Name, l.EnergyJ)
		}
	case "domains":
		row("domain", "kind", "energy_j", "energy_kind", "energy_source", "power_w", "in_total", "failed_readings")
		for _, x := range d.Domains {
			row(x.Domain, x.Kind, x.EnergyJ, string(x.EnergyKind), x.EnergySource, x.PowerW, x.InTotal,
				x.FailedReadings)
		}
	default:
		writeShares(table, d, row)
	}
	c.Flush()
	return c.Error()
}

// writeShares writes the processes, control groups or targets.
func writeShares(table string, d *usage.Document, row func(...any)) {
	columns := []any{"energy_j", "energy_lo_j", "energy_hi_j", "energy_kind", "power_w", "share_percent",
		"cpu_time_s", "ended", "gpu_energy_j", "gpu_energy_lo_j", "gpu_energy_hi_j"}
	value := func(v *usage.Value) []any {
		return []any{v.EnergyJ, v.EnergyLoJ, v.EnergyHiJ, string(v.EnergyKind), v.PowerW, v.SharePercent, v.CPUTimeS,
			v.Ended, v.GPUEnergyJ, v.GPUEnergyLoJ, v.GPUEnergyHiJ}
	}
	switch table {
	case "processes":
		row(append([]any{"pid", "start_ticks", "name", "cgroup"}, columns...)...)
		for i := range d.Processes {
			p := &d.Processes[i]
			row(append([]any{p.PID, p.StartTicks, p.Name, p.Cgroup}, value(&p.Value)...)...)
		}
	case "cgroups":
		row(append([]any{"path", "unit", "container", "container_runtime"}, columns...)...)
		for i := range d.Cgroups {
			g := &d.Cgroups[i]
			row(append([]any{g.Path, g.Unit, g.Container, g.ContainerRuntime}, value(&g.Value)...)...)
		}
	case "targets":
		row(append([]any{"kind", "name", "processes"}, columns...)...)
		for i := range d.Targets {
			t := &d.Targets[i]
			row(append([]any{t.Kind, t.Name, t.Processes}, value(&t.Value)...)...)
		}
	}
}
