package parquet

import (
	"slices"
	"sync"

	"cg/report/tables"
)

// order are the tables, as documentation lists them.
var order = []string{"runs", "nodes", "ranks", "functions", "paths", "samples", "calls"}

// columns are those of each table. Columns of a name mean the same in every table. A
// unit stands at the end of a name, as in the JSON.
var columns = sync.OnceValue(func() map[string][]tables.Column {
	return map[string][]tables.Column{
		"runs": joined(
			text("run", "node", "run_id", "cg_version", "started_at", "ended_at", "hostname", "cpu_model", "command",
				"language", "granularity"),
			integer("nodes", "ranks"), maybeInteger("exit_status"), number("duration_s"), energy("energy"),
			energy("program_energy")[:3], text("energy_kind", "energy_method"), maybeText("energy_source")),
		"nodes": joined(
			text("run", "node", "hostname", "cpu_model"), maybeText("domain"), text("energy_kind"),
			energy("energy"), maybeNumber("ranks_energy_j", "other_energy_j", "idle_energy_j", "cg_energy_j",
				"unattributed_energy_j")),
		"ranks": joined(
			text("run", "node"), integer("rank"), text("state"), maybeInteger("exit_status"),
			maybeText("started_at"), maybeNumber("duration_s"), number("cpu_time_s"),
			maybeNumber("energy_j", "mpi_time_s", "mpi_energy_j")),
		"functions": joined(
			text("run", "node"), integer("rank"), text("name", "file"), integer("line"), text("language", "kind"),
			[]tables.Column{{Name: "calls", Kind: tables.Count, Optional: true}}, energy("self_energy"), energy("inclusive_energy"),
			text("energy_kind", "energy_method"),
			number("self_time_s"), maybeNumber("inclusive_time_s", "cpu_time_s", "suspended_s"),
			maybeNumber("avg_power_w", "share_percent"), maybeText("unresolved"),
			[]tables.Column{{Name: "call_time_n", Kind: tables.Count, Optional: true}},
			maybeNumber("call_time_min_s", "call_time_median_s", "call_time_median_lo_s", "call_time_median_hi_s",
				"call_time_p95_s", "call_time_p95_lo_s", "call_time_p95_hi_s", "call_time_max_s")),
		"paths": joined(
			text("run", "node"), integer("rank", "path"), maybeInteger("parent"), text("name", "file"), integer("line"),
			[]tables.Column{{Name: "calls", Kind: tables.Count}}, maybeNumber("self_energy_j"),
			number("self_time_s", "cpu_time_s")),
		"samples": joined(
			text("run", "node"), maybeInteger("mono_ns", "unix_ns"), maybeText("domain"),
			maybeNumber("energy_j", "power_w", "program_cpu_s", "own_cpu_s", "other_cpu_s")),
		"calls": joined(
			text("run", "node"), integer("rank", "pid", "tid"), text("name", "file"),
			integer("line", "started_mono_ns", "ended_mono_ns"), number("duration_s")),
	}
})

func joined(parts ...[]tables.Column) []tables.Column { return slices.Concat(parts...) }

func of(kind tables.Kind, optional bool, names []string) (all []tables.Column) {
	for _, name := range names {
		all = append(all, tables.Column{Name: name, Kind: kind, Optional: optional})
	}
	return all
}

func text(names ...string) []tables.Column         { return of(tables.Text, false, names) }
func maybeText(names ...string) []tables.Column    { return of(tables.Text, true, names) }
func integer(names ...string) []tables.Column      { return of(tables.Integer, false, names) }
func maybeInteger(names ...string) []tables.Column { return of(tables.Integer, true, names) }
func number(names ...string) []tables.Column       { return of(tables.Number, false, names) }
func maybeNumber(names ...string) []tables.Column  { return of(tables.Number, true, names) }

// energy is an energy with its bounds.
func energy(name string) []tables.Column {
	return maybeNumber(name+"_j", name+"_lo_j", name+"_hi_j")
}
