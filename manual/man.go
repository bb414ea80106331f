package manual

import "strings"

// Man is the man page of a command (man(7)), of section 1. See names further pages.
func (c Command) Man(version string, see []string) string {
	page := strings.ReplaceAll(c.Path, " ", "-")
	var b strings.Builder
	b.WriteString(".TH " + strings.ToUpper(roff(page)) + " 1 \"\" \"" + roff(version) + "\"\n")
	b.WriteString(".SH NAME\n" + roff(page) + " \\- " + roff(c.Usage) + "\n")
	b.WriteString(".SH SYNOPSIS\n.B " + roff(c.Path) + "\n" +
		roff(strings.TrimSpace(strings.TrimPrefix(c.synopsis(), c.Path))) + "\n")
	if c.Description != "" {
		b.WriteString(".SH DESCRIPTION\n")
		for i, part := range blocks(c.Description) {
			switch {
			case part.fixed:
				if i > 0 {
					b.WriteString(".PP\n")
				}
				b.WriteString(".nf\n" + lines(part.lines) + ".fi\n")
			case i > 0:
				b.WriteString(".PP\n" + lines(part.lines))
			default:
				b.WriteString(lines(part.lines))
			}
		}
	}
	if shown := c.visible(); len(shown) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, s := range shown {
			b.WriteString(".TP\n.B " + roff(s.Name()) + "\n" + roff(s.Usage) + "\n")
		}
	}
	for _, g := range c.Groups {
		if len(g.Flags) == 0 {
			continue
		}
		b.WriteString(".SH " + strings.ToUpper(roff(g.Title)) + "\n")
		for _, f := range g.Flags {
			var names []string
			for _, n := range f.Names {
				names = append(names, "\\fB"+roff(n)+"\\fR")
			}
			value := ""
			if f.Value != "" {
				value = " \\fI" + roff(f.Value) + "\\fR"
			}
			b.WriteString(".TP\n" + strings.Join(names, ", ") + value + "\n" + roff(f.usage()) + "\n")
		}
	}
	var pages []string
	for _, s := range see {
		pages = append(pages, "\\fB"+roff(s)+"\\fR(1)")
	}
	if len(pages) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(pages, ",\n") + "\n")
	}
	return b.String()
}

func lines(texts []string) string {
	var b strings.Builder
	for _, t := range texts {
		b.WriteString(roff(t) + "\n")
	}
	return b.String()
}

// roff is a text in which nothing is a request or an escape (groff(7)).
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "\n", " ").
		Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
