package node

import (
	"fmt"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages/languagetest"
)

// line writes a point as "role kind name: text".
func line(source string, s checkpoint.Site, q instrument.Point) string {
	return fmt.Sprintf("%s %s %s: %s", q.Role, s.Kind, s.Func, strings.ReplaceAll(source[q.Start:q.End], "\n", "|"))
}

var fine = languagetest.Fine

// inside leaves the module's body out.
var inside = instrument.Options{Granularity: instrument.Fine, Exclude: []string{moduleName}}

// of is a text with its options and its plan.
func of(name, source string, o instrument.Options, want string) languagetest.PlanCase {
	return languagetest.PlanCase{Name: name, Source: source, Options: o, Want: want}
}

var planCases = []languagetest.PlanCase{
	of("module", "#!/usr/bin/node\n'use strict'\nf()\n", fine, "module module <module>: |f()|"),
	of("imports", "// one\nimport 'x'\nf()\n", fine, "toplevel module <module>: // one|import 'x'|f()|"),
	of("exports", "'use strict';export default 1", fine, "toplevel module <module>: export default 1"),
	of("dynamic import", "import('x')", fine, "module module <module>: import('x')"),
	of("functions", "function a(x) { return x }\nconst b = function () { 1 }, c = x => x, d = async x => ({x});\n(() => {2})()", inside,
		`body function a:  return x 
		body function b:  1 
		lambda lambda c: x
		lambda lambda d: ({x})
		body lambda <anonymous>: 2`),
	of("nested", "function outer() { function inner() { 1 } return () => 2 }", inside,
		`body function outer:  function inner() { 1 } return () => 2 
		body function outer.inner:  1 
		lambda lambda outer.<anonymous>: 2`),
	of("classes", "class A extends f(() => 0) { constructor() { 1 } static make() { 2 } get x() { 3 } set x(v) { 4 } #p() { 5 } f = () => 6; static { 7 } [k]() { 8 } 'q r'() { 9 } static constructor() { 10 } }\nconst B = class { m() { 11 } }", inside,
		`lambda lambda <anonymous>: 0
		body constructor A.constructor:  1 
		body method A.make:  2 
		body method A.get x:  3 
		body method A.set x:  4 
		body method A.#p:  5 
		lambda lambda A.f: 6
		body method A.<static>:  7 
		body method A.[k]:  8 
		body method A.q r:  9 
		body method A.constructor:  10 
		body method B.m:  11`),
	of("assigned", "module.exports.a = () => 1; exports.b = () => 2; A.prototype.c = function () { 3 }; this.d = () => 4; o = { e() { 5 }, f: { g: () => 6 }, 'h': () => 7 }; x[0] = () => 8; x[0].i = () => 9; function p(j = () => 10, { k = () => 11 }) {}", inside,
		`lambda lambda a: 1
		lambda lambda b: 2
		body function A.c:  3 
		lambda lambda d: 4
		body method o.e:  5 
		lambda lambda o.f.g: 6
		lambda lambda o.h: 7
		lambda lambda <anonymous>: 8
		lambda lambda i: 9
		body function p: 
		lambda lambda j: 10
		lambda lambda k: 11`),
	of("default", "export default () => 1\nexport const a = () => 2", inside, "lambda lambda default: 1\nlambda lambda a: 2"),
	of("suspended", "async function f() { try { await g(await 1) } catch { 2 } finally { 3 } for await (const x of h) y() }", inside,
		`body function f:  try { await g(await 1) } catch { 2 } finally { 3 } for await (const x of h) y() 
		pause function f: await g(await 1)
		pause function f: await 1
		handlers function f: 
		handlers function f: 
		resume function f: for await (const x of h) y()
		suspend function f: h
		loop function f: y()`),
	of("generators", "function* f() { yield; yield* g() }\nconst o = { *m() { yield 1 } }", inside,
		`body function f:  yield; yield* g() 
		pause function f: yield
		pause function f: yield* g()
		body method o.m:  yield 1 
		pause method o.m: yield 1`),
	of("directives", "function f() { 'use strict'; 'more'\n 'a'.length }\nfunction g() { /* c */ 'use strict' }", inside,
		"body function f: | 'a'.length \nbody function g: "),
	of("left alone", "function f() { var g; function g() {} }\nfunction h() { 'use asm'; return {} }\nwith (o) { (() => 1)() }", inside,
		"body function f.g: "),
	of("types", "abstract class A<T> { constructor(private x: number) { super() } abstract m(): void; n(y?: string): T { return y as T } }\nfunction f(a: number): void;\nfunction f(a: any) { 1 }\nconst g = <T,>(x: T): T => x\nnamespace N { export function h() { 2 } }\nenum E { a }", inside,
		`body constructor A.constructor:  super() 
		body method A.n:  return y as T 
		body function f:  1 
		lambda lambda g: x
		body function N.h:  2`),
	of("casts", "const f = (x: any) => <string>x", inside, "lambda lambda f: <string>x"),
	of("markup", "const F = (p) => <b>{p.all.map(x => <i>{x}</i>)}</b>", inside,
		"lambda lambda F: <b>{p.all.map(x => <i>{x}</i>)}</b>\nlambda lambda F.<anonymous>: <i>{x}</i>"),
	of("coarse", "function main() { 1 }\nfunction other() { 2 }", instrument.Options{Granularity: instrument.Coarse, Entry: true},
		"module module <module>: function main() { 1 }|function other() { 2 }\nbody function main:  1"),
	of("coarse, imported", "function main() { 1 }", instrument.Options{Granularity: instrument.Coarse}, ""),
	of("named", "function a() { 1 }\nfunction b() { 2 }", instrument.Options{Granularity: instrument.Fine, Include: []string{"b"}},
		"body function b:  2"),
}

