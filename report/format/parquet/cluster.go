package parquet

import (
	"cmp"
	"errors"
	"net/url"
	"time"

	"cg/report"
	"cg/report/cluster"
	"cg/report/format"
	"cg/report/repeated"
)

// writeCluster writes the tables of a run of many ranks. Those with a row for each rank
// are folders with a file for each node, as Hive names them. Of a saved document, which
// holds no reports of ranks, functions are those with a heat, and there are no paths and calls.
func writeCluster(create format.Create, d *cluster.Run, o format.Options) error {
	id := identity{run: d.Meta.RunID}
	if len(o.Names) == 1 {
		id.run = o.Names[0]
	}
	whole := &folder{create: create, ending: ".parquet", open: map[string]*table{}}
	m, t := d.Meta, d.Totals
	whole.row("runs", id, m.RunID, m.CgVersion, m.StartedAt, m.EndedAt, "", "", repeated.Command{Argv: m.Argv}.Line(),
		m.Language, m.Granularity, len(d.Nodes), len(d.Ranks), nil, t.DurationS, t.EnergyJ, t.EnergyLoJ, t.EnergyHiJ,
		t.RanksEnergyJ, nil, nil, string(t.Kind), "counters of the nodes", nil)
	for _, n := range d.Nodes {
		id.node = n.Name
		part := func(j report.Joules) any {
			if n.EnergyJ == nil {
				return nil
			}
			return j
		}
		whole.row("nodes", id, n.Hostname, n.CPUModel, nil, string(n.Kind), n.EnergyJ, n.EnergyLoJ, n.EnergyHiJ,
			part(n.RanksJ), part(n.OtherJ), part(n.IdleJ), part(n.OwnJ), part(n.UnattributedJ))
		for _, c := range n.Domains {
			whole.row("nodes", id, n.Hostname, n.CPUModel, c.ID, string(c.Method), c.TotalJ, nil, nil, c.RanksJ,
				c.OtherJ, c.IdleJ, c.OwnJ, c.UnattributedJ)
		}
	}
	if err := whole.close(); err != nil {
		return err
	}
	for _, n := range d.Nodes {
		id.node = n.Name
		if err := writeNode(create, d, n, id); err != nil {
			return err
		}
	}
	return nil
}

// writeNode writes the tables of a node.
func writeNode(create format.Create, d *cluster.Run, n cluster.Node, id identity) error {
	f := &folder{create: create, ending: "/node=" + url.PathEscape(cmp.Or(n.Name, "?")) + "/part-0.parquet",
		within: true, open: map[string]*table{}}
	for _, name := range order[2:] {
		f.table(name)
	}
	for _, s := range n.Samples {
		f.row("samples", id, nil, s.UnixNs, nil, nil, s.PowerW, nil, nil, nil)
	}
	for at, r := range d.Ranks {
		if r.Node != n.Name {
			continue
		}
		id.rank = int64(r.Rank)
		var started any
		if r.StartedUnixNs > 0 {
			started = time.Unix(0, r.StartedUnixNs).UTC().Format(report.StampLayout)
		}
		f.row("ranks", id, r.Rank, r.State, r.ExitStatus, started, r.DurationS, r.CPUTimeS, r.EnergyJ, r.MPITimeS,
			r.MPIEnergyJ)
		full, err := d.Report(r)
		switch {
		case err != nil:
			return errors.Join(err, f.close())
		case full != nil:
			f.details(id, full)
		default:
			f.heat(id, d, at)
		}
		if f.err != nil {
			break
		}
	}
	return f.close()
}

// heat writes what a rank used in the dearest functions, as far as a document tells it.
func (f *folder) heat(id identity, d *cluster.Run, at int) {
	for _, h := range d.Heat {
		if h.TimeUs[at] == nil {
			continue
		}
		g := d.Functions[h.Function]
		var energy any
		if e := h.EnergyUj[at]; e != nil {
			energy = float64(*e) * 1e-6
		}
		kind := string(d.Totals.Kind)
		f.row("functions", id, append([]any{id.rank, g.Name, g.File, g.Line, g.Language, g.Kind, nil, energy, nil,
			nil, nil, nil, nil, kind, "", float64(*h.TimeUs[at]) * 1e-6, nil, nil, nil, nil, nil, nil},
			callTimes(nil)...)...)
	}
}
