package cluster

import (
	"fmt"
	"slices"
	"strings"

	"cg/report"
	"cg/report/figures"
)

// Table is a part of a document for people. Its texts are not escaped.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
	More    int // rows that are left out
}

// Facts are what stands above the tables: names and values.
func (d *Run) Facts() [][2]string {
	t, mark := d.Totals, d.Mark()
	energy := func(j *report.Joules) string {
		if j == nil {
			return "?"
		}
		return mark + figures.Energy(j)
	}
	facts := [][2]string{
		{"Program", fmt.Sprintf("%s, %s, of %s, %d with a report", energy(t.RanksEnergyJ), t.Kind,
			several(len(d.Ranks), "rank"), t.Reports)},
		{"Machine", fmt.Sprintf("%s %s, of %s", energy(t.EnergyJ), figures.Interval(t.EnergyLoJ, t.EnergyHiJ),
			several(len(d.Nodes), "node"))},
		{"Time", fmt.Sprintf("%s; all ranks together %s, processors %s", figures.Seconds(t.DurationS),
			figures.Seconds(t.RankTimeS), figures.Seconds(t.CPUTimeS))},
	}
	if t.MPITimeS != nil && t.ComputingTimeS != nil {
		facts = append(facts, [2]string{"MPI", fmt.Sprintf("%s and %s waiting and communicating; computing %s and %s",
			figures.Seconds(*t.MPITimeS), energy(t.MPIEnergyJ), figures.Seconds(*t.ComputingTimeS),
			energy(t.ComputingEnergyJ))})
	} else {
		facts = append(facts, [2]string{"MPI", "no rank was seen in MPI: waiting and computing are not told apart"})
	}
	clocks := "one node: one clock"
	switch {
	case d.Meta.ClockBoundNs != nil && len(d.Nodes) > 1:
		clocks = fmt.Sprintf("of two nodes at most %s apart", figures.Seconds(float64(*d.Meta.ClockBoundNs)*1e-9))
	case len(d.Nodes) > 1:
		clocks = "nothing bounds how far those of two nodes are apart"
	}
	facts = append(facts, [2]string{"Clocks", clocks})
	if s := d.Meta.Slurm; s != nil {
		text := fmt.Sprintf("job %s, step %s: ", s.JobID, s.StepID)
		if s.ConsumedEnergyJ != nil {
			text += figures.Joules(*s.ConsumedEnergyJ) + " by " + s.Source
		} else {
			text += s.Source
		}
		facts = append(facts, [2]string{"Slurm", text})
	}
	return append(facts, report.Lines(d.Footprint, mark)...)
}

// Tables are the parts of a document, with at most so many rows each; 0 is all.
func (d *Run) Tables(most int) []Table {
	all := []Table{d.ledgerTable(), d.spreadTable(), d.nodeTable(), d.rankTable(most), d.functionTable(), d.mpiTable(),
		d.holeTable()}
	all = slices.DeleteFunc(all, func(t Table) bool { return len(t.Rows) == 0 })
	for i := range all {
		if t := &all[i]; most > 0 && len(t.Rows) > most {
			t.More += len(t.Rows) - most
			t.Rows = t.Rows[:most]
		}
	}
	return all
}

func (d *Run) ledgerTable() Table {
	t := Table{Title: "Where the energy went", Columns: []string{"", "energy", "share"}}
	for _, l := range d.Ledger {
		t.Rows = append(t.Rows, []string{l.Name, d.Mark() + figures.Energy(&l.EnergyJ),
			fmt.Sprintf("%.1f %%", l.SharePercent)})
	}
	return t
}

// imbalance is max/mean - 1 in per cent.
func imbalance(v *float64) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprintf("%.1f %%", 100**v)
}

func (d *Run) spreadTable() Table {
	t := Table{Title: "Imbalance between ranks (max / mean - 1)",
		Columns: []string{"", "imbalance", "least", "mean", "most", "rank"}}
	for _, s := range d.Imbalance {
		name, unit := strings.ReplaceAll(s.Of, "_", " "), "s"
		mark := ""
		if strings.HasSuffix(name, " j") {
			unit, mark = "J", d.Mark()
		}
		value := func(v float64) string { return figures.Value(&v, unit, mark) }
		name = strings.TrimSuffix(strings.TrimSuffix(name, " s"), " j")
		t.Rows = append(t.Rows, []string{name, imbalance(s.Imbalance), value(s.Min), value(s.Mean),
			value(s.Max), fmt.Sprint(s.MaxRank)})
	}
	return t
}

