package report

import (
	"cmp"
	"fmt"
	"slices"

	"cg/report/figures"
	"cg/report/format"
)

// Row is a figure of several runs, side by side.
type Row struct {
	Name  string
	Cells []string // one for each run
	// Change is how the last run's figure differs from the first one's, "" where that is
	// not known.
	Change string
}

// Totals are the figures of whole runs.
func (runs Several) Totals() []Row {
	energies := func(name string, of func(*Run) *Joules) Row {
		out := Row{Name: name}
		for _, r := range runs {
			out.Cells = append(out.Cells, r.Mark()+figures.Energy(of(r)))
		}
		out.Change = change(of(runs[0]), of(runs[len(runs)-1]))
		return out
	}
	rows := []Row{
		energies("program", func(r *Run) *Joules { return r.Totals.ProgramEnergyJ }),
	}
	for _, f := range []struct {
		name string
		cell func(*Run) string
	}{
		{"interval", func(r *Run) string { return figures.Interval(r.Totals.ProgramEnergyLoJ, r.Totals.ProgramEnergyHiJ) }},
		{"kind", func(r *Run) string { return string(r.Totals.Kind) }},
		{"time", func(r *Run) string { return figures.Seconds(r.Totals.WallDurationS) }},
		{"power", func(r *Run) string { return figures.Watts(r.Totals.AvgPowerW) }},
		{"status", func(r *Run) string { return fmt.Sprint(r.Process.ExitStatus) }},
	} {
		out := Row{Name: f.name}
		for _, r := range runs {
			out.Cells = append(out.Cells, f.cell(r))
		}
		rows = append(rows, out)
		if f.name == "interval" { // of the line above it
			rows = append(rows, energies("machine", func(r *Run) *Joules { return r.Totals.EnergyJ }))
		}
	}
	return rows
}

// Functions are the self energies of all functions, the dearest first. A
// function is the same in two runs if its name and language are; what a run
// does not have is "-".
func (runs Several) Functions() []Row {
	type key struct{ language, name string }
	type cost struct {
		key
		self []*Function
		most Joules
		time float64
	}
	found := map[key]*cost{}
	var all []*cost
	for i, r := range runs {
		for k := range r.Functions {
			f := &r.Functions[k]
			id := key{f.Language, f.Name}
			c := found[id]
			if c == nil {
				c = &cost{key: id, self: make([]*Function, len(runs))}
				found[id] = c
				all = append(all, c)
			}
			if c.self[i] == nil { // a name that stands twice in a run is its dearest function
				c.self[i] = f
			}
			if f.SelfEnergyJ != nil {
				c.most = max(c.most, *f.SelfEnergyJ)
			}
			c.time = max(c.time, f.SelfTimeS)
		}
	}
	slices.SortStableFunc(all, func(a, b *cost) int {
		return cmp.Or(cmp.Compare(b.most, a.most),
			cmp.Compare(b.time, a.time))
	})
	rows := []Row{}
	for _, c := range all {
		out := Row{Name: c.name}
		for i, f := range c.self {
			if f == nil {
				out.Cells = append(out.Cells, "-")
			} else {
				out.Cells = append(out.Cells, runs[i].Mark()+figures.Energy(f.SelfEnergyJ))
			}
		}
		if a, b := c.self[0], c.self[len(runs)-1]; a != nil && b != nil {
			out.Change = change(a.SelfEnergyJ, b.SelfEnergyJ)
		}
		rows = append(rows, out)
	}
	return rows
}

// change is a difference in per cent, "" where there is none to tell.
func change(from, to *Joules) string {
	if from == nil || to == nil || *from == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(to.Float()/from.Float()-1))
}

// Names are what the runs are called: as Options say, else by their ids.
func (runs Several) Names(o format.Options) []string {
	out := make([]string, len(runs))
	for i, r := range runs {
		out[i] = r.Meta.RunID
		if i < len(o.Names) {
			out[i] = o.Names[i]
		}
	}
	return out
}

// Different lists what makes the runs hard to compare, for a line each.
func (runs Several) Different() []string {
	var out []string
	for _, f := range []struct {
		what string
		of   func(*Run) string
	}{
		{"machines", func(r *Run) string { return r.Meta.Hostname }},
		{"processors", func(r *Run) string { return r.Meta.CPUModel }},
		{"sources of energy", func(r *Run) string { return r.Totals.Source }},
	} {
		for _, r := range runs[1:] {
			if f.of(r) != f.of(runs[0]) {
				out = append(out, "the runs are of different "+f.what)
				break
			}
		}
	}
	return out
}
