package parquet

import (
	"slices"

	"cg/report"
	"cg/report/repeated"
)

// run writes the row of a run in the table runs.
func (f *folder) run(id identity, r *report.Run) {
	m, t := r.Meta, r.Totals
	f.row("runs", id, m.RunID, m.CgVersion, m.StartedAt, m.EndedAt, m.Hostname, m.CPUModel,
		repeated.Command{Argv: m.Argv}.Line(), m.Language, m.Granularity, 1, 1, r.Process.ExitStatus,
		m.DurationTotalS, t.EnergyJ, t.LoJ, t.HiJ, t.ProgramEnergyJ, t.ProgramEnergyLoJ, t.ProgramEnergyHiJ,
		string(t.Kind), t.Method, maybe(t.Source))
}

// maybe is a text that is unknown where it is empty.
func maybe(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// parts are the lines of a ledger that the table nodes has columns for. All others are
// the program's.
var parts = []string{report.LineOther, report.LineIdle, report.LineOwn, report.LineUnattributed}

// node writes the rows of a run's machine: the whole, and each domain.
func (f *folder) node(id identity, r *report.Run) {
	t := r.Totals
	row := func(domain any, energy, lo, hi *report.Joules, of func(report.Line) report.Joules) {
		var program any
		division := make([]any, len(parts))
		if len(r.Ledger) > 0 {
			var sum report.Joules
			sums := make([]report.Joules, len(parts))
			for _, l := range r.Ledger {
				if at := slices.Index(parts, l.Name); at >= 0 {
					sums[at] += of(l)
				} else {
					sum += of(l)
				}
			}
			program = sum
			for i, s := range sums {
				division[i] = s
			}
		}
		f.row("nodes", id, append([]any{r.Meta.Hostname, r.Meta.CPUModel, domain, string(t.Kind), energy, lo, hi,
			program}, division...)...)
	}
	row(nil, t.EnergyJ, t.LoJ, t.HiJ, func(l report.Line) report.Joules { return l.EnergyJ })
	for _, domain := range (report.Several{r}).Domains() {
		e := t.Domains[domain]
		row(domain, &e, nil, nil, func(l report.Line) report.Joules { return l.Domains[domain] })
	}
}

// rank writes the row of a run that is not of many ranks: it is rank 0.
func (f *folder) rank(id identity, r *report.Run) {
	state := "ended"
	if r.Process.Running {
		state = "running"
	}
	f.row("ranks", id, id.rank, state, r.Process.ExitStatus, r.Meta.StartedAt, r.Meta.DurationTotalS,
		r.Process.UserS+r.Process.SystemS, r.Totals.ProgramEnergyJ, nil, nil)
}

// details writes what a rank's functions used, its call paths and long calls.
func (f *folder) details(id identity, r *report.Run) {
	for _, g := range r.Functions {
		f.row("functions", id, append([]any{id.rank, g.Name, g.File, g.Line, g.Language, g.Kind, g.Calls,
			g.SelfEnergyJ, g.SelfEnergyLoJ, g.SelfEnergyHiJ, g.InclusiveEnergyJ, g.InclusiveEnergyLoJ,
			g.InclusiveEnergyHiJ, string(g.EnergyKind), g.EnergyMethod, g.SelfTimeS, g.InclusiveTimeS, g.CPUTimeS,
			g.SuspendedS, g.AvgPowerW, g.SharePercent, maybe(g.Unresolved)}, callTimes(g.CallsTime)...)...)
	}
	for i, frame := range r.Frames() {
		p := r.Paths[i]
		var parent any
		if p.Parent >= 0 {
			parent = p.Parent
		}
		f.row("paths", id, id.rank, i, parent, frame.Name, frame.File, frame.Line, p.Calls, p.SelfEnergyJ,
			p.SelfTimeS, p.CPUTimeS)
	}
	if len(r.LongCalls) == 0 {
		return
	}
	sites := map[uint32]report.Site{}
	for _, s := range r.Sites {
		sites[s.ID] = s
	}
	for _, c := range r.LongCalls {
		s := sites[c.Site]
		f.row("calls", id, id.rank, c.PID, c.TID, s.Name, s.File, s.Line, c.StartedAtMonoNs, c.EndedAtMonoNs,
			float64(c.EndedAtMonoNs-c.StartedAtMonoNs)*1e-9)
	}
}

// callTimes are how long a call of a function took; nothing where that is not known.
func callTimes(t *report.CallsTime) []any {
	if t == nil {
		return make([]any, 9)
	}
	return []any{t.N, t.MinS, t.MedianS, t.MedianLoS, t.MedianHiS, t.P95S, t.P95LoS, t.P95HiS, t.MaxS}
}

// samples writes the machine over time: a row for the whole, whose domain is unknown,
// and one for each domain.
func (f *folder) samples(id identity, r *report.Run) {
	for _, s := range r.Samples {
		f.row("samples", id, s.TNs, nil, nil, s.EnergyJ, s.PowerW, s.ProgramCPUS, s.OwnCPUS, s.OtherCPUS)
		for _, domain := range (report.Several{r}).Domains() {
			e, known := s.DomainJ[domain]
			if !known {
				continue
			}
			var watts any
			if w, known := s.DomainW[domain]; known {
				watts = w
			}
			f.row("samples", id, s.TNs, nil, domain, e, watts, nil, nil, nil)
		}
	}
}