func TestPlans(t *testing.T) {
	languagetest.Plans(t, planModule, planCases, line)
}

func TestPlanRefuses(t *testing.T) {
	languagetest.Refuses(t, planModule, map[string]string{"x = = 1": "line 1", "let a\nclass {": "line 2",
		"function* f() {\n  yield.x }": "line 2", "function* f() { yield ? 1 : 2 }": "line 1"})
}

func TestLeftAlone(t *testing.T) {
	const twice, parameter = "f left alone: it declares g twice", "f left alone: it declares a, the name of a parameter"
	for source, want := range map[string]string{
		"function f() { var g; function g() {} }":                                 twice,
		"function f() { function g() {} function g() {} }":                        twice,
		"function f() { l: function g() {} var g }":                               twice,
		"function f() { l: m: function g() {} function g() {} }":                  twice,
		"function f() { function g() {} for (var g of []); }":                     twice,
		"function f() { function g() {} if (1) { function g() {} } }":             twice,
		"function f() { function g() {} switch (1) { case 1: function g() {} } }": twice,
		"function f() { eval('var g'); function g() {} }":                         "f left alone: eval may declare its functions twice",
		"function f() { eval('var g') }":                                          "",
		"function f() { function g() { var g; { function g() {} } } }":            "",
		"function f() { function g() {} return () => { var g; eval('') } }":       "",
		"function f() { { function g() {} } }":                                    "",
		"function f(a) { let a }":                                                 parameter,
		"function f({ b: [a] = c }, ...d) { const { x: a } = 1 }":                 parameter,
		"function f({ a = 1 }) { class a {} }":                                    parameter,
		"const f = a => { let [a] = 1 }":                                          parameter,
		"function f(a) { { let a } var a; const { a: b, c = a } = a }":            "",
		"function f({ a: b }, c = a) { let a }":                                   "",
		"function f(b: a, c = a) { let a; let x: y }":                             "",
		"function h() { 'use asm'; return {} }":                                   "h left alone: asm.js is compiled as it is",
		"with (o) { (() => 1)() }":                                                "<anonymous> left alone: a with statement around it",
	} {
		if got := leftAlone(t, source, inside); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
	for source, want := range map[string]string{
		"const module = 1":                    "<module> left alone: it declares module, the name of a parameter",
		"class require {}":                    "<module> left alone: it declares require, the name of a parameter",
		"import 'x'; const require = 1":       "",
		"var module; { let exports }":         "",
		"function g() {} { function g() {} }": "<module> left alone: it declares g twice",
	} {
		if got := leftAlone(t, source, fine); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

// leftAlone is what a plan leaves alone, one a line.
func leftAlone(t *testing.T, source string, o instrument.Options) string {
	t.Helper()
	p, err := planModule([]byte(source), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range p.LeftAlone {
		got = append(got, l.Name+" "+l.Reason)
	}
	return strings.Join(got, "\n")
}

// Rewritten texts, each without the sites of its module.
func TestRewrite(t *testing.T) {
	for source, want := range map[string]string{
		"function f() {}":       "function f() {cg$e(7);try{}finally{cg$x(7)}}",
		"const f = x => ({x})":  "const f = x => {cg$e( 7 );try{return(({x}))}finally{cg$x( 7 )}}",
		"async () => await x()": "async () => {cg$e( 7 );let cg$w=0;try{return(cg$r(7,await cg$s(7,x(),cg$w=1),cg$w=0))}finally{cg$w?cg$c(7):cg$x( 7 )}}",
		"function* f() { yield(a); yield\n[b] }": "function* f() {cg$e(7);let cg$w=0;try{ cg$r(7,yield cg$s( 7,(a),cg$w=1),cg$w=0); " +
			"cg$r(7,yield cg$s( 7 ,void 0,cg$w=1),cg$w=0)/**/;\n[b] }finally{cg$w?cg$c(7):cg$x(7)}}",
		"function* f() { yield; yield /* a */ * g }": "function* f() {cg$e(7);let cg$w=0;try{ cg$r(7,yield cg$s( 7 ,void 0,cg$w=1),cg$w=0); " +
			"cg$r(7,yield /* a */ * cg$s(7,g,cg$w=1),cg$w=0) }finally{cg$w?cg$c(7):cg$x(7)}}",
		"async function f() { try { await 1 } catch {} }": "async function f() {cg$e(7);let cg$w=0;try{ try { cg$r(7,await cg$s(7,1,cg$w=1),cg$w=0) } " +
			"catch {cg$w&&(cg$w=cg$r(7,0));} }finally{cg$w?cg$c(7):cg$x(7)}}",
		"async function f() { a: for await (x of y) z() }": "async function f() {cg$e(7);let cg$w=0;try{ {cg$w;try{a: for await (x of cg$s(7,y,cg$w=1)) " +
			"{cg$w=cg$r(7,0);try{z()}finally{cg$w=cg$s(7,1)}}}finally{cg$w&&(cg$w=cg$r(7,0))}} }finally{cg$w?cg$c(7):cg$x(7)}}",
		"function f() { 'use strict'\n1 }": "function f() { 'use strict'; cg$e(7);try{\n1 }finally{cg$x(7)}}",
		"function* f() { await (1) }":      "function* f() {cg$e(7);try{ await (1) }finally{cg$x(7)}}",
		"function f(a = yield) {}":         "function f(a = yield) {cg$e(7);try{}finally{cg$x(7)}}",
		"a => b => 1":                      "a => {cg$e( 7 );try{return(b => {cg$e( 8 );try{return(1)}finally{cg$x( 8 )}})}finally{cg$x( 7 )}}",
	} {
		p, err := planModule([]byte(source), inside)
		if err != nil {
			t.Fatal(err)
		}
		edits, err := rewrite([]byte(source), p, 7)
		if err != nil {
			t.Fatal(err)
		}
		got, err := edit.Apply([]byte(source), edits)
		if string(got) != want || err != nil {
			t.Errorf("%s\ngives %s\nwant  %s (%v)", source, got, want, err)
		}
	}
	p, err := planModule([]byte("function f() { cg$e(1) }"), fine)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rewrite([]byte("function f() { cg$e(1) }"), p, 1); err == nil || !strings.Contains(err.Error(), "cg$") {
		t.Errorf("a text with names of checkpoints: %v", err)
	}
}
