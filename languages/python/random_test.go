package python

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// maker writes random programs that are valid and end: statements and
// expressions of every kind around which checkpoints stand. What can differ
// from one run to the next (addresses, times, the order of a set) is left out.
type maker struct {
	*rand.Rand
	minor     int // of the Python that is to take it
	out       strings.Builder
	indent    string
	places    []place
	callees   []callee
	left      int  // compound statements
	number    int  // for names
	quoted    bool // inside an f-string
	decorated bool // by the line before
	inside    int  // comprehensions
	iterable  bool // of a comprehension
	script    bool
}

type placeKind int

const (
	inModule placeKind = iota
	inFunction
	inGenerator
	inCoroutine
	inAsyncGenerator
	inClass
	inLambda
)

// place is a scope of the program.
type place struct {
	kind    placeKind
	names   []string
	loop    bool // break and continue may stand
	group   bool // in a handler of except*: no way out but its end
	handler bool
}

type callee struct {
	name string
	kind placeKind
	up   int // places around it
}

// program writes the program of a seed.
func program(seed uint64, minor int, script bool) string {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 7)), minor: minor, script: script}
	m.left = 10 + m.IntN(20)
	if m.one(6) {
		m.line(m.choose(`"""A module."""`, "'''Words\n  in\n\tlines'''", "# a comment"))
	}
	if m.one(4) {
		m.line("from __future__ import annotations")
	}
	m.line("import asyncio, contextlib, functools, inspect, pickle, sys, traceback, weakref, dataclasses, typing")
	m.line("from itertools import islice")
	m.line("from helpers import *")
	m.places = []place{{kind: inModule, names: []string{"a0", "b0", "c0"}}}
	m.line(fmt.Sprintf("a0 = %d; b0 = %d; c0 = %d", m.IntN(9), m.IntN(9), m.IntN(9)))
	for m.left > 0 {
		m.statement()
		if m.one(2) {
			m.use()
		}
	}
	for range 3 {
		m.use()
	}
	if m.one(6) {
		m.line(m.value(3))
	}
	text := m.out.String()
	switch m.IntN(30) {
	case 0:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case 1:
		text = strings.ReplaceAll(text, "\n", "\r")
	case 2:
		text = strings.TrimRight(text, "\n")
	case 3:
		text = "\ufeff" + text
	}
	return text
}

func (m *maker) one(n int) bool { return m.IntN(n) == 0 }

func (m *maker) choose(all ...string) string { return all[m.IntN(len(all))] }

func (m *maker) here() *place { return &m.places[len(m.places)-1] }

func (m *maker) name(prefix string) string {
	m.number++
	if m.one(12) {
		prefix = m.choose("é", "__", "ñ_") + prefix
	}
	return fmt.Sprintf("%s%d", prefix, m.number)
}

// line writes a logical line.
func (m *maker) line(text string) {
	if m.one(25) && !m.decorated {
		m.out.WriteString(m.choose("\n", "# at the margin\n", "\t  # anywhere\n", m.indent+"# here\n", m.indent+"        # deeper\n", "  \n", "\f\n"))
	}
	m.decorated = text[0] == '@' || text[0] == ' '
	end := m.choose("", "", "", "", "", "", ";", " # é", "  ")
	if end == ";" && strings.ContainsAny(text[:1], "@#") {
		end = ""
	}
	m.out.WriteString(m.indent + text + end + "\n")
}

// block writes a head and what it holds, or both on one line.
func (m *maker) block(head string, body func()) {
	if m.one(12) && !strings.HasPrefix(head, "class") {
		m.line(head + " " + m.simple() + m.choose("", "; "+m.simple()))
		return
	}
	m.out.WriteString(m.indent + head + m.choose("", "", "", " # behind") + "\n")
	old := m.indent
	m.indent += m.choose("    ", "    ", "\t", " ", "  ", "        ")
	if m.one(15) {
		m.out.WriteString(m.choose("# at the margin\n", old+"# between\n", "\n"))
	}
	body()
	m.indent = old
}

// some writes a few statements.
func (m *maker) some() {
	for range 1 + m.IntN(3) {
		m.statement()
	}
}

func (m *maker) in(change func(*place), body func()) {
	old := *m.here()
	change(m.here())
	body()
	p := m.here()
	p.loop, p.group, p.handler = old.loop, old.group, old.handler
}

// variables are the names that can be read here.
func (m *maker) variables() []string {
	var all []string
	for i, p := range m.places {
		if p.kind != inClass || i == len(m.places)-1 {
			all = append(all, p.names...)
		}
	}
	return all
}

