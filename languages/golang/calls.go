package golang

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// calledFunction is what the source of a program says of one of its functions.
type calledFunction struct {
	file  string
	open  int               // the brace that opens its body, as an offset
	name  string            // "" of a literal
	loops bool              // its body has a loop
	named bool              // it is called by its name
	other bool              // it is a value, or begins a goroutine
	calls []*calledFunction // by name, in its body and in the literals there
	place visit
}

// visit is the place of a function in the search for cycles of calls (Tarjan's): its number,
// from 1, and the least number that can be reached from it.
type visit struct {
	number, least int
	waits         bool // its cycle is not complete
}

// callReader reads which functions of a program call each other by name. It checks types, to
// know a call of a method from one through an interface. Of packages without checkpoints it
// reads the declarations alone.
type callReader struct {
	build     *build
	user      map[string]string         // the user's overlay
	written   map[string]bool           // files that get checkpoints
	listed    map[string]*listedPackage // by import path
	checked   map[string]*types.Package
	files     *token.FileSet
	functions map[string]*calledFunction // by where they stand (where)
	order     []*calledFunction
	unknown   map[string]bool // names that are called where types are not known
}

// chooseBare finds the functions that stay without checkpoints if the compiler inlines them.
// Such a function is called by its name, is no value and begins no goroutine, has no loop,
// and does not call itself, through others like it either. The choice is kept for the same
// source.
func (b *build) chooseBare(packages []*listedPackage, user map[string]string) error {
	r := &callReader{build: b, user: user, written: map[string]bool{}, listed: map[string]*listedPackage{},
		checked: map[string]*types.Package{}, files: token.NewFileSet(),
		functions: map[string]*calledFunction{}, unknown: map[string]bool{}}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n", planVersion(), b.command.version)
	for _, u := range b.units {
		for _, name := range u.files {
			text, err := readSource(name, user)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%q %d\n", name, len(text))
			h.Write(text)
			r.written[name] = true
		}
	}
	for _, p := range packages {
		r.listed[p.ImportPath] = p
		fmt.Fprintf(h, "%q %q %q %v\n", p.ImportPath, p.Dir, p.GoFiles, p.ImportMap)
	}
	kept := filepath.Join("bare", hex.EncodeToString(h.Sum(nil))[:24]+".json")
	if text, err := b.kept.Read(kept); err == nil && json.Unmarshal(text, &b.bare) == nil && b.bare != nil {
		b.kept.Used(kept)
		return nil
	}
	for _, p := range packages {
		if p.ForTest == "" && r.getsCheckpoints(p) {
			r.readPackage(p)
		}
	}
	b.bare = r.choose()
	text, err := json.Marshal(b.bare)
	if err != nil {
		return err
	}
	return b.kept.Write(kept, text)
}

// readPackage reads a package that gets checkpoints, with its tests, which are compiled
// with it and as a package that imports it.
func (r *callReader) readPackage(p *listedPackage) {
	plain := r.check(p)
	if !r.build.target.test || p.DepOnly {
		return
	}
	with := plain
	if len(p.TestGoFiles) > 0 {
		with = r.checkFiles(p, p.ImportPath, slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles))
	}
	if len(p.XTestGoFiles) > 0 {
		r.checked[p.ImportPath] = with
		r.checkFiles(p, p.ImportPath+"_test", p.XTestGoFiles)
		r.checked[p.ImportPath] = plain
	}
}

// getsCheckpoints reports whether a file of the package does.
func (r *callReader) getsCheckpoints(p *listedPackage) bool {
	return slices.ContainsFunc(slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles),
		func(name string) bool { return r.written[p.file(name)] })
}

// check is a package with its types. Each is read once.
func (r *callReader) check(p *listedPackage) *types.Package {
	done := r.checked[p.ImportPath]
	if done == nil {
		done = r.checkFiles(p, p.ImportPath, slices.Concat(p.GoFiles, p.CgoFiles))
		r.checked[p.ImportPath] = done
	}
	return done
}

// importing finds what a package imports.
type importing func(name string) (*types.Package, error)

func (f importing) Import(name string) (*types.Package, error) { return f(name) }

