// Package csv writes one table of a document for spreadsheets.
package csv

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"cg/report"
	"cg/report/format"
	"cg/report/iotrace"
	"cg/report/repeated"
	"cg/shown"
	"cg/track"
	"cg/track/merge"
)

// tables are what CSV can hold.
var tables = format.Choice{Flag: "table", Usage: "`WHICH` table (of a stream of events: events, too; of a summary " +
	"of cg monitor: requests, processes, cgroups, targets, domains, ledger)",
	Values: []string{"functions", "tasks", "totals", "ledger", "paths", "samples", "ranks", "places", "inner"}}

func init() {
	format.Register(format.Format{
		Name: "csv", Title: "one table for spreadsheets (--table)", Endings: []string{".csv"}, Parts: true, Table: true,
		Choices: []format.Choice{tables}, Writers: []format.Writer{report.Alone(write), format.Writes(write),
			format.Writes(writeRepeated), format.Writes(writeStream), format.Follows(track.Recording{}, track.CSV),
			format.Writes(iotrace.WriteCSV), format.Writes(writeCluster), format.Writes(writeMerged),
			format.Writes(writeUsage)},
	})
}

// write writes a table of every run, one below the other (RFC 4180). The
// first column names the run. What is not known is empty. Columns are named
// like the fields of the JSON, units included.
func write(w io.Writer, runs report.Several, o format.Options) error {
	table, err := o.Choose(tables)
	if err != nil {
		return err
	}
	c := csv.NewWriter(w)
	domains := runs.Domains()
	c.Write(columnsOf(table, domains))
	for i, r := range runs {
		if r.Part() != "" && table != "tasks" && table != "samples" {
			return fmt.Errorf("a %s file has no %s: use --table tasks or --table samples", r.Part(), table)
		}
		name := r.Meta.RunID
		if i < len(o.Names) {
			name = o.Names[i]
		}
		row := func(fields ...any) {
			out := []string{cell(name)}
			for _, f := range fields {
				out = append(out, cell(f))
			}
			c.Write(out)
		}
		rowsOf(r, table, domains, row)
	}
	c.Flush()
	return c.Error()
}

// columnsOf are the names of a table's columns.
func columnsOf(table string, domains []string) []string {
	switch table {
	case "functions":
		return []string{"run", "name", "file", "line", "language", "kind", "calls", "self_energy_j",
			"self_energy_lo_j", "self_energy_hi_j",
			"inclusive_energy_j", "inclusive_energy_lo_j", "inclusive_energy_hi_j", "energy_kind", "energy_method",
			"self_time_s", "inclusive_time_s", "cpu_time_s", "suspended_s", "avg_power_w", "share_percent",
			"unresolved", "unresolved_with", "calls_cut", "call_mean_j", "call_mean_lo_j", "call_mean_hi_j", "call_n",
			"call_min_j", "call_median_j", "call_p95_j", "call_max_j",
			"call_time_n", "call_time_min_s", "call_time_median_s", "call_time_median_lo_s", "call_time_median_hi_s",
			"call_time_p95_s", "call_time_p95_lo_s", "call_time_p95_hi_s", "call_time_max_s"}
	case "tasks":
		return []string{"run", "name", "depth", "energy_j", "energy_lo_j", "energy_hi_j", "energy_kind",
			"energy_method", "avg_power_w", "duration_s", "started_at", "program_energy_j", "program_energy_lo_j",
			"program_energy_hi_j"}
	case "totals":
		return []string{"run", "program_energy_j", "program_energy_lo_j", "program_energy_hi_j", "energy_j",
			"energy_lo_j", "energy_hi_j", "energy_kind", "avg_power_w", "wall_duration_s", "core_hours",
			"reserved_core_hours", "processors", "gpu_hours"}
	case "ledger":
		return []string{"run", "name", "energy_j", "share_percent", "energy_kind"}
	case "paths":
		return []string{"run", "path", "parent", "name", "file", "line", "calls", "self_energy_j", "self_time_s",
			"cpu_time_s"}
	case "places":
		return []string{"run", "function", "file", "kind", "line", "end_line", "ordinal", "count", "self_energy_j",
			"self_energy_lo_j", "self_energy_hi_j", "energy_method", "self_time_s", "cpu_time_s", "text"}
	case "inner":
		return []string{"run", "function", "name", "file", "line", "language", "stack_samples",
			"stack_samples_inclusive", "self_energy_j", "self_energy_lo_j", "self_energy_hi_j", "inclusive_energy_j",
			"inclusive_energy_lo_j", "inclusive_energy_hi_j"}
	case "ranks":
		return rankColumns
	case "samples":
		columns := []string{"run", "t_ns", "energy_j", "power_w", "program_cpu_s", "own_cpu_s", "other_cpu_s"}
		for _, id := range domains {
			columns = append(columns, cell("domain_j."+id), cell("domain_w."+id))
		}
		return columns
	}
	return nil
}

