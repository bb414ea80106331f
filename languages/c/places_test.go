package c

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"cg/instrument"
	"cg/instrument/edit"
)

// placed shows the events of a text: <5> is that of a line, <5-7> that of a block, <-> that of the rest.
func placed(t *testing.T, d *dialect, source string, g instrument.Granularity) string {
	t.Helper()
	return strings.TrimPrefix(placedText(t, d, "# 1 \"m.c\"\n"+source, g), "# 1 \"m.c\"\n")
}

// placedText is placed for a text that the preprocessor has made.
func placedText(t *testing.T, d *dialect, text string, g instrument.Granularity) string {
	t.Helper()
	w := owner{dir: "/p", folders: []string{"/p"}, options: instrument.Options{Granularity: g}}
	u, err := d.planUnit([]byte(text), w, choices{Inline: true}, refused{})
	if err != nil {
		t.Fatal(err)
	}
	var edits []edit.Edit
	for _, f := range u.funcs {
		for _, m := range f.marks {
			text := m.brace
			if m.place != unknown {
				switch s := f.places[m.place]; s.Kind {
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
	}
	out, err := edit.Apply(u.text.source, edits)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range u.left {
		out = append(out, "! "+l.Name+" "+l.Reason...)
	}
	return string(out)
}

// TestPlacesOfC has a case for each statement: where its events stand, with -g line and with -g block.
func TestPlacesOfC(t *testing.T) {
	both := []*dialect{plainC, plusPlus}
	for _, c := range []struct {
		name, source string
		lines        string // "" for no event
		blocks       string // the same
		only         *dialect
	}{
		{name: "statements of a line are one place", source: "int f(int n) { n++; n--;\nreturn n; }",
			lines: "int f(int n) { <1>n++; n--;\n<2>return n; }"},
		{name: "declarations without code", source: "int f(void) { int a, *b;\nstruct s { int n; };\ntypedef int t;\nint c = 3;\n;\nreturn c; }",
			lines: "int f(void) { int a, *b;\nstruct s { int n; };\ntypedef int t;\n<4>int c = 3;\n;\n<6>return c; }"},
		{name: "if and else without braces", source: "int f(int n) { if (n)\nn++;\nelse if (n > 2)\nn--;\nelse\nn = 3;\nreturn n; }",
			lines:  "int f(int n) { <1>if (n)\n{ <2>n++; }\nelse { <3>if (n > 2)\n{ <4>n--; }\nelse\n{ <6>n = 3; } }\n<7>return n; }",
			blocks: "int f(int n) { if (n)\n{ <1-2>n++; }\nelse { if (n > 2)\n{ <3-4>n--; }\nelse\n{ <5-6>n = 3; } }\n<->return n; }"},
		{name: "the else of the inner if", source: "int f(int n) { if (n)\nif (n > 2)\nn--;\nelse\nn = 3;\n}",
			lines:  "int f(int n) { <1>if (n)\n{ <2>if (n > 2)\n{ <3>n--; }\nelse\n{ <5>n = 3; } }\n}",
			blocks: "int f(int n) { if (n)\n{ <1-5>if (n > 2)\n{ <2-3>n--; }\nelse\n{ <4-5>n = 3; } }\n}"},
		{name: "loops come back to their heads", source: "int f(int n) { for (int i = 0; i < n; i++)\n{ n++;\nif (n) continue;\nn--; }\nwhile (n)\nn--;\ndo\nn++;\nwhile (n < 3);\nreturn n; }",
			lines: "int f(int n) { <1>for (int i = 0; i < n; i++)\n{ <2>n++;\n<3>if (n) { <1>continue; }\n<4>n--; <1>}\n" +
				"<5>while (n)\n{ <6>n--; <5> }\ndo\n{ <8>n++; <9> }\nwhile (n < 3);\n<10>return n; }",
			blocks: "int f(int n) { <1-4>for (int i = 0; i < n; i++)\n{ n++;\nif (n) { <1-4>continue; }\n<1-4>n--; }\n" +
				"<5-6>while (n)\nn--;\n<7-9>do\nn++;\nwhile (n < 3);\n<->return n; }"},
		{name: "loops without a head", source: "int f(int n) { for (;;) n++;\nwhile (1)\n{ n--;\nif (n) break; } }",
			lines:  "int f(int n) { <1>for (;;) { <1>n++; }\n<2>while (1)\n{ <3>n--;\n<4>if (n) break; } }",
			blocks: "int f(int n) { <1-1>for (;;) n++;\n<2-4>while (1)\n{ n--;\nif (n) break; <2-4>} }"},
		{name: "loops without a body", source: "int f(int n) { while (n--) ;\nfor (; n < 3; n++);\n}",
			lines:  "int f(int n) { <1>while (n--) ;\n<2>for (; n < 3; n++);\n}",
			blocks: "int f(int n) { <1-1>while (n--) ;\n<2-2>for (; n < 3; n++);\n}"},
		{name: "cases", source: "int f(int n) { switch (n) {\ncase 1:\ncase 2: n++;\ncase 3:\nn--; break;\ndefault: return 4; }\nreturn n; }",
			lines: "int f(int n) { <1>switch (n) {\ncase 1:\ncase 2: <3>n++;\ncase 3:\n<5>n--; break;\ndefault: <6>return 4; }\n<7>return n; }",
			blocks: "int f(int n) { switch (n) {\ncase 1:\ncase 2: <3-3>n++;\ncase 3:\n<4-5>n--; break;\ndefault: <6-6>return 4; }\n" +
				"<->return n; }"},
		{name: "a case into a loop", source: "int f(int n) { n++;\nswitch (n) { case 0: do { n++;\ncase 1: n--; } while (n); }\n}",
			lines: "int f(int n) { <1>n++;\n<2>switch (n) { case 0: do { <2>n++;\ncase 1: <3>n--; } while (n); }\n}",
			blocks: "int f(int n) { n++;\nswitch (n) { case 0: <2-3>do { n++;\ncase 1: <3-3>n--; <2-3>} while (n); }\n" +
				"}"},
		{name: "labels", source: "int f(int n) { again: n++;\nif (n) goto again;\nn--; end:; __attribute__((unused)) int k = 3;\n}",
			lines:  "int f(int n) { again: <1>n++;\n<2>if (n) goto again;\n<3>n--; end:; <3>__attribute__((unused)) int k = 3;\n}",
			blocks: "int f(int n) { again: <->n++;\nif (n) goto again;\n<->n--; end:; <->__attribute__((unused)) int k = 3;\n}"},
		{name: "attributes belong to what follows", source: "int f(int n) {\n__attribute__((unused)) int a = n;\nswitch (n) { case 1: n++; __attribute__((fallthrough)); case 2: n--; }\n__extension__ n++;\n}",
			lines: "int f(int n) {\n<2>__attribute__((unused)) int a = n;\n<3>switch (n) { case 1: <3>n++; __attribute__((fallthrough)); case 2: <3>n--; }\n<4>__extension__ n++;\n}"},
		{name: "a pragma of a macro, by clang", source: "int f(int n) { if (n)\n n = 1;\n\n#pragma omp master\n# 4 \"m.c\"\n n += 2;\n return n; }",
			lines: "int f(int n) { <1>if (n)\n { <2>n = 1; }<4>\n\n#pragma omp master\n# 4 \"m.c\"\n n += 2;\n <5>return n; }"},
		{name: "comments that the preprocessor kept", source: "int f(int n) { n++; // one\n#pragma omp master /* two */\n// three\n# 4 \"m.c\"\n n += 2; }",
			lines: "int f(int n) { <1>n++;<4> // one\n#pragma omp master /* two */\n// three\n# 4 \"m.c\"\n n += 2; }"},
		{name: "what is lost before a pragma", source: "int f(int n) { n++; __extension__\n#pragma omp master\n n += 2; }",
			lines: "int f(int n) { n++; __extension__\n#pragma omp master\n n += 2; }" +
				"! f has no lines: what stands before a pragma is not placed by the grammar"},
		{name: "a pragma that is left", source: "int f(int n) { n++; _Pragma(\"omp master\");\n n += 2; }",
			lines: "int f(int n) { n++; _Pragma(\"omp master\");\n n += 2; }! f has no lines: the preprocessor has left a _Pragma in it"},
		{name: "files of others", source: "int f(int n) { n++;\n# 7 \"table.inc\" 1\nn += 2;\n# 3 \"m.c\" 2\nreturn n; }",
			lines: "int f(int n) { <1>n++;\n# 7 \"table.inc\" 1\nn += 2;\n# 3 \"m.c\" 2\n<3>return n; }"},
		{name: "statements in expressions", source: "int f(int n) { n = ({ int k = n;\nk + 1; });\nreturn n; }",
			lines: "int f(int n) { <1>n = ({ int k = n;\nk + 1; });\n<3>return n; }", only: plainC},
		{name: "labels as values, ranges of cases", source: "int f(int n) { static void *to[] = { &&a, &&b };\ngoto *to[n && 1];\n" +
			"a: n++;\nb: switch (n) { case 1 ... 3: case '0' ... '9': n--; }\nreturn n && 1; }",
			lines: "int f(int n) { <1>static void *to[] = { &&a, &&b };\ngoto *to[n && 1];\n" +
				"a: <3>n++;\nb: <4>switch (n) { case 1 ... 3: case '0' ... '9': <4>n--; }\n<5>return n && 1; }", only: plainC},
		{name: "complex numbers", source: "int f(int n) { double _Complex z = 2 * (1.0iF);\nz *= 1.5i; }",
			lines: "int f(int n) { <1>double _Complex z = 2 * (1.0iF);\n<2>z *= 1.5i; }", only: plainC},
		{name: "functions in functions", source: "int f(int n) {\nint g(int k) {\nreturn k; }\nreturn g(n); }",
			lines: "int f(int n) {\nint g(int k) {\n<3>return k; }\n<4>return g(n); }", only: plainC},
		{name: "what is not parsed", source: "int f(int n) { n = n @ 3; }", lines: "int f(int n) { n = n @ 3; }" +
			"! f has no lines: a part of it is not placed by the grammar", blocks: "int f(int n) { n = n @ 3; }" +
			"! f has no blocks: a part of it is not placed by the grammar", only: plainC},
		{name: "exceptions", source: "int f(int n) { try {\nn++; }\ncatch (int e) {\nn--; }\ncatch (...) { throw; }\nreturn n; }",
			lines:  "int f(int n) { try {\n<2>n++; }\ncatch (int e) {\n<4>n--; }\ncatch (...) { <5>throw; }\n<6>return n; }",
			blocks: "int f(int n) { try {\nn++; }\ncatch (int e) {\n<3-4>n--; }\ncatch (...) { <5-5>throw; }\n<->return n; }", only: plusPlus},
		{name: "declarations in conditions, ranges", source: "int f(int n) { if (int k = n)\nn++;\nelse n = k;\nfor (auto x : v)\nn += x;\nwhile (auto p = next())\nn += p; }",
			lines: "int f(int n) { <1>if (int k = n)\n{ <2>n++; }\nelse { <3>n = k; }\n<4>for (auto x : v)\n{ <5>n += x; <4> }\n" +
				"<6>while (auto p = next())\n{ <7>n += p; <6> } }", only: plusPlus},
		{name: "lambdas", source: "int f(int n) { auto g = [](int k) {\nreturn k; };\nreturn g(n); }",
			lines: "int f(int n) { <1>auto g = [](int k) {\n<2>return k; };\n<3>return g(n); }", only: plusPlus},
		{name: "attributes of C++", source: "int f(int n) { [[maybe_unused]] int a = 3;\nswitch (n) { case 1: n++; [[fallthrough]]; case 2: n--; }\nif (n) [[likely]] { n++;\n}\nreturn n; }",
			lines: "int f(int n) { <1>[[maybe_unused]] int a = 3;\n<2>switch (n) { case 1: <2>n++; [[fallthrough]]; case 2: <2>n--; }\n" +
				"<3>if (n) [[likely]] { n++;\n}\n<5>return n; }", only: plusPlus},
	} {
		for _, d := range both {
			if c.only != nil && c.only != d {
				continue
			}
			if got := placed(t, d, c.source, instrument.Lines); got != c.lines {
				t.Errorf("%s, lines of %s:\n%s\nwant\n%s", c.name, d.title, got, c.lines)
			}
			if got := placed(t, d, c.source, instrument.Blocks); c.blocks != "" && got != c.blocks {
				t.Errorf("%s, blocks of %s:\n%s\nwant\n%s", c.name, d.title, got, c.blocks)
			}
		}
	}
}

// TestPlacesOfPragmas: an event stands before a pragma and before the marker that the preprocessor puts there, never
// between the pragma and what it rules. What a directive rules is one place.
func TestPlacesOfPragmas(t *testing.T) {
	needCompiler(t)
	const source = `#define MASTER _Pragma("omp master")
#define UNROLL _Pragma("GCC unroll 4")
int f(int n) { n++;
#pragma GCC ivdep
for (int i = 0; i < n; i++)
n--;
#pragma omp parallel for
for (int i = 0; i < n; i++)
n--;
MASTER n += 2;
if (n)
MASTER n += 3;
#pragma omp barrier
#pragma omp critical
n += 4;
UNROLL for (int i = 0; i < n; i++)
n--;
return n; }
`
	const want = `int f(int n) { <3>n++;<5>
#pragma GCC ivdep
for (int i = 0; i < n; i++)
{ <6>n--; <5> }<8>
#pragma omp parallel for
for (int i = 0; i < n; i++)
n--;<10>
#pragma omp master
n += 2;
<11>if (n){ <12>
#pragma omp master
n += 3; }<15>
#pragma omp barrier
#pragma omp critical
n += 4;<16>
#pragma GCC unroll 4
for (int i = 0; i < n; i++)
{ <17>n--; <16> }
<18>return n; }
`
	writeFiles(t, map[string]string{"m.c": source})
	for _, command := range []string{"cc -fopenmp", "cc", "clang -fopenmp"} {
		words := append(strings.Fields(command), "-E", "m.c")
		if _, err := exec.LookPath(words[0]); err != nil {
			continue
		}
		text, err := exec.Command(words[0], words[1:]...).Output()
		if err != nil {
			t.Fatal(command, err)
		}
		var got strings.Builder
		for line := range strings.Lines(placedText(t, plainC, string(text), instrument.Lines)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
				got.WriteString(line + "\n")
			}
		}
		if got.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", command, got.String(), want)
		}
	}
}

// The functions that are chosen have places, and no others.
func TestChosenPlaces(t *testing.T) {
	w := owner{dir: "/p", folders: []string{"/p"}, options: instrument.Options{Granularity: instrument.Lines,
		PlacesOf: []instrument.FunctionIn{{File: "/p/m.c", Name: "g"}}}}
	u, err := plainC.planUnit([]byte("# 1 \"m.c\"\nint f(int n) { return n; }\nint g(int n) { return n; }\n"), w,
		choices{Inline: true}, refused{})
	if err != nil || len(u.funcs) != 2 || len(u.funcs[0].marks) > 0 || len(u.funcs[1].marks) != 1 {
		t.Fatal(u, err)
	}
}
