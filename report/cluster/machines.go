package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cg/ranks"
	"cg/report"
)

// SeveralMeasurers is the slug of the warning that the counters of a machine were sampled
// more than once.
const SeveralMeasurers = "several-measurers"

// records reads the records of the nodes and adds them. It returns them without samples.
func (m *merging) records() ([]ranks.Node, error) {
	all, err := m.readNodes(nil)
	if err != nil {
		return nil, err
	}
	groups := together(all)
	if len(groups) == 0 {
		return all, nil
	}
	m.nodes, m.warned, m.Holes = map[string]*Node{}, map[string]*warned{}, nil
	return m.readNodes(groups)
}

// readNodes adds records: those with a group as one record of each group.
func (m *merging) readNodes(groups map[string]int) (all []ranks.Node, err error) {
	parts := map[int][]ranks.Node{}
	for n, err := range m.folder.Nodes() {
		if err != nil {
			if err := m.unreadable(err, "node"); err != nil {
				return nil, err
			}
			continue
		}
		renewRecord(&n)
		if at, grouped := groups[n.Record]; grouped {
			parts[at] = append(parts[at], n)
		} else {
			m.node(n)
		}
		n.Samples = nil // the largest part, which Holes has no use for
		all = append(all, n)
	}
	for at := range len(parts) {
		m.machine(parts[at])
	}
	return all, nil
}

// machine adds the records of one machine whose measurers sampled the same counters at the
// same time. Its node has the name of the first record.
func (m *merging) machine(parts []ranks.Node) {
	slices.SortFunc(parts, func(a, b ranks.Node) int {
		return cmp.Or(cmp.Compare(a.StartedUnixNs, b.StartedUnixNs), cmp.Compare(a.Record, b.Record))
	})
	whole := parts[0]
	var names []string
	for i, n := range parts {
		names = append(names, n.Node)
		m.alias[n.Node] = whole.Node
		if i > 0 {
			whole = both(whole, n)
		}
	}
	m.node(whole)
	m.nodes[whole.Node].Records += len(parts) - 1
	slices.Sort(names)
	names = slices.Compact(names)
	m.warnOnce(report.Warning{Slug: SeveralMeasurers, Message: fmt.Sprintf("%d measurers sampled the same counters of "+
		"one machine (%s): their energy is counted once. The ranks of a machine need one folder for what they share, "+
		"such as /dev/shm (CG_NODE_DIR)", len(parts), strings.Join(names, ", "))}, -1, "node "+whole.Node)
}

// together groups the records whose measurers sampled the same counters at the same time:
// the number of the group by the name of the record, for groups of two and more.
func together(all []ranks.Node) map[string]int {
	byBoot := map[string][]int{}
	for i, n := range all {
		if n.BootID != "" {
			byBoot[n.BootID] = append(byBoot[n.BootID], i)
		}
	}
	leader := make([]int, len(all))
	for i := range leader {
		leader[i] = i
	}
	find := func(i int) int {
		for leader[i] != i {
			i = leader[i]
		}
		return i
	}
	for _, of := range byBoot {
		for k, i := range of {
			for _, o := range of[:k] {
				if sameCounters(&all[i], &all[o]) {
					a, b := find(i), find(o)
					leader[max(a, b)] = min(a, b)
				}
			}
		}
	}
	members := map[int]int{}
	for i := range all {
		members[find(i)]++
	}
	groups, number := map[string]int{}, map[int]int{}
	for i, n := range all {
		if at := find(i); members[at] > 1 {
			if _, known := number[at]; !known {
				number[at] = len(number)
			}
			groups[n.Record] = number[at]
		}
	}
	return groups
}

// sameCounters reports whether two records of one machine have a counter in common while
// both were written.
func sameCounters(a, b *ranks.Node) bool {
	if a.StartedUnixNs >= b.UpdatedUnixNs || b.StartedUnixNs >= a.UpdatedUnixNs {
		return false
	}
	return slices.ContainsFunc(a.Domains, func(d ranks.Domain) bool { return d.InTotal && same(b.Domains, d) >= 0 })
}

// same finds a domain that is the same counter; -1 for none.
func same(all []ranks.Domain, d ranks.Domain) int {
	return slices.IndexFunc(all, func(o ranks.Domain) bool { return o.ID == d.ID && o.Source == d.Source })
}

