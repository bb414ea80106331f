package c

import (
	"fmt"
	"strings"
	"testing"

	"cg/instrument"
	"cg/instrument/edit"
)

// placedBefore is placed for a text that the preprocessor has not seen, as it is saved.
func placedBefore(t *testing.T, source string, g instrument.Granularity) string {
	t.Helper()
	p, err := plainC.planNamed("m.c", []byte(source), instrument.Options{Granularity: g, Alone: true}, func(*function) {})
	if err != nil {
		t.Fatal(err)
	}
	var edits []edit.Edit
	for _, m := range p.Marks {
		text := m.Text
		if m.Site != instrument.NoPlace {
			if s := p.Sites[m.Site]; s.Kind == "line" {
				text += fmt.Sprintf("<%d>", s.Line)
			} else {
				text += fmt.Sprintf("<%d-%d>", s.Line, s.EndLine)
			}
		}
		edits = append(edits, edit.Edit{Start: m.At, End: m.At, New: text})
	}
	out, err := edit.Apply([]byte(source), edits)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Points) > 1 {
		t.Errorf("%d functions", len(p.Points))
	}
	for _, l := range p.LeftAlone {
		out = append(out, "! "+l.Reason...)
	}
	return string(out)
}

// TestPlacesBeforePreprocessor: directives between whole statements leave a function its places, those in a statement
// do not. What a macro of the file is, is known.
func TestPlacesBeforePreprocessor(t *testing.T) {
	const doubt = "it has a macro or a directive that the grammar does not place"
	const block, cases = "#define SWAP(a, b) { int t = a; /* { */ \\\n a = b; b = t; }\n", "#define ON(n) case n:\n"
	for name, c := range map[string]struct{ source, lines, blocks string }{
		"a choice": {"int f(int n) {\n#ifdef A /* a */\nn++;\n#elif B > 2 && \\\n C\nn--; if (n)\nn = 2;\n#else // c\nn = 3;\n#endif\nreturn n; }",
			"int f(int n) {\n#ifdef A /* a */\n<3>n++;\n#elif B > 2 && \\\n C\n<6>n--; if (n)\n{ <7>n = 2; }\n#else // c\n<9>n = 3;\n#endif\n<11>return n; }",
			"int f(int n) {\n#ifdef A /* a */\nn++;\n#elif B > 2 && \\\n C\nn--; if (n)\n{ <6-7>n = 2; }\n#else // c\nn = 3;\n#endif\n<1-11>return n; }"},
		"in a loop": {"int f(int n) { while (n) {\n#if A\nif (n > 2) break;\n#if B\ncontinue;\n#endif\n#endif\n}\nreturn n; }",
			"int f(int n) { <1>while (n) {\n#if A\n<3>if (n > 2) break;\n#if B\n<1>continue;\n#endif\n#endif\n<1>}\n<9>return n; }", ""},
		"a comment in a condition": {"int f(int n) { while (1 /* c */) {\nn++;\n} }", "int f(int n) { <1>while (1 /* c */) {\n<2>n++;\n} }", ""},
		"definitions": {"int f(int n) {\n#define A(x) x + \\\n 2\n#undef B\n#pragma GCC diagnostic push\nn = A(n);\n#error no\nreturn n; }",
			"int f(int n) {\n#define A(x) x + \\\n 2\n#undef B\n#pragma GCC diagnostic push\n<6>n = A(n);\n#error no\n<8>return n; }", ""},
		"cases": {"int f(int n) { switch (n) {\ncase 1: n++;\n#ifdef A\nbreak;\ncase 2: n--;\n#endif\nn = 3;\n}\nreturn n; }",
			"int f(int n) { <1>switch (n) {\ncase 1: <2>n++;\n#ifdef A\nbreak;\ncase 2: <5>n--;\n#endif\n<7>n = 3;\n}\n<9>return n; }",
			"! has no blocks: a directive or a macro chooses its cases"},
		"an else": {"int f(int n) { if (n)\nn++;\n#ifdef A\nelse n--;\n#endif\n}", "! a part of it is not placed by the grammar", ""},
		"a body":  {"int f(int n) { if (n)\n#ifdef A\nn--;\n#else\nn++;\n#endif\n}", "! " + doubt, ""},
		"a brace": {"int f(int n) {\n#ifdef A\nif (n) {\n#else\nif (!n) {\n#endif\nn++;\n}\n}",
			"int f(int n) {\n#ifdef A\nif (n) {\n#else\nif (!n) {\n#endif\nn++;\n}\n}", ""},
		"an else behind a directive": {"int f(int n) {\n#ifdef A\nif (n) n++;\n#else\nif (0) {\n}\n#endif\nelse if (n > 2) {\nn--; }\n}", "! ", ""},
		"an argument":                {"int f(int n) { g(n,\n#ifdef A\n2\n#else\n3\n#endif\n);\n}", "! a part of it is not placed by the grammar", ""},
		"a pragma": {"int f(int n) {\n#pragma omp parallel\nn++;\n}",
			"! it has a pragma, or another directive that may belong to a statement", ""},
		"an inclusion": {"int f(int n) {\n#include \"a.inc\"\nn++;\n}", "! it includes a file", ""},
		"a block": {block + "int f(int n) { int k = 3;\nif (n) SWAP(n, k)\nelse\nSWAP(k,\nn)\n// c\nSWAP(n, k) n++;\nSWAP(n, k);\n}",
			block + "int f(int n) { <3>int k = 3;\n<4>if (n) SWAP(n, k)\nelse\n{ <6>SWAP(k,\nn) }\n// c\n<9>SWAP(n, k) n++;\n<10>SWAP(n, k);\n}", ""},
		"values in braces": {"#define INIT {1, 2}\nint f(int n) { struct p a[] = { INIT, INIT }, b[] = { INIT };\nreturn n; }",
			"#define INIT {1, 2}\nint f(int n) { <2>struct p a[] = { INIT, INIT }, b[] = { INIT };\n<3>return n; }", ""},
		"a case and the head of an if": {"#define ON_OK(n) case n: if (ok)\nint f(int n, int ok) { switch (n) {\nON_OK(1) n++;\n}\nreturn n; }",
			"! ", ""},
		"a case and a return": {"#define OP(x) case x: return\nint f(int n) { switch (n) {\nOP(3) g(1);\n}\nreturn n; }", "! ", ""},
		"a case and half a term": {"#define CMP(X, Y) case X: return Y ==\nint f(int n) { switch (n) {\nCMP(1, n) 3;\n}\nreturn n; }",
			"! ", ""},
		"a case and a statement": {"#define AT(x) case x: g(x);\nint f(int n) { switch (n) {\nAT(3) n++;\n}\nreturn n; }",
			"#define AT(x) case x: g(x);\nint f(int n) { <2>switch (n) {\nAT(3) <3>n++;\n}\n<5>return n; }", ""},
		"a head": {"#define TIMES(n) for (int i = 0; i < n; i++)\nint f(int n) { TIMES(3)\nn++;\n}", "! ", ""},
		"a case": {cases + "int f(int n) { switch (n) {\nON(1) n++; break;\nON(2);\nn--;\n}\nreturn n; }",
			cases + "int f(int n) { <2>switch (n) {\nON(1) <3>n++; break;\nON(2);\n<5>n--;\n}\n<7>return n; }",
			"! has no blocks: a directive or a macro chooses its cases"},
	} {
		for g, want := range map[instrument.Granularity]string{instrument.Lines: c.lines, instrument.Blocks: c.blocks} {
			got := placedBefore(t, c.source, g)
			if _, why, is := strings.Cut(want, "! "); is {
				if !strings.HasPrefix(got, c.source+"!") || !strings.Contains(got, why) {
					t.Errorf("%s, %ss:\n%s\nwant %s", name, g, got, want)
				}
			} else if want != "" && got != want {
				t.Errorf("%s, %ss:\n%s\nwant\n%s", name, g, got, want)
			}
		}
	}
}
