package java

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/instrument"
	"cg/instrument/edit"
)

// placed shows the events of a text: <5> is that of a line, <5-7> that of a block, <-> that of the rest.
func placed(t *testing.T, source string, g instrument.Granularity) string {
	t.Helper()
	j, err := parse([]byte(source))
	if err != nil {
		t.Fatalf("%v: %s", err, source)
	}
	p := j.plan(instrument.Options{Granularity: g}, wish{})
	var edits []edit.Edit
	for _, m := range p.marks {
		text := strings.ReplaceAll(m.brace, "/*cg$*/", "")
		if m.place != unknown {
			switch s := p.Sites[m.place]; s.Kind {
			case "line":
				text += fmt.Sprintf("<%d>", s.Line)
			case "block":
				text += fmt.Sprintf("<%d-%d>", s.Line, s.EndLine)
			case "rest":
				text += "<->"
			}
		}
		edits = append(edits, edit.Edit{Start: m.at, End: m.at, New: text})
	}
	out, err := edit.Apply([]byte(source), edits)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range p.LeftAlone {
		out = append(out, "! "+l.Name+" "+l.Reason...)
	}
	return string(out)
}

// TestPlacesOfJava has a case for each statement: where its events stand, with -g line and with -g block. The text is
// the body of a method, from its first line.
func TestPlacesOfJava(t *testing.T) {
	for _, c := range []struct {
		name, source string
		lines        string
		blocks       string // "" for no event
	}{
		{"statements of a line are one place", "n++; n--;\nreturn n;", "<1>n++; n--;\n<2>return n;", ""},
		{"declarations without code", "int a, b[];\nclass L { }\nrecord R(int q) { }\nfinal int c = 3, d;\n;\nassert c > n;",
			"int a, b[];\nclass L { }\nrecord R(int q) { }\n<4>final int c = 3, d;\n;\n<6>assert c > n;", ""},
		{"if and else without braces", "if (n > 0)\nn++;\nelse if (n > 2)\nn--;\nelse\nn = 3;\nreturn n;",
			"<1>if (n > 0)\n{<2>n++;}\nelse {<3>if (n > 2)\n{<4>n--;}\nelse\n{<6>n = 3;}}\n<7>return n;",
			"if (n > 0)\n{<1-2>n++;}\nelse {if (n > 2)\n{<3-4>n--;}\nelse\n{<5-6>n = 3;}}\n<->return n;"},
		{"the else of the inner if", "if (n > 0)\nif (n > 2)\nn--;\nelse\nn = 3;\n",
			"<1>if (n > 0)\n{<2>if (n > 2)\n{<3>n--;}\nelse\n{<5>n = 3;}}\n",
			"if (n > 0)\n{<1-5>if (n > 2)\n{<2-3>n--;}\nelse\n{<4-5>n = 3;}}\n"},
		{"loops come back to their heads",
			"for (int i = 0; i < n; i++)\n{ n++;\nif (n > 3) continue;\nn--; }\nwhile (n > 0)\nn--;\ndo\nn++;\nwhile (n < 3);\nfor (int k : ks)\nn += k;\nreturn n;",
			"<1>for (int i = 0; i < n; i++)\n{ <2>n++;\n<3>if (n > 3) {<1>continue;}\n<4>n--; <1>}\n<5>while (n > 0)\n{<6>n--;<5>}\n" +
				"do\n{<8>n++;<9>}\nwhile (n < 3);\n<10>for (int k : ks)\n{<11>n += k;<10>}\n<12>return n;",
			"<1-4>for (int i = 0; i < n; i++)\n{ n++;\nif (n > 3) {<1-4>continue;}\n<1-4>n--; }\n<5-6>while (n > 0)\nn--;\n" +
				"<7-9>do\nn++;\nwhile (n < 3);\n<10-11>for (int k : ks)\nn += k;\n<->return n;"},
		{"loops without a head", "for (;;) { n++;\nwhile (true)\n{ n--;\nif (n < 0) break; } }",
			"<1>for (;;) { <1>n++;\n<2>while (true)\n{ <3>n--;\n<4>if (n < 0) break; } }",
			"<1-4>for (;;) { n++;\n<2-4>while (true)\n{ n--;\nif (n < 0) break; <2-4>} <1-4>}"},
		{"loops without a body", "while (n-- > 0) ;\nfor (; n < 3; n++);\n", "<1>while (n-- > 0) ;\n<2>for (; n < 3; n++);\n",
			"<1-1>while (n-- > 0) ;\n<2-2>for (; n < 3; n++);\n"},
		{"labels", "a: for (int i : is)\nb: while (n > 0) {\nif (n > 3) continue a;\nif (n > 2)\nbreak a;\nn--;\n}\nc: { n++;\nbreak c; }\nn--;",
			"<1>a: for (int i : is)\n{<2>b: while (n > 0) {\n<3>if (n > 3) {<1>continue a;}\n<4>if (n > 2)\nbreak a;\n<6>n--;\n<2>}<1>}\n" +
				"c: { <8>n++;\nbreak c; }\n<10>n--;",
			"<1-7>a: for (int i : is)\n{<2-7>b: while (n > 0) {\nif (n > 3) {<1-7>continue a;}\n<2-7>if (n > 2)\nbreak a;\n" +
				"<2-7>n--;\n}<1-7>}\nc: { <->n++;\nbreak c; }\n<->n--;"},
		{"cases", "switch (n) {\ncase 1:\ncase 2: n++;\ncase 3:\nn--; break;\ndefault: return 4; }\nreturn n;",
			"<1>switch (n) {\ncase 1:\ncase 2: <3>n++;\ncase 3:\n<5>n--; break;\ndefault: <6>return 4; }\n<7>return n;",
			"switch (n) {\ncase 1:\ncase 2: <3-3>n++;\ncase 3:\n<4-5>n--; break;\ndefault: <6-6>return 4; }\n<->return n;"},
		{"arrows", "switch (n) {\ncase 1 -> f();\ncase 2, 3 -> {\nf(); }\ndefault -> throw e; }\n",
			"<1>switch (n) {\ncase 1 -> {<2>f();}\ncase 2, 3 -> {\n<4>f(); }\ndefault -> {<5>throw e;} }\n",
			"switch (n) {\ncase 1 -> {<2-2>f();}\ncase 2, 3 -> {\n<3-4>f(); }\ndefault -> {<5-5>throw e;} }\n"},
		{"a switch that has a value", "int k = switch (n) {\ncase 1 -> 3;\ndefault -> {\nf();\nyield 4; } };\nreturn k;",
			"<1>int k = switch (n) {\ncase 1 -> 3;\ndefault -> {\nf();\nyield 4; } };\n<6>return k;", ""},
		{"exceptions", "try {\nn++; }\ncatch (A | B e) {\nn--; }\ncatch (C e) { throw e; }\nfinally {\nn = 3; }\nreturn n;",
			"try {\n<2>n++; }\ncatch (A | B e) {\n<4>n--; }\ncatch (C e) { <5>throw e; }\nfinally {\n<7>n = 3; }\n<8>return n;",
			"try {\nn++; }\ncatch (A | B e) {\n<3-4>n--; }\ncatch (C e) { <5-5>throw e; }\nfinally {\n<->n = 3; }\n<->return n;"},
		{"resources and monitors", "try (var r = f()) {\nsynchronized (r) {\nn++; } }\n", "<1>try (var r = f()) {\n<2>synchronized (r) {\n<3>n++; } }\n", ""},
		{"lambdas and classes have their own", "Runnable r = () -> {\nf(); };\nnew Object() { void g() {\nf(); } }.g();\n",
			"<1>Runnable r = () -> {\n<2>f(); };\n<3>new Object() { void g() {\n<4>f(); } }.g();\n", ""},
		{"braces that stand close", "if (n > 0) { if (n > 1)\nn++;}", "<1>if (n > 0) { if (n > 1)\n{<2>n++;}}", "if (n > 0) { <1-2>if (n > 1)\n{<1-2>n++;}}"},
	} {
		const head, end = "class M { int f(int n, int[] ks, int[] is) { ", " } }"
		if got := placed(t, head+c.source+end, instrument.Lines); got != head+c.lines+end {
			t.Errorf("%s, lines:\n%s\nwant\n%s%s%s", c.name, got, head, c.lines, end)
		}
		want := c.blocks
		if want == "" {
			want = c.source
		}
		if got := placed(t, head+c.source+end, instrument.Blocks); got != head+want+end {
			t.Errorf("%s, blocks:\n%s\nwant\n%s%s%s", c.name, got, head, want, end)
		}
	}
}

