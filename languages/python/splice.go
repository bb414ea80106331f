package python

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
)

// Kinds and types of checkpoints, as in runtimes/python/in-program/events.py.
const (
	enterEvent, exitEvent, suspendEvent, resumeEvent, unwindEvent = 0, 1, 2, 3, 4

	plainType, pausingType, waitType = 0, 1, 2
)

// Flags of code (Include/cpython/code.h).
const (
	optimized  = 0x1 // a function, and not the body of a class or module
	generator  = 0x20
	asyncFlags = 0x80 | 0x100 | 0x200 // coroutines, and generators that are or act as such
)

var (
	// errVersion says that an interpreter's bytecode is not known.
	errVersion  = errors.New("bytecode of an unknown version")
	errAsync    = errors.New("asynchronous code")
	errCode     = errors.New("code of an unknown form")
	errCompiler = errors.New("functions that may be translated by something else")
)

// weave plans compiled code and puts its checkpoints into it. code is that of a module, as marshal
// writes it, without checkpoints; source is the text that it was compiled from, and version the
// number with which the interpreter's .pyc files begin. The sites are those of planModule, but for
// functions that the compiler leaves out. The instructions of the program stay what they were, with
// their lines and columns. In the code None stands where checkpoints belong, and the places are as
// an entry of the cache has them (runtimes/python/in-program/cache.py). An error says that the
// module needs a plan and the weaver of syntax trees (runtimes/python/in-program/weave.py).
func weave(source, code []byte, version string, o instrument.Options) (*instrument.Woven, error) {
	ops := opcodesOf[version]
	if ops == nil {
		return nil, errVersion
	}
	if decoratedByCompiler(source) {
		return nil, errCompiler
	}
	module, err := unmarshal(code)
	if err != nil {
		return nil, err
	}
	w := &splicer{opcodes: ops, options: o, text: text{source: source}, kinds: make([]uint32, 1)}
	w.plan.Language = "python"
	scope := codeScope{}
	if o.SiteWanted(checkpoint.Module, "<module>") {
		scope.site = w.addSite(moduleSite(source), 0)
		scope.owner = scope.site
	}
	places, err := w.weave(module, scope)
	if err != nil {
		return nil, err
	}
	w.sort(places)
	out := &instrument.Woven{Plan: &w.plan, Code: marshal(module)}
	for _, n := range places {
		out.Places = binary.NativeEndian.AppendUint32(out.Places, n)
	}
	return out, nil
}

// moduleSite is the site of a module's body.
func moduleSite(source []byte) checkpoint.Site {
	return checkpoint.Site{Language: "python", Func: "<module>", Kind: checkpoint.Module, Line: 1, Col: 1,
		EndLine: 1 + bytes.Count(bytes.TrimRight(source, "\r\n"), []byte("\n"))}
}

// splicer finds the sites of a module in its code and puts their checkpoints there. Its slices are
// used by one code object after the other.
type splicer struct {
	*opcodes
	options instrument.Options
	text    text
	plan    instrument.Plan
	kinds   []uint32 // type of the checkpoints of each site, which count from 1

	code      *object
	raw       string // its instructions
	instrs    []instr
	at        []int32 // unit -> instruction
	locations []location
	blocks    []block
	inserts   []insert
	marks     []uint32
	out       layout
}

// addSite adds a site and returns its number.
func (w *splicer) addSite(s checkpoint.Site, kind uint32) int {
	w.plan.Sites = append(w.plan.Sites, s)
	w.kinds = append(w.kinds, kind)
	return len(w.plan.Sites)
}

// sort numbers the sites in the order of the source, in the plan and in the places.
func (w *splicer) sort(places []uint32) {
	order := make([]int, len(w.plan.Sites))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		s, t := w.plan.Sites[a], w.plan.Sites[b]
		return cmp.Or(cmp.Compare(s.Line, t.Line), cmp.Compare(s.Col, t.Col))
	})
	sites, numbers := make([]checkpoint.Site, len(order)), make([]uint32, len(order)+1)
	for i, old := range order {
		sites[i], numbers[old+1] = w.plan.Sites[old], uint32(i+1)
	}
	w.plan.Sites = sites
	if len(places) > 0 {
		renumber(places, numbers)
	}
}

