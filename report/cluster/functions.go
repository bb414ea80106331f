package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"cg/nemb"
	"cg/ranks"
	"cg/report"
)

// place tells functions apart.
type place struct {
	name, file, language, kind string
	line                       int
}

// function is a function over the ranks that were read.
type function struct {
	Function
	selfNs, wholeNs, cpuNs int64
	maxNs                  int64
	unknown                bool // a rank does not know its energy
	cells                  []cell
	dropped                bool
}

// cell is what a rank used in a function.
type cell struct {
	rank  int32 // index in Ranks
	micro uint64
	ns    int64
}

// rankReport is the part of a rank's report that is merged.
type rankReport struct {
	Meta struct {
		SchemaVersion string   `json:"schema_version"`
		CgVersion     string   `json:"cg_version"`
		Argv          []string `json:"argv"`
		Language      string   `json:"language"`
		Granularity   string   `json:"granularity"`
	} `json:"meta"`
	Totals struct {
		EnergyJ *report.Joules `json:"energy_j"`
	} `json:"totals"`
	Functions []struct {
		Name             string         `json:"name"`
		File             string         `json:"file"`
		Line             int            `json:"line"`
		Language         string         `json:"language"`
		Kind             string         `json:"kind"`
		Calls            uint64         `json:"calls"`
		SelfEnergyJ      *report.Joules `json:"self_energy_j"`
		SelfEnergyLoJ    *report.Joules `json:"self_energy_lo_j"`
		SelfEnergyHiJ    *report.Joules `json:"self_energy_hi_j"`
		InclusiveEnergyJ *report.Joules `json:"inclusive_energy_j"`
		SelfTimeS        float64        `json:"self_time_s"`
		InclusiveTimeS   float64        `json:"inclusive_time_s"`
		CPUTimeS         float64        `json:"cpu_time_s"`

		CallsTime *report.CallsTime `json:"calls_time"`
	} `json:"functions"`
	Ledger []struct {
		Name    string        `json:"name"`
		EnergyJ report.Joules `json:"energy_j"`
	} `json:"ledger"`
	Warnings []report.Warning `json:"warnings"`
}

// readReport reads what is merged of a report.
func readReport(path string) (*rankReport, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &rankReport{}
	if err := report.Decode(f, r); err != nil {
		return nil, err
	}
	if v := r.Meta.SchemaVersion; !report.Reads(v) {
		return nil, report.Unreadable(r.Meta.CgVersion, strconv.Quote(v), "use that cg, or a newer one")
	}
	return r, nil
}

func nanos(s float64) int64 { return int64(math.Round(s * unixNsPerS)) }