// TestPlacesOfMembers: what else has code has places, and a constructor has them from where it is a call of its own.
func TestPlacesOfMembers(t *testing.T) {
	for source, want := range map[string]string{
		"class M { int a = 3; static { f(); }\n{ g(); } }":                 "class M { int a = 3; static { <1>f(); }\n{ <2>g(); } }",
		"class M { M() { int a = 1;\nsuper(a); f();\n} }":                  "class M { M() { int a = 1;\nsuper(a); <2>f();\n} }",
		"class M { M() { this(() -> {\nf(); });\ng(); } }":                 "class M { M() { this(() -> {\n<2>f(); });\n<3>g(); } }",
		"record R(int a) { R {\nif (a < 0)\nthrow e; } }":                  "record R(int a) { R {\n<2>if (a < 0)\n{<3>throw e;} } }",
		"class M { void f() { \\u0061bc = 1;\\u007d }":                     "class M { void f() { <1>\\u0061bc = 1;\\u007d }",
		"class M { void f() { if (a) b\\u003b c(); } }":                    "class M { void f() { <1>if (a) b\\u003b <1>c(); } }",
		"enum E { A { void f() { g(); } }; }":                              "enum E { A { void f() { <1>g(); } }; }",
		"interface I { default void f() { g();\n}\nvoid h(); }":            "interface I { default void f() { <1>g();\n}\nvoid h(); }",
		"class M { void f() { /* a */ g(); // b\n/* c */ h(); /* d */ } }": "class M { void f() { /* a */ <1>g(); // b\n/* c */ <2>h(); /* d */ } }",
	} {
		if got := placed(t, source, instrument.Lines); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// TestPlacesBehindLoops: an event stands at the end of a loop's body only where the compiler surely sees that the code
// comes there (JLS 14.22).
func TestPlacesBehindLoops(t *testing.T) {
	for body, comes := range map[string]bool{
		"g();": true, "": true, "return;": false, "if (a) return;": true,
		"if (a) return; else throw e;": false, "if (a) return; else g();": true,
		"while (true) g();": false, "while (true) { if (a) break; }": true, "while (true) { for (;;) break; }": false,
		"for (;;) { switch (n) { case 1: break; } }": false, "x: for (;;) { for (;;) break x; }": true,
		"x: { g(); break x; }": true, "do g(); while (true);": false, "do { if (a) continue; return; } while (n > 1);": true,
		"do { if (a) g(); return; } while (n > 1);": false, "while (ON) g();": false, "while (o.ON) g();": true,
		"while (Other.ON) g();": false, "while (final_) g();": false, "while (n > LIMIT) g();": true, "while (this.a) g();": true,
		"while (1 < 2) g();": false, "while ((int) LIMIT > 'a' + 2) g();": false, "while (g()) g();": true, "for (int k : ks) return;": true,
		"try { return; } catch (E e) { g(); }": true, "try { g(); } finally { return; }": false,
		"try { return; } catch (E e) { throw e; } finally { g(); }": false,
		"while (true) { try { break; } finally { return; } }":       false,
		"synchronized (o) { return; }":                              false,
		"switch (n) { case 1: return; default: throw e; }":          false, "switch (n) { case 1: return; }": true,
		"switch (n) { case 1: return; default: }": true, "switch (n) { case 1: break; default: return; }": true,
		"switch (n) { case 1 -> g(); default -> throw e; }":                    true,
		"switch (n) { case 1 -> { return; } default -> throw e; }":             false,
		"switch (o) { case String s -> { return; } case null -> { return; } }": false,
		"switch (n) { }":                  true,
		"Runnable r = () -> { return; };": true,
	} {
		source := "class M { final boolean final_ = f(); void f(int n, boolean a, M o, int[] ks) { do {\n" + body + "\n} while (n > 0); } }"
		got := placed(t, source, instrument.Lines)
		if has := strings.Contains(got, "<3>} while"); has != comes {
			t.Errorf("%q: %v\n%s", body, has, got)
		}
	}
}

// TestPlacesLeftAlone: a function keeps its checkpoints where its places would be too many, or are not wanted.
func TestPlacesLeftAlone(t *testing.T) {
	long := "class M { void f() {" + strings.Repeat("\nf();", 3000) + "\n} void g() { g(); } }"
	deep := "class M { void f() {" + strings.Repeat("\nif (a)", 250) + "\nf();\n} void g() { g(); } }"
	for source, want := range map[string]string{
		long: "M.f: has no lines: its byte code would come near the 64 KB that the JVM takes",
		deep: "M.f: has no lines: its statements are nested too deep",
	} {
		j, err := parse([]byte(source))
		if err != nil {
			t.Fatal(err)
		}
		p := j.plan(instrument.Options{Granularity: instrument.Lines}, wish{})
		if len(p.LeftAlone) != 1 || p.LeftAlone[0].Name+": "+p.LeftAlone[0].Reason != want || len(p.Points) != 2 ||
			len(p.Sites) != 3 {
			t.Errorf("%v, %d points, %d sites", p.LeftAlone, len(p.Points), len(p.Sites))
		}
	}
	j, err := parse([]byte("class M { void f(int n) { f(1); }\nvoid f() { f(2); }\nvoid g() { f(3); } }"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of, file string
		unplaced map[string]string
		want     string
	}{
		{of: "M.f", want: "1 2"}, {of: "M.f()", want: "2"}, {of: "M.*", want: "1 2 3"}, {of: "f", want: ""},
		{of: "M.f()", file: "M.java", want: "2"}, {of: "M.f()", file: "N.java"},
		{of: "M.*", unplaced: map[string]string{"M.f():2": "x"}, want: "1 3"},
		{of: "M.*", unplaced: map[string]string{anyFunction: "x"}},
	} {
		o := instrument.Options{Granularity: instrument.Lines, PlacesOf: []instrument.FunctionIn{{File: c.file, Name: c.of}}}
		var got []string
		for _, s := range j.plan(o, wish{file: "M.java", unplaced: c.unplaced}).Sites {
			if s.Kind.IsPlace() {
				got = append(got, fmt.Sprint(s.Line))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: lines %s", c, got)
		}
	}
}

// TestProjectPlacesGiveWay: what the compiler of a project refuses has its checkpoints, and no places, before it has
// none.
func TestProjectPlacesGiveWay(t *testing.T) {
	root := t.TempDir()
	from, place := filepath.Join(root, "p"), filepath.Join(root, "place")
	grow(t, from, map[string]string{"src/A.java": "class A {\n void a() {\n c();\n }\n void b() {\n c();\n }\n}\n",
		"src/B.java": "class B {\n void b() {\n c(); } }"})
	o := instrument.Options{Granularity: instrument.Lines}
	for _, c := range []struct {
		says []string
		told string
	}{
		{nil, "1 A.a|2 A.a|3 A.b|4 A.b|7 B.b|8 B.b"},
		{[]string{"src/A.java:2: error: code too large", "src/A.java:3: error: code too large for try statement",
			"src/B.java:3: error: unreachable statement", "src/B.java:3: error: missing return statement"},
			"1 A.a|2 A.b|3 A.b|4 has no lines: the compiler refuses them: code too large|7 B.b|" +
				"8 has no lines: the compiler refuses them: unreachable statement"},
		{[]string{"src/A.java:2: error: code too large", "src/B.java:3: error: unreachable statement"},
			"1 A.b|2 A.b|3 left alone: its code is too large with checkpoints|" +
				"B.java: built without checkpoints: the compiler said of it: unreachable statement"},
	} {
		p, _ := brought(t, from, place, o)
		p.messages = newMessageFilter(p, "-X", "")
		for _, line := range c.says {
			p.messages.change([]byte(line+"\n"), false)
		}
		if v := p.rebuild(1); (v.Why != "") != (c.says != nil) {
			t.Errorf("%+v", v)
		}
		_, told := brought(t, from, place, o)
		slices.Sort(told)
		want := strings.Split(c.told, "|")
		slices.Sort(want)
		if !slices.Equal(told, want) {
			t.Errorf("%q\nwant\n%q", told, want)
		}
	}
	o.Granularity = instrument.Blocks
	if _, told := brought(t, from, place, o); strings.Contains(fmt.Sprint(told), "has no") {
		t.Errorf("%q", told)
	}
}
