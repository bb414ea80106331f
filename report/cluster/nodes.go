package cluster

import (
	"cmp"
	"math"
	"slices"
	"time"

	"cg/nemb"
	"cg/ranks"
	"cg/report"
)

// kinds are those of energies, the best first.
var kinds = []nemb.Method{nemb.Measured, nemb.Derived, nemb.Estimated, nemb.Unavailable}

// worse is the worse of two kinds.
func worse(a, b nemb.Method) nemb.Method {
	return kinds[max(slices.Index(kinds, a), slices.Index(kinds, b), 0)]
}

// node adds a record of a node.
func (m *merging) node(r ranks.Node) {
	n := m.nodes[r.Node]
	if n == nil {
		n = m.newNode(r.Node)
		n.Hostname, n.CPUModel, n.CPUs, n.StartedUnixNs = r.Hostname, r.CPUModel, r.CPUs, r.StartedUnixNs
		n.Ended = true
	}
	n.Records++
	n.Measurers += len(r.Measurers)
	n.StartedUnixNs = min(n.StartedUnixNs, r.StartedUnixNs)
	n.UpdatedUnixNs = max(n.UpdatedUnixNs, r.UpdatedUnixNs)
	n.Ended = n.Ended && r.EndedUnixNs != 0
	lo, hi := 0.0, 0.0
	for i, d := range r.Domains {
		n.domain(d)
		if !d.InTotal {
			continue
		}
		if n.EnergyJ == nil {
			n.EnergyJ, n.EnergyLoJ, n.EnergyHiJ = new(report.Joules), new(report.Joules), new(report.Joules)
			n.Kind = nemb.Measured
		}
		n.Kind = worse(n.Kind, nemb.Method(d.Method))
		*n.EnergyJ += report.Joules(d.TotalUj)
		lo, hi = lo+float64(d.TotalUj)*d.Lo, hi+float64(d.TotalUj)*d.Hi
		n.RanksJ += report.Joules(d.RanksUj)
		n.OtherJ += report.Joules(d.OtherUj)
		n.IdleJ += report.Joules(d.IdleUj)
		n.OwnJ += report.Joules(d.CgUj)
		n.UnattributedJ += report.Joules(d.UnattributedUj)
		for _, s := range r.Ranks {
			share, e := n.shares[s.Rank], float64(s.ShareUj[i])
			share.micro += s.ShareUj[i]
			if d.Kind == nemb.KindGPU {
				share.onGPUs += s.ShareUj[i]
			}
			if share.lo, share.hi = share.lo+e*d.Lo, share.hi+e*d.Hi; len(s.LessUj) > i && len(s.MoreUj) > i {
				share.lo -= min(e, float64(s.LessUj[i])) * d.Lo
				share.hi += float64(s.MoreUj[i]) * d.Hi
			}
			n.shares[s.Rank] = share
		}
	}
	for _, s := range r.Ranks {
		share := n.shares[s.Rank]
		share.cpuNs += s.CPUNs
		n.shares[s.Rank] = share
	}
	if n.EnergyJ != nil {
		*n.EnergyLoJ += report.Joules(math.Round(lo))
		*n.EnergyHiJ += report.Joules(math.Round(hi))
	}
	n.clock(r.Offsets)
	n.samples(r)
	m.warn(r.Warnings, -1, "node "+r.Node)
	for _, fault := range r.Unsound() {
		m.warnOnce(report.Warning{Slug: Differs, Message: fault}, -1, "node "+r.Node)
	}
}

// domain adds a domain of a record.
func (n *Node) domain(d ranks.Domain) {
	i := slices.IndexFunc(n.Domains, func(o Domain) bool { return o.ID == d.ID })
	if i < 0 {
		i = len(n.Domains)
		n.Domains = append(n.Domains, Domain{ID: d.ID, Parent: d.Parent, Kind: d.Kind, Source: d.Source,
			Method: nemb.Method(d.Method), InTotal: d.InTotal})
	}
	o := &n.Domains[i]
	o.Method = worse(o.Method, nemb.Method(d.Method))
	o.TotalJ += report.Joules(d.TotalUj)
	o.RanksJ += report.Joules(d.RanksUj)
	o.OtherJ += report.Joules(d.OtherUj)
	o.IdleJ += report.Joules(d.IdleUj)
	o.OwnJ += report.Joules(d.CgUj)
	o.UnattributedJ += report.Joules(d.UnattributedUj)
}

