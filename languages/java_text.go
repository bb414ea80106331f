package languages

import (
	"fmt"
	"strings"

	"cg/instrument"
	"cg/instrument/edit"
)

// javaPackage is the name of the package with the class R that the checkpoints
// call: "cg$", or with more dollar signs where a text has that word. A
// variable or type of that name would hide the package (JLS 6.4.2). For files
// that are compiled together, it takes all of them.
func javaPackage(texts ...[]byte) string {
	most := 0
	for _, text := range texts {
		plain := string((&javaSource{source: text}).plain())
		for at := 0; ; {
			i := strings.Index(plain[at:], "cg$")
			if i < 0 {
				break
			}
			at += i + len("cg")
			n := len(plain[at:]) - len(strings.TrimLeft(plain[at:], "$"))
			most = max(most, n)
			at += n
		}
	}
	return "cg" + strings.Repeat("$", most+1)
}

// renderJava writes a plan into the text of a file, with a package for the
// checkpoints that this file does not hide.
func renderJava(text []byte, p *instrument.Plan, first int) ([]edit.Edit, error) {
	return renderJavaIn(javaPackage(text), text, p, first)
}

// renderJavaIn puts a try and a finally around each body of a plan: calls of
// pkg.R.e at its start and pkg.R.x however it ends, or of ce and cx where the
// calls may be counted only. There is never a catch,
// so what is definitely assigned, reachable or thrown stays as it was, and
// nothing moves to another line.
func renderJavaIn(pkg string, text []byte, p *instrument.Plan, first int) ([]edit.Edit, error) {
	edits := make([]edit.Edit, 0, 2*len(p.Points))
	for _, q := range p.Points {
		if q.Start < 1 || q.Start > q.End || q.End >= len(text) || text[q.End] != '}' && text[q.End] != '\\' {
			return nil, fmt.Errorf("line %d: the plan does not fit the text", q.Line)
		}
		n, how := first+q.Site, ""
		if p.Sites[q.Site].Small {
			how = "c"
		}
		edits = append(edits,
			edit.Edit{Start: q.Start, End: q.Start, New: fmt.Sprintf("%s.R.%se(%d);try{", pkg, how, n)},
			edit.Edit{Start: q.End, End: q.End, New: fmt.Sprintf("}finally{%s.R.%sx(%d);}", pkg, how, n)})
	}
	return edits, nil
}