// add adds the report of a rank.
func (m *merging) add(at int, r *rankReport) {
	rank := &m.Ranks[at]
	rank.Report = true
	m.Totals.Reports++
	for _, w := range r.Warnings {
		m.warnOnce(w, rank.Rank, fmt.Sprintf("rank %d", rank.Rank))
	}
	if rank.EnergyJ != nil {
		sum := report.Joules(0)
		for _, l := range r.Ledger {
			sum += l.EnergyJ
		}
		onGPUs := report.Joules(0)
		if n := m.nodes[rank.Node]; n != nil {
			onGPUs = report.Joules(n.shares[rank.Rank].onGPUs)
		}
		if sum += onGPUs; onGPUs > 0 {
			m.lines[report.LineGPU] += onGPUs
		}
		if sum == *rank.EnergyJ {
			for _, l := range r.Ledger {
				m.lines[l.Name] += l.EnergyJ
			}
		} else {
			m.lines[LineUndivided] += *rank.EnergyJ - onGPUs
			m.warnOnce(report.Warning{Slug: Differs, Message: fmt.Sprintf("the report divides %d uJ, and the "+
				"node's record has %d uJ for it", uint64(sum), uint64(*rank.EnergyJ))}, rank.Rank,
				fmt.Sprintf("rank %d", rank.Rank))
		}
	}
	for i := range r.Functions {
		g := &r.Functions[i]
		key := place{g.Name, g.File, g.Language, g.Kind, g.Line}
		f := m.functions[key]
		if f == nil {
			f = &function{Function: Function{Name: g.Name, File: g.File, Line: g.Line, Language: g.Language,
				Kind: g.Kind, SelfEnergyJ: new(report.Joules), SelfEnergyLoJ: new(report.Joules),
				SelfEnergyHiJ:    new(report.Joules),
				InclusiveEnergyJ: new(report.Joules), MaxRank: rank.Rank}}
			m.functions[key] = f
		}
		c := cell{rank: int32(at), ns: nanos(g.SelfTimeS)}
		f.Ranks++
		f.Calls += g.Calls
		f.selfNs, f.wholeNs, f.cpuNs = f.selfNs+c.ns, f.wholeNs+nanos(g.InclusiveTimeS), f.cpuNs+nanos(g.CPUTimeS)
		if c.ns > f.maxNs || c.ns == f.maxNs && rank.Rank < f.MaxRank {
			f.maxNs, f.MaxRank = c.ns, rank.Rank
		}
		f.unknown = f.unknown || g.SelfEnergyJ == nil
		if g.SelfEnergyJ != nil {
			c.micro = uint64(*g.SelfEnergyJ)
		}
		plus(f.SelfEnergyJ, g.SelfEnergyJ)
		plus(f.SelfEnergyLoJ, g.SelfEnergyLoJ)
		if f.SelfEnergyHiJ = sumOrUnknown(f.SelfEnergyHiJ, g.SelfEnergyHiJ); !f.dropped {
			f.cells = append(f.cells, c)
			m.held++
		}
		plus(f.InclusiveEnergyJ, g.InclusiveEnergyJ)
		if t := g.CallsTime; t.HasBins() {
			f.CallsTime = f.CallsTime.Plus(t)
			f.CallsTimeRanks++
		}
	}
	if m.held > cells {
		m.drop()
	}
}

func plus(sum, e *report.Joules) {
	if e != nil {
		*sum += *e
	}
}

// sumOrUnknown adds upper bounds, of which one that is not known leaves none.
func sumOrUnknown(sum, e *report.Joules) *report.Joules {
	if sum == nil || e == nil {
		return nil
	}
	*sum += *e
	return sum
}

// ordered are the functions, the dearest first.
func (m *merging) ordered() []*function {
	return slices.SortedFunc(maps.Values(m.functions), func(a, b *function) int {
		return cmp.Or(cmp.Compare(*b.SelfEnergyJ, *a.SelfEnergyJ), cmp.Compare(b.selfNs, a.selfNs),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Language, b.Language))
	})
}

// drop gives up what ranks used in the functions that are the least dear so far, when
// there are many: half of the figures that are held.
func (m *merging) drop() {
	all := m.ordered()
	held := 0
	for i, f := range all {
		if held += len(f.cells); held <= cells/2 || i < hottest {
			continue
		}
		m.held -= len(f.cells)
		f.cells, f.dropped = nil, true
	}
}

// finishFunctions computes the functions, and the heat of the dearest.
func (m *merging) finishFunctions() {
	m.Functions, m.Heat = []Function{}, []Heat{}
	for i, f := range m.ordered() {
		g := &f.Function
		g.SelfTimeS, g.InclusiveTimeS, g.CPUTimeS, g.MaxTimeS = seconds(f.selfNs), seconds(f.wholeNs), seconds(f.cpuNs),
			seconds(f.maxNs)
		g.MeanTimeS = g.SelfTimeS / float64(m.Totals.Reports)
		if f.selfNs > 0 {
			v := g.MaxTimeS/g.MeanTimeS - 1
			g.Imbalance = &v
		}
		if f.unknown || m.Totals.Kind == nemb.Unavailable {
			g.SelfEnergyJ, g.SelfEnergyLoJ, g.SelfEnergyHiJ, g.InclusiveEnergyJ = nil, nil, nil, nil
		}
		m.Functions = append(m.Functions, *g)
		if len(m.Heat) < hottest && !f.dropped {
			m.Heat = append(m.Heat, m.heat(i, f))
		}
	}
	// Ranks with a share and no file come last, and have no figures.
	slices.SortStableFunc(m.Ranks[m.withFile():], func(a, b Rank) int { return a.Rank - b.Rank })
	if m.Ranks == nil {
		m.Ranks = []Rank{}
	}
}