// clock bounds the offset of a node's clock over the run: the hull of what was found at
// several moments.
func (n *Node) clock(offsets []ranks.Offset) {
	for _, o := range offsets {
		c := &n.Clock
		switch {
		case c.Method == "":
			*c = Clock{o.Reference, o.Method, o.LoNs, o.HiNs}
		case o.Method == ranks.ByPing && c.Method != ranks.ByPing: // which is better
			*c = Clock{o.Reference, o.Method, o.LoNs, o.HiNs}
		case o.Method != c.Method || o.LoNs == nil || o.HiNs == nil || c.LoNs == nil || c.HiNs == nil:
		default:
			lo, hi := min(*c.LoNs, *o.LoNs), max(*c.HiNs, *o.HiNs)
			c.LoNs, c.HiNs = &lo, &hi
		}
	}
}

// samples are powers between samples of a record, of all domains in the total.
func (n *Node) samples(r ranks.Node) {
	step := 1 + len(r.Samples)/mostPerNode
	var before *ranks.Sample
	for i := range r.Samples {
		if i%step != 0 && i != len(r.Samples)-1 {
			continue
		}
		s := &r.Samples[i]
		if before != nil && s.UnixNs > before.UnixNs {
			sum := 0.0
			for k, d := range r.Domains {
				if d.InTotal {
					sum += float64(s.EnergyUj[k]) - float64(before.EnergyUj[k])
				}
			}
			w := sum * 1e-6 / seconds(s.UnixNs-before.UnixNs)
			n.Samples = append(n.Samples, Sample{s.UnixNs, math.Round(w*1e3) / 1e3})
		}
		before = s
	}
}

// finishClocks bounds how far the clocks of two nodes may be apart, and says how long the
// run took by the clock of the reference.
func (m *merging) finishClocks() {
	reference := ""
	for _, n := range m.Nodes {
		if n.Clock.Method == ranks.ByPing {
			reference = cmp.Or(m.alias[n.Clock.Reference], n.Clock.Reference)
		}
	}
	utc, known := int64(0), reference == "" // the reference's own offset from UTC
	if n := m.nodes[reference]; n != nil && n.Clock.Method == ranks.ByNTP && n.Clock.HiNs != nil {
		utc, known = *n.Clock.HiNs, true
	}
	var widest [2]int64
	all := true
	for i := range m.Nodes {
		n := &m.Nodes[i]
		width, bounded := int64(0), true
		switch c := &n.Clock; {
		case n.Name == reference || len(m.Nodes) == 1: // one clock
			*c = Clock{}
		case c.LoNs != nil && c.HiNs != nil:
			width = max(*c.HiNs, -*c.LoNs, *c.HiNs-*c.LoNs)
			if c.Method == ranks.ByNTP { // both may be off from UTC
				width, bounded = max(*c.HiNs, -*c.LoNs)+utc, known
			}
		default:
			bounded = false
		}
		all = all && bounded
		widest = [2]int64{max(widest[0], width), max(min(widest[0], width), widest[1])}
	}
	if bound := widest[0] + widest[1]; all {
		m.Meta.ClockBoundNs = &bound
	}
	m.finishSpan(all)
}

// finishSpan says when the run began and ended: by the clock of the reference where the
// clocks are bounded, and else how long it took on the node where it took the longest.
func (m *merging) finishSpan(bounded bool) {
	first, last, longest := int64(math.MaxInt64), int64(0), int64(0)
	for _, n := range m.Nodes {
		span, known := m.spans[n.Name]
		if !known {
			continue
		}
		longest = max(longest, span.last-span.first)
		if c := n.Clock; bounded && c.Method == ranks.ByPing {
			ahead := *c.LoNs + (*c.HiNs-*c.LoNs)/2
			span.first, span.last = span.first+ahead, span.last+ahead
		}
		first, last = min(first, span.first), max(last, span.last)
	}
	if first > last {
		first = last
	}
	stamp := func(ns int64) string { return time.Unix(0, ns).UTC().Format(report.StampLayout) }
	m.Meta.StartedAt, m.Meta.EndedAt = stamp(first), stamp(last)
	m.Totals.DurationS = seconds(last - first)
	if !bounded {
		m.Totals.DurationS = seconds(longest)
	}
}

// span is from the first to the last moment on a node, by its clock.
type span struct{ first, last int64 }

// saw adds a moment on a node, 0 for one that is not known.
func (m *merging) saw(node string, unix int64) {
	if unix == 0 {
		return
	}
	s, known := m.spans[node]
	if !known {
		s = span{unix, unix}
	}
	m.spans[node] = span{min(s.first, unix), max(s.last, unix)}
}

// thin leaves out samples where there are many nodes.
func (m *merging) thin() {
	for i := range m.Nodes {
		n := &m.Nodes[i]
		slices.SortFunc(n.Samples, func(a, b Sample) int { return cmp.Compare(a.UnixNs, b.UnixNs) })
		if most := max(leastPerNode, powers/len(m.Nodes)); len(n.Samples) > most {
			step := (len(n.Samples) + most - 1) / most
			kept := n.Samples[:0]
			for k := 0; k < len(n.Samples); k += step {
				kept = append(kept, n.Samples[k])
			}
			n.Samples = kept
		}
	}
}

