package report

import (
	"fmt"
	"math"
	"strings"

	"cg/nemb"
	"cg/report/figures"
)

// JSON encodes a comparison: docs/comparison.schema.json.
func (c *Comparison) JSON() ([]byte, error) {
	return indented(c)
}

// mark stands before energies of which a side was not measured.
func (c *Comparison) mark() string {
	if c.Base.Kind == nemb.Estimated || c.Head.Kind == nemb.Estimated {
		return "~"
	}
	return ""
}

// signed is a change for people, "" where there is none to tell.
func signed(change *float64) string {
	if change == nil {
		return ""
	}
	return figures.Change(*change)
}

// interval of a change.
func (c Change) interval() string {
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

// verdict in words: a weak one has a question mark.
func (c Change) verdict() string {
	switch {
	case c.Verdict == NotComparable:
		return string(c.Verdict) + ": " + c.Why
	case c.Weak && c.Verdict != NoneShown:
		return string(c.Verdict) + "?"
	}
	return string(c.Verdict)
}

// title is the function's name, and what it was in BASE without what both have
// in front.
func (f FunctionChange) title() string {
	if f.Was == "" {
		return f.Name
	}
	was := f.Was
	if at := 1 + strings.LastIndexAny(was, "./"); strings.HasPrefix(f.Name, was[:at]) {
		was = was[at:]
	}
	return f.Name + " (was " + was + ")"
}

func (c *Comparison) heading() string {
	count := func(s ComparedSide) string {
		if s.Runs == 1 {
			return "1 run"
		}
		return fmt.Sprintf("%d runs", s.Runs)
	}
	return fmt.Sprintf("%s (%s) → %s (%s)", c.Base.Name, count(c.Base), c.Head.Name, count(c.Head))
}

// atMost is how many of n rows are shown where top are asked for, 0 for all.
func atMost(n, top int) int {
	if top <= 0 {
		return n
	}
	return min(n, top)
}

func weakMark(c Change) string {
	if strings.HasSuffix(c.verdict(), "?") {
		return "?"
	}
	return ""
}

// calls are mean numbers of calls, one where both sides have the same.
func calls(base, head float64) string {
	whole := func(v float64) string {
		if v == math.Trunc(v) {
			return figures.Count(uint64(v))
		}
		return fmt.Sprintf("%.1f", v)
	}
	if base == head {
		return whole(base)
	}
	return whole(base) + " → " + whole(head)
}
