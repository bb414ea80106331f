package golang

import (
	"bytes"
	"fmt"
	"strings"

	"cg/instrument"
	"cg/instrument/edit"
)

// runtimePackage is the package with the checkpoints: one of the standard library's
// that nothing of it imports, with files added by the overlay.
const runtimePackage = "container/ring"

// lastSuffix is behind the name of the package of the checkpoints in that of package last.
const lastSuffix = "_last"

// rewriteNames are what the checkpoints of a file are called by: none of them is a
// word of the text.
type rewriteNames struct {
	checkpoints string // the package of the checkpoints
	base        string // the variable with the number before the file's first site
	path        string // import path of the package, "" for a file that stays as it is

	// Of a text that runs without cg:
	last         string // import path of the package that stands for log's last words, "" for none
	declarations string // declarations behind the imports
	finish       int    // where the call stands that prints the result block, 0 for none
	replace      []edit.Edit
}

// number is that of a site, as its checkpoint names it.
func (n rewriteNames) number(site int, bare bool) string {
	if bare {
		return fmt.Sprintf("%s + %d", n.base, site+1)
	}
	return fmt.Sprintf("%d + %s", site+1, n.base)
}

// mark is the text of a mark of a function.
func (n rewriteNames) mark(f function, m mark) string {
	event := ""
	if m.place != unknown {
		event = fmt.Sprintf("%s.CodegreenPlace(%s, %d)", n.checkpoints, n.number(f.site+1+m.place, f.bare), 1+m.place)
	}
	return m.before + event + m.after
}

// unusedName is a name that begins as given and stands in none of the texts.
func unusedName(prefix string, texts ...[]byte) string {
	for n := 0; ; n++ {
		name := prefix
		if n > 0 {
			name = fmt.Sprintf("%s_%d", prefix, n)
		}
		taken := false
		for _, text := range texts {
			taken = taken || bytes.Contains(text, []byte(name))
		}
		if !taken {
			return name
		}
	}
}

// siteBase is the variable with the number before the first site of a file, and the
// call of the package of the checkpoints that gives it.
type siteBase struct{ name, value string }

// edits writes a plan into the text of a file. Nothing moves to another line,
// and no line begins otherwise. A function is entered at its opening brace and
// left by a deferred call: on return, panic and Goexit, after the deferred calls
// of its own. bases are declared here for all files that are compiled together,
// before any variable of theirs: an initialiser that calls a function would
// otherwise wait for them, and the order of initialisation change. name is the
// file's path for messages of vet, which reads the text where it is. Checkpoints that the
// compiler's command may take out name their site as base + number, others as number + base. So do
// the events of their places, which have behind it how many numbers before it the function's is.
func (g *sourceFile) edits(p *instrument.Plan, names rewriteNames, bases []siteBase, name string) ([]edit.Edit, error) {
	var edits []edit.Edit
	insert := func(at int, format string, args ...any) {
		edits = append(edits, edit.Edit{Start: at, End: at, New: fmt.Sprintf(format, args...)})
	}
	if names.path == "" {
		return nil, nil
	}
	edits = append(edits, names.replace...)
	// Positions are the user's for whoever takes them from the text.
	directive := func(at int, name string) string {
		line, col := g.place(at)
		return fmt.Sprintf("/*line %s:%d:%d*/", name, line, col)
	}
	marked := name != "" && !strings.ContainsAny(name, "\n\r") && !strings.Contains(name, "*/") &&
		!bytes.Contains(g.text, []byte("//line ")) && !bytes.Contains(g.text, []byte("/*line "))
	if marked {
		insert(g.clause, "%s", directive(g.clause, name))
	}
	var declare strings.Builder
	if len(bases) > 0 {
		declare.WriteString("; var (")
		for _, b := range bases {
			fmt.Fprintf(&declare, "%s = %s.%s;", b.name, names.checkpoints, b.value)
		}
		declare.WriteString(")")
	}
	declare.WriteString(names.declarations)
	imports := fmt.Sprintf("; import %s %q", names.checkpoints, names.path)
	if names.last != "" {
		imports += fmt.Sprintf("; import %s %q", names.checkpoints+lastSuffix, names.last)
	}
	// follows is the directive for what stands behind on the same line.
	follows := func(at int) string {
		rest := g.text[at:]
		rest = bytes.TrimSpace(rest[:max(bytes.IndexByte(rest, '\n'), 0)])
		if !marked || len(rest) == 0 || bytes.HasPrefix(rest, []byte("//")) {
			return ""
		}
		return directive(at, "")
	}
	if g.importsEnd == g.clauseEnd {
		insert(g.clauseEnd, "%s%s%s", imports, declare.String(), follows(g.clauseEnd))
	} else {
		insert(g.clauseEnd, "%s%s", imports, follows(g.clauseEnd))
		if declare.Len() > 0 {
			insert(g.importsEnd, "%s%s", declare.String(), follows(g.importsEnd))
		}
	}
	bare := map[int]bool{}
	for _, f := range g.funcs {
		bare[f.open+1] = f.bare
	}
	for _, q := range p.Points {
		if q.Start < 1 || q.Start > q.End || q.End >= len(g.text) || g.text[q.Start-1] != '{' || g.text[q.End] != '}' {
			return nil, fmt.Errorf("line %d: the plan does not fit the text", q.Line)
		}
		finish := ""
		if q.Start == names.finish {
			finish, names.finish = fmt.Sprintf("defer %s.CodegreenFinish(); ", names.checkpoints), 0
		}
		insert(q.Start, "%[4]sdefer %[1]s.CodegreenEnter(%[2]s)();%[3]s",
			names.checkpoints, names.number(q.Site, bare[q.Start]), follows(q.Start), finish)
	}
	for _, f := range g.funcs {
		for _, m := range f.marks {
			insert(m.at, "%s%s", names.mark(f, m), follows(m.at))
		}
	}
	if names.finish > 0 {
		insert(names.finish, "defer %s.CodegreenFinish();", names.checkpoints)
	}
	return edits, nil
}

// parsedFile is a file that can be written.
type parsedFile struct {
	source *sourceFile
	plan   *instrument.Plan
	name   string
	key    uint64
}

// rewriteFiles gives the texts of files that are compiled together, in the order of
// the compiler's command line; nil for one that stays as it is. held is the first
// that may be written.
func rewriteFiles(files []parsedFile, held int, salt string) ([][]byte, error) {
	out := make([][]byte, len(files))
	var texts [][]byte
	for _, f := range files {
		if f.source != nil {
			texts = append(texts, f.source.text)
		}
	}
	ring := unusedName("cg"+salt, texts...)
	var bases []siteBase
	names := make([]rewriteNames, len(files))
	for i, f := range files {
		if f.plan != nil && len(f.plan.Points) > 0 {
			names[i] = rewriteNames{checkpoints: ring, base: fmt.Sprintf("%s_%c%d", ring, 'b', i), path: runtimePackage}
			bases = append(bases, siteBase{names[i].base, fmt.Sprintf("CodegreenFile(%#x)", f.key)})
		}
	}
	if len(bases) == 0 {
		return out, nil
	}
	for i, f := range files {
		var own []siteBase
		plan := f.plan
		if plan == nil {
			plan = &instrument.Plan{}
		}
		if i == held {
			own, names[i].checkpoints, names[i].path = bases, ring, runtimePackage
		}
		if f.source == nil || len(plan.Points) == 0 && len(own) == 0 {
			continue
		}
		edits, err := f.source.edits(plan, names[i], own, f.name)
		if err == nil {
			out[i], err = edit.Apply(f.source.text, edits)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return out, nil
}