// checkFiles checks files of a package as one. What is wrong with them, the compiler says.
func (r *callReader) checkFiles(p *listedPackage, name string, names []string) *types.Package {
	calls := r.getsCheckpoints(p)
	var files []*ast.File
	for _, name := range names {
		text, err := readSource(p.file(name), r.user)
		if err != nil {
			continue
		}
		file, _ := parser.ParseFile(r.files, p.file(name), text, parser.SkipObjectResolution)
		if file == nil {
			continue
		}
		files = append(files, file)
		if !calls {
			leaveDeclarations(file)
		}
	}
	info := &types.Info{}
	if calls {
		info.Defs, info.Uses = map[*ast.Ident]types.Object{}, map[*ast.Ident]types.Object{}
	}
	c := types.Config{FakeImportC: true, IgnoreFuncBodies: !calls, Error: func(error) {},
		Importer: importing(func(name string) (*types.Package, error) { return r.imported(p, name) })}
	checked, _ := c.Check(name, r.files, files, info)
	if calls {
		for _, file := range files {
			r.declare(file)
		}
		for _, file := range files {
			ast.Walk(fileReader{callReader: r, info: info, called: map[ast.Node]bool{}, starts: map[ast.Node]bool{},
				held: map[ast.Node]bool{}, variables: map[types.Object]*calledFunction{}}, file)
		}
	}
	return checked
}

// leaveDeclarations takes out of a file what no type depends on: bodies, and the elements of
// tables.
func leaveDeclarations(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			d.Body = nil
		case *ast.GenDecl:
			for _, s := range d.Specs {
				v, is := s.(*ast.ValueSpec)
				if !is || d.Tok != token.VAR {
					continue
				}
				for _, value := range v.Values {
					if address, is := value.(*ast.UnaryExpr); is {
						value = address.X
					}
					if table, is := value.(*ast.CompositeLit); is {
						table.Elts = nil
					}
				}
			}
		}
	}
}

// imported is a package that another one imports. What only the standard library may import
// has no function of the program's: it is taken for empty.
func (r *callReader) imported(by *listedPackage, name string) (*types.Package, error) {
	if name == "unsafe" {
		return types.Unsafe, nil
	}
	if to := by.ImportMap[name]; to != "" {
		name = to
	}
	p := r.listed[name]
	if p == nil {
		return nil, fmt.Errorf("%s: not listed", name)
	}
	if by.Standard && !r.getsCheckpoints(by) && !r.getsCheckpoints(p) &&
		(strings.HasPrefix(name, "vendor/") || slices.Contains(strings.Split(name, "/"), "internal")) {
		empty := types.NewPackage(name, path.Base(name))
		empty.MarkComplete()
		return empty, nil
	}
	return r.check(p), nil
}

// where is the place of a function, the same each time that its file is read.
func (r *callReader) where(at token.Pos) string {
	p := r.files.PositionFor(at, false)
	return fmt.Sprintf("%s:%d", p.Filename, p.Offset)
}

// declare notes the functions of a file: a declaration where its name stands, a literal
// where it begins.
func (r *callReader) declare(file *ast.File) {
	note := func(at token.Pos, name string, body *ast.BlockStmt) {
		where := r.where(at)
		if body == nil || r.functions[where] != nil {
			return
		}
		p := r.files.PositionFor(body.Lbrace, false)
		f := &calledFunction{file: p.Filename, open: p.Offset, name: name}
		r.functions[where] = f
		r.order = append(r.order, f)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			note(n.Name.Pos(), n.Name.Name, n.Body)
		case *ast.FuncLit:
			note(n.Pos(), "", n.Body)
		}
		return true
	})
}

// fileReader reads the calls in a file.
type fileReader struct {
	*callReader
	info      *types.Info
	called    map[ast.Node]bool                // the names and literals that calls are of
	starts    map[ast.Node]bool                // calls of go statements, and of those defer statements that are as they stand
	held      map[ast.Node]bool                // literals that a variable is declared with
	variables map[types.Object]*calledFunction // those literals by their variable
	declared  *calledFunction                  // the declaration that is read
	function  *calledFunction                  // the innermost function
}

