package cluster

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"cg/report"
	"cg/report/format"
)

// mostPaths bounds the call paths of all ranks that are shown together.
const mostPaths = 4 << 20

// AsRun is the Writer of a run of many ranks for a format that writes call paths of runs.
func AsRun(write func(w io.Writer, r *report.Run, o format.Options) error) format.Writer {
	return format.Writes(func(w io.Writer, d *Run, o format.Options) error {
		r, err := d.AsRun()
		if err != nil {
			return err
		}
		return write(w, r, o)
	})
}

// WhyNot tells why formats over time do not show the run.
func (d *Run) WhyNot(f format.Format) string {
	if f.Time || f.Name == "hespas" {
		return "it shows what happened when, and the clocks of nodes agree within bounds only; show one rank (cg " +
			"report FOLDER/runs/000000.json -f " + f.Name + ")"
	}
	return ""
}

// AsRun is the run as one of a single process: the same functions, and the call paths of each rank
// below a task that is the rank. The energy of the program is that of the ranks. A saved
// document has no call paths: a rank has its part of the dearest functions below it, and
// the rest by itself.
func (d *Run) AsRun() (*report.Run, error) {
	r := d.Functional()
	zero := report.Joules(0)
	r.Paths = append(r.Paths, report.Path{Parent: -1})
	if r.Totals.ProgramEnergyJ != nil {
		r.Paths[0].SelfEnergyJ = &zero
	}
	x := pathing{Run: r, sites: map[place]uint32{}}
	for i := range d.Ranks {
		full, err := d.Report(d.Ranks[i])
		if err != nil {
			return nil, err
		}
		if full != nil {
			x.rank(d.Ranks[i], full)
		} else {
			x.heat(d, i)
		}
		if len(r.Paths) > mostPaths {
			return nil, fmt.Errorf("the ranks have more than %d call paths together: show one rank, cg report "+
				"FOLDER/runs/000000.json", mostPaths)
		}
	}
	return r, nil
}

// Functional is the run as one of a single process, without its call paths.
func (d *Run) Functional() *report.Run {
	r := report.PartOf("")
	t := d.Totals
	r.Meta = report.Meta{SchemaVersion: d.Meta.SchemaVersion, Tool: d.Meta.Tool, CgVersion: d.Meta.CgVersion,
		RunID: d.Meta.RunID, StartedAt: d.Meta.StartedAt, EndedAt: d.Meta.EndedAt, DurationTotalS: t.DurationS,
		Hostname: several(len(d.Nodes), "node") + " with " + several(len(d.Ranks), "rank"), Language: d.Meta.Language,
		Argv: d.Meta.Argv, CgEnv: map[string]string{}, Granularity: d.Meta.Granularity, MeasurementQuality: "ok",
		DomainSupport: "full", DomainTopology: map[string]report.Topology{}}
	r.Totals = report.Totals{EnergyJ: t.EnergyJ, DurationS: t.DurationS, WallDurationS: t.DurationS,
		ProgramEnergyJ: t.RanksEnergyJ, Domains: map[string]report.Joules{}, DomainsPowerW: map[string]float64{},
		NoiseWarnings: []report.NoiseWarning{}}
	r.Totals.Provenance = report.Provenance{LoJ: t.EnergyLoJ, HiJ: t.EnergyHiJ, Kind: t.Kind,
		Source: "counters of the nodes"}
	r.Totals.ProgramEnergyLoJ, r.Totals.ProgramEnergyHiJ = d.ranksBounds()
	if t.EnergyJ != nil && t.DurationS > 0 {
		w := t.EnergyJ.Float() / t.DurationS
		r.Totals.AvgPowerW = &w
	}
	var models []string
	for _, n := range d.Nodes {
		if n.CPUModel != "" && !slices.Contains(models, n.CPUModel) {
			models = append(models, n.CPUModel)
		}
		for _, domain := range n.Domains {
			r.Meta.DomainTopology[domain.ID] = report.Topology{TopLevel: domain.InTotal}
			if domain.InTotal {
				r.Totals.Domains[domain.ID] += domain.TotalJ
			}
		}
	}
	slices.Sort(models)
	r.Meta.CPUModel = strings.Join(models, ", ")
	for _, rank := range d.Ranks {
		r.Process.ExitStatus = max(r.Process.ExitStatus, rank.ExitStatus)
	}
	r.Process.UserS, r.Process.PIDsLeft = t.CPUTimeS, []int{}
	r.Tasks = []report.Task{{Name: d.Title(), DurationS: t.DurationS, Domains: map[string]report.Joules{}}}
	r.Warnings, r.Sampler.Counters = slices.Clone(d.Warnings), []report.Counter{}
	for i := range d.Functions {
		f := &d.Functions[i]
		g := report.Function{Name: f.Name, File: f.File, Line: f.Line, Language: f.Language, Kind: f.Kind,
			Calls: f.Calls, SelfEnergyJ: f.SelfEnergyJ, SelfEnergyLoJ: f.SelfEnergyLoJ, SelfEnergyHiJ: f.SelfEnergyHiJ,
			InclusiveEnergyJ: f.InclusiveEnergyJ, SelfTimeS: f.SelfTimeS, InclusiveTimeS: f.InclusiveTimeS,
			CPUTimeS: f.CPUTimeS, EnergyKind: t.Kind, CallsTime: f.CallsTime}
		r.Functions = append(r.Functions, g)
	}
	for _, l := range d.Ledger {
		r.Ledger = append(r.Ledger, report.Line{Name: l.Name, EnergyJ: l.EnergyJ, SharePercent: l.SharePercent})
	}
	return r
}