// renumber changes the sites in the places of a code object, and returns what follows them.
func renumber(places, numbers []uint32) []uint32 {
	const sites = 1<<21 - 1
	marks := places[0]
	for i := range marks {
		mark := &places[2+2*i]
		*mark = *mark&^sites | numbers[*mark&sites]
	}
	places = places[1+2*marks:]
	inner := places[0]
	places = places[1:]
	for range inner {
		places = renumber(places[1:], numbers)
	}
	return places
}

// codeScope says on whose behalf a code object runs, and how what is defined in it is called.
type codeScope struct {
	site   int // of the function or lambda that it is, 0 for none
	owner  int // of the function that it belongs to: as site, or that of the function around a class
	lambda bool
	name   string // qualified, "" for a module
	class  bool
}

// guarded reports whether the exit is recorded, too, when an exception leaves the code. That of
// a lambda is not, as in weave.py.
func (s codeScope) guarded() bool { return s.site > 0 && !s.lambda }

// inner is a code object among the constants of another.
type inner struct {
	index int // of the constant
	at    location
	seen  bool
}

// weave puts checkpoints into a code object and into those in it, and returns their places, nil
// for none.
func (w *splicer) weave(code *object, scope codeScope) ([]uint32, error) {
	w.code = code
	if code.woven {
		return nil, w.describe("one code object in two")
	}
	code.woven = true
	flags := w.code.flags()
	if flags&asyncFlags != 0 {
		return nil, errAsync
	}
	if err := w.read(); err != nil {
		return nil, err
	}
	if scope.site > 0 {
		w.kinds[scope.site] = kindOf(flags)
	}
	below, err := w.inner()
	if err != nil {
		return nil, err
	}
	if scope.owner > 0 {
		if err := w.choose(scope); err != nil {
			return nil, err
		}
	}
	places := []uint32{uint32(len(w.marks))}
	consts := code.items[codeConsts]
	if len(w.marks) > 0 {
		first := len(consts.items)
		items := append(make([]*object, 0, first+len(w.marks)), consts.items...)
		for i, mark := range w.marks {
			places = append(places, uint32(first+i), mark)
			items = append(items, none)
		}
		consts.items = items
		w.write(scope)
	}
	count := len(places)
	places = append(places, 0)
	for _, c := range below {
		p, err := w.weave(consts.items[c.index], w.scope(consts.items[c.index], c.at, scope))
		if err != nil {
			return nil, err
		}
		if len(p) > 0 {
			places = append(append(places, uint32(c.index)), p...)
			places[count]++
		}
	}
	if places[0] == 0 && places[count] == 0 {
		return nil, nil
	}
	return places, nil
}

