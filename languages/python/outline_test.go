package python

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/instrument"
	"cg/long"
)

// outlines runs the planner of outline.py over texts, one JSON line each, and
// prints its lines, or null for what is no Python.
const outlines = `
import _ast as ast
import json, sys, warnings
warnings.simplefilter("ignore")
exec(open(sys.argv[1]).read())
for line in sys.stdin:
    try:
        print(json.dumps(outline(json.loads(line))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        print("null")
`

// outlined gives the plan that the interpreter makes of each text, nil for what
// it refuses.
func outlined(t *testing.T, python string, texts []string) []*instrument.Plan {
	t.Helper()
	var in bytes.Buffer
	for _, text := range texts {
		if err := json.NewEncoder(&in).Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, "-I", "-c", outlines, "../../runtimes/python/in-program/outline.py")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var plans []*instrument.Plan
	for line := range bytes.Lines(out) {
		var lines *string
		if err := json.Unmarshal(line, &lines); err != nil {
			t.Fatal(err)
		}
		if lines == nil {
			plans = append(plans, nil)
			continue
		}
		p, err := instrument.DecodeOutline(*lines)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	if len(plans) != len(texts) {
		t.Fatalf("%d plans of %d texts", len(plans), len(texts))
	}
	return plans
}

// decorators are texts with every decorator that leaves a function to a
// compiler, and with some that do not.
func decorators() string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(compilers)) {
		name = strings.ReplaceAll(name, "*", "any")
		for k, form := range []string{"%s", "%s(x, y=1)", "functools.partial(%s, y=1)", "(%s)", "%s.other", "x().%s", "%s().x", "%s[0]", "other.%s"} {
			fmt.Fprintf(&b, "@"+form+"\n@property\ndef f%d_%d(x):\n    def g(): yield (lambda: 1)\n", name, i, k)
		}
		fmt.Fprintf(&b, "@other\n@%s\nclass C%d:\n    def m(self): pass\n    class D:\n        try: x = lambda: 0\n        finally: pass\n", name, i)
	}
	return b.String()
}

// TestOutlinesAgree: what outline.py finds in the interpreter's tree is what
// planModule finds in tree-sitter's, for every text that both can parse.
func TestOutlinesAgree(t *testing.T) {
	long.Skip(t, "")
	for _, python := range interpreters(t) {
		t.Run(version(python), func(t *testing.T) { outlinesAgree(t, python) })
	}
}

func outlinesAgree(t *testing.T, python string) {
	names, texts := []string{"decorators"}, []string{decorators()}
	add := func(name string, source []byte) {
		text, err := decode(source)
		if err != nil {
			return
		}
		// As the interpreter decodes it.
		plain := strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r", "\n")
		names, texts = append(names, name), append(texts, plain)
	}
	for _, f := range append(fixtures(t), encodings()...) {
		for _, name := range slices.Sorted(maps.Keys(f.files)) {
			add(f.name+"/"+name, []byte(f.files[name]))
		}
	}
	for seed := range uint64(60) {
		add(fmt.Sprintf("seed %d", seed), []byte(program(seed, minor(python), true)))
	}
	if python == byDefault(t) || os.Getenv("CG_ALL_PYTHONS") != "" {
		for _, name := range library(t, python) {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			add(name, source)
		}
	}
	fine := instrument.Options{Granularity: instrument.Fine, Entry: true}
	compared, points, alone, wrong := 0, 0, 0, 0
	for i, got := range outlined(t, python, texts) {
		want, err := planModule([]byte(texts[i]), fine)
		if got == nil {
			continue
		}
		if err != nil {
			alone++
			if !strings.Contains(names[i], "template") && !strings.Contains(names[i], "generics_default") && !strings.Contains(names[i], "beyond") {
				t.Logf("%s: the interpreter alone: %v", names[i], err)
			}
			continue
		}
		for _, o := range []instrument.Options{
			fine, {Granularity: instrument.Coarse, Entry: true}, {Granularity: instrument.Coarse},
			{Granularity: instrument.Fine, Include: []string{"*e*"}, Exclude: []string{"*<lambda>"}},
		} {
			if o.Granularity != instrument.Fine || len(o.Include) > 0 {
				want, _ = planModule([]byte(texts[i]), o)
			}
			g, w := instrument.Encode(o.Choose(got)), instrument.Encode(want)
			if minor(python) < 12 && g != w {
				w = described(want, bracedAt(texts[i]), nil)
				g = described(o.Choose(got), nil, strings.Split(w, "\n"))
			}
			if g != w {
				wrong++
				if wrong < 10 {
					t.Errorf("%s:\n%s", names[i], unlike(w, g))
				}
				break
			}
		}
		compared++
		points += len(got.Points)
	}
	t.Logf("Python %s: %d texts with %d points compared, %d differ; %d only the interpreter can parse", version(python), compared, points, wrong, alone)
}

// library lists the modules of an interpreter's standard library.
func library(t *testing.T, python string) []string {
	t.Helper()
	out, err := exec.Command(python, "-c", "import os; print(os.path.dirname(os.__file__))").Output()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	err = filepath.WalkDir(strings.TrimSpace(string(out)), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"test", "tests", "idle_test", "site-packages", "__pycache__"}, d.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".py" {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// bracedAt tells of a text which places stand inside an f-string. Before 3.12
// the interpreter counted columns there by rules of its own.
func bracedAt(text string) func(line, col int) bool {
	tree, err := parse([]byte(text))
	if err != nil {
		return func(int, int) bool { return false }
	}
	type place struct{ line, col int }
	in := map[place]bool{}
	for i, n := range tree.Nodes {
		if n.Type == "interpolation" {
			for k := i; k < tree.After(i); k++ {
				in[place{tree.Nodes[k].Row + 1, tree.Nodes[k].Col + 1}] = true
			}
		}
	}
	return func(line, col int) bool { return in[place{line, col}] }
}

// described lists what a plan has, sorted. A place inside an f-string is left
// out, and so is one that the other list does not have.
func described(p *instrument.Plan, braced func(line, col int) bool, other []string) string {
	var all []string
	add := func(what string, line, col int) {
		placed := fmt.Sprintf("%s %d:%d", what, line, col)
		if braced != nil && !braced(line, col) || braced == nil && slices.Contains(other, placed) {
			what = placed
		}
		all = append(all, what)
	}
	for _, s := range p.Sites {
		add(fmt.Sprint(s.Kind, " ", s.Func), s.Line, s.Col)
	}
	for _, q := range p.Points {
		add(fmt.Sprint(q.Role, " of ", p.Sites[q.Site].Func), q.Line, q.Col)
	}
	for _, l := range p.LeftAlone {
		all = append(all, fmt.Sprint(l))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
