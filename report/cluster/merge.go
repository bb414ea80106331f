package cluster

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"cg/nemb"
	"cg/ranks"
	"cg/report"
)

// Limits of a document.
const (
	hottest = 48      // functions with a Heat
	cells   = 4 << 20 // figures of a rank in a function that are kept while merging
	powers  = 200_000 // samples of all nodes
)

// Lines of the ledger that a run of one rank does not have.
const (
	LineNoReport   = "ranks without a report"
	LineUndivided  = "ranks whose report has another share"
	unixNsPerS     = 1e9
	leastPerNode   = 16
	mostPerNode    = 400
	reportsAtOnce  = 8
	microsPerNanos = 1000
)

// merging is a document in the making.
type merging struct {
	*Run
	folder    *ranks.Folder
	nodes     map[string]*Node
	lines     map[string]report.Joules
	functions map[place]*function
	held      int // cells of all functions
	warned    map[string]*warned
	mpi       map[string]*MPI
	alias     map[string]string // the name of a node that is another's machine: that one's
	spans     map[string]span
}

// warned is a warning that several ranks have.
type warned struct {
	report.Warning
	who int // the lowest rank that has it, -1 for a node
	of  string
	n   int
}

// shareOf is a rank's part of a node's energy in the total.
type shareOf struct {
	micro  uint64
	onGPUs uint64  // of it; a rank's report is without that
	lo, hi float64 // its bounds, in microjoules
	cpuNs  int64
}

// energy is the share with its bounds.
func (s shareOf) energy() (lo, e, hi *report.Joules) {
	e = new(report.Joules(s.micro))
	return new(report.Joules(math.Round(s.lo))), e, new(report.Joules(math.Round(s.hi)))
}

// Merge reads the folder of a run of many ranks. said is called with the number of ranks
// that were read. A file of a rank that cannot be read is a hole; one of another version of
// cg is an error.
func Merge(dir string, said func(ranks int)) (*Run, error) {
	f, err := ranks.Open(dir)
	if err != nil {
		return nil, err
	}
	m := &merging{Run: &Run{folder: dir}, folder: f, nodes: map[string]*Node{}, lines: map[string]report.Joules{},
		functions: map[place]*function{}, warned: map[string]*warned{}, mpi: map[string]*MPI{},
		alias: map[string]string{}, spans: map[string]span{}}
	records, err := m.records()
	if err != nil {
		return nil, err
	}
	var all []ranks.Rank
	for r, err := range f.Ranks() {
		if err != nil {
			if err := m.unreadable(err, "rank"); err != nil {
				return nil, err
			}
			continue
		}
		all = append(all, r)
	}
	if len(all) == 0 && len(records) == 0 {
		return nil, fmt.Errorf("%s: no rank has written anything yet", dir)
	}
	slices.SortFunc(all, func(a, b ranks.Rank) int { return a.Rank - b.Rank })
	m.holes(ranks.Holes(f.Marker, all, records))
	m.identify(all)
	m.reports(all, said)
	m.finish()
	return m.Run, nil
}

// unreadable makes a hole of a file that is no JSON, and gives back any other error.
func (m *merging) unreadable(err error, kind string) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrPermission) {
		return err
	}
	m.Holes = append(m.Holes, Hole{Kind: kind, Rank: -1, Text: err.Error()})
	return nil
}