// both makes one record of two of a machine, of which a began first. A counter that both
// sampled counts once: what it showed while both did, which is known exactly where one record
// lies in the other, and else by the samples of a.
func both(a, b ranks.Node) ranks.Node {
	out := a
	out.Domains, out.Samples, out.Ranks = slices.Clone(a.Domains), slices.Clone(a.Samples), nil
	at := make([]int, len(b.Domains)) // of b's domains in the whole
	for i, d := range b.Domains {
		at[i] = same(out.Domains, d)
		if at[i] >= 0 && d.Kind == "gpu" && !agree(shared(&a, &b, at[i], i), d.TotalUj) {
			at[i] = -1 // containers may number several GPUs alike
		}
		if at[i] < 0 {
			at[i] = len(out.Domains)
			out.Domains = append(out.Domains, d)
			continue
		}
		out.Domains[at[i]] = once(a.Domains[at[i]], d, shared(&a, &b, at[i], i))
	}
	place := func(s ranks.Share, of []int) ranks.Share {
		for _, list := range []*[]uint64{&s.ShareUj, &s.LessUj, &s.MoreUj} {
			uj := make([]uint64, len(out.Domains))
			for i, v := range *list {
				uj[of[i]] = v
			}
			*list = uj
		}
		return s
	}
	first := make([]int, len(a.Domains))
	for i := range first {
		first[i] = i
	}
	for _, s := range a.Ranks {
		out.Ranks = append(out.Ranks, place(s, first))
	}
	for _, s := range b.Ranks {
		out.Ranks = append(out.Ranks, place(s, at))
	}
	out.Samples = oneAfterOther(&out, &a, &b, at)
	out.UpdatedUnixNs = max(a.UpdatedUnixNs, b.UpdatedUnixNs)
	if out.EndedUnixNs = max(a.EndedUnixNs, b.EndedUnixNs); a.EndedUnixNs == 0 || b.EndedUnixNs == 0 {
		out.EndedUnixNs = 0
	}
	out.Measurers = slices.Concat(a.Measurers, b.Measurers)
	out.Warnings = slices.Concat(a.Warnings, b.Warnings)
	out.Offsets = slices.Concat(a.Offsets, b.Offsets)
	return out
}

// agree reports whether two energies may be of one counter, sampled at slightly different
// moments.
func agree(a, b uint64) bool {
	return math.Abs(float64(a)-float64(b)) <= 0.02*float64(max(a, b))
}

// shared is the energy that a counter showed while both records were written, in
// microjoules: domain i of a, which began first, and k of b.
func shared(a, b *ranks.Node, i, k int) uint64 {
	if b.UpdatedUnixNs <= a.UpdatedUnixNs && b.Domains[k].Kind != "gpu" {
		return min(a.Domains[i].TotalUj, b.Domains[k].TotalUj)
	}
	until := min(a.UpdatedUnixNs, b.UpdatedUnixNs)
	return energyAt(a, i, until) - energyAt(a, i, b.StartedUnixNs)
}

// energyAt is what a domain of a record had shown by a moment: a line between its samples,
// which begin with 0 and end with the whole.
func energyAt(n *ranks.Node, i int, unix int64) uint64 {
	before, at := uint64(0), n.StartedUnixNs
	after, end := n.Domains[i].TotalUj, n.UpdatedUnixNs
	for _, s := range n.Samples {
		if s.UnixNs > unix {
			after, end = min(after, s.EnergyUj[i]), s.UnixNs
			break
		}
		before, at = max(before, s.EnergyUj[i]), s.UnixNs
	}
	if unix <= at || end <= at || after <= before {
		return before
	}
	part := min(1, float64(unix-at)/float64(end-at))
	return before + uint64(part*float64(after-before))
}

// once is the division of a counter that two measurers sampled, of which they shared so
// much energy. Each has its own ranks and its own cg; the ranks of the other are among its
// other processes. Idle and unattributed energy shrink with the whole.
func once(a, b ranks.Domain, shared uint64) ranks.Domain {
	out := a
	sum := a.TotalUj + b.TotalUj
	out.RanksUj, out.CgUj = a.RanksUj+b.RanksUj, a.CgUj+b.CgUj
	out.TotalUj = max(sum-min(shared, sum), out.RanksUj+out.CgUj)
	left := out.TotalUj - out.RanksUj - out.CgUj
	part := func(e uint64) uint64 {
		if sum == 0 {
			return 0
		}
		e = min(left, uint64(float64(e)*(float64(out.TotalUj)/float64(sum))))
		left -= e
		return e
	}
	out.IdleUj = part(a.IdleUj + b.IdleUj)
	out.UnattributedUj = part(a.UnattributedUj + b.UnattributedUj)
	out.OtherUj = left
	out.Lo, out.Hi = min(a.Lo, b.Lo), max(a.Hi, b.Hi)
	return out
}

// oneAfterOther are the samples of a, and behind them those of b: whole has the domains of
// both, b's at these places.
func oneAfterOther(whole, a, b *ranks.Node, at []int) []ranks.Sample {
	var all []ranks.Sample
	for _, s := range a.Samples {
		e := make([]uint64, len(whole.Domains))
		copy(e, s.EnergyUj)
		for k := range b.Domains {
			if at[k] >= len(a.Domains) { // b's alone
				e[at[k]] = energyAt(b, k, s.UnixNs)
			}
		}
		s.EnergyUj = e
		all = append(all, s)
	}
	for _, s := range b.Samples {
		if s.UnixNs <= a.UpdatedUnixNs {
			continue
		}
		e := make([]uint64, len(whole.Domains))
		for i := range a.Domains {
			e[i] = a.Domains[i].TotalUj
		}
		for k := range b.Domains {
			sum := whole.Domains[at[k]].TotalUj
			e[at[k]] = s.EnergyUj[k] + sum - min(sum, b.Domains[k].TotalUj)
		}
		s.EnergyUj = e
		all = append(all, s)
	}
	return all
}
