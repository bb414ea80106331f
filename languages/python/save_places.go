package python

import (
	"cmp"
	"fmt"
	"slices"

	"cg/checkpoint"
	"cg/instrument"
)

// savedPlaces writes the events of places between the statements of a text that runs without cg.
type savedPlaces struct {
	*textWriter
	rows    map[int]int // of what begins at an offset
	pending []pendingMark
}

// pendingMark is an event that stands in a line of other code: closed or opened behind what begins at its place.
type pendingMark struct {
	instrument.Mark
	from      int
	condition int // the node of that of an elif, before which the event is; 0 for none
}

// newSavedPlaces writes the events that have a line of their own, and notes the others. Functions that are too deep
// have no checkpoints, and no places.
func (r *textWriter) newSavedPlaces(p *instrument.Plan, deep map[int]bool) *savedPlaces {
	w := &savedPlaces{textWriter: r, rows: map[int]int{}}
	conditions := map[int]int{} // of elif, by where it begins
	for i, n := range r.t.Nodes {
		w.rows[n.Start] = n.Row
		if n.Type == "elif_clause" {
			conditions[n.Start] = r.t.Field(i, "condition")
		}
	}
	left := map[string]bool{}
	for i, s := range p.Sites {
		left[s.Func] = left[s.Func] || deep[i]
	}
	for _, m := range p.Marks {
		if left[p.Sites[m.Site].Func] {
			continue
		}
		condition, isElif := conditions[m.At]
		switch {
		case m.Behind != instrument.NoPlace:
			w.pending = append(w.pending, pendingMark{m, m.Behind, 0})
		case isElif:
			w.pending = append(w.pending, pendingMark{m, r.t.Nodes[condition].Start, condition})
		case r.startsLine(m.At):
			r.insertLine(m.At, "%s\n", r.indent(m.At)+r.mark(w.rows[m.At], 0)+r.call("place", m.Site))
		default:
			w.pending = append(w.pending, pendingMark{m, m.At, 0})
		}
	}
	slices.SortStableFunc(w.pending, func(x, y pendingMark) int { return cmp.Compare(y.from, x.from) })
	return w
}

// write writes the noted events that stand behind an offset.
func (w *savedPlaces) write(behind int) {
	for len(w.pending) > 0 && w.pending[0].from > behind {
		m := w.pending[0]
		w.pending = w.pending[1:]
		call := w.call("place", m.Site)
		switch {
		case m.condition > 0:
			n := w.t.Nodes[m.condition]
			w.open(n.Start, "%s or (", call)
			w.insert(n.End, ")")
		case m.Behind == instrument.NoPlace:
			w.open(m.At, "%s; ", call)
		case w.startsLine(m.Behind):
			w.insert(m.At, "\n%s", w.indent(m.Behind)+w.mark(w.rows[m.Behind], 0)+call)
		default:
			w.insert(m.At, "; %s", call)
		}
	}
}

// siteNames are the names of sites by their numbers, as items of a dictionary.
func (r *textWriter) siteNames(sites []checkpoint.Site) (names []string) {
	for i, name := range instrument.SavedNames(&instrument.Plan{Sites: sites}, r.file, r.first) {
		names = append(names, fmt.Sprintf("%d: %q", r.siteNumber(i), name))
	}
	return names
}
