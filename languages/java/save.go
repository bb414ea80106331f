package java

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"

	"cg/instrument"
	"cg/instrument/edit"
	"cg/runtimes"
)

// renderAlone gives the edits that turn a text into one that reports its checkpoints
// itself: as render does, and a class behind all others that records them. first numbers
// its first site.
func renderAlone(text []byte, p *instrument.Plan, first int) ([]edit.Edit, error) {
	if len(p.Points) == 0 {
		return nil, nil
	}
	name := aloneName(text, first)
	plan := &filePlan{Plan: p}
	for _, m := range p.Marks {
		plan.marks = append(plan.marks, mark{m.At, m.Site, m.Text})
	}
	edits, err := renderCalls(name, text, plan, first)
	if err != nil {
		return nil, err
	}
	class, err := runtimes.JavaAlone()
	if err != nil {
		return nil, err
	}
	own := strings.NewReplacer("Alone", name, "FIRST = 1;", fmt.Sprintf("FIRST = %d;", first),
		`join("\n", "")`, `join("\n", `+siteNames(p, first)+")").Replace(string(class))
	end := len(bytes.TrimRight(text, "\x1a"))
	return append(edits, edit.Edit{Start: end, End: end, New: "\n" + own}), nil
}

// aloneName is the name of the class that records, which no text has. Files of one
// package have different ones.
func aloneName(text []byte, first int) string {
	name := fmt.Sprintf("Codegreen%d$", first)
	for plain := (&parsedSource{source: text}).grammarText(); bytes.Contains(plain, []byte(name)); {
		name += "$"
	}
	return name
}

// maxConstant is how many characters a string of the source has at most: JVMS 4.4.7 takes
// 65,535 bytes.
const maxConstant = 10_000

// siteNames are the names of the sites, a line each, as strings of Java in ASCII.
func siteNames(p *instrument.Plan, first int) string {
	var all []string
	var b strings.Builder
	for _, name := range instrument.SavedNames(p, p.File, first) {
		if b.Len() > maxConstant {
			all = append(all, b.String())
			b.Reset()
		}
		if b.Len() > 0 {
			b.WriteString(`\n`)
		}
		for _, unit := range utf16.Encode([]rune(name)) {
			switch {
			case unit == '"' || unit == '\\':
				b.WriteString(`\` + string(rune(unit)))
			case unit < ' ' || unit >= 0x7f:
				fmt.Fprintf(&b, `\u%04x`, unit)
			default:
				b.WriteByte(byte(unit))
			}
		}
	}
	return `"` + strings.Join(append(all, b.String()), `", "`) + `"`
}