// identify fills in what the files of the ranks tell of the run.
func (m *merging) identify(all []ranks.Rank) {
	launchers := map[string]bool{}
	for _, r := range all {
		m.Ranks = append(m.Ranks, m.rank(r))
		launchers[r.Launcher] = true
		node := cmp.Or(m.alias[r.Node], r.Node)
		m.saw(node, r.StartedUnixNs)
		m.saw(node, r.EndedUnixNs)
		m.warn(r.Warnings, r.Rank, fmt.Sprintf("rank %d", r.Rank))
		if s := r.Slurm; s != nil && (m.Meta.Slurm == nil || m.Meta.Slurm.Source == ranks.AskedByFirst) {
			m.Meta.Slurm = &Slurm{s.JobID, s.StepID, s.ConsumedEnergyJ, s.Source}
		}
	}
	for _, n := range m.nodes {
		m.saw(n.Name, n.StartedUnixNs)
		m.saw(n.Name, n.UpdatedUnixNs)
	}
	marker := m.folder.Marker
	m.Meta = Meta{SchemaVersion: report.SchemaVersion, Tool: Tool, CgVersion: marker.CgVersion, Job: marker.Job,
		RunID: fmt.Sprintf("%x", uint64(marker.CreatedUnixNs)), Size: marker.Size, Argv: []string{},
		Launchers: slices.Sorted(maps.Keys(launchers)), Slurm: m.Meta.Slurm}
}

func seconds(ns int64) float64 { return float64(ns) / unixNsPerS }

// rank is what the file of a rank tells, and the record of its node.
func (m *merging) rank(r ranks.Rank) Rank {
	r.Node = cmp.Or(m.alias[r.Node], r.Node)
	out := Rank{Rank: r.Rank, Node: r.Node, LocalRank: r.LocalRank, State: r.State, ExitStatus: r.ExitStatus,
		Signal: r.Signal, StartedUnixNs: r.StartedUnixNs, CPUTimeS: seconds(r.CPUNs),
		Moved: r.CPUsEnd != nil && !slices.Equal(r.CPUs, r.CPUsEnd), ShareBounds: &ShareBounds{}}
	if r.EndedMonoNs > 0 {
		d := seconds(max(0, r.EndedMonoNs-r.StartedMonoNs))
		out.DurationS = &d
		m.Totals.RankTimeS += d
	}
	n := m.nodes[r.Node]
	if n == nil {
		n = m.newNode(r.Node)
		n.Hostname = r.Hostname
	}
	n.Ranks++
	share, known := n.shares[r.Rank]
	if known && n.EnergyJ != nil {
		out.EnergyLoJ, out.EnergyJ, out.EnergyHiJ = share.energy()
	}
	if r.CPUNs == 0 { // a rank that was killed: what its node saw of it
		out.CPUTimeS = seconds(share.cpuNs)
	}
	m.Totals.CPUTimeS += out.CPUTimeS
	if len(r.MPI) == 0 {
		return out
	}
	var ns int64
	var energy report.Joules
	for _, c := range r.MPI {
		ns += c.TimeNs
		energy += report.Joules(c.EnergyUj)
		of := m.mpi[c.Function]
		if of == nil {
			of = &MPI{Function: c.Function, MaxRank: r.Rank}
			m.mpi[c.Function] = of
		}
		of.Ranks++
		of.Calls += c.Calls
		of.TimeS += seconds(c.TimeNs)
		of.CPUTimeS += seconds(c.CPUNs)
		of.EnergyJ += report.Joules(c.EnergyUj)
		if t := seconds(c.TimeNs); t > of.MaxTimeS {
			of.MaxTimeS, of.MaxRank = t, r.Rank
		}
	}
	t := seconds(ns)
	out.MPITimeS = &t
	if out.EnergyJ != nil {
		energy = min(energy, *out.EnergyJ) // rounding of the parts
		out.MPIEnergyJ = &energy
	}
	return out
}

func (m *merging) newNode(name string) *Node {
	n := &Node{Name: name, Kind: nemb.Unavailable, Domains: []Domain{}, Samples: []Sample{}, shares: map[int]shareOf{}}
	m.nodes[name] = n
	return n
}

// warn adds warnings of a rank or a node: each once, with how many have it.
func (m *merging) warn(all []ranks.Warning, who int, of string) {
	for _, w := range all {
		m.warnOnce(report.Warning{Slug: w.Slug, Message: w.Message}, who, of)
	}
}

