package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"cg/shown"
)

// column is a column of a table: shown in terminals from width on.
type column[T any] struct {
	head  string
	width int
	cell  func(T) string
}

// giveWay takes columns out of a table until a name has so much room, or three fifths of the terminal: the interval,
// then those that only wide terminals show, the widest first. widths are those of the columns.
func giveWay[T any](columns []column[T], widths []int, name, terminal int) ([]column[T], []int) {
	name = min(name, terminal*3/5)
	for {
		room, least := terminal, -1
		for k, c := range columns {
			room -= widths[k] + 2
			if c.width > 0 && (least < 0 || c.head == "interval" ||
				c.width > columns[least].width && columns[least].head != "interval") {
				least = k
			}
		}
		if room >= name || least < 0 {
			return columns, widths
		}
		columns, widths = slices.Delete(columns, least, least+1), slices.Delete(widths, least, least+1)
	}
}

// table lays out rows with their name in front, as many as the terminal is to
// show.
func table[T any](p *printer, head string, all []T, named func(T) string, columns []column[T]) {
	if len(all) == 0 {
		return
	}
	p.line("")
	some := all[:p.Rows(len(all))]
	var used []column[T]
	for _, c := range columns {
		if p.Width >= c.width {
			used = append(used, c)
		}
	}
	widths := make([]int, len(used))
	for k, c := range used {
		widths[k] = len(c.head)
		for _, row := range some {
			widths[k] = max(widths[k], runewidth.StringWidth(shown.Line(c.cell(row))))
		}
	}
	name := len(head)
	for _, row := range some {
		name = max(name, runewidth.StringWidth(shown.Line(named(row))))
	}
	used, widths = giveWay(used, widths, name, p.Width)
	room := p.Width
	for _, w := range widths {
		room -= w + 2
	}
	name = min(name, max(room, 12))

	var top strings.Builder
	top.WriteString(pad(head, name))
	for k, c := range used {
		top.WriteString("  " + left(c.head, widths[k]))
	}
	p.line("%s", p.paint(bold, strings.TrimRight(top.String(), " ")))
	for _, row := range some {
		var out strings.Builder
		out.WriteString(pad(shorten(named(row), name), name))
		for k, c := range used {
			out.WriteString("  " + left(shown.Line(c.cell(row)), widths[k]))
		}
		p.line("%s", strings.TrimRight(out.String(), " "))
	}
	if n := len(all) - len(some); n > 0 {
		p.line("%s", p.paint(dim, fmt.Sprintf("and %d more (--verbose, or --json)", n)))
	}
}
