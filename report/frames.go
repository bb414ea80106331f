package report

import (
	"slices"

	"cg/shown"
)

// Frame is a function on a call path, as profile viewers show it.
type Frame struct {
	Name, File string
	Line       int
	EndLine    int
}

// Names of frames that are no functions.
const (
	frameOthers  = "(further calls)"
	FrameUnknown = "(unknown)"
)

// Frames gives the frame of each path, with names that viewers print as they
// stand; the first is the program.
func (r *Run) Frames() []Frame {
	sites := map[uint32]Site{}
	for _, s := range r.Sites {
		sites[s.ID] = s
	}
	out := make([]Frame, len(r.Paths))
	for i, p := range r.Paths {
		s, known := sites[p.Site]
		switch {
		case p.Parent < 0:
			out[i] = Frame{Name: shown.Line(r.Title())}
		case p.Task != "":
			out[i] = Frame{Name: shown.Line(p.Task)}
		case known:
			out[i] = Frame{Name: shown.Line(s.Name), File: shown.Line(s.File), Line: s.Line, EndLine: s.EndLine}
		case p.Site == 0:
			out[i] = Frame{Name: frameOthers}
		default:
			out[i] = Frame{Name: FrameUnknown}
		}
	}
	return out
}

// Title is what was run, for people.
func (r *Run) Title() string {
	if len(r.Tasks) > 0 && r.Tasks[0].Name != "" {
		return r.Tasks[0].Name
	}
	return "program"
}

// Stack gives the indices of the paths from the first to path i.
func (r *Run) Stack(i int) []int {
	var out []int
	for ; i >= 0; i = r.Paths[i].Parent {
		out = append(out, i)
	}
	slices.Reverse(out)
	return out
}