// finishTotals adds up nodes, ranks and the ledger.
func (m *merging) finishTotals() {
	t := &m.Totals
	t.Kind = nemb.Unavailable
	for _, n := range m.Nodes {
		if n.EnergyJ == nil {
			continue
		}
		if t.EnergyJ == nil {
			t.EnergyJ, t.EnergyLoJ, t.EnergyHiJ, t.RanksEnergyJ = new(report.Joules), new(report.Joules),
				new(report.Joules), new(report.Joules)
			t.Kind = nemb.Measured
		}
		t.Kind = worse(t.Kind, n.Kind)
		*t.EnergyJ += *n.EnergyJ
		*t.EnergyLoJ += *n.EnergyLoJ
		*t.EnergyHiJ += *n.EnergyHiJ
		*t.RanksEnergyJ += n.RanksJ
		m.lines[report.LineOther] += n.OtherJ
		m.lines[report.LineIdle] += n.IdleJ
		m.lines[report.LineOwn] += n.OwnJ
		m.lines[report.LineUnattributed] += n.UnattributedJ
	}
	reports := map[int]bool{}
	for _, r := range m.Ranks {
		reports[r.Rank] = r.Report
		if r.MPITimeS != nil {
			if t.MPITimeS == nil {
				t.MPITimeS, t.ComputingTimeS = new(float64), new(float64)
			}
			*t.MPITimeS += *r.MPITimeS
		}
		if r.MPIEnergyJ != nil {
			if t.MPIEnergyJ == nil {
				t.MPIEnergyJ = new(report.Joules)
			}
			*t.MPIEnergyJ += *r.MPIEnergyJ
		}
	}
	if t.MPITimeS != nil {
		*t.ComputingTimeS = max(0, t.RankTimeS-*t.MPITimeS)
	}
	if t.MPIEnergyJ != nil && t.RanksEnergyJ != nil {
		e := *t.RanksEnergyJ - *t.MPIEnergyJ
		t.ComputingEnergyJ = &e
	}
	for i := range m.Nodes {
		m.lost(&m.Nodes[i], reports)
	}
	m.finishLedger()
}

// lost books the shares of ranks that have no report, and adds those that have no file.
func (m *merging) lost(n *Node, reports map[int]bool) {
	var holes []ranks.Hole
	for rank, share := range n.shares {
		has, known := reports[rank]
		if !has {
			m.lines[LineNoReport] += report.Joules(share.micro)
		}
		if !known {
			r := Rank{Rank: rank, Node: n.Name, LocalRank: -1, State: ranks.Lost, ShareBounds: &ShareBounds{}}
			r.EnergyLoJ, r.EnergyJ, r.EnergyHiJ = share.energy()
			m.Ranks = append(m.Ranks, r)
			n.Ranks++
			holes = append(holes, ranks.Hole{Kind: ranks.HoleRank, Node: n.Name, Rank: rank,
				Text: "on " + n.Name + " has a share and no file"})
		}
	}
	m.holes(ranks.Fold(holes))
}

// holes adds holes.
func (m *merging) holes(all []ranks.Hole) {
	for _, h := range all {
		m.Holes = append(m.Holes, Hole{Kind: h.Kind, Node: h.Node, Rank: h.Rank, Ranks: h.Ranks, Text: h.Text})
	}
}

// finishLedger puts the lines in their order.
func (m *merging) finishLedger() {
	m.Ledger = []Line{}
	if m.Totals.EnergyJ == nil {
		return
	}
	last := []string{LineNoReport, LineUndivided, report.LineOther, report.LineIdle, report.LineOwn,
		report.LineUnattributed}
	rank := func(name string) int {
		first := []string{report.LineFunctions, report.LineUninstrumented, report.LineGPU}
		return slices.Index(append(first, last...), name)
	}
	for name, e := range m.lines {
		if e == 0 && (name == LineNoReport || name == LineUndivided) {
			continue
		}
		share := 0.0
		if *m.Totals.EnergyJ > 0 {
			share = 100 * e.Float() / m.Totals.EnergyJ.Float()
		}
		m.Ledger = append(m.Ledger, Line{name, e, share})
	}
	slices.SortFunc(m.Ledger, func(a, b Line) int {
		at := func(l Line) int {
			if i := rank(l.Name); i >= 2 {
				return i + 1
			} else if i >= 0 {
				return i
			}
			return 2 // threads of a language's own
		}
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Name, b.Name))
	})
}
