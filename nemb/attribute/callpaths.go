package attribute

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/paths"
)

// listPaths lists the call paths that used most: few, or up to most where more of them are
// not small. What the others used is listed in one for each caller.
func (o *outcome) listPaths(u *subtrees, few, most int) []Path {
	place, out := o.placePaths(o.choosePaths(u, few, most))
	several := 0 // domains
	for d := range o.whole {
		if o.windows.Domains[d].Domain.InTotal {
			several++
		}
	}
	for i, site := range o.tree.Sites() {
		if site == checkpoint.OwnSite {
			continue
		}
		p := &out[place[i]]
		p.Self += u.self[i]
		p.Calls += o.stacks.Calls(int32(i))
		p.SelfTime += time.Duration(o.windows.Times[i].Wall)
		p.CPUTime += time.Duration(o.windows.Times[i].CPU)
		if several < 2 {
			continue
		}
		if p.Domains == nil {
			p.Domains = make([]nemb.Energy, len(o.whole))
		}
		for d := range o.whole {
			p.Domains[d] += o.whole[d][i]
		}
	}
	return out
}

// choosePaths chooses the paths that are listed. No path comes before its caller
// in the order of what subtrees used.
func (o *outcome) choosePaths(u *subtrees, few, most int) []bool {
	listed := make([]bool, o.tree.Len())
	if len(listed) <= few {
		for i := range listed {
			listed[i] = true
		}
		return listed
	}
	all := make([]int, len(listed))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(x, y int) int {
		return cmp.Or(cmp.Compare(u.energy[y], u.energy[x]), cmp.Compare(u.wall[y], u.wall[x]), cmp.Compare(x, y))
	})
	large := sort.Search(len(all), func(k int) bool {
		return float64(u.energy[all[k]]) < smallPath*float64(u.energy[all[0]]) || u.energy[all[k]] == 0
	})
	for _, i := range all[:min(len(all), max(few/2, min(large, most/2)))] { // each may have one for its others
		listed[i] = true
	}
	return listed
}

// placePaths makes the paths that are listed, and says for each call path which of
// them has what it used.
func (o *outcome) placePaths(listed []bool) (place []int, out []Path) {
	place = make([]int, o.tree.Len())
	others := map[int]int{}
	for i, site := range o.tree.Sites() {
		p := Path{Parent: -1, Site: site}
		parent := o.tree.Parent(int32(i))
		switch {
		case int32(i) == paths.Root:
		case site == checkpoint.OwnSite: // is cg's, and calls nothing of the program's
			place[i] = place[parent]
			continue
		default:
			p.Parent = place[parent]
			if listed[i] {
				break
			}
			at, ok := others[p.Parent]
			if !listed[parent] {
				at, ok = p.Parent, true
			}
			if ok {
				place[i] = at
				continue
			}
			others[p.Parent] = len(out)
			p.Site = 0
		}
		place[i] = len(out)
		out = append(out, p)
	}
	return place, out
}