func (m *merging) warnOnce(w report.Warning, who int, of string) {
	n := 1
	if known := m.warned[w.Slug]; known != nil {
		if known.n++; known.who <= who {
			return
		}
		n = known.n
	}
	m.warned[w.Slug] = &warned{w, who, of, n}
}

// reports reads the reports of the ranks, as many at once as there are processors.
func (m *merging) reports(all []ranks.Rank, said func(int)) {
	type read struct {
		at     int
		report *rankReport
		err    error
	}
	todo, done := make(chan int), make(chan read, reportsAtOnce)
	var workers sync.WaitGroup
	for range min(reportsAtOnce, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for at := range todo {
				path := m.folder.RunPath(all[at])
				if path == "" { // a file of the folder was changed
					done <- read{at, nil, fmt.Errorf("%q is not the report of rank %d", all[at].Run, all[at].Rank)}
					continue
				}
				r, err := readReport(path)
				done <- read{at, r, err}
			}
		})
	}
	go func() {
		for at, r := range all {
			if r.Run != "" {
				todo <- at
			}
		}
		close(todo)
		workers.Wait()
		close(done)
	}()
	n := 0
	first := len(all)
	for r := range done {
		if n++; said != nil {
			said(n)
		}
		if r.err != nil {
			m.Holes = append(m.Holes, Hole{Kind: ranks.HoleReport, Node: all[r.at].Node, Rank: all[r.at].Rank,
				Text: fmt.Sprintf("rank %d on %s: its report cannot be read: %v", all[r.at].Rank, all[r.at].Node,
					r.err)})
			continue
		}
		if r.at < first {
			first = r.at
			m.Meta.Argv, m.Meta.Language, m.Meta.Granularity = r.report.Meta.Argv, r.report.Meta.Language,
				r.report.Meta.Granularity
		}
		r.report.Warnings = slices.DeleteFunc(r.report.Warnings, func(w report.Warning) bool {
			return slices.ContainsFunc(all[r.at].Warnings, func(o ranks.Warning) bool { return o.Slug == w.Slug })
		}) // which the rank's file has, too
		m.add(r.at, r.report)
	}
}

// finish computes what all parts are needed for.
func (m *merging) finish() {
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		m.Nodes = append(m.Nodes, *m.nodes[name])
	}
	m.finishClocks()
	m.thin()
	m.finishTotals()
	m.finishFunctions()
	m.MPI = []MPI{}
	for _, of := range m.mpi {
		of.MeanTimeS = of.TimeS / float64(of.Ranks)
		m.MPI = append(m.MPI, *of)
	}
	slices.SortFunc(m.MPI, func(a, b MPI) int {
		return cmp.Or(cmp.Compare(b.TimeS, a.TimeS), cmp.Compare(a.Function, b.Function))
	})
	m.finishSpreads()
	slices.SortStableFunc(m.Holes, func(a, b Hole) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Text, b.Text))
	})
	m.Warnings = []report.Warning{}
	if len(m.Holes) > 0 {
		m.Warn("holes", fmt.Sprintf("%d parts of the run are not known; the first: %s", len(m.Holes), m.Holes[0].Text))
	} else {
		m.Holes = []Hole{}
	}
	if len(m.Nodes) > 1 && m.Meta.ClockBoundNs == nil {
		m.Warn("clocks-unbounded", "nothing bounds how far the clocks of the nodes are apart: moments on two nodes "+
			"have no known order")
	}
	for _, slug := range slices.Sorted(maps.Keys(m.warned)) {
		w := m.warned[slug]
		text := w.Message
		if !strings.HasPrefix(text, w.of+":") {
			text = w.of + ": " + text
		}
		if w.n > 1 {
			text = fmt.Sprintf("%d of ranks and nodes have this; the first is %s", w.n, text)
		}
		switch slug {
		case Differs:
			m.Warn("shares-differ", text)
		case SeveralMeasurers:
			m.Warn("several-measurers", text)
		default:
			m.Warnings = append(m.Warnings, report.Warning{Slug: slug, Message: text})
		}
	}
}
