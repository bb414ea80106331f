package csv

import (
	"encoding/csv"
	"fmt"
	"io"

	"cg/report"
	"cg/report/cluster"
	"cg/report/format"
)

// rankColumns are those of the table ranks.
var rankColumns = []string{"run", "rank", "node", "state", "exit_status", "duration_s", "cpu_time_s", "energy_j",
	"mpi_time_s", "mpi_energy_j"}

// writeCluster writes a table of a run of many ranks.
func writeCluster(w io.Writer, d *cluster.Run, o format.Options) error {
	table, err := o.Choose(tables)
	if err != nil {
		return err
	}
	name := d.Meta.RunID
	if len(o.Names) == 1 {
		name = o.Names[0]
	}
	c := csv.NewWriter(w)
	row := func(fields ...any) {
		out := []string{cell(name)}
		for _, f := range fields {
			out = append(out, cell(f))
		}
		c.Write(out)
	}
	switch table {
	case "functions":
		c.Write([]string{"run", "name", "file", "line", "language", "kind", "ranks", "calls", "self_energy_j",
			"self_energy_lo_j", "self_energy_hi_j", "inclusive_energy_j", "self_time_s", "inclusive_time_s",
			"cpu_time_s", "mean_time_s", "max_time_s", "max_rank", "imbalance"})
		for _, f := range d.Functions {
			row(f.Name, f.File, f.Line, f.Language, f.Kind, f.Ranks, f.Calls, f.SelfEnergyJ, f.SelfEnergyLoJ,
				f.SelfEnergyHiJ, f.InclusiveEnergyJ, f.SelfTimeS, f.InclusiveTimeS, f.CPUTimeS, f.MeanTimeS, f.MaxTimeS,
				f.MaxRank, f.Imbalance)
		}
	case "ledger":
		c.Write(columnsOf(table, nil))
		for _, l := range d.Ledger {
			row(l.Name, &l.EnergyJ, l.SharePercent, string(d.Totals.Kind))
		}
	case "ranks":
		c.Write(rankColumns)
		for _, r := range d.Ranks {
			row(r.Rank, r.Node, r.State, r.ExitStatus, r.DurationS, r.CPUTimeS, r.EnergyJ, r.MPITimeS, r.MPIEnergyJ)
		}
	default:
		return fmt.Errorf("a run of many ranks has no table %s: use --table functions, ledger or ranks; -o "+
			"FOLDER.parquet has the others", table)
	}
	c.Flush()
	return c.Error()
}

// rankRow is the only rank of a run that is not of many.
func rankRow(r *report.Run, row func(fields ...any)) {
	row(0, r.Meta.Hostname, "ended", r.Process.ExitStatus, r.Meta.DurationTotalS, r.Process.UserS+r.Process.SystemS,
		r.Totals.ProgramEnergyJ, (*float64)(nil), (*report.Joules)(nil))
}
