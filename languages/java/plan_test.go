package java

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages/languagetest"
)

// TestPlan pins names, kinds and positions: lines and columns from 1,
// columns in bytes. The site is where the name stands; the point reaches from
// behind the opening brace to the closing one.
func TestPlan(t *testing.T) {
	fine := languagetest.Fine
	languagetest.Plans(t, planFile, []languagetest.PlanCase{
		{Name: "plain", Source: "package a . b /* c */ ;\nclass M {\n  int f(int x) {\n    return x;\n  }\n}\n", Options: fine, Want: `
			method a.b.M.f 3:7-5 3:17-5:3 50-67`},
		{Name: "crlf and a lone cr", Source: "class M {\r\n  void f() { }\r  void g() { }\r\n}", Options: fine, Want: `
			method M.f 2:8-2 2:13-2:14 23-24
			method M.g 3:8-3 3:13-3:14 38-39`},
		{Name: "nested types", Source: "class M { class I { I() { } void f() {} } interface J { default void f() {} static void g() {} void h(); } @interface A { class N { void f() {} } } }", Options: fine, Want: `
			constructor M.I.<init> 1:21-1 1:26-1:27 25-26
			method M.I.f 1:34-1 1:39-1:39 38-38
			method M.J.f 1:70-1 1:75-1:75 74-74
			method M.J.g 1:89-1 1:94-1:94 93-93
			method M.A.N.f 1:138-1 1:143-1:143 142-142`},
		{Name: "overloads", Source: "class M { void f(int a, String... b) {} void f(java.util.List<int[]> a[], final @X char b) {} abstract void f(); void g() {} M() {} M(M this, int a) {} record R(int x) { R {} R() { this(1); } } }", Options: fine, Want: `
			method M.f(int, String...) 1:16-1 1:39-1:39 38-38
			method M.f(java.util.List[], char) 1:46-1 1:93-1:93 92-92
			method M.g 1:119-1 1:124-1:124 123-123
			constructor M.<init>() 1:126-1 1:131-1:131 130-130
			constructor M.<init>(int) 1:133-1 1:151-1:151 150-150
			constructor M.R.<init>(int) 1:171-1 1:174-1:174 173-173
			constructor M.R.<init>() 1:176-1 1:190-1:191 189-190`},
		{Name: "initialisers", Source: "class M { static { a(); } { b(); } static int a = 1; }", Options: fine, Want: `
			module M.<clinit> 1:11-1 1:19-1:25 18-24
			constructor M.<init block> 1:27-1 1:28-1:34 27-33`},
		{Name: "lambdas", Source: "class M { Runnable r = () -> { }; void f() { Runnable s = () -> { Runnable t = () -> { }; }; g(x -> x); } }", Options: fine, Want: `
			lambda M.<lambda> 1:24-1 1:31-1:32 30-31
			method M.f 1:40-1 1:45-1:105 44-104
			lambda M.f.<lambda> 1:59-1 1:66-1:91 65-90
			lambda M.f.<lambda>.<lambda> 1:80-1 1:87-1:88 86-87`},
		{Name: "anonymous and local classes", Source: "class M { Object o = new X(new Y() { void a() {} }) { void b() {} }; void f() { new Z() { { } }; class L { void c() {} } } enum E { A { void d() {} }, B; void e() { new W() { void g() {} }; } } }", Options: fine, Want: `
			method M.<anonymous 1>.a 1:43-1 1:48-1:48 47-47
			method M.<anonymous 2>.b 1:60-1 1:65-1:65 64-64
			method M.f 1:75-1 1:80-1:122 79-121
			constructor M.f.<anonymous 3>.<init block> 1:91-1 1:92-1:93 91-92
			method M.f.L.c 1:113-1 1:118-1:118 117-117
			method M.E.A.d 1:142-1 1:147-1:147 146-146
			method M.E.e 1:160-1 1:165-1:191 164-190
			method M.E.e.<anonymous 2>.g 1:181-1 1:186-1:186 185-185`},
		{Name: "constructors", Source: "class M { M() { /* super(); */ this(1) ; f(); } M(int a) { // x\n <T>super(a); } M(O o) {\n o\n.super(); } M(char c) { int x = 1;\n super(x); f(); } M(long c) { this(() -> { }); } }", Options: fine, Want: `
			constructor M.<init>() 1:11-1 1:41-1:47 40-46
			constructor M.<init>(int) 1:49-2 2:14-2:15 77-78
			constructor M.<init>(O) 2:17-4 4:10-4:11 101-102
			constructor M.<init>(char) 4:13-5 5:11-5:17 137-143
			constructor M.<init>(long) 5:19-5 5:47-5:48 173-174
			lambda M.<init>(long).<lambda> 5:36-5 5:43-5:44 169-170`},
		{Name: "no bodies", Source: "abstract class M { abstract void f(); native void g(); } interface I { void f(); int K = 1; }", Options: fine, Want: ``},
		{Name: "module-info", Source: "@Deprecated open module a.b { requires java.base; exports a.b to c, d; }", Options: fine, Want: ``},
		{Name: "package-info", Source: "@Deprecated package a.b;", Options: fine, Want: ``},
		{Name: "no class around", Source: "import module java.base;\nvoid main() { IO.println(1); }\nint f() { return 1; }\n", Options: fine, Want: `
			method main 2:6-2 2:14-2:30 38-54
			method f 3:5-3 3:10-3:21 65-76`},
		{Name: "escapes", Source: "class M { void \\u0061\\uuu00e9() \\u007b String s = \"\\u0022 + '\\u005c'' + \\u0022 \\\\u0022\\u005c\\u005c\"; // \\u000a f();\n \\u007d void g() {} }", Options: fine, Want: `
			method M.aé 1:16-2 1:39-2:2 38-117
			method M.g 2:14-2 2:19-2:19 134-134`},
		{Name: "escapes of what ends texts", Source: "class M { char f() { return '\\u0000'; } String g() { return \"\\u001a\\ud83d\\u2028\"; } }", Options: fine, Want: `
			method M.f 1:16-1 1:21-1:39 20-38
			method M.g 1:48-1 1:53-1:83 52-82`},
		{Name: "not utf-8", Source: "class M\xe9 { void f() { g(\"\xfc}\"); } /* \xff} */ }", Options: fine, Want: `
			method Mé.f 1:17-1 1:22-1:32 21-31`},
		{Name: "the end of a file for CP/M", Source: "class M { void f() { } }\n\x1a", Options: fine, Want: `
			method M.f 1:16-1 1:21-1:22 20-21`},
		{Name: "coarse, not the file that is run", Source: "class M { public static void main(String[] a) { } }", Options: instrument.Options{Granularity: instrument.Coarse}, Want: ``},
		{Name: "coarse", Source: "class M { void main() { } public static void main(final String... a) { Runnable r = () -> { }; } void f() { } class I { static void main(String[] a) { } } }\nrecord R() { void main() { } private static void main(String[] a) { } }", Options: instrument.Options{Granularity: instrument.Coarse, Entry: true}, Want: `
			method M.main(String...) 1:46-1 1:71-1:96 70-95
			method R.main() 2:19-2 2:27-2:28 183-184`},
		{Name: "coarse, no class around", Source: "int f() { return 1; }\nvoid main() { }\n", Options: instrument.Options{Granularity: instrument.Coarse, Entry: true}, Want: `
			method main 2:6-2 2:14-2:15 35-36`},
		{Name: "include", Source: "class M { void f() { } void g() { } }", Options: instrument.Options{Granularity: instrument.Fine, Include: []string{"*.g"}}, Want: `
			method M.g 1:29-1 1:34-1:35 33-34`},
		{Name: "one of several", Source: "class M { void f() { } void f(int x) { Runnable r = () -> { }; } void g() { } }", Options: instrument.Options{Granularity: instrument.Fine, Include: []string{"M.f*"}, Exclude: []string{"M.f(int)"}}, Want: `
			method M.f() 1:16-1 1:21-1:22 20-21
			lambda M.f(int).<lambda> 1:53-1 1:60-1:61 59-60`},
		{Name: "all of one name", Source: "class M { void f() { } void f(int x) { } void g() { } void h() { } }", Options: instrument.Options{Granularity: instrument.Fine, Include: []string{"M.f", "M.g"}, Exclude: []string{"?.f"}}, Want: `
			method M.g 1:47-1 1:52-1:53 51-52`},
		{Name: "exclude", Source: "class M { void f() { } void g() { }\n Runnable a = () -> { };\n Runnable b = () -> { }; }", Options: instrument.Options{Granularity: instrument.Fine, Exclude: []string{"M.f", "M.<lambda>:2"}}, Want: `
			method M.g 1:29-1 1:34-1:35 33-34
			lambda M.<lambda> 3:15-3 3:22-3:23 82-83`},
		{Name: "empty", Source: "", Options: fine, Want: ``},
	}, func(source string, s checkpoint.Site, q instrument.Point) string {
		if before, end := source[:q.Start], source[q.End:]; !strings.HasSuffix(before, "{") &&
			!strings.HasSuffix(before, ";") && !strings.HasSuffix(before, `\u007b`) ||
			!strings.HasPrefix(end, "}") && !strings.HasPrefix(end, `\u007d`) {
			t.Errorf("%s does not stand between braces in %q", s.Func, source)
		}
		return fmt.Sprintf("%s %s %d:%d-%d %d:%d-%d:%d %d-%d",
			s.Kind, s.Func, s.Line, s.Col, s.EndLine, q.Line, q.Col, q.EndLine, q.EndCol, q.Start, q.End)
	})
}