// withFile is how many ranks have a file.
func (m *merging) withFile() int {
	at := slices.IndexFunc(m.Ranks, func(r Rank) bool { return r.LocalRank == -1 && r.State == "lost" })
	if at < 0 {
		return len(m.Ranks)
	}
	return at
}

// heat is what each rank used in a function.
func (m *merging) heat(at int, f *function) Heat {
	h := Heat{Function: at, EnergyUj: make([]*uint64, len(m.Ranks)), TimeUs: make([]*uint64, len(m.Ranks))}
	energy, time := make([]uint64, len(m.Ranks)), make([]uint64, len(m.Ranks))
	for i, r := range m.Ranks {
		if r.Report {
			h.TimeUs[i] = &time[i]
			if f.Function.SelfEnergyJ != nil {
				h.EnergyUj[i] = &energy[i]
			}
		}
	}
	for _, c := range f.cells {
		energy[c.rank] += c.micro
		time[c.rank] += uint64(c.ns / microsPerNanos)
	}
	return h
}

// finishSpreads compares the ranks.
func (m *merging) finishSpreads() {
	m.Imbalance = []Spread{}
	spread := func(of string, value func(Rank) *float64) {
		s := Spread{Of: of, Min: math.Inf(1), Max: math.Inf(-1)}
		sum := 0.0
		for _, r := range m.Ranks {
			v := value(r)
			if v == nil {
				continue
			}
			s.Ranks++
			sum += *v
			s.Min = min(s.Min, *v)
			if *v > s.Max {
				s.Max, s.MaxRank = *v, r.Rank
			}
		}
		if s.Ranks == 0 {
			return
		}
		if s.Mean = sum / float64(s.Ranks); s.Mean > 0 {
			v := s.Max/s.Mean - 1
			s.Imbalance = &v
		}
		m.Imbalance = append(m.Imbalance, s)
	}
	joules := func(j *report.Joules) *float64 {
		if j == nil {
			return nil
		}
		v := j.Float()
		return &v
	}
	spread("duration_s", func(r Rank) *float64 { return r.DurationS })
	spread("cpu_time_s", func(r Rank) *float64 { return &r.CPUTimeS })
	spread("energy_j", func(r Rank) *float64 { return joules(r.EnergyJ) })
	spread("computing_time_s", func(r Rank) *float64 {
		if r.MPITimeS == nil || r.DurationS == nil {
			return nil
		}
		v := max(0, *r.DurationS-*r.MPITimeS)
		return &v
	})
	spread("mpi_time_s", func(r Rank) *float64 { return r.MPITimeS })
	spread("computing_energy_j", func(r Rank) *float64 {
		if r.MPIEnergyJ == nil || r.EnergyJ == nil {
			return nil
		}
		v := (*r.EnergyJ - *r.MPIEnergyJ).Float()
		return &v
	})
	spread("mpi_energy_j", func(r Rank) *float64 { return joules(r.MPIEnergyJ) })
}

// Report reads the report of a rank in the folder that the document was merged from; nil
// where there is none.
func (d *Run) Report(r Rank) (*report.Run, error) {
	if d.folder == "" || !r.Report {
		return nil, nil
	}
	name := filepath.Join(d.folder, filepath.FromSlash(ranks.RunFile(r.Rank)))
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	run, err := report.ReadFrom(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return run, nil
}