// rowsOf gives a run's rows of a table, without the name of the run.
func rowsOf(r *report.Run, table string, domains []string, row func(fields ...any)) {
	switch table {
	case "functions":
		for _, f := range r.Functions {
			e := cmp.Or(f.CallsEnergy, &report.CallsEnergy{MeanJ: math.NaN()})
			mean, lo, hi := means(e)
			fields := []any{f.Name, f.File, f.Line, f.Language, f.Kind, f.Calls, f.SelfEnergyJ, f.SelfEnergyLoJ,
				f.SelfEnergyHiJ,
				f.InclusiveEnergyJ, f.InclusiveEnergyLoJ, f.InclusiveEnergyHiJ, string(f.EnergyKind),
				f.EnergyMethod,
				f.SelfTimeS, f.InclusiveTimeS, f.CPUTimeS, f.SuspendedS, f.AvgPowerW, f.SharePercent,
				f.Unresolved, strings.Join(f.UnresolvedWith, " "), f.CallsCut, mean, lo, hi,
				e.N, e.MinJ, e.MedianJ, e.P95J, e.MaxJ}
			row(append(fields, callTimes(f.CallsTime)...)...)
		}
	case "tasks":
		for _, t := range r.Tasks {
			share := cmp.Or(t.ProgramShare, &report.ProgramShare{})
			row(t.Name, t.Depth, t.EnergyJ, t.LoJ, t.HiJ, string(t.Kind), t.Method, t.AvgPowerW, t.DurationS,
				t.StartedAt, share.ProgramEnergyJ, share.ProgramEnergyLoJ, share.ProgramEnergyHiJ)
		}
	case "totals":
		t := r.Totals
		h, core := &report.Hours{}, (*float64)(nil)
		if t.Hours != nil {
			h, core = t.Hours, &t.Hours.Core
		}
		row(t.ProgramEnergyJ, t.ProgramEnergyLoJ, t.ProgramEnergyHiJ, t.EnergyJ, t.LoJ, t.HiJ, string(t.Kind),
			t.AvgPowerW, t.WallDurationS, core, h.ReservedCore, h.Processors, h.GPU)
	case "ledger":
		for _, l := range r.Ledger {
			row(l.Name, &l.EnergyJ, l.SharePercent, string(r.Totals.Kind))
		}
	case "ranks":
		rankRow(r, row)
	case "samples":
		for _, s := range r.Samples {
			fields := []any{s.TNs, s.EnergyJ, s.PowerW, s.ProgramCPUS, s.OwnCPUS, s.OtherCPUS}
			for _, id := range domains {
				e, w := (*report.Joules)(nil), (*float64)(nil)
				if v, ok := s.DomainJ[id]; ok {
					e = &v
				}
				if v, ok := s.DomainW[id]; ok {
					w = &v
				}
				fields = append(fields, e, w)
			}
			row(fields...)
		}
	case "paths":
		for i, f := range r.Frames() {
			p := r.Paths[i]
			row(i, p.Parent, f.Name, f.File, f.Line, p.Calls, p.SelfEnergyJ, p.SelfTimeS, p.CPUTimeS)
		}
	case "inner":
		for _, f := range r.Functions {
			for _, g := range f.Inner {
				row(f.Name, g.Name, g.File, g.Line, g.Language, g.StackSamples, g.StackSamplesInclusive, g.SelfEnergyJ,
					g.SelfEnergyLoJ, g.SelfEnergyHiJ, g.InclusiveEnergyJ, g.InclusiveEnergyLoJ, g.InclusiveEnergyHiJ)
			}
		}
	case "places":
		for _, f := range r.Functions {
			for _, p := range f.Places {
				row(f.Name, f.File, p.Kind, p.Line, p.EndLine, p.Ordinal, p.Count, p.SelfEnergyJ, p.SelfEnergyLoJ,
					p.SelfEnergyHiJ, p.EnergyMethod, p.SelfTimeS, p.CPUTimeS, p.Text)
			}
		}
	}
}

// callTimes are how long a call took; nothing where that is not known.
func callTimes(t *report.CallsTime) []any {
	if t == nil {
		return make([]any, 9)
	}
	return []any{t.N, &t.MinS, &t.MedianS, &t.MedianLoS, t.MedianHiS, &t.P95S, &t.P95LoS, t.P95HiS, &t.MaxS}
}

// means are the energy of a call and its bounds; nil where they are not known.
func means(e *report.CallsEnergy) (mean, lo, hi *float64) {
	if math.IsNaN(e.MeanJ) {
		return nil, nil, nil
	}
	return &e.MeanJ, &e.MeanLoJ, &e.MeanHiJ
}

