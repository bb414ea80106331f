package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The limits of the style. What they are for: a function is read on two screens,
// a file in one sitting, a line without scrolling.
const (
	maxFunction   = 80  // lines of a Go function, from func to its last brace
	maxParameters = 5   // of a Go function, without the receiver
	maxColumns    = 120 // of a line; a tab is four columns
	maxFile       = 600 // lines
)

// TestStyle holds the limits of the style in the source of the product: Go, C,
// Python and Java, without tests and fixtures.
//
// Three things are no function, line or file over a limit:
//   - a table: a function whose whole body returns one composite literal; a line
//     which is one row of a table, a composite literal without a type of its own;
//   - a generated file, which says so in its first line as Go's tools do;
//   - a line of an embedded text (a raw string of several lines), one that ends
//     in a struct tag, and one that a URL alone makes too long.
func TestStyle(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() {
			if name == "testdata" || len(name) > 1 && name[0] == '.' {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".c", ".h", ".py", ".java":
		default:
			return nil
		}
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		seen++
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		over, err := overLimits(path, source)
		for _, what := range over {
			t.Errorf("%s\n\tsplit or wrap it: functions have at most %d lines and %d parameters, lines %d columns, files %d lines",
				what, maxFunction, maxParameters, maxColumns, maxFile)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 300 {
		t.Errorf("only %d files seen", seen)
	}
}

// overLimits is what of one file is over a limit: "a.go:1: f has 81 lines".
func overLimits(path string, source []byte) (over []string, err error) {
	exempt := map[int]bool{}
	if filepath.Ext(path) == ".go" {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(file) {
			return nil, nil
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				over = append(over, functionOver(f, files)...)
			}
		}
		exempt = exemptLines(file, files)
	}
	lines := strings.Split(strings.TrimSuffix(string(source), "\n"), "\n")
	if len(lines) > maxFile {
		over = append(over, fmt.Sprintf("%s:%d: a file of %d lines", path, maxFile+1, len(lines)))
	}
	for i, line := range lines {
		if columns(line) > maxColumns && !exempt[i+1] && columns(withoutURLs(line)) > maxColumns {
			over = append(over, fmt.Sprintf("%s:%d: a line of %d columns", path, i+1, columns(line)))
		}
	}
	return over, nil
}

func functionOver(f *ast.FuncDecl, files *token.FileSet) (over []string) {
	at := files.Position(f.Pos())
	length := files.Position(f.End()).Line - at.Line + 1
	if length > maxFunction && !isTable(f) {
		over = append(over, fmt.Sprintf("%s:%d: %s has %d lines", at.Filename, at.Line, f.Name.Name, length))
	}
	if n := f.Type.Params.NumFields(); n > maxParameters {
		over = append(over, fmt.Sprintf("%s:%d: %s has %d parameters", at.Filename, at.Line, f.Name.Name, n))
	}
	return over
}

func isTable(f *ast.FuncDecl) bool {
	if f.Body == nil || len(f.Body.List) != 1 {
		return false
	}
	r, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return false
	}
	x := r.Results[0]
	if u, ok := x.(*ast.UnaryExpr); ok {
		x = u.X
	}
	_, ok = x.(*ast.CompositeLit)
	return ok
}

// exemptLines is the lines of a Go file that may be longer.
func exemptLines(file *ast.File, files *token.FileSet) map[int]bool {
	exempt := map[int]bool{}
	span := func(n ast.Node) (first, last int) {
		return files.Position(n.Pos()).Line, files.Position(n.End()).Line
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if first, last := span(n); n.Kind == token.STRING && last > first {
				for i := first; i <= last; i++ {
					exempt[i] = true
				}
			}
		case *ast.Field:
			if n.Tag != nil {
				first, _ := span(n.Tag)
				exempt[first] = true
			}
		case *ast.CompositeLit:
			if first, last := span(n); n.Type == nil && first == last {
				exempt[first] = true
			}
		}
		return true
	})
	return exempt
}

func columns(line string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
}

func withoutURLs(line string) string {
	words := strings.Fields(line)
	rest := slices.DeleteFunc(words, func(w string) bool { return strings.Contains(w, "https://") || strings.Contains(w, "http://") })
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))] + strings.Join(rest, " ")
}

func TestOverLimits(t *testing.T) {
	long := strings.Repeat("x", 121)
	body := func(lines int) string { return strings.Repeat("\tf()\n", lines-2) }
	cases := []struct{ what, path, source, want string }{
		{"as long as may be", "a.go", "package a\nfunc f() {\n" + body(80) + "}\n", ""},
		{"a function too long", "a.go", "package a\nfunc f() {\n" + body(81) + "}\n", "a.go:2: f has 81 lines"},
		{"a method too long", "a.go", "package a\nfunc (x T) M() {\n" + body(81) + "}\n", "a.go:2: M has 81 lines"},
		{"a table", "a.go", "package a\nfunc f() *T {\n\treturn &T{\n" + strings.Repeat("\t\t1,\n", 90) + "\t}\n}\n", ""},
		{"generated", "a.go", "// Code generated by x. DO NOT EDIT.\n\npackage a\nfunc f() {\n" + body(81) + "}\n", ""},
		{"five parameters", "a.go", "package a\nfunc (x T) f(a, b, c int, d, e bool) {}\n", ""},
		{"six parameters", "a.go", "package a\nfunc f(a, b, c int, d, e, f bool) {}\n", "a.go:2: f has 6 parameters"},
		{"six without names", "a.go", "package a\nfunc f(int, int, int, int, int, ...int) {}\n", "a.go:2: f has 6 parameters"},
		{"a long line", "a.go", "package a\nvar x = \"" + long + "\"\n", "a.go:2: a line of 131 columns"},
		{"a tab is four columns", "a.c", "\t" + long[:117] + "\n", "a.c:1: a line of 121 columns"},
		{"characters, not bytes", "a.py", strings.Repeat("ü", 120) + "\n", ""},
		{"a raw string on one line", "a.go", "package a\nvar x = `" + long + "`\n", "a.go:2: a line of 131 columns"},
		{"an embedded text", "a.go", "package a\nvar x = `\n" + long + "`\n", ""},
		{"a struct tag", "a.go", "package a\ntype T struct {\n\tX int `json:\"" + long + "\"`\n}\n", ""},
		{"a row", "a.go", "package a\nvar x = []T{\n\t{\"" + long + "\"},\n}\n", ""},
		{"a value with a type is no row", "a.go", "package a\nvar x = T{\"" + long + "\"}\n", "a.go:2: a line of 134 columns"},
		{"a URL", "A.java", "// https://example.org/" + long + "\n", ""},
		{"a URL and more", "A.java", "// https://example.org/ " + long + "\n", "A.java:1: a line of 145 columns"},
		{"a file as long as may be", "a.py", strings.Repeat("\n", 600), ""},
		{"a file too long", "a.py", strings.Repeat("\n", 601), "a.py:601: a file of 601 lines"},
	}
	for _, c := range cases {
		over, err := overLimits(c.path, []byte(c.source))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if got := strings.Join(over, "\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}

// TestOneWayToLeaveOut: what a test leaves out because it takes long goes through package long, which counts it.
func TestOneWayToLeaveOut(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || len(name) > 1 && name[0] == '.' || path == "long") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		if call := "testing." + "Short()"; strings.Contains(string(source), call) {
			t.Errorf("%s calls %s: use long.Skip, long.Without or long.Rounds", path, call)
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Errorf("%d tests: %v", seen, err)
	}
}
