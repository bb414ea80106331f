package compare

import (
	"fmt"
	"strings"

	"cg/nemb"
	"cg/report"
	"cg/report/figures"
)

// JSON encodes a comparison: docs/comparison.schema.json.
func (c *Result) JSON() ([]byte, error) {
	return report.Encode(c)
}

// Mark stands before energies of which a side was not measured.
func (c *Result) Mark() string {
	if c.Base.Kind == nemb.Estimated || c.Head.Kind == nemb.Estimated {
		return "~"
	}
	return ""
}

// Signed is a change for people, "" where there is none to tell.
func (c Change) Signed() string {
	if c.Change == nil {
		return ""
	}
	return figures.Change(*c.Change)
}

// Interval is that of a change for people, "" where there is none.
func (c Change) Interval() string {
	switch {
	case c.Lo == nil && c.Hi == nil:
		return ""
	case c.Lo == nil:
		return "[?, " + figures.Change(*c.Hi) + "]"
	case c.Hi == nil:
		return "[" + figures.Change(*c.Lo) + ", ?]"
	}
	return "[" + figures.Change(*c.Lo) + ", " + figures.Change(*c.Hi) + "]"
}

// InWords is the verdict in words: a weak one has a question mark.
func (c Change) InWords() string {
	switch {
	case c.Verdict == NotComparable:
		return string(c.Verdict) + ": " + c.Why
	case c.Weak && c.Verdict != NoneShown:
		return string(c.Verdict) + "?"
	}
	return string(c.Verdict)
}

// Title is the function's name, and what it was in BASE without what both have
// in front.
func (f FunctionChange) Title() string {
	if f.Was == "" {
		return f.Name
	}
	was := f.Was
	if at := 1 + strings.LastIndexAny(was, "./"); strings.HasPrefix(f.Name, was[:at]) {
		was = was[at:]
	}
	return f.Name + " (was " + was + ")"
}

// Heading names the sides, and how many runs each has.
func (c *Result) Heading() string {
	count := func(s SideMeta) string {
		if s.Runs == 1 {
			return "1 run"
		}
		return fmt.Sprintf("%d runs", s.Runs)
	}
	return fmt.Sprintf("%s (%s) → %s (%s)", c.Base.Name, count(c.Base), c.Head.Name, count(c.Head))
}
