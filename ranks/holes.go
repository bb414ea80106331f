package ranks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Holes names what is not known of a run whose ranks and nodes these are: ranks that never
// came, were killed or left no report, nodes whose records have no end, and what the
// records name themselves. Ranks that are missing for the same reason share a hole: those
// that never came, and those of one node that were killed or left no report.
func Holes(m Marker, all []Rank, nodes []Node) []Hole {
	var holes []Hole
	records := map[string]*Node{}
	here := map[int]bool{}
	for _, r := range all {
		here[r.Rank] = true
	}
	for i, n := range nodes {
		records[n.Record] = &nodes[i]
		for _, h := range n.Holes {
			if h.Kind != HoleRank || !here[h.Rank] { // else the file of the rank tells it
				holes = append(holes, h)
			}
		}
		if n.EndedUnixNs == 0 {
			holes = append(holes, Hole{Kind: HoleNode, Node: n.Node, Rank: -1, FromUnixNs: n.UpdatedUnixNs,
				Text: fmt.Sprintf("node %s: its record has no end: nothing is known of it from then on", n.Node)})
		}
	}
	var missing []Hole
	for _, r := range all {
		switch {
		case r.State == Ended && r.Run != "":
		case r.State == Ended:
			missing = append(missing, Hole{Kind: HoleReport, Node: r.Node, Rank: r.Rank, FromUnixNs: r.StartedUnixNs,
				ToUnixNs: r.EndedUnixNs, Text: "on " + r.Node + " ended without a report"})
		default:
			missing = append(missing, killed(r, records[r.Record]))
		}
	}
	for rank := range m.Size {
		if !here[rank] {
			missing = append(missing, Hole{Kind: HoleRank, Rank: rank, Text: "never came"})
		}
	}
	holes = append(holes, Fold(missing)...)
	slices.SortStableFunc(holes, func(a, b Hole) int { return strings.Compare(a.Kind, b.Kind) })
	return holes
}

// killed is the hole of a rank whose file has no end, given the record of its node.
func killed(r Rank, n *Node) Hole {
	h := Hole{Kind: HoleRank, Node: r.Node, Rank: r.Rank, FromUnixNs: r.StartedUnixNs,
		Text: "on " + r.Node + " was killed: it has no report, and its energy is in its node's record"}
	if n == nil {
		return h
	}
	h.FromUnixNs = max(h.FromUnixNs, n.UpdatedUnixNs)
	for _, told := range n.Holes {
		if told.Kind == HoleRank && told.Rank == r.Rank { // the moment at which its node saw that
			h.FromUnixNs = told.FromUnixNs
		}
	}
	return h
}

// Fold joins holes of ranks that have the same kind, node and text, which says what became
// of a rank and begins with a verb or "on NODE". Their text then begins with the ranks. The
// order is that of the first rank.
func Fold(holes []Hole) []Hole {
	type reason struct{ kind, node, text string }
	at := map[reason]int{}
	var of [][]int
	var folded []Hole
	for _, h := range holes {
		key := reason{h.Kind, h.Node, h.Text}
		i, known := at[key]
		if !known {
			i = len(folded)
			at[key] = i
			folded, of = append(folded, h), append(of, nil)
		}
		of[i] = append(of[i], h.Rank)
		f := &folded[i]
		f.FromUnixNs = min(f.FromUnixNs, h.FromUnixNs)
		f.ToUnixNs = max(f.ToUnixNs, h.ToUnixNs)
	}
	for i := range folded {
		h := &folded[i]
		slices.Sort(of[i])
		if h.Rank = of[i][0]; len(of[i]) == 1 {
			h.Text = fmt.Sprintf("rank %d %s", h.Rank, h.Text)
			continue
		}
		h.Ranks = spans(of[i], len(of[i]))
		h.Text = fmt.Sprintf("%d ranks (%s) %s", len(of[i]), spans(of[i], mostSpans), several(h.Text))
	}
	return folded
}

// mostSpans is how many spans of ranks a text names.
const mostSpans = 8

// spans writes sorted ranks as 0-3,7: at most so many spans, and how many ranks are left.
func spans(all []int, most int) string {
	var out []string
	for i := 0; i < len(all); {
		if len(out) == most {
			return strings.Join(out, ",") + fmt.Sprintf(" and %d more", len(all)-i)
		}
		k := i
		for k+1 < len(all) && all[k+1] <= all[k]+1 {
			k++
		}
		span := strconv.Itoa(all[i])
		if all[k] > all[i] {
			span += "-" + strconv.Itoa(all[k])
		}
		out = append(out, span)
		i = k + 1
	}
	return strings.Join(out, ",")
}

// several is a text of one rank for several.
func several(text string) string {
	return strings.NewReplacer(" was killed: it has no report, and its energy is in its node's record",
		" were killed: they have no reports, and their energy is in their node's record",
		" has a share and no file", " have shares and no files",
		" ended without a report", " ended without reports").Replace(text)
}
