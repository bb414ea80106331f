package report

import (
	"slices"

	"cg/shown"
)

// frame is a function on a call path, as profile viewers show it.
type frame struct {
	name, file string
	line       int
	end        int
}

// Names of frames that are no functions.
const (
	frameOthers  = "(further calls)"
	frameUnknown = "(unknown)"
)

// frames gives the frame of each path, with names that viewers print as they
// stand; the first is the program.
func (r *Run) frames() []frame {
	sites := map[uint32]Site{}
	for _, s := range r.Sites {
		sites[s.ID] = s
	}
	out := make([]frame, len(r.Paths))
	for i, p := range r.Paths {
		s, known := sites[p.Site]
		switch {
		case p.Parent < 0:
			out[i] = frame{name: shown.Line(r.program())}
		case p.Task != "":
			out[i] = frame{name: shown.Line(p.Task)}
		case known:
			out[i] = frame{name: shown.Line(s.Name), file: shown.Line(s.File), line: s.Line, end: s.EndLine}
		case p.Site == 0:
			out[i] = frame{name: frameOthers}
		default:
			out[i] = frame{name: frameUnknown}
		}
	}
	return out
}

// program is what was run, for people.
func (r *Run) program() string {
	if len(r.Tasks) > 0 && r.Tasks[0].Name != "" {
		return r.Tasks[0].Name
	}
	return "program"
}

// stack gives the indices of the paths from the first to path i.
func (r *Run) stack(i int) []int {
	var out []int
	for ; i >= 0; i = r.Paths[i].Parent {
		out = append(out, i)
	}
	slices.Reverse(out)
	return out
}