func (m *maker) async() bool {
	k := m.here().kind
	return k == inCoroutine || k == inAsyncGenerator
}

func (m *maker) yields() bool {
	k := m.here().kind
	return k == inGenerator || k == inAsyncGenerator
}

// target is a name to assign to.
func (m *maker) target() string {
	own := m.here().names
	if len(own) > 0 && !m.one(5) {
		return own[m.IntN(len(own))]
	}
	n := m.name("v")
	return n
}

func (m *maker) atom() string {
	if vars := m.variables(); len(vars) > 0 && !m.one(3) {
		return vars[m.IntN(len(vars))]
	}
	return fmt.Sprint(m.IntN(10))
}

// gap is white space inside brackets.
func (m *maker) gap() string {
	if m.quoted || !m.one(10) {
		return " "
	}
	// A line further to the left than its statement is beyond the grammar.
	in := "\n" + m.indent + "  " + m.choose("", "    ", "\t", " ")
	return m.choose(in, in, " # why é"+in, "\n\n"+in+" ", " \\"+in) + " "
}

// callee is something of a kind that can be called here, "" for none.
func (m *maker) callee(kind placeKind) string {
	var all []string
	for _, c := range m.callees {
		if c.kind == kind {
			all = append(all, c.name)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[m.IntN(len(all))]
}

func (m *maker) call(kind placeKind, d int) string {
	f := m.callee(kind)
	if f == "" {
		return ""
	}
	v := fmt.Sprintf("F(%s)", m.value(d-1))
	switch m.IntN(8) {
	case 0:
		v = "*[" + v + "]"
	case 1:
		v += ", **{}"
	case 2:
		v += ",\\\n" + m.value(0)
		if m.quoted {
			v = strings.Replace(v, "\\\n", " ", 1)
		}
	case 3:
		v = m.gap() + v + m.gap()
	}
	return f + "(" + v + ")"
}

// pause is an expression that suspends the frame, in parentheses.
func (m *maker) pause(d int) string {
	p := m.here()
	if p.kind == inGenerator || p.kind == inAsyncGenerator && m.one(2) {
		switch m.IntN(6) {
		case 0:
			return "(yield)"
		case 1:
			return "(yield" + m.gap() + m.value(d-1) + ")"
		case 2:
			return "(yield " + m.value(d-1) + ", (" + m.value(d-1) + ",))"
		case 3:
			if p.kind == inGenerator {
				if c := m.call(inGenerator, d); c != "" {
					return "(yield from " + c + ")"
				}
				return "(yield from [" + m.value(d-1) + "," + m.gap() + m.value(d-1) + "])"
			}
		case 4:
			return "[(yield " + m.value(d-1) + "), " + m.value(d-1) + "][-1]"
		}
		return "(yield " + m.value(d-1) + ")"
	}
	return "(" + m.wait(d) + ")"
}

// wait is an await without parentheses.
func (m *maker) wait(d int) string {
	c := m.call(inCoroutine, d)
	if c == "" || m.one(3) {
		c = "nap(" + m.value(d-1) + ")"
	}
	switch m.IntN(14) {
	case 0:
		return "await asyncio.gather(" + c + "," + m.gap() + "nap(" + m.value(d-1) + "), return_exceptions=True)"
	case 1:
		return "await asyncio.create_task(" + c + ")"
	case 2:
		return "await cancelled(" + c + ", " + fmt.Sprint(m.IntN(4)) + ")"
	case 3:
		return "await nap(" + m.value(d-1) + ") + await nap(" + m.value(d-1) + ")"
	case 4:
		return "await nap(await nap(" + m.value(d-1) + "))"
	case 5:
		return "await nap(" + m.value(d-1) + ") if await nap(" + m.value(d-1) + ") else await nap(2)"
	case 6:
		m.inside++
		v := m.value(d - 1)
		m.inside--
		return "I([" + v + " async for i in Items(" + m.value(0) + ")])"
	case 7:
		return "I({i: await nap(i) async for i in Items(" + m.value(0) + ") if await nap(i + 1)})"
	case 8:
		return "I([await nap(i) for i in range(3) if i])"
	case 9:
		if g := m.call(inAsyncGenerator, d); g != "" {
			return "I([i async for i in " + g + "])"
		}
	case 10:
		if g := m.call(inAsyncGenerator, d); g != "" {
			return "await adrive(" + g + ", " + m.value(0) + ")"
		}
	case 11:
		return "I([j async for j in (await nap(i) async for i in Items(" + m.value(0) + "))])"
	case 12:
		return "-await nap(" + m.value(d-1) + ") ** 2"
	}
	return "await " + c
}

// value is an expression, most often a small number.
func (m *maker) value(d int) string {
	if d <= 0 {
		return m.atom()
	}
	p := m.here()
	if (m.yields() || m.async()) && m.inside == 0 && m.one(4) {
		return "I(" + m.pause(d-1) + ")"
	}
	switch m.IntN(26) {
	case 0, 1:
		return "(" + m.value(d-1) + m.gap() + m.choose("+", "-", "*", "|", "&") + m.gap() + m.value(d-1) + ") % 31"
	case 2:
		return "(" + m.value(d-1) + " if " + m.value(d-1) + m.gap() + "else " + m.value(d-1) + ")"
	case 3:
		return "(" + m.value(d-1) + m.choose(" and ", " or ") + m.gap() + m.value(d-1) + ")"
	case 4:
		return "(" + m.value(d-1) + " < " + m.value(d-1) + m.gap() + "<= " + m.value(d-1) + ")"
	case 5:
		return "(not " + m.value(d-1) + ")"
	case 6, 7, 8:
		if c := m.call(inFunction, d); c != "" {
			return "I(" + c + ")"
		}
	case 9:
		if c := m.call(inGenerator, d); c != "" {
			return "I(list(islice(" + c + ", 4)))"
		}
	case 10, 11:
		x := m.name("x")
		head := "lambda " + m.choose(x, x+", *a", "*a, "+x+"=1", x+"="+m.value(d-1))
		var body string
		m.within(inLambda, []string{x}, func() { body = m.value(d - 1) })
		return "I((" + head + ":" + m.gap() + body + ")(" + m.choose("", m.gap()) + m.value(d-1) + "))"
	case 12, 13, 14:
		return m.comprehension(d)
	case 15:
		if m.inside == 0 && !m.iterable && p.kind != inClass && p.kind != inLambda {
			return "(" + m.target() + " := " + m.value(d-1) + ")"
		}
	case 16:
		if !m.quoted {
			return "I(" + m.fstring(d) + ")"
		}
	case 17:
		return "[" + m.value(d-1) + "," + m.gap() + m.value(d-1) + "][" + m.atom() + m.gap() + "% 2]"
	case 18:
		return "({1: " + m.value(d-1) + ", **{2: " + m.value(d-1) + "}})[1]"
	case 19:
		return "maybe(" + m.gap() + m.value(d-1) + ")"
	case 20:
		return m.choose("where(", "warn(") + m.value(d-1) + ")"
	case 21:
		if !m.quoted {
			return m.choose(`len("a\tb")`, "len('''x\n\ty\n   ''')", `len(r"\n" "two" 'three')`, "len(b'''\n''')", "len('é' \\\n'x')")
		}
	case 22:
		if c := m.callee(inClass); c != "" {
			return "I(" + c + "(F(" + m.value(d-1) + "))." + m.choose("m", "p", "m", "q") + m.choose("", "(F(1))") + ")"
		}
	case 23:
		return "I(sorted([" + m.value(d-1) + ", " + m.value(d-1) + "], key=lambda k: (-k," + m.gap() + m.value(0) + "))[" + m.gap() + "0:" + m.value(0) + "])"
	case 24:
		return "I([*range(" + m.value(d-1) + " % 5), *[" + m.value(d-1) + "]])"
	case 25:
		if c := m.callee(inFunction); c != "" {
			return "thread(" + c + ", F(" + m.value(0) + "))"
		}
	}
	return m.atom()
}

func (m *maker) within(kind placeKind, names []string, body func()) {
	m.places = append(m.places, place{kind: kind, names: names})
	inside := m.inside
	m.inside = 0
	known := len(m.callees)
	body()
	m.callees = m.callees[:known]
	m.inside = inside
	m.places = m.places[:len(m.places)-1]
}

func (m *maker) comprehension(d int) string {
	i := m.name("i")
	first := m.choose("range(3)", "[1, "+m.atom()+"]", "Items("+m.atom()+")", "(lambda: [1, 2])()")
	if m.inside == 0 && m.one(3) {
		old := m.iterable
		m.iterable = true
		first = "range(" + m.value(d-1) + " % 4)"
		m.iterable = old
	}
	m.inside++
	p := m.here()
	old := p.names
	p.names = append(p.names[:len(p.names):len(p.names)], i)
	element := m.value(d - 1)
	test := m.choose("", " if "+m.value(d-1), " if "+i)
	if m.one(4) {
		test += m.gap() + "for j in range(" + i + " % 3)"
	}
	lazy := "(lambda: " + m.value(0) + ")()"
	p.names = old
	m.inside--
	rest := " for " + i + " in " + first + test
	switch m.IntN(7) {
	case 0:
		return "sum([" + element + m.gap() + rest + "])"
	case 1:
		return "I({" + element + rest + "})"
	case 2:
		return "I({" + element + ":" + m.gap() + element + rest + "})"
	case 3:
		return "sum(" + element + rest + ")"
	case 4:
		return "sum((" + m.gap() + element + rest + m.gap() + "))"
	case 5:
		return "I([" + lazy + rest + "])"
	}
	return "I([f() for f in [lambda " + i + "=" + i + ": " + i + rest + "]])"
}

func (m *maker) fstring(d int) string {
	m.quoted = true
	defer func() { m.quoted = false }()
	one := func() string {
		v := m.value(d - 1)
		if m.one(3) && (m.yields() || m.async()) && m.inside == 0 {
			v = m.pause(d - 1)
		}
		return "{(" + v + ")" + m.choose("", "!r", "!s:>4", ":>{"+m.atom()+"}", "!a", "=", "=!s") + "}"
	}
	switch q := m.choose(`"`, "'", `"""`, "'''"); {
	case len(q) == 3:
		return "f" + q + "é " + one() + m.choose("\n", "\n   text\n", " ") + one() + m.choose("{{", "\n", "") + q
	case m.minor >= 12 && m.one(2):
		return "f" + q + one() + " {f" + q + one() + q + "}" + q
	default:
		return "f" + q + one() + m.choose("x", "{{}}", " é ") + one() + q + m.choose("", " 'more'")
	}
}

// simple is a statement on a line.
func (m *maker) simple() string {
	p := m.here()
	d := 1 + m.IntN(3)
	switch m.IntN(34) {
	case 0, 1, 2, 3:
		return m.target() + " = " + m.value(d)
	case 4:
		return "T(" + m.value(d) + "," + m.gap() + m.value(d) + ")"
	case 5:
		n := m.target()
		return n + " = I(" + m.atom() + "); " + n + " " + m.choose("+=", "-=", "|=") + " " + m.value(d)
	case 6:
		if p.kind != inClass {
			return m.target() + ", *" + m.name("r") + " = " + m.value(d) + ", " + m.value(d)
		}
	case 7:
		return "(" + m.target() + ", [" + m.name("v") + "]) = " + m.value(d) + ", [" + m.value(d) + "]"
	case 8:
		n := m.target()
		return n + " = 1; del " + n + "; " + n + " = " + m.value(d)
	case 9:
		return "assert " + m.value(d) + m.choose("", " + 1", ", "+m.value(1))
	case 10:
		if !p.group && m.one(2) {
			return "raise Boom(" + m.value(d) + ")" + m.choose("", " from ValueError("+m.value(1)+")", " from None")
		}
	case 11:
		if p.handler {
			return m.choose("raise", "traceback.print_exc()", "traceback.print_exc()")
		}
	case 12, 13:
		if !p.group {
			switch p.kind {
			case inFunction, inGenerator, inCoroutine:
				return m.choose("return", "return "+m.value(d), "return ("+m.value(d)+", "+m.value(d)+")")
			case inAsyncGenerator:
				return "return"
			}
		}
	case 14, 15:
		if p.loop && !p.group {
			return m.choose("break", "continue")
		}
	case 16:
		return m.choose("pass", "...", "'words'", "0; 1")
	case 17:
		return m.name("q") + ": " + m.choose("int", "'int'", "typing.List[int]") + m.choose("", " = "+m.value(d))
	case 18:
		if p.kind != inModule {
			return m.choose("T(sorted(locals()))", "T(sorted(vars()))")
		}
		return "E(sorted(globals()))"
	case 19:
		return m.choose("where()", "warn()", "E(sys._getframe().f_lineno)", "E(inspect.currentframe().f_code.co_firstlineno)")
	case 20:
		if c := m.callee(inFunction); c != "" && m.one(2) {
			return "E(inspect.getsource(inspect.unwrap(" + c + ")))"
		}
	case 21:
		if m.one(4) {
			return "sys.exit(" + m.value(1) + ")"
		}
		return "exec('T(1, 2)')"
	case 22, 23:
		if c := m.call(inGenerator, d); c != "" {
			return "drive(" + c + ", " + m.atom() + ")"
		}
	case 24:
		f := m.name("h")
		x := m.name("x")
		var body string
		m.within(inLambda, []string{x}, func() { body = m.value(d) })
		if p.kind != inClass {
			m.callees = append(m.callees, callee{f, inFunction, 0})
		}
		return f + " = lambda " + x + ", *a, k=" + m.value(1) + ": " + body
	case 25, 26, 27, 28:
		if m.yields() {
			n := m.target()
			return m.choose("yield", "yield "+m.value(d), n+" = yield", n+" = yield "+m.value(d)+"; "+n+" = I("+n+")", "yield "+m.value(d)+", "+m.value(d),
				n+" = I("+n+") if 0 else 1; "+n+" += I((yield "+m.value(d)+"))", "T((yield "+m.value(d)+"), (yield))")
		}
		if m.async() {
			switch way := m.choose(m.target()+" = ", "T(", "", "return "); {
			case way == "T(":
				return "T(" + m.wait(d) + ")"
			case way == "return " && (p.group || p.kind != inCoroutine):
			default:
				return way + m.wait(d)
			}
		}
	case 29, 30:
		if c := m.call(inCoroutine, d); c != "" && !m.async() {
			if p.kind == inModule {
				return "T(asyncio.run(" + c + "))"
			}
			return "step(" + c + ", " + m.atom() + ")"
		}
	case 31:
		return m.choose("import math as mm", "from math import floor, ceil", "import os.path")
	case 32:
		return "print(" + m.value(d) + ", file=sys.stderr)"
	}
	return "T(" + m.value(d) + ")"
}

// use calls something, and shows what comes of it.
func (m *maker) use() {
	p := m.here()
	if p.kind != inModule {
		return
	}
	calls := []string{"T(" + m.value(3) + ")"}
	if c := m.call(inFunction, 2); c != "" {
		calls = append(calls, "T("+c+")", "T("+c+")")
	}
	if c := m.call(inGenerator, 2); c != "" {
		calls = append(calls, "T(list(islice("+c+", 5)))", "drive("+c+", "+fmt.Sprint(m.IntN(7))+")", "drive("+c+", "+fmt.Sprint(m.IntN(7))+")")
	}
	if c := m.call(inCoroutine, 2); c != "" {
		calls = append(calls, "T(asyncio.run("+c+"))", "T(asyncio.run("+c+"))", "T(asyncio.run(cancelled("+c+", 1)))", "step("+c+", "+fmt.Sprint(m.IntN(7))+")")
	}
	if c := m.call(inAsyncGenerator, 2); c != "" {
		calls = append(calls, "T(asyncio.run(adrive("+c+", "+fmt.Sprint(m.IntN(7))+")))", "T(asyncio.run(adrive("+c+", "+fmt.Sprint(m.IntN(7))+")))")
	}
	if c := m.callee(inClass); c != "" {
		calls = append(calls, "T("+c+"(F(2)).m(F(1)), "+c+"(F(1)).p)", "T("+c+".s(F(1)), "+c+".k(F(2)))")
	}
	call := m.choose(calls...)
	if m.one(12) {
		m.line(call)
		return
	}
	m.line("try:" + m.choose(" ", "\n"+m.indent+"  ") + call)
	m.line("except " + m.choose("Exception", "(Exception, SystemExit)", "BaseException") + " as e: " + m.choose("T(e)", "traceback.print_exc()", "T(e); traceback.print_exc()"))
}

// statement writes any statement.
func (m *maker) statement() {
	m.left--
	p := m.here()
	if m.left <= 0 || len(m.indent) > 48 || m.one(3) {
		m.line(m.simple())
		if m.one(4) {
			m.line(m.simple() + "; " + m.simple())
		}
		return
	}
	switch m.IntN(22) {
	case 0, 1:
		m.block("if "+m.value(2)+":", m.some)
		for m.one(3) {
			m.block("elif "+m.value(2)+":", m.some)
		}
		if m.one(2) {
			m.block("else:", m.some)
		}
	case 2, 3:
		i := m.name("i")
		head := "for " + i + " in " + m.choose("range(3)", "Items("+m.value(2)+")", m.value(1)+", "+m.value(1), "[*range(2)]") + ":"
		if g := m.call(inGenerator, 2); g != "" && m.one(2) {
			head = "for " + i + " in islice(" + g + ", 3):"
		}
		if m.async() && m.one(2) {
			head = "async for " + i + " in Items(" + m.value(2) + "):"
			if g := m.call(inAsyncGenerator, 2); g != "" && m.one(2) {
				head = "async for " + i + " in " + g + ":"
			}
		}
		m.loop(head)
	case 4:
		n := m.name("n")
		m.line(n + " = 3")
		if p.kind == inClass {
			m.line("pass")
		} else {
			m.loop("while (" + n + " := " + n + " - 1)" + m.choose("", " and "+m.value(2)) + ":")
		}
	case 5, 6, 7, 8, 9:
		m.try()
	case 10, 11:
		m.with()
	case 12, 13, 14, 15, 16:
		m.function(false)
	case 17, 18, 19:
		m.class()
	case 20:
		if m.minor >= 10 {
			m.match()
			return
		}
		m.line(m.simple())
	case 21:
		m.special()
	}
}

func (m *maker) loop(head string) {
	m.in(func(p *place) { p.loop = true }, func() {
		m.block(head, m.some)
	})
	if m.one(3) {
		m.block("else:", m.some)
	}
}

func (m *maker) try() {
	m.block("try:", m.some)
	groups := m.minor >= 11 && m.one(6)
	handled := !m.one(4)
	if handled {
		for range 1 + m.IntN(2) {
			kind := m.choose("Boom", "ValueError", "(Boom, ValueError)", "Exception", "TypeError", "KeyError")
			head := "except " + kind
			if groups {
				head = "except* " + kind
			}
			if m.one(2) {
				head += " as " + m.name("e")
			}
			m.in(func(p *place) { p.handler, p.group = true, p.group || groups }, func() {
				m.block(head+":", m.some)
			})
		}
		if !groups && m.one(4) {
			m.in(func(p *place) { p.handler = true }, func() {
				m.block(m.choose("except:", "except BaseException:"), m.some)
			})
		}
		if m.one(4) {
			m.block("else:", m.some)
		}
	}
	if !handled || m.one(3) {
		m.block("finally:", m.some)
	}
}

func (m *maker) with() {
	item := func() string {
		return m.choose("Ctx("+m.value(1)+")", "Ctx("+m.value(1)+", True)", "managed("+m.value(1)+")", "contextlib.suppress(Boom)", "contextlib.ExitStack()") +
			m.choose("", "", " as "+m.name("v"))
	}
	head := "with "
	if m.async() && m.one(2) {
		head = "async with "
		item = func() string {
			return m.choose("Ctx("+m.value(1)+")", "Ctx("+m.value(1)+", True)", "amanaged("+m.value(1)+")") + m.choose("", "", " as "+m.name("v"))
		}
	}
	all := item()
	switch {
	case m.minor >= 10 && m.one(5):
		all = "(" + all + ",\n " + item() + ")"
	case m.one(3):
		all += ", " + m.choose("", "\\\n  ") + item()
	}
	m.block(head+all+":", m.some)
}

func (m *maker) match() {
	m.out.WriteString(m.indent + "match " + m.value(2) + m.choose("", ", "+m.value(2)) + ":\n")
	old := m.indent
	m.indent += "  "
	for range 1 + m.IntN(2) {
		n := m.name("v")
		m.block("case "+m.choose("0", "1 | 2", n+" if "+m.value(1), "[0, "+n+"]", "("+n+", *_)", "int(real="+n+")", "{'k': "+n+"}", "-1 | None")+":", m.some)
	}
	if m.one(2) {
		m.block("case _:", m.some)
	}
	m.indent = old
}

// function writes a definition; a method takes self.
func (m *maker) function(method bool) { m.define(m.name("f"), method, "") }

func (m *maker) define(f string, method bool, decorator string) {
	kind := []placeKind{inFunction, inFunction, inGenerator, inGenerator, inCoroutine, inAsyncGenerator}[m.IntN(6)]
	if method && m.one(2) || decorator != "" {
		kind = inFunction
	}
	x, y := m.name("x"), m.name("y")
	names := []string{x, y}
	parameters := m.choose(x+", "+y+"="+m.value(2), x+", /, "+y+"=1, *args, k=2, **kw", x+","+m.gap()+y+"=lambda: 1, *, z=("+m.value(1)+")", x+": int = 0, "+y+": 'int' = 3")
	if strings.Contains(parameters, "lambda: 1,") {
		names = names[:1]
	}
	if method {
		parameters = "self, " + parameters
	}
	switch {
	case decorator != "":
		m.line(decorator)
	case m.one(3):
		m.line(m.choose("@deco", "@tagged("+m.value(2)+")", "@tagged(1)\n"+m.indent+"# between\n"+m.indent+"@deco"))
	case kind == inFunction && !method && m.one(5):
		m.line("@functools.lru_cache(None)")
	case kind == inGenerator && !method && m.one(5):
		m.line("@contextlib.contextmanager")
		// used as a function: what it gives is no generator
	}
	generic := ""
	if m.minor >= 12 && m.one(5) {
		generic = m.choose("[T1]", "[T1: int, *Ts]", "[**P]")
	}
	head := "def " + f + generic + "(" + parameters + ")" + m.choose("", " -> int", " -> 'str'") + ":"
	if kind == inCoroutine || kind == inAsyncGenerator {
		head = "async " + head
	}
	if kind == inFunction && m.one(10) {
		m.within(kind, names, func() { m.line(head + " " + m.choose("pass", "return "+x, "'doc'; return "+x, m.simple())) })
	} else {
		outer := m.outer()
		m.within(kind, names, func() {
			old := m.indent
			m.out.WriteString(m.indent + head + "\n")
			m.indent += m.choose("    ", "    ", "\t", " ", "  ", "        ")
			if m.one(5) {
				m.line(m.choose(`"""Doc."""`, "'''Doc\n   of lines'''", `"one" "two"`, "'doc'; T("+x+")"))
			}
			if outer != "" && m.one(4) {
				m.line(outer)
				n := strings.Fields(outer)[1]
				m.here().names = append(m.here().names, n)
			}
			if m.yields() && !m.one(3) {
				m.line(m.choose("yield", "yield "+x, x+" = I((yield "+x+"))"))
			} else if m.yields() {
				m.line("if 0: yield")
			}
			m.some()
			if m.one(2) {
				m.some()
			}
			switch {
			case kind != inAsyncGenerator && m.one(2):
				m.line("return " + m.value(2))
			case m.one(8):
				m.line("# nothing more")
			}
			m.indent = old
		})
	}
	if !method {
		m.callees = append(m.callees, callee{f, kind, 0})
	}
}

// outer is a declaration of a name from around here.
func (m *maker) outer() string {
	for i := len(m.places) - 1; i >= 0; i-- {
		p := m.places[i]
		if len(p.names) == 0 || p.kind == inClass || p.kind == inLambda {
			continue
		}
		if p.kind == inModule {
			return "global " + p.names[m.IntN(len(p.names))]
		}
		if strings.HasPrefix(p.names[0], "__") {
			return "" // a class around it would give it another name
		}
		return "nonlocal " + p.names[0]
	}
	return ""
}

// class writes a class that can be called with a number.
func (m *maker) class() {
	c := m.name("C")
	bases := ""
	switch m.IntN(7) {
	case 0:
		bases = "(metaclass=Meta)"
	case 1:
		bases = "(Boom)"
	case 2:
		if b := m.callee(inClass); b != "" {
			bases = "(" + b + ")"
		}
	case 3:
		m.line(m.choose("@tagged(1)", "@functools.wraps(int, (), ())", "@tagged("+m.value(1)+" | 1)"))
	case 4:
		if m.minor >= 12 {
			bases = "[T1]"
		}
	}
	m.out.WriteString(m.indent + "class " + c + bases + ":\n")
	old := m.indent
	m.indent += m.choose("    ", "\t", "  ")
	m.within(inClass, []string{}, func() {
		if m.one(4) {
			m.line("'''A class.'''")
		}
		if m.one(5) && bases == "" {
			m.line("__slots__ = 'n', '__dict__', '__weakref__'")
		}
		if m.one(3) {
			m.line("t = " + m.value(2))
			m.here().names = append(m.here().names, "t")
		}
		m.line("def __init__(self, n, *rest): " + m.choose("self.n = n", "super().__init__(); self.n = n", "self.n = n; T(type(self).__name__)"))
		m.define("m", true, " # m")
		m.define("p", true, m.choose("@property", "@Field", "@functools.cached_property"))
		m.line("@staticmethod")
		m.line("def s(n): return " + m.choose("n", "(lambda: n + 1)()", "__class__.__name__"))
		m.line("@classmethod")
		m.line("def k(cls, n): " + m.choose("return cls.s(n)", "return [cls.__name__ for _ in range(2)]", "T(sorted(locals()))"))
		if m.one(4) {
			m.line("def __del__(self): T('deleted', getattr(self, 'n', None))")
		}
		if m.one(3) {
			m.define("q", true, "@deco")
		}
		for m.one(2) {
			m.statement()
		}
	})
	m.indent = old
	m.callees = append(m.callees, callee{c, inClass, 0})
}

// special writes what has no grammar of its own.
func (m *maker) special() {
	f := m.name("f")
	in := m.indent
	lines := func(text string) {
		for l := range strings.Lines(strings.TrimPrefix(text, "\n")) {
			m.out.WriteString(in + l)
		}
	}
	switch m.IntN(12) {
	case 0:
		lines(fmt.Sprintf(`
def %s(n, *a):
    if n <= 0: return %s
    return 1 + %[1]s(n - 1)
T(%[1]s(%[3]d))
`, f, m.atom(), m.IntN(20)))
	case 1:
		lines(fmt.Sprintf(`
@dataclasses.dataclass
class %s:
    n: int
    m: int = %s
    k: list = dataclasses.field(default_factory=lambda: [1])
    def __post_init__(self): T(self.n, self.m)
T(%[1]s(2) == %[1]s(2), I(repr(%[1]s(3))))
`, f, m.atom()))
	case 2:
		lines(fmt.Sprintf(`
class %s:
    def __del__(self): T("gone", sys._getframe().f_code.co_name)
r%[1]s = weakref.ref(%[1]s(), lambda r: T("dead"))
k%[1]s = %[1]s()
weakref.finalize(k%[1]s, lambda: T("final"))
del k%[1]s
`, f))
	case 3:
		if m.here().kind == inModule {
			lines(fmt.Sprintf(`
def %s(x, *a): return (x, %s)
T(pickle.loads(pickle.dumps(%[1]s)) is %[1]s)
`, f, m.atom()))
			m.callees = append(m.callees, callee{f, inFunction, 0})
		}
	case 4:
		if m.minor >= 11 {
			lines(fmt.Sprintf(`
def %s(x, *a):
    try:
        raise ExceptionGroup("several", [ValueError(x), Boom(2), ExceptionGroup("inner", [KeyError("k"), ValueError(3)])])
    except* ValueError as e:
        T(e)
        traceback.print_exc()
    except* Boom:
        raise ValueError("again")
    finally:
        T("finally")
`, f))
			m.callees = append(m.callees, callee{f, inFunction, 0})
		}
	case 5:
		lines(fmt.Sprintf(`
def %s(x, *a):
    for i in range(4):
        try:
            try:
                if i == x %% 4: raise Boom(i)
                yield i
            finally:
                if i %% 2: continue
                T("f", (yield "in finally"))
        except Boom as e:
            yield e.args[0]
    else:
        return "end"
`, f))
		m.callees = append(m.callees, callee{f, inGenerator, 0})
	case 6:
		lines(fmt.Sprintf(`
def %s(x, *a):
    while True:
        try:
            return maybe(x)
        except ValueError:
            x += 1
            continue
        finally:
            T("x", x)
            if x %% 5 == 4: break
    return "broken"
`, f))
		m.callees = append(m.callees, callee{f, inFunction, 0})
	case 7:
		lines(fmt.Sprintf(`
async def %s(x, *a):
    async with contextlib.AsyncExitStack() as stack:
        for i in range(x %% 3):
            await stack.enter_async_context(Ctx(i, i == 1))
        async for i in Items(x):
            if i == 1: break
            try:
                await nap(maybe(i))
            except ValueError as e:
                return (await nap(1), [j async for j in Items(2)], str(e))
        else:
            await nap(2)
        return await asyncio.gather(*(nap(i) for i in range(3)))
`, f))
		m.callees = append(m.callees, callee{f, inCoroutine, 0})
	case 8:
		lines(fmt.Sprintf(`
class %s:
    def __await__(self):
        T("awaited")
        yield
        return 5
    def __iter__(self): yield from (1, 2)
    def __getattr__(self, name): raise AttributeError(name)
    def __call__(self, x, *a): return [*self, x]
%[1]s = %[1]s()
`, f))
		m.callees = append(m.callees, callee{f, inFunction, 0})
	case 9:
		lines(fmt.Sprintf(`
def %s(x, *a):
    g = (lambda: (yield x))()
    def inner():
        nonlocal x
        x += 1
        return (yield from g)
    T(list(inner()), x, next((i for i in iter(lambda: x, x)), None))
    return x
`, f))
		m.callees = append(m.callees, callee{f, inFunction, 0})
	case 10:
		if m.minor >= 11 {
			lines(fmt.Sprintf(`
async def %s(x, *a):
    try:
        async with asyncio.TaskGroup() as tg:
            t = tg.create_task(nap(x))
            if x %% 2: raise Boom(x)
        return t.result()
    except* Boom as e:
        T(e)
    except* ValueError:
        pass
    return [x async for x in Items(x) for y in [await nap(k) for k in range(2)]]
`, f))
			m.callees = append(m.callees, callee{f, inCoroutine, 0})
		}
	case 11:
		lines(fmt.Sprintf(`
def %s(x, *a):
    def g():
        try:
            yield 1
        except GeneratorExit:
            T("exit", sys.exc_info()[0].__name__)
            if x %% 2: yield 2
            raise
        finally:
            where()
    h = g()
    next(h)
    if x %% 3: del h
    else: h.close()
    gen = g()
    next(gen)
    try: gen.throw(KeyError, KeyError("k"))
    except KeyError: traceback.print_exc()
    return [*g()]
`, f))
		m.callees = append(m.callees, callee{f, inFunction, 0})
	}
	m.line(m.simple())
}