func (d *Run) nodeTable() Table {
	t := Table{Title: "Nodes", Columns: []string{"node", "ranks", "program", "machine", "other", "idle", "cg",
		"unattributed", "clock"}}
	for _, n := range d.Nodes {
		mark := report.Mark(n.Kind)
		energy := func(j report.Joules) string {
			if n.EnergyJ == nil {
				return "?"
			}
			return mark + figures.Energy(&j)
		}
		whole := "?"
		if n.EnergyJ != nil {
			whole = energy(*n.EnergyJ)
		}
		clock := "the reference"
		switch c := n.Clock; {
		case c.LoNs != nil && c.HiNs != nil:
			clock = fmt.Sprintf("%+.3f to %+.3f ms (%s)", float64(*c.LoNs)*1e-6, float64(*c.HiNs)*1e-6, c.Method)
		case c.Method != "":
			clock = "not known"
		}
		t.Rows = append(t.Rows, []string{n.Name, fmt.Sprint(n.Ranks), energy(n.RanksJ), whole, energy(n.OtherJ),
			energy(n.IdleJ), energy(n.OwnJ), energy(n.UnattributedJ), clock})
	}
	return t
}

// rankTable has the ranks that used the most first, where it has not all of them.
func (d *Run) rankTable(most int) Table {
	t := Table{Title: "Ranks", Columns: []string{"rank", "node", "energy", "time", "processors", "MPI", "MPI energy",
		"ended"}}
	all := d.Ranks
	if most > 0 && len(all) > most {
		t.Title = "Ranks, those with the most energy"
		t.More = len(all) - most
		all = slices.SortedStableFunc(slices.Values(all), func(a, b Rank) int {
			return int(float(b.EnergyJ)) - int(float(a.EnergyJ))
		})[:most]
	}
	for _, r := range all {
		end := fmt.Sprintf("status %d", r.ExitStatus)
		switch {
		case r.Signal != "":
			end = r.Signal
		case r.State != "ended":
			end = "killed"
		case !r.Report:
			end += ", no report"
		}
		if r.Moved {
			end += ", moved"
		}
		mark := d.Mark()
		energy := func(j *report.Joules) string {
			if j == nil {
				return "?"
			}
			return mark + figures.Energy(j)
		}
		time := func(s *float64) string { return figures.Value(s, "s", "") }
		t.Rows = append(t.Rows, []string{fmt.Sprint(r.Rank), r.Node, energy(r.EnergyJ), time(r.DurationS),
			figures.Seconds(r.CPUTimeS), time(r.MPITimeS), energy(r.MPIEnergyJ), end})
	}
	return t
}

// float is an energy in microjoules, -1 where it is not known.
func float(j *report.Joules) float64 {
	if j == nil {
		return -1
	}
	return float64(*j)
}

func (d *Run) functionTable() Table {
	t := Table{Title: "Functions over all ranks, without what they call",
		Columns: []string{"function", "energy", "time", "calls", "ranks", "imbalance", "most on rank"}}
	for _, f := range d.Functions {
		energy := "?"
		if f.SelfEnergyJ != nil {
			energy = d.Mark() + figures.Energy(f.SelfEnergyJ)
		}
		t.Rows = append(t.Rows, []string{f.Name, energy, figures.Seconds(f.SelfTimeS), figures.Count(f.Calls),
			fmt.Sprint(f.Ranks), imbalance(f.Imbalance), fmt.Sprint(f.MaxRank)})
	}
	return t
}

func (d *Run) mpiTable() Table {
	t := Table{Title: "MPI", Columns: []string{"function", "time", "energy", "calls", "ranks", "mean of a rank", "most",
		"on rank"}}
	for _, f := range d.MPI {
		t.Rows = append(t.Rows, []string{f.Function, figures.Seconds(f.TimeS), d.Mark() + figures.Energy(&f.EnergyJ),
			figures.Count(f.Calls), fmt.Sprint(f.Ranks), figures.Seconds(f.MeanTimeS), figures.Seconds(f.MaxTimeS),
			fmt.Sprint(f.MaxRank)})
	}
	return t
}

func (d *Run) holeTable() Table {
	t := Table{Title: "Holes", Columns: []string{"of", "what is not known"}}
	for _, h := range d.Holes {
		t.Rows = append(t.Rows, []string{h.Kind, h.Text})
	}
	return t
}