func TestPlanRefuses(t *testing.T) {
	languagetest.Refuses(t, planFile, map[string]string{
		"class M { void f( { } }":                       "line 1",
		"class M {\n int x = = 1; }":                    "line 2",
		"class M {\n void f() {\n":                      "line 2",
		"c\x00l\x00a\x00s\x00s\x00":                     "line 1", // UTF-16
		"class M {\n M() { int a = 1; <T>super(a); } }": "line 2", // newer than the grammar
	})
}

// TestLeftAlone: a method near the JVM's limit gets no checkpoints, and
// says so; what stands in it does.
func TestLeftAlone(t *testing.T) {
	returns := strings.Repeat("if (x) return;\n", 1001)
	elements := strings.Repeat("1234567, ", 3000)
	for _, c := range []struct{ name, source, left, sites string }{
		{"returns", "class M { void f(boolean x) { " + returns + "} int g() { return 1; } }", "M.f:1 left alone: each of its 1001 returns", "M.g"},
		{"elements", "class M {\n int[] f() { Runnable r = () -> { }; return new int[] {" + elements + "}; } }", "M.f:2 left alone: its byte code", "M.f.<lambda>"},
		{"initialiser", "class M {\n static int[] a = {" + elements + "};\n static { f(); } { g(); } }", "M.<clinit>:3 left alone: its byte code", "M.<init block>"},
		{"returns of others", "class M { void f() { new Object() { void g(boolean x) { " + strings.Repeat("if (x) return;\n", 600) + "} }; } }", "", "M.f M.f.<anonymous 1>.g"},
	} {
		p, err := planFile([]byte(c.source), instrument.Options{Granularity: instrument.Fine})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var left, sites []string
		for _, l := range p.LeftAlone {
			left = append(left, fmt.Sprintf("%s:%d %s", l.Name, l.Line, l.Reason))
		}
		for _, s := range p.Sites {
			sites = append(sites, s.Func)
		}
		if !strings.HasPrefix(strings.Join(left, "\n"), c.left) || len(left) > 1 ||
			(c.left == "") != (len(left) == 0) || strings.Join(sites, " ") != c.sites {
			t.Errorf("%s: left %q, sites %q", c.name, left, sites)
		}
	}
}

