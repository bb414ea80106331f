package node

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cg/instrument"
	"cg/instrument/edit"
)

// What is inserted has a form of its own, so that runtimes/node/text.cjs can take it out again: for
// Function.prototype.toString, and for the columns of a line. Nothing is inserted that begins a line, but at
// the end of a module. The functions of these names are global ones (runtimes/node/checkpoints.cjs):
//
//	cg$e(site) enter   cg$x(site) exit   cg$c(site) close
//	cg$s(site, value) suspend            cg$r(site, value) resume; both give the value
//
// cg$w is a variable of a function that is suspended: 1 while it is away. An error that is thrown into it
// is caught by a handler, or ends the function, while it is.
const ours = "cg$"

// insertion is a text at a byte. Those of points that begin or end at one byte have an order.
type insertion struct {
	at    int
	order int // of the kind: what ends, what begins, what is empty
	rank  int // among those of one order
	text  string
}

const (
	ends = iota
	begins
	endsEmpty
)

// rewrite gives the edits that put the checkpoints of a plan into its text.
func rewrite(source []byte, p *instrument.Plan, first int) ([]edit.Edit, error) {
	text, m, err := cutMade(source)
	if err != nil {
		return nil, err
	}
	edits, err := insertions(text, p, first, m)
	if err != nil || m == nil {
		return edits, err
	}
	return m.finish(text, source, edits)
}

// insertions are the edits with the checkpoints of a text, which something may have made.
func insertions(text []byte, p *instrument.Plan, first int, m *made) ([]edit.Edit, error) {
	if len(p.Points) == 0 {
		return nil, nil
	}
	if bytes.Contains(text, []byte(ours)) {
		return nil, errors.New("not instrumented: its text has " + ours + ", which begins the names of checkpoints")
	}
	pauses := map[int]bool{}
	for _, q := range p.Points {
		if q.Role == instrument.Pause || q.Role == instrument.Suspend {
			pauses[q.Site] = true
		}
	}
	var all []insertion
	for i, q := range p.Points {
		if q.Start < 0 || q.End < q.Start || q.End > len(text) {
			return nil, fmt.Errorf("line %d: the plan does not fit the text", q.Line)
		}
		begin, end := around(text, q, first+q.Site, pauses[q.Site])
		if begin == "" && end == "" {
			continue
		}
		begin = m.withVariables(q, begin)
		order, rank := ends, -q.Start*len(p.Points)-i
		if q.Start == q.End {
			order, rank = endsEmpty, -i
		}
		all = append(all, insertion{q.Start, begins, i, begin}, insertion{q.End, order, rank, end})
		if q.Role == instrument.Pause {
			at, before := operand(text, q, first+q.Site)
			if word := wordEnd(text, q); isYieldAlone(text, q) {
				all[len(all)-1].at, all[len(all)-1].text = word, bare(first+q.Site)+end+"/**/;"
				continue
			}
			if at == q.End {
				all[len(all)-1].text = before + end
				continue
			}
			all = append(all, insertion{at, begins, i, before})
		}
	}
	slices.SortStableFunc(all, func(a, b insertion) int {
		return cmp.Or(a.at-b.at, a.order-b.order, a.rank-b.rank)
	})
	edits := make([]edit.Edit, len(all))
	for i, n := range all {
		edits[i] = edit.Edit{Start: n.at, End: n.at, New: n.text}
	}
	return edits, nil
}

// around gives the texts at the start and at the end of a point of a site.
func around(text []byte, q instrument.Point, site int, pauses bool) (begin, end string) {
	away, exit, lambdaExit := "", fmt.Sprintf("cg$x(%d)", site), fmt.Sprintf("cg$x( %d )", site)
	if pauses {
		away = "let cg$w=0;"
		exit = fmt.Sprintf("cg$w?cg$c(%d):", site) + exit
		lambdaExit = fmt.Sprintf("cg$w?cg$c(%d):", site) + lambdaExit
	}
	enter := fmt.Sprintf("cg$e(%d);%s", site, away)
	if q.Role == instrument.Toplevel {
		enter = fmt.Sprintf("cg$e(%d) ;%s", site, away)
	}
	if last := q.Start - 1; last >= 0 && (text[last] == '"' || text[last] == '\'') {
		enter = "; " + enter // behind a directive that has no semicolon
	}
	switch q.Role {
	case instrument.Body:
		return enter + "try{", "}finally{" + exit + "}"
	case instrument.Module:
		return enter + "try{", "\n}finally{" + exit + "}"
	case instrument.Toplevel:
		return enter, "\n;" + exit
	case instrument.Lambda:
		return fmt.Sprintf("{cg$e( %d );%stry{return(", site, away), ")}finally{" + lambdaExit + "}}"
	case instrument.Pause:
		return fmt.Sprintf("cg$r(%d,", site), ",cg$w=1),cg$w=0)"
	case instrument.Suspend:
		return suspended(text, q.Start, site), ",cg$w=1)"
	case instrument.Loop:
		return fmt.Sprintf("{cg$w=cg$r(%d,0);try{", site), fmt.Sprintf("}finally{cg$w=cg$s(%d,1)}}", site)
	case instrument.Resume:
		return "{cg$w;try{", fmt.Sprintf("}finally{cg$w&&(cg$w=cg$r(%d,0))}}", site)
	case instrument.Handlers:
		if !pauses {
			return "", ""
		}
		return fmt.Sprintf("cg$w&&(cg$w=cg$r(%d,0));", site), ""
	}
	return "", ""
}

// operand gives where the operand of an await or a yield begins, and the text that goes there.
func operand(text []byte, q instrument.Point, site int) (at int, before string) {
	at = blank(text, wordEnd(text, q), q.End)
	if at < q.End && text[at] == '*' {
		at = blank(text, at+1, q.End)
	}
	if at == q.End {
		return at, bare(site)
	}
	return at, suspended(text, at, site)
}

// wordEnd is the byte behind the word await or yield.
func wordEnd(text []byte, q instrument.Point) int {
	at := q.Start
	for at < q.End && isLetter(text[at]) {
		at++
	}
	return at
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' }

// bare is what follows a yield that has no operand.
func bare(site int) string { return fmt.Sprintf(" cg$s( %d ,void 0", site) }

// suspended is what begins an operand, with a blank where a word stands right before it.
func suspended(text []byte, at, site int) string {
	if at > 0 && isLetter(text[at-1]) {
		return fmt.Sprintf(" cg$s( %d,", site)
	}
	return fmt.Sprintf("cg$s(%d,", site)
}

// isYieldAlone reports whether a yield ends with its line, and what follows would be taken for more of it: what the
// grammar has as its operand, or what continues a call, begins another statement (ECMA-262, 12.10.1).
func isYieldAlone(text []byte, q instrument.Point) bool {
	word := wordEnd(text, q)
	next := blank(text, word, len(text))
	if string(text[q.Start:word]) != "yield" || !bytes.ContainsAny(text[word:next], "\r\n") {
		return false
	}
	if word < q.End {
		return next < q.End
	}
	return next < len(text) && strings.IndexByte("([`+-/", text[next]) >= 0
}

// blank is the byte behind white space and comments.
func blank(text []byte, at, end int) int {
	for at < end {
		rest := text[at:end]
		switch {
		case bytes.IndexByte([]byte(" \t\r\n\v\f"), rest[0]) >= 0:
			at++
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest[2:], []byte("*/"))
			if n < 0 {
				return at
			}
			at += n + 4
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				return at
			}
			at += n + 1
		default:
			return at
		}
	}
	return at
}