// Visit reads a node before what it consists of.
func (r fileReader) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.FuncDecl:
		r.declared = r.functions[r.where(n.Name.Pos())]
		r.function = r.declared
	case *ast.FuncLit:
		if r.function = r.functions[r.where(n.Pos())]; r.function != nil {
			r.function.named = r.function.named || r.called[n]
			r.function.other = r.function.other || !r.called[n] && !r.held[n]
		}
	case *ast.ForStmt, *ast.RangeStmt:
		r.loop()
	case *ast.BranchStmt:
		if n.Tok == token.GOTO {
			r.loop()
		}
	case *ast.GoStmt:
		r.starts[n.Call] = true
	case *ast.DeferStmt:
		r.starts[n.Call] = r.standsAlone(n.Call)
	case *ast.CallExpr:
		if !r.starts[n] {
			r.called[nameOf(n.Fun)] = true
		}
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE && len(n.Lhs) == len(n.Rhs) {
			for i := range n.Lhs {
				r.hold(n.Lhs[i], n.Rhs[i])
			}
		}
	case *ast.ValueSpec:
		if r.function != nil && len(n.Names) == len(n.Values) {
			for i := range n.Names {
				r.hold(n.Names[i], n.Values[i])
			}
		}
	case *ast.SelectorExpr:
		r.called[n.Sel] = r.called[n]
	case *ast.Ident:
		r.use(n)
	}
	return r
}

func (r fileReader) loop() {
	if r.function != nil {
		r.function.loops = true
	}
}

// hold notes a variable that is declared with a literal. The compiler inlines its calls as
// those of a name.
func (r fileReader) hold(name, value ast.Expr) {
	literal, is := value.(*ast.FuncLit)
	variable, names := name.(*ast.Ident)
	if is && names && r.info.Defs[variable] != nil {
		r.held[literal] = true
		r.variables[r.info.Defs[variable]] = r.functions[r.where(literal.Pos())]
	}
}

// standsAlone reports whether a deferred call is made as it stands. One with arguments, of a
// method or with results is made by a function that the compiler adds, and inlined there.
func (r fileReader) standsAlone(call *ast.CallExpr) bool {
	if _, literal := call.Fun.(*ast.FuncLit); literal {
		return len(call.Args) == 0
	}
	f, is := call.Fun.(*ast.Ident)
	return is && len(call.Args) == 0 && r.info.Uses[f] != nil
}

// nameOf is the name in the function of a call, or its literal.
func nameOf(function ast.Expr) ast.Node {
	for {
		switch f := function.(type) {
		case *ast.ParenExpr:
			function = f.X
		case *ast.IndexExpr: // an instance of a generic function
			function = f.X
		case *ast.IndexListExpr:
			function = f.X
		default:
			return f
		}
	}
}

// use notes what a name stands for: a call, or a value.
func (r fileReader) use(name *ast.Ident) {
	var f *calledFunction
	switch o := r.info.Uses[name].(type) {
	case *types.Func:
		f = r.functions[r.where(o.Origin().Pos())]
		if f != nil && r.called[name] && r.declared != nil {
			r.declared.calls = append(r.declared.calls, f)
		}
	case *types.Var:
		f = r.variables[o]
	case nil:
		if r.called[name] {
			r.unknown[name.Name] = true
		}
	}
	if f != nil {
		f.named = f.named || r.called[name]
		f.other = f.other || !r.called[name]
	}
}

// choose gives the functions that may stay bare: where their bodies begin, by file.
func (r *callReader) choose() map[string][]int {
	candidate := map[*calledFunction]bool{}
	for _, f := range r.order {
		candidate[f] = !f.loops && !f.other && (f.named || f.name != "" && r.unknown[f.name])
	}
	for _, f := range r.order {
		candidate[f] = candidate[f] && !slices.Contains(f.calls, f)
	}
	var waiting []*calledFunction
	number := 0
	var search func(f *calledFunction)
	search = func(f *calledFunction) {
		number++
		f.place = visit{number, number, true}
		waiting = append(waiting, f)
		for _, g := range f.calls {
			switch {
			case !candidate[g]:
			case g.place.number == 0:
				search(g)
				f.place.least = min(f.place.least, g.place.least)
			case g.place.waits:
				f.place.least = min(f.place.least, g.place.number)
			}
		}
		if f.place.least == f.place.number {
			at := slices.Index(waiting, f)
			for _, g := range waiting[at:] {
				g.place.waits = false
				candidate[g] = candidate[g] && len(waiting)-at == 1
			}
			waiting = waiting[:at]
		}
	}
	bare := map[string][]int{}
	for _, f := range r.order {
		if candidate[f] && f.place.number == 0 {
			search(f)
		}
	}
	for _, f := range r.order {
		if candidate[f] {
			bare[f.file] = append(bare[f.file], f.open)
		}
	}
	return bare
}