// inner lists the code objects among the constants. The location of the instruction that loads
// one is that of the definition.
func (w *splicer) inner() ([]inner, error) {
	consts := w.code.items[codeConsts].items
	var found []inner
	for i, c := range consts {
		if c.kind == 'c' {
			found = append(found, inner{index: i})
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	for i := range w.instrs {
		in := &w.instrs[i]
		if in.op != w.loadConst || int(in.arg) >= len(consts) || consts[in.arg].kind != 'c' {
			continue
		}
		k := 0
		for found[k].index != int(in.arg) {
			k++
		}
		at := w.locations[in.location]
		if at.form != all || found[k].seen && found[k].at != at {
			return nil, w.describe("a definition without a place, or with two")
		}
		found[k].at, found[k].seen = at, true
	}
	return slices.DeleteFunc(found, func(c inner) bool { return !c.seen }), nil
}

// scope is that of a code object that is defined at a place in another, with its site.
func (w *splicer) scope(code *object, at location, around codeScope) codeScope {
	name := code.items[codeName].text()
	switch {
	case code.flags()&optimized == 0: // the body of a class
		return codeScope{owner: around.owner, name: around.qualify(name), class: true}
	case strings.HasPrefix(name, "<generic parameters of"):
		return codeScope{owner: around.owner, name: around.name, class: around.class}
	case name == "<genexpr>":
		return codeScope{name: around.qualify(name)}
	case strings.HasPrefix(name, "<") && name != "<lambda>", name != "<lambda>" && !w.text.defines(at):
		// It belongs to the function around it: a comprehension, or the value of a "type".
		return codeScope{name: around.name, class: around.class}
	}
	s := codeScope{lambda: name == "<lambda>", name: around.qualify(name)}
	kind := checkpoint.Function
	switch {
	case s.lambda:
		kind = checkpoint.Lambda
	case around.class && (name == "__init__" || name == "__new__"):
		kind = checkpoint.Constructor
	case around.class:
		kind = checkpoint.Method
	}
	if w.options.SiteWanted(kind, s.name) {
		s.site = w.addSite(checkpoint.Site{Language: "python", Func: s.name, Kind: kind, Line: at.line,
			Col: at.column + 1, EndLine: at.endLine}, 0)
		s.owner = s.site
	}
	return s
}

func (s codeScope) qualify(name string) string {
	return scope{name: s.name, class: s.class}.qualify(name)
}

// kindOf is the type of the checkpoints of the site that the code is.
func kindOf(flags uint32) uint32 {
	if flags&generator != 0 {
		return pausingType
	}
	return plainType
}

// text is that of a name.
func (o *object) text() string {
	switch {
	case (o.kind == 'z' || o.kind == 'Z') && len(o.raw) > 0:
		return o.raw[1:]
	case (o.kind == 'a' || o.kind == 'A' || o.kind == 'u' || o.kind == 't') && len(o.raw) > 3:
		return o.raw[4:]
	}
	return ""
}

// flags are those of code.
func (o *object) flags() uint32 { return little(o.raw[16:]) }

// mark adds a checkpoint and returns the number of its constant.
func (w *splicer) mark(kind uint32, site int, how uint32) uint32 {
	if w.kinds[site] != pausingType {
		how = w.kinds[site]
	}
	n := uint32(len(w.code.items[codeConsts].items) + len(w.marks))
	w.marks = append(w.marks, how<<24|kind<<21|uint32(site))
	return n
}

// choose finds where the checkpoints of a code object go.
func (w *splicer) choose(scope codeScope) error {
	began := scope.site == 0
	enter, exit, unwind, suspend, resume := -1, -1, -1, -1, -1
	const once = -1
	use := func(n *int, kind uint32) uint32 {
		if *n == once {
			*n = int(w.mark(kind, scope.owner, pausingType))
		}
		return uint32(*n)
	}
	if scope.guarded() {
		use(&exit, exitEvent)
	}
	for i := range w.instrs {
		in := &w.instrs[i]
		switch {
		case in.op == w.resume && in.arg&resumeKind == resumeStart && !began:
			began = true
			w.insert(insert{at: i, after: true, constant: use(&enter, enterEvent), nowhere: true})
		case scope.site > 0 && (in.op == w.returnValue || in.op == w.returnConst):
			w.insert(insert{at: i, constant: use(&exit, exitEvent)})
		case in.op == w.pushExc:
			if i+1 < len(w.instrs) && w.instrs[i+1].op != w.withExcept {
				w.insert(insert{at: i, after: true, constant: use(&unwind, unwindEvent)})
			}
		case in.op == w.yieldValue && scope.site > 0:
			if i+1 == len(w.instrs) || w.instrs[i+1].op != w.resume {
				return errCode
			}
			if w.instrs[i+1].arg&resumeKind == resumeYield {
				w.insert(insert{at: i, constant: use(&suspend, suspendEvent)})
				w.insert(insert{at: i + 1, after: true, constant: use(&resume, resumeEvent)})
			}
		case in.op == w.yieldFrom && scope.site > 0:
			wait := w.mark(suspendEvent, scope.owner, waitType)
			w.insert(insert{at: i, constant: wait, looks: true})
			end, err := w.endOfYieldFrom(i)
			if err != nil {
				return err
			}
			w.insert(insert{at: end, after: true, constant: use(&resume, resumeEvent)})
		}
	}
	if !began {
		return errCode
	}
	return nil
}

// endOfYieldFrom is the last instruction of the loop of a "yield from", behind which its value
// is on the stack.
func (w *splicer) endOfYieldFrom(i int) (int, error) {
	if i+2 >= len(w.instrs) || w.instrs[i+2].op != w.send || w.instrs[i+2].target < 0 {
		return 0, errCode
	}
	target := w.instrs[i+2].target
	if w.endSend != 0 {
		if w.instrs[target].op != w.endSend {
			return 0, errCode
		}
		return target, nil
	}
	// Only the jump of the send goes to what is inserted there.
	if target == 0 || w.instrs[target-1].op != w.backAgain {
		return 0, errCode
	}
	w.instrs[i+2].target, w.instrs[i+2].behind = target-1, true
	return target - 1, nil
}

func (w *splicer) insert(n insert) {
	w.inserts = append(w.inserts, n)
}

// describe is for errors of the form of code.
func (w *splicer) describe(what string) error {
	return fmt.Errorf("%w: %s in %q", errCode, what, w.code.items[codeName].raw)
}
