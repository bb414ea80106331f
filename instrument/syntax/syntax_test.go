package syntax_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/smacker/go-tree-sitter/python"

	"cg/instrument/syntax"
)

var grammar = syntax.Lazy(python.GetLanguage)

func parse(t testing.TB, source string) *syntax.Tree {
	t.Helper()
	tree, err := grammar().Parse([]byte(source), 0)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestParse(t *testing.T) {
	tree := parse(t, "def é(a):\n  return a\nx = 1\n")
	root := tree.Nodes[0]
	if root.Type != "module" || root.Parent != -1 || root.End != len(tree.Source) || tree.After(0) != len(tree.Nodes) {
		t.Errorf("root %+v", root)
	}
	var children []string
	tree.Children(0, func(c int) {
		n := tree.Nodes[c]
		children = append(children, fmt.Sprintf("%s %d:%d-%d:%d", n.Type, n.Row, n.Col, n.EndRow, n.EndCol))
	})
	if got, want := strings.Join(children, ", "), "function_definition 0:0-1:10, expression_statement 2:0-2:5"; got != want {
		t.Errorf("children %s, want %s", got, want)
	}
	name := tree.Field(1, "name")
	if name < 0 || tree.Text(name) != "é" || tree.Nodes[name].Field != "name" || tree.Nodes[name].Parent != 1 {
		t.Errorf("name at %d", name)
	}
	if tree.Field(1, "no such field") != -1 || tree.Field(name, "name") != -1 {
		t.Error("a field that is not there")
	}
	if n, _ := tree.Faults(); n != 0 {
		t.Errorf("%d faults", n)
	}
}

func TestFaults(t *testing.T) {
	for source, row := range map[string]int{"x = 1\ny = = 2\n": 1, "def f(:\n  pass\n": 0, "\n\n)": 2} {
		if n, at := parse(t, source).Faults(); n == 0 || at != row {
			t.Errorf("%q: %d faults, the first in row %d, want %d", source, n, at, row)
		}
	}
}

func TestDeadline(t *testing.T) {
	source := strings.Repeat("(", 1<<20)
	if _, err := grammar().Parse([]byte(source), time.Microsecond); !errors.Is(err, syntax.ErrDeadline) {
		t.Errorf("error %v", err)
	}
}

// FuzzParse: any bytes give a tree whose nodes nest, in the order of the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "x", "def f(): pass", "\x00", "f'{x!r:>{y}}'", "(((", "\ufeff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		tree, err := grammar().Parse(source, time.Second)
		if err != nil {
			return
		}
		for i, n := range tree.Nodes {
			if n.Start < 0 || n.Start > n.End || n.End > len(source) || n.Parent >= i || tree.After(i) <= i {
				t.Fatalf("node %d: %+v", i, n)
			}
			if n.Parent >= 0 {
				if p := tree.Nodes[n.Parent]; n.Start < p.Start || n.End > p.End {
					t.Fatalf("node %d %+v is not in %+v", i, n, p)
				}
			}
		}
		tree.Faults()
	})
}
