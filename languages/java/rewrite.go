package java

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"cg/instrument/edit"
	"cg/pattern"
)

// runtimePackage is the name of the package with the class R that the checkpoints
// call: "cg$", or with more dollar signs where a text has that word. A
// variable or type of that name would hide the package (JLS 6.4.2). For files
// that are compiled together, it takes all of them.
func runtimePackage(texts ...[]byte) string {
	most := 0
	for _, text := range texts {
		plain := string((&parsedSource{source: text}).grammarText())
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

// render puts a try and a finally around each body of a plan, with calls
// of pkg.R.
func render(pkg string, text []byte, p *filePlan, first int) ([]edit.Edit, error) {
	return renderCalls(pkg+".R", text, p, first)
}

// renderCalls puts a try and a finally around each body of a plan: calls of e at
// its start and x however it ends. There is never a catch, so what is definitely
// assigned, reachable or thrown stays as it was, and nothing moves to another
// line. Several points of one body stand in its plan from the outermost. Between its statements stand calls of p, which
// say to which place of its code the call goes.
func renderCalls(class string, text []byte, p *filePlan, first int) ([]edit.Edit, error) {
	edits := make([]edit.Edit, 0, 2*len(p.Points)+len(p.marks))
	exits := make([]edit.Edit, 0, len(p.Points))
	for i := 0; i < len(p.Points); i++ {
		q := p.Points[i]
		if q.Start < 1 || q.Start > q.End || q.End >= len(text) || text[q.End] != '}' && text[q.End] != '\\' {
			return nil, fmt.Errorf("line %d: the plan does not fit the text", q.Line)
		}
		enter, exit := "", ""
		for {
			n := first + p.Points[i].Site
			enter += fmt.Sprintf("%s.e(%d);", class, n)
			exit = fmt.Sprintf("%s.x(%d);", class, n) + exit
			if i+1 == len(p.Points) || p.Points[i+1].Start != q.Start || p.Points[i+1].End != q.End {
				break
			}
			i++
		}
		edits = append(edits, edit.Edit{Start: q.Start, End: q.Start, New: enter + "try{"})
		exits = append(exits, edit.Edit{Start: q.End, End: q.End, New: "}finally{" + exit + "}"})
	}
	for _, m := range p.marks { // between the others of one offset
		text := m.brace
		if m.place != unknown {
			text += fmt.Sprintf("%s.p(%d);", class, first+m.place)
		}
		edits = append(edits, edit.Edit{Start: m.at, End: m.at, New: text})
	}
	return append(edits, exits...), nil
}

// helperClass is a class beside those of a file that a build compiles: the
// compiler finds it there whatever its class path, and the virtual machine finds the
// runtime on its boot class path, or goes without. It has no types of its own but
// NAME, and names those of java.base in full, since a package may have another Class.
const helperClass = `@java.lang.SuppressWarnings("all")final class NAME{` +
	`private static final java.util.function.IntConsumer[]a=a();` +
	`private static final java.util.function.IntConsumer b=a[0],c=a[1],d=a[2];private NAME(){}` +
	`private static java.util.function.IntConsumer[]a(){try{return(java.util.function.IntConsumer[])java.lang.Class` +
	`.forName("cg$.Calls",true,null).getField("CALLS").get(null);}` +
	`catch(java.lang.Throwable t){return new java.util.function.IntConsumer[3];}}` +
	`static void e(int s){if(b!=null)b.accept(s);}static void x(int s){if(c!=null)c.accept(s);}` +
	`static void p(int s){if(d!=null)d.accept(s);}}`

// helperName is the name of the helper of a file, which no text of it has.
// It is none that a test runner looks for.
func helperName(file string, text []byte) string {
	base := strings.TrimSuffix(filepath.Base(file), ".java")
	var b strings.Builder
	b.WriteString("cg$")
	for _, c := range []byte(base) {
		if c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	name := b.String() + "$"
	for bytes.Contains(text, []byte(name)) {
		name += "$"
	}
	return name
}

// rewriteWithHelper is the text of a file with the checkpoints of a plan and
// their helper behind its last type, on the line where that ends.
func rewriteWithHelper(file string, j *parsedSource, p *filePlan, first int) ([]byte, error) {
	if len(p.Points) == 0 {
		return j.source, nil
	}
	name := helperName(file, j.source)
	edits, err := renderCalls(name, j.source, p, first)
	if err != nil {
		return nil, err
	}
	end := -1
	j.Children(0, func(c int) {
		if t := j.Nodes[c].Type; strings.HasSuffix(t, "_declaration") && t != "import_declaration" &&
			t != "package_declaration" {
			end = j.behindEscape(j.Nodes[c].End)
		}
	})
	if end < 0 {
		return nil, fmt.Errorf("%s: no type in it", file)
	}
	edits = append(edits, edit.Edit{Start: end, End: end, New: strings.ReplaceAll(helperClass, "NAME", name)})
	return edit.Apply(j.source, edits)
}

// The texts that rewriting adds to a line.
var (
	addedText = pattern.Later(`(?:cg\$[\w$]*(?:\.R)?\.e\(\d+\);)+try\{|` +
		`\}finally\{(?:cg\$[\w$]*(?:\.R)?\.x\(\d+\);)+\}|` +
		`cg\$[\w$]*(?:\.R)?\.p\(\d+\);|/\*cg\$\*/[{}]|` +
		strings.ReplaceAll(regexp.QuoteMeta(helperClass), "NAME", `cg\$[\w$]+`))
)
