package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"cg/nemb"
	"cg/shown"
)

// JSON encodes a comparison: docs/comparison.schema.json.
func (c *Comparison) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(c)
	return shown.JSON(b.Bytes()), err
}

// mark stands before energies of which a side was not measured.
func (c *Comparison) mark() string {
	if c.Base.Kind == nemb.Estimated || c.Head.Kind == nemb.Estimated {
		return "~"
	}
	return ""
}

// figure writes a value in its unit.
func figure(v *float64, unit, mark string) string {
	if v == nil {
		return "?"
	}
	switch unit {
	case "s":
		return seconds(*v)
	case "W":
		return mark + watts(v)
	}
	j := Joules(math.Round(max(0, *v) * 1e6))
	return mark + energy(&j)
}

// signed is a change for people, "" where there is none to tell.
func signed(change *float64) string {
	if change == nil {
		return ""
	}
	return times(*change)
}

// interval of a change.
func (c Change) interval() string {
	switch {
	case c.Lo == nil && c.Hi == nil:
		return ""
	case c.Lo == nil:
		return "[?, " + times(*c.Hi) + "]"
	case c.Hi == nil:
		return "[" + times(*c.Lo) + ", ?]"
	}
	return "[" + times(*c.Lo) + ", " + times(*c.Hi) + "]"
}

// verdict in words: a weak one bears a question mark.
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

// Text lays a comparison out for people, with the top functions, 0 for all.
func (c *Comparison) Text(t Terminal, top int) string {
	if t.Width <= 0 {
		t.Width = 80
	}
	t.Verbose = true // the rows are chosen here
	p, mark := &printer{Terminal: t}, c.mark()
	p.line("%s  %s", p.paint(bold, "Compared"), p.cut(c.heading(), p.Width-10))
	if c.Base.Kind == c.Head.Kind {
		p.line("Energies  %s", p.kind(c.Base.Kind))
	} else {
		p.line("Energies  %s → %s", p.kind(c.Base.Kind), p.kind(c.Head.Kind))
	}
	p.line("Program   %s", p.headlineOf(c.Totals[0], mark))
	columns := []column[Change]{
		{"base", 0, func(c Change) string { return figure(c.Base.Value, c.Unit, mark) }},
		{"head", 0, func(c Change) string { return figure(c.Head.Value, c.Unit, mark) }},
		{"change", 0, func(c Change) string { return signed(c.Change) }},
		{"interval", 72, Change.interval},
		{"verdict", 0, func(c Change) string { return string(c.Verdict) + weakMark(c) }},
	}
	table(p, "total", c.Totals, func(c Change) string { return c.Name }, columns)
	n := atMost(len(c.Functions), top)
	table(p, "self energy of function", c.Functions[:n], FunctionChange.title, []column[FunctionChange]{
		{"base", 60, func(f FunctionChange) string { return figure(f.Base.Value, f.Unit, mark) }},
		{"head", 60, func(f FunctionChange) string { return figure(f.Head.Value, f.Unit, mark) }},
		{"change", 0, func(f FunctionChange) string { return signed(f.Change.Change) }},
		{"interval", 88, func(f FunctionChange) string { return f.interval() }},
		{"calls", 104, func(f FunctionChange) string { return calls(f.BaseCalls, f.HeadCalls) }},
		{"found by", 120, func(f FunctionChange) string { return f.MatchedBy }},
		{"verdict", 0, func(f FunctionChange) string { return string(f.Verdict) + weakMark(f.Change) }},
	})
	p.further(len(c.Functions) - n)
	for _, only := range []struct {
		head string
		all  []OneSided
	}{{"only in BASE", c.OnlyInBase}, {"only in HEAD", c.OnlyInHead}} {
		n := atMost(len(only.all), top)
		table(p, only.head, only.all[:n], func(o OneSided) string { return o.Name }, []column[OneSided]{
			{"self", 0, func(o OneSided) string { return figure(o.EnergyJ, "J", mark) }},
			{"calls", 60, func(o OneSided) string { return calls(o.Calls, o.Calls) }},
			{"where", 88, func(o OneSided) string { return fmt.Sprintf("%s:%d", filepath.Base(o.File), o.Line) }},
		})
		p.further(len(only.all) - n)
	}
	p.line("")
	for _, d := range c.Different {
		p.note(yellow, "different", fmt.Sprintf("%s: %s and %s; what changed may be that", d.What, orNone(d.Base), orNone(d.Head)))
	}
	for _, t := range c.Totals[1:] { // the first has said it above
		if t.Verdict == NotComparable && t.Why != zeroBoth {
			p.note(yellow, "not comparable", t.Name+": "+t.Why)
		}
	}
	for _, note := range c.Notes {
		p.note(dim, "note", note)
	}
	return p.b.String()
}

