package main

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notAtStart are packages whose initialization takes 0.2 ms or more, and which cg does without.
var notAtStart = []string{
	"github.com/santhosh-tekuri/jsonschema/v6", // report/schema
	"github.com/parquet-go/parquet-go",         // report/tables: its packages format and thrift cost nothing
}

// Every command pays for the initialization of every package in cg. The tests of e2e are the cg that they start, some
// thousand times.
func TestStartIsCheap(t *testing.T) {
	for _, program := range [][]string{{"."}, {"-test", "./e2e"}} {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, program...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		deps := strings.Fields(string(out))
		if !slices.Contains(deps, "cg/cli") {
			t.Fatal("cg has no cg/cli")
		}
		for _, p := range notAtStart {
			if slices.Contains(deps, p) {
				t.Errorf("%s is in cg: its initialization takes longer at each start than most commands should (go list -deps %s)",
					p, strings.Join(program, " "))
			}
		}
	}
}

// A package compiles its patterns when they are first used (cg/pattern), and all of
// them compile.
func TestPatterns(t *testing.T) {
	seen := 0
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), "_")) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			g, is := declared.(*ast.GenDecl)
			if !is || g.Tok != token.VAR {
				continue
			}
			ast.Inspect(g, func(n ast.Node) bool {
				call, is := n.(*ast.CallExpr)
				if !is || len(call.Args) != 1 {
					_, inFunction := n.(*ast.FuncLit)
					return !inFunction
				}
				switch called(call) {
				case "regexp.MustCompile", "regexp.Compile":
					t.Errorf("%s: a pattern is compiled at each start of cg: use pattern.Later", files.Position(n.Pos()))
				case "pattern.Later":
					seen++
					if text, known := textOf(call.Args[0]); known {
						if _, err := regexp.Compile(text); err != nil {
							t.Errorf("%s: %v", files.Position(n.Pos()), err)
						}
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Errorf("only %d patterns seen", seen)
	}
}

// called names a function of a package.
func called(call *ast.CallExpr) string {
	s, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return ""
	}
	p, is := s.X.(*ast.Ident)
	if !is {
		return ""
	}
	return p.Name + "." + s.Sel.Name
}

// textOf is a constant text, where it is one without names.
func textOf(e ast.Expr) (text string, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.StringVal(constant.MakeFromLiteral(e.Value, e.Kind, 0)), true
	case *ast.BinaryExpr:
		a, left := textOf(e.X)
		b, right := textOf(e.Y)
		return a + b, left && right
	}
	return "", false
}