// cell is a value for a cell: a text is one that no spreadsheet runs.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return shown.Cell(v)
	case *report.Joules:
		if v == nil {
			return ""
		}
		b, _ := v.MarshalJSON()
		return string(b)
	case *float64:
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// repeatedTables are what repeated runs have besides their measurements, which is what is written unless one is chosen.
var repeatedTables = format.Choice{Flag: "table", Values: []string{"functions", "places"}}

// writeRepeated writes a row for each measurement, or a table over all of them.
func writeRepeated(w io.Writer, r *repeated.Result, o format.Options) error {
	if o.Chosen["table"] != "" {
		table, err := o.Choose(repeatedTables)
		if err != nil {
			return fmt.Errorf("of repeated runs, %w, or leave --table out for the measurements", err)
		}
		return writeOver(w, r, table)
	}
	c := csv.NewWriter(w)
	columns := []string{"command", "round", "warmup", "program_energy_j", "energy_j", "energy_kind", "duration_s",
		"cpu_s", "power_w", "exit_status", "timed_out"}
	parameters := r.ParameterNames()
	for _, name := range parameters {
		columns = append(columns, cell("parameter_"+name))
	}
	units := r.UnitNames()
	for _, u := range units {
		columns = append(columns, cell("count."+u), cell("program_energy_j_per."+u))
	}
	c.Write(columns)
	for _, command := range r.All() {
		for _, m := range command.Measurements {
			row := []string{cell(command.Line()), cell(m.Round), cell(m.Warmup), cell(m.ProgramEnergyJ),
				cell(m.EnergyJ), cell(string(command.Backend.Kind)),
				cell(m.DurationS), cell(m.CPUS), cell(m.PowerW), cell(m.ExitStatus), cell(m.TimedOut)}
			for _, name := range parameters {
				row = append(row, cell(command.Parameters[name]))
			}
			for _, u := range units {
				count, each := (*float64)(nil), (*float64)(nil)
				if n, is := m.Counts[u]; is && n > 0 {
					if count = &n; m.ProgramEnergyJ != nil {
						j := m.ProgramEnergyJ.Float() / n
						each = &j
					}
				}
				row = append(row, cell(count), cell(each))
			}
			c.Write(row)
		}
	}
	c.Flush()
	return c.Error()
}

// statistics are the cells of figures over runs: the mean, and its interval of 95 %.
func statistics(all ...*repeated.Statistic) (cells []string) {
	for _, s := range all {
		var mean, lo, hi *float64
		if s != nil {
			mean, lo, hi = &s.Mean, s.CI95Lower, s.CI95Upper
		}
		cells = append(cells, cell(mean), cell(lo), cell(hi))
	}
	return cells
}

// writeOver writes what functions or their places used over repeated runs, the mean of each figure with its interval.
func writeOver(w io.Writer, r *repeated.Result, table string) error {
	c := csv.NewWriter(w)
	columns := []string{"command", "name", "file", "line", "language", "kind", "runs", "energy_kind"}
	figures := []string{"calls", "self_energy_j", "inclusive_energy_j", "self_time_s"}
	if table == "places" {
		columns = []string{"command", "function", "file", "kind", "line", "end_line", "ordinal", "text"}
		figures = []string{"count", "self_energy_j", "self_time_s"}
	}
	for _, name := range figures {
		columns = append(columns, name, name+"_ci95_lower", name+"_ci95_upper")
	}
	if table == "places" {
		columns = append(columns, "own_power_runs")
	}
	c.Write(columns)
	for _, command := range r.All() {
		for _, f := range command.Functions {
			if table == "functions" {
				c.Write(append([]string{cell(command.Line()), cell(f.Name), cell(f.File), cell(f.Line),
					cell(f.Language), cell(f.Kind), cell(f.Runs), cell(string(f.EnergyKind))},
					statistics(f.Calls, f.SelfEnergyJ, f.InclusiveEnergyJ, f.SelfTimeS)...))
				continue
			}
			for _, p := range f.Places {
				row := append([]string{cell(command.Line()), cell(f.Name), cell(f.File), cell(p.Kind), cell(p.Line),
					cell(p.EndLine), cell(p.Ordinal), cell(p.Text)},
					statistics(p.Count, p.SelfEnergyJ, p.SelfTimeS)...)
				c.Write(append(row, cell(p.OwnPowerRuns)))
			}
		}
	}
	c.Flush()
	return c.Error()
}

// oneTable refuses the choice of a table where there is one.
func oneTable(o format.Options, of string) error {
	if o.Chosen["table"] == "" {
		return nil
	}
	return fmt.Errorf("--table: %s has one table: leave it out", of)
}

func writeMerged(w io.Writer, l *merge.Logs, o format.Options) error {
	if err := oneTable(o, "a file of merged logs"); err != nil {
		return err
	}
	return l.WriteCSV(w)
}
