package runtimes

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// goInsert is a text that goes into a function of the standard library, or into
// a struct, without moving a line.
type goInsert struct {
	file string
	in   string // "schedule", "B.StartTimer", "g" of a struct
	at   goPlace
	text string
}

type goPlace int

const (
	goFirst    goPlace = iota // at the beginning of the body
	goEnd                     // at the end of the body, or of the fields
	goJump                    // before the call of gogo or the return that it ends with
	goDeferred                // behind the first statement that defers
	goLimit                   // before maxstacksize in the first condition that has it
	goSend                    // before the first statement that sends
)

var goSchedulerInserts = []goInsert{
	{"src/runtime/proc.go", "dropg", goFirst, " codegreenLeave();"},
	{"src/runtime/proc.go", "execute", goJump, "codegreenArrive(gp); "},
	{"src/runtime/proc.go", "newproc1", goJump, "codegreenSpawn(newg, callergp); "},
	{"src/runtime/proc.go", "gdestroy", goFirst, " codegreenGone(gp);"},
	{"src/runtime/coro.go", "coroswitch_m", goJump, "codegreenArrive(gnext); "},
	{"src/runtime/os_linux.go", "unminit", goFirst, " codegreenThreadEnd();"},
	{"src/runtime/stack.go", "newstack", goLimit, "codegreenRoom*"},
	{"src/runtime/runtime2.go", "g", goEnd, "codegreenTask, codegreenBorn, codegreenNode uint32; " +
		"codegreenSince, codegreenTurn uint64; codegreenSlot uintptr "},
}

// What a test reported last is ended before what waits for parallel tests, and a test
// that waits to run beside others pauses; what a benchmark does counts while its timer runs.
var goTestingInserts = []goInsert{
	{"src/testing/testing.go", "M.Run", goFirst, " codegreenPackage = m.deps.ImportPath();"},
	{"src/testing/testing.go", "tRunner", goDeferred, "; defer codegreenTest(&t.common)()"},
	{"src/testing/testing.go", "common", goEnd, "codegreenSite uint32 "},
	{"src/testing/testing.go", "T.Parallel", goSend, "codegreenPause(&t.common); "},
	{"src/testing/testing.go", "T.Parallel", goEnd, "codegreenContinue(&t.common) "},
	{"src/testing/fuzz.go", "fRunner", goDeferred, "; defer codegreenTest(&f.common)()"},
	{"src/testing/run_example.go", "runExample", goFirst, " defer codegreenExample(eg.Name)();"},
	{"src/testing/benchmark.go", "B", goEnd, "codegreen codegreenBench "},
	{"src/testing/benchmark.go", "B.StartTimer", goEnd, "b.codegreen.start(b) "},
	{"src/testing/benchmark.go", "B.StopTimer", goFirst, " b.codegreen.stop();"},
	{"src/testing/benchmark.go", "B.ResetTimer", goEnd, "b.codegreen.reset(b) "},
	{"src/testing/benchmark.go", "B.launch", goEnd, "b.codegreen.reported(b) "},
}

// into puts the text into the source of its file.
func (in goInsert) into(source []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, in.file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := token.NoPos
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil && goName(d) == in.in {
				if at, err = in.within(d.Body); err != nil {
					return nil, err
				}
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && s.Name.Name == in.in {
					if s, ok := s.Type.(*ast.StructType); ok && in.at == goEnd {
						at = s.Fields.Closing
					}
				}
			}
		}
	}
	if at == token.NoPos {
		return nil, fmt.Errorf("%s: no %s", in.file, in.in)
	}
	return slices.Insert(slices.Clone(source), fset.Position(at).Offset, []byte(in.text)...), nil
}

// goName is a function's name, with its receiver's type before it.
func goName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return ""
}

// within finds the place in a function's body.
func (in goInsert) within(body *ast.BlockStmt) (token.Pos, error) {
	switch in.at {
	case goFirst:
		return body.Lbrace + 1, nil
	case goEnd:
		return body.Rbrace, nil
	case goJump:
		if n := len(body.List); n > 0 {
			switch last := body.List[n-1].(type) {
			case *ast.ReturnStmt:
				return last.Pos(), nil
			case *ast.ExprStmt:
				if call, ok := last.X.(*ast.CallExpr); ok {
					if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "gogo" {
						return last.Pos(), nil
					}
				}
			}
		}
		return 0, fmt.Errorf("%s: %s does not end with a jump", in.file, in.in)
	case goLimit:
		return in.limit(body)
	}
	for _, s := range body.List {
		switch s := s.(type) {
		case *ast.DeferStmt:
			if in.at == goDeferred {
				return s.End(), nil
			}
		case *ast.SendStmt:
			if in.at == goSend {
				return s.Pos(), nil
			}
		}
	}
	if in.at == goSend {
		return 0, fmt.Errorf("%s: %s sends nothing", in.file, in.in)
	}
	return 0, fmt.Errorf("%s: %s defers nothing", in.file, in.in)
}

// limit finds the first condition that asks for the most that a stack may have.
func (in goInsert) limit(body *ast.BlockStmt) (at token.Pos, err error) {
	ast.Inspect(body, func(n ast.Node) bool {
		if s, ok := n.(*ast.IfStmt); ok && at == token.NoPos {
			ast.Inspect(s.Cond, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.Name == "maxstacksize" && at == token.NoPos {
					at = id.Pos()
				}
				return true
			})
		}
		return at == token.NoPos
	})
	if at == token.NoPos {
		err = fmt.Errorf("%s: %s has no limit of stacks", in.file, in.in)
	}
	return at, err
}