// TestPackage: the checkpoints' package is one that no text speaks of.
func TestPackage(t *testing.T) {
	if len(planVersion()) != 64 {
		t.Errorf("version %q", planVersion())
	}
	for want, texts := range map[string][]string{
		"cg$":       {"class M { int cg, $; }"},
		"cg$$":      {"class M { int cg$; }", "class N { }"},
		"cg$$$":     {"class N { }", "class M { int cg$, cg$$x; }"},
		"cg$$$$$$$": {"class M { int c\\u0067$\\u0024$$$\\u0024; }"},
	} {
		var all [][]byte
		for _, text := range texts {
			all = append(all, []byte(text))
		}
		if got := runtimePackage(all...); got != want {
			t.Errorf("%q: %s, want %s", texts, got, want)
		}
	}
}

// rewritten is a file with checkpoints, checked: it has the lines of the
// original, each with the same start, parses, and is the original without
// what was inserted.
func rewritten(t testing.TB, source []byte, first int, g instrument.Granularity) ([]byte, *filePlan, error) {
	t.Helper()
	source, err := decode(source)
	if err != nil {
		return nil, nil, err
	}
	j, err := parse(source)
	if err != nil {
		return nil, nil, err
	}
	p := j.plan(instrument.Options{Granularity: g, Entry: true}, wish{})
	edits, err := render(runtimePackage(source), source, p, first)
	if err != nil {
		t.Fatal(err)
	}
	out, err := edit.Apply(source, edits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := planFile(out, instrument.Options{Granularity: instrument.Fine}); err != nil {
		t.Fatalf("does not parse: %v\n%s", err, out)
	}
	// Backwards, as edits at one place keep their order.
	lines := func(b []byte) [][]byte {
		return bytes.Split(bytes.ReplaceAll(b, []byte("\r"), []byte("\n")), []byte("\n"))
	}
	was, is := lines(source), lines(out)
	if len(was) != len(is) {
		t.Fatalf("%d lines became %d", len(was), len(is))
	}
	at := 0
	for i := range was {
		head := was[i]
		for _, e := range edits {
			if e.Start >= at && e.Start <= at+len(was[i]) {
				head = head[:min(len(head), e.Start-at)]
			}
		}
		if !bytes.HasPrefix(is[i], head) {
			t.Fatalf("line %d begins otherwise: %q, was %q", i+1, is[i], was[i])
		}
		at += len(was[i]) + 1
	}
	pkg := runtimePackage(source)
	back := out
	for i := range p.Sites {
		for _, how := range []string{"", "c"} {
			back = bytes.Replace(back, fmt.Appendf(nil, "%s.R.%se(%d);try{", pkg, how, first+i), nil, 1)
			back = bytes.Replace(back, fmt.Appendf(nil, "}finally{%s.R.%sx(%d);}", pkg, how, first+i), nil, 1)
		}
		if p.Sites[i].Kind.IsPlace() {
			back = bytes.ReplaceAll(back, fmt.Appendf(nil, "%s.R.p(%d);", pkg, first+i), nil)
		}
	}
	for _, brace := range []string{openBrace, closeBrace} {
		back = bytes.ReplaceAll(back, []byte(brace), nil)
	}
	if !bytes.Equal(back, source) {
		t.Fatalf("without the checkpoints:\n%s\nwas\n%s", back, source)
	}
	return out, p, nil
}

const casesFolder = "../../testdata/programs/java/cases"

// FuzzRewrite: whatever the text, planning ends, and what it rewrites
// keeps its lines.
func FuzzRewrite(f *testing.F) {
	names, _ := filepath.Glob(filepath.Join(casesFolder, "*.java"))
	for _, name := range names {
		if source, err := os.ReadFile(name); err == nil && len(source) < 8192 {
			f.Add(source)
		}
	}
	for _, source := range []string{
		"class M\xe9 { void f() { g(\"\xfc}\"); } /* \xff} */ }\x1a",
		"class M { void f() \\u007b String s = \"\\u0022 + '\\u005c''; // \\u000a f();\r \\u007d M() { int x; super(); } }",
		"import module a;\nvoid main() { }\r\n",
	} {
		f.Add([]byte(source))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		for _, g := range []instrument.Granularity{instrument.Fine, instrument.Lines, instrument.Blocks} {
			rewritten(t, source, 7, g)
		}
	})
}