// ranksBounds are the bounds of what the ranks used.
func (d *Run) ranksBounds() (lo, hi *report.Joules) {
	t := d.Totals
	if t.RanksEnergyJ == nil || t.EnergyJ == nil {
		return nil, nil
	}
	scale := func(end *report.Joules) *report.Joules {
		if end == nil || *t.EnergyJ == 0 {
			return end
		}
		e := report.Joules(float64(*t.RanksEnergyJ) * (float64(*end) / float64(*t.EnergyJ)))
		return &e
	}
	return scale(t.EnergyLoJ), scale(t.EnergyHiJ)
}

// pathing is a run that gets the call paths of ranks.
type pathing struct {
	*report.Run
	sites map[place]uint32
}

// site is the number of a function in the run.
func (x *pathing) site(s report.Site) uint32 {
	key := place{s.Name, s.File, s.Language, s.Kind, s.Line}
	id, known := x.sites[key]
	if !known {
		id = uint32(len(x.sites) + 1)
		x.sites[key] = id
		s.ID, s.Calls = id, 0
		x.Sites = append(x.Sites, s)
	}
	x.Sites[id-1].Calls += s.Calls
	return id
}

// name is what a rank is called as a task.
func name(r Rank) string { return fmt.Sprintf("rank %d on %s", r.Rank, r.Node) }

// rank adds the call paths of a rank below its task. Where its report knows no energies, its
// share is the task's own.
func (x *pathing) rank(r Rank, full *report.Run) {
	at := len(x.Paths)
	ids := map[uint32]uint32{}
	for _, s := range full.Sites {
		ids[s.ID] = x.site(s)
	}
	known := full.Totals.ProgramEnergyJ != nil
	for i, p := range full.Paths {
		if p.Parent < 0 {
			p.Parent, p.Site, p.Task = 0, 0, name(r)
		} else {
			p.Parent, p.Site = at+p.Parent, ids[p.Site]
		}
		switch {
		case x.Totals.ProgramEnergyJ == nil:
			p.SelfEnergyJ, p.Domains = nil, nil
		case !known || p.SelfEnergyJ == nil:
			e := report.Joules(0)
			if i == 0 && r.EnergyJ != nil {
				e = *r.EnergyJ
			}
			p.SelfEnergyJ, p.Domains = &e, nil
		}
		x.Paths = append(x.Paths, p)
	}
}

// heat adds what a rank without a report used in the dearest functions.
func (x *pathing) heat(d *Run, i int) {
	r := d.Ranks[i]
	at := len(x.Paths)
	task := report.Path{Task: name(r), CPUTimeS: r.CPUTimeS}
	left, timed := report.Joules(0), 0.0
	if r.EnergyJ != nil {
		left = *r.EnergyJ
	}
	if r.DurationS != nil {
		timed = *r.DurationS
	}
	x.Paths = append(x.Paths, task)
	known := x.Totals.ProgramEnergyJ != nil
	for _, h := range d.Heat {
		if h.TimeUs[i] == nil {
			continue
		}
		f := d.Functions[h.Function]
		p := report.Path{Parent: at, Site: x.site(report.Site{Name: f.Name, File: f.File, Line: f.Line,
			Language: f.Language, Kind: f.Kind}), SelfTimeS: float64(*h.TimeUs[i]) * 1e-6}
		timed -= p.SelfTimeS
		if known {
			e := report.Joules(0)
			if h.EnergyUj[i] != nil {
				e = min(left, report.Joules(*h.EnergyUj[i]))
			}
			left -= e
			p.SelfEnergyJ = &e
		}
		if p.SelfTimeS > 0 || p.SelfEnergyJ != nil && *p.SelfEnergyJ > 0 {
			x.Paths = append(x.Paths, p)
		}
	}
	x.Paths[at].SelfTimeS = max(0, timed)
	if known {
		x.Paths[at].SelfEnergyJ = &left
	}
}
