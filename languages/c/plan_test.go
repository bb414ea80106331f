package c

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages/languagetest"
)

func planCase(name, source string, o instrument.Options, want string) languagetest.PlanCase {
	return languagetest.PlanCase{Name: name, Source: source, Options: o, Want: want}
}

// TestPlan has a case for each form that a definition of a function has.
func TestPlan(t *testing.T) {
	coarse := instrument.Options{Granularity: instrument.Coarse, Entry: true}
	languagetest.Plans(t, plainC.planFile, []languagetest.PlanCase{
		planCase("a function, and a declaration", "int f(int n);\nint f(int n) { return n; }\n", languagetest.Fine,
			"2:15-2:26 f"),
		planCase("coarse", "void f(void) { }\nint main(void)\n{ f(); }\n", coarse, "3:2-3:8 main"),
		planCase("attributes before, between and behind",
			"__attribute__((noinline)) static int a(void) { }\nint __attribute__((cold)) b(void) { }\n", languagetest.Fine,
			"1:47-1:48 a\n2:36-2:37 b"),
		planCase("K&R", "int f(a, b) int a; char *b; { return a; }\n", languagetest.Fine, "1:30-1:41 f"),
		planCase("K&R, parameters on their own lines", "static char *\nf(a, b, p)\n\tregister int a, *b;\n\tint (*p)();\n{ return a; }\n"+
			"int (*v)(int);\nint g(a) int a; { while (a) a--; }\n", languagetest.Fine, "5:2-5:13 f\n7:18-7:34 g"),
		planCase("without a type", "f(n) { return n; }\nstruct s { int a; } g(a, b) char *b; { while (a) a--; }\nint a[] = { 1 }, (b) = 3;\n",
			languagetest.Fine, "1:7-1:18 f\n2:39-2:55 g"),
		planCase("labels of a block", "int f(void) { __label__ a, b; /* ; */ __label__ c ; a: return 1; }\n", languagetest.Fine,
			"1:52-1:66 f"),
		planCase("returns a pointer to a function", "int (*f(int a))(int) { return 0; }\n", languagetest.Fine, "1:23-1:34 f"),
		planCase("a name in parentheses", "int (f)(int a) { return 0; }\n", languagetest.Fine, "1:17-1:28 f"),
		planCase("returns a pointer", "struct s *f(void) { return 0; }\n", languagetest.Fine, "1:20-1:31 f"),
		planCase("in a function", "int f(void) { int g(void) { return 1; } return g(); }\n", languagetest.Fine,
			"1:14-1:53 f\n1:28-1:39 g"),
		planCase("no functions", "int a = 3; struct { int f; } b = { 4 }; int (*p)(int);\n#define F(n) int n(void) { }\n",
			languagetest.Fine, ""),
		planCase("left alone", "__attribute__((naked)) void f(void) { }\nvoid __attribute__((__interrupt__)) g(void) { }\n",
			languagetest.Fine, ""),
		planCase("left alone by a declaration before, by another name's not",
			"int f(int n) __attribute__((naked));\nint f(int n) { return n; }\nint g(int n) { return n; }\n", languagetest.Fine,
			"3:15-3:26 g"),
		planCase("left alone in brackets", "[[gnu::naked]] int f(int n) { return n; }\nint g(int n) { return n; }\n",
			languagetest.Fine, "2:15-2:26 g"),
		planCase("left out", "void f(void) { }\nvoid g(void) { }\n", instrument.Options{Granularity: instrument.Fine,
			Exclude: []string{"f"}}, "2:15-2:16 g"),
		planCase("braces in texts", "char *f(void) { return \"}\"; /* } */ }\n", languagetest.Fine, "1:16-1:37 f"),
	}, func(source string, s checkpoint.Site, q instrument.Point) string {
		if !strings.ContainsRune("{;", rune(source[q.Start-1])) || source[q.End] != '}' {
			return "not between braces"
		}
		return fmt.Sprintf("%d:%d-%d:%d %s", q.Line, q.Col, q.EndLine, q.EndCol, s.Func)
	})
}

// The functions that a preprocessed text of each fixture has, with the lines that they have in
// the file.
func TestUnitPlan(t *testing.T) {
	text := "# 0 \"m.c\"\n# 0 \"<built-in>\"\n# 1 \"m.c\"\n# 1 \"/usr/include/lib.h\" 1 3 4\n" +
		"static inline int theirs(int n) { while (n) n--; return n; }\n# 2 \"m.c\" 2\n# 1 \"sub/own.h\" 1\n" +
		"static inline int own(int n) { while (n) n--; return n; }\n# 3 \"m.c\" 2\n\nstatic int f(int n)\n{\n" +
		"# 5 \"m.c\" 3 4\n  if (__builtin_expect(n,\n# 5 \"m.c\"\n  3)) g(); return\n# 6 \"m.c\"\n n; }\n" +
		"int small(int n) { return n; }\n"
	w := owner{dir: "/p", folders: []string{"/p"}, options: languagetest.Fine}
	for _, inline := range []bool{false, true} {
		p, err := plainC.planUnit([]byte(text), w, choices{Inline: inline}, refused{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range p.funcs {
			got = append(got, fmt.Sprintf("%s:%d-%d %s", f.path, f.site.Line, f.site.EndLine, f.name))
		}
		want := []string{"/p/sub/own.h:1-1 own", "/p/m.c:4-6 f"}
		if short := 1; inline {
			want = append(want, "/p/m.c:7-7 small")
		} else if p.short != short {
			t.Errorf("%d short ones", p.short)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || p.path != "/p/m.c" {
			t.Errorf("%q\nwant\n%q, %s", got, want, p.path)
		}
	}
}

// A line of a raw string that begins with # is no directive.
func TestRawStringsStay(t *testing.T) {
	text := "# 1 \"m.cpp\"\nconst char *shader = R\"(\n#ifdef A\n#endif)\";\n#pragma once\n" +
		"int f(int n) { while (n) n--; return n; }\n"
	w := owner{dir: "/p", folders: []string{"/p"}, options: languagetest.Fine}
	p, err := plusPlus.planUnit([]byte(text), w, choices{Inline: true}, refused{})
	if err != nil || len(p.funcs) != 1 || p.funcs[0].name != "f" {
		t.Errorf("%+v, %v", p.funcs, err)
	}
}

// FuzzPlan: whatever the text is, points lie between braces, within it and within each other.
func FuzzPlan(f *testing.F) {
	for _, d := range dialects {
		names, err := filepath.Glob(filepath.Join(casesOf(d), "*"+d.endings[0]))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte("# 1 \"a.c\"\nint f(void) {"))
	f.Add([]byte("int f() { \"\\\n# 9 \"b\\\"\\101.c\" 2\n}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, d := range dialects {
			p, err := d.planFile(text, languagetest.Fine)
			if err != nil {
				continue
			}
			for _, q := range p.Points {
				if q.Start > q.End || q.Start < 1 || q.End >= len(text) || !bytes.ContainsRune([]byte("{%;"), rune(text[q.Start-1])) {
					t.Errorf("%+v", q)
				}
			}
			u, err := d.planUnit(text, owner{dir: "/", folders: []string{"/"}, options: languagetest.Fine}, choices{true, true}, refused{})
			if err != nil {
				continue
			}
			if _, err := u.rewrite(); err != nil {
				t.Error(err)
			}
		}
	})
}