func weakMark(c Change) string {
	if strings.HasSuffix(c.verdict(), "?") {
		return "?"
	}
	return ""
}

func (p *printer) headlineOf(c Change, mark string) shown.Laid {
	style := map[Verdict]string{Higher: yellow, NotComparable: yellow, Lower: cyan}[c.Verdict]
	out := figure(c.Base.Value, c.Unit, mark) + " → " + figure(c.Head.Value, c.Unit, mark)
	for _, s := range []string{signed(c.Change), c.interval()} {
		if s != "" {
			out += "  " + s
		}
	}
	return shown.Laid(shown.Line(out)) + "  " + p.paint(style, c.verdict())
}

func (p *printer) further(n int) {
	if n > 0 {
		p.line("%s", p.paint(dim, fmt.Sprintf("and %d more (--top 0, or --json)", n)))
	}
}

// calls are mean numbers of calls, one where both sides have the same.
func calls(base, head float64) string {
	whole := func(v float64) string {
		if v == math.Trunc(v) {
			return count(uint64(v))
		}
		return fmt.Sprintf("%.1f", v)
	}
	if base == head {
		return whole(base)
	}
	return whole(base) + " → " + whole(head)
}

// Markdown writes a comparison for a comment on a change.
func (c *Comparison) Markdown(w io.Writer, top int) error {
	m, mark := &markdown{}, c.mark()
	headline := c.Totals[0]
	m.line("### Energy: %s\n", escape.Replace(headline.verdict()))
	m.line("%s, %s → %s %s %s\n", name(c.Head.Command), figure(headline.Base.Value, "J", mark), figure(headline.Head.Value, "J", mark), signed(headline.Change), headline.interval())
	if mark != "" {
		m.line("Energies are **estimated, not measured**.\n")
	}
	for _, d := range c.Different {
		m.line("- **different %s**: %s and %s; what changed may be that", escape.Replace(d.What), escape.Replace(orNone(d.Base)), escape.Replace(orNone(d.Head)))
	}
	if len(c.Different) > 0 {
		m.line("")
	}
	m.head("", escape.Replace(c.Base.Name), escape.Replace(c.Head.Name), "change", "interval", "verdict")
	for _, t := range c.Totals {
		m.row(escape.Replace(t.Name), figure(t.Base.Value, t.Unit, mark), figure(t.Head.Value, t.Unit, mark), signed(t.Change), t.interval(), escape.Replace(t.verdict()))
	}
	if n := atMost(len(c.Functions), top); n > 0 {
		m.line("")
		m.head("self energy of function", "base", "head", "change", "interval", "calls", "verdict")
		for _, f := range c.Functions[:n] {
			title := name(f.Name)
			if f.Was != "" {
				title += " was " + name(f.Was)
			}
			m.row(title, figure(f.Base.Value, f.Unit, mark), figure(f.Head.Value, f.Unit, mark), signed(f.Change.Change), f.interval(), calls(f.BaseCalls, f.HeadCalls), escape.Replace(f.verdict()))
		}
		if more := len(c.Functions) - n; more > 0 {
			m.line("\nand %d more", more)
		}
	}
	for _, only := range []struct {
		head string
		all  []OneSided
	}{{"only in base", c.OnlyInBase}, {"only in head", c.OnlyInHead}} {
		n := atMost(len(only.all), top)
		if n == 0 {
			continue
		}
		m.line("")
		m.head(only.head, "self", "calls")
		for _, o := range only.all[:n] {
			m.row(name(o.Name), figure(o.EnergyJ, "J", mark), calls(o.Calls, o.Calls))
		}
		if more := len(only.all) - n; more > 0 {
			m.line("\nand %d more", more)
		}
	}
	m.line("")
	for _, note := range c.Notes {
		m.line("- %s", escape.Replace(note))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}
