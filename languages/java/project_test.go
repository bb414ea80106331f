package java

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/instrument"
	"cg/languages"
	"cg/long"
	"cg/runtimes"
)

// alone are fixtures in which control goes every way that it can: whether a class reaches its own checkpoints, these tell.
var alone = []string{"Constructors", "Enums", "Exit", "Flow", "Initializers", "InnerClasses", "Interfaces", "Lambdas", "Latin", "Records", "Switches",
	"Threads", "Traces"}

// TestAlone compiles every fixture with the checkpoints that a build gets:
// they need no class but those of the file. Without cg the program does what it
// did; and what was added to a line can be taken out again.
func TestAlone(t *testing.T) {
	all := needJDKs(t)
	k := all[len(all)-1]
	var cases []*fixture
	helpers := 0
	for _, c := range fixtures(t) {
		if c.needs > k.version {
			continue
		}
		j, err := parse(c.source)
		if err != nil {
			t.Fatal(c.class, err)
		}
		text, err := rewriteWithHelper(c.class+".java", j,
			j.plan(instrument.Options{Granularity: instrument.Lines}, wish{tests: true}), 1)
		if err != nil {
			t.Fatal(c.class, err)
		}
		if c.rewritten = text; bytes.Contains(text, []byte(`Class.forName("cg$.Calls"`)) {
			helpers++
		}
		for i, line := range bytes.SplitAfter(text, []byte("\n")) {
			back, _ := removeAdded(line)
			if want := bytes.SplitAfter(c.source, []byte("\n")); i >= len(want) || !bytes.Equal(back, want[i]) {
				t.Errorf("%s:%d: %q comes out of %q", c.class, i+1, back, line)
			}
		}
		cases = append(cases, c)
	}
	if helpers < 20 {
		t.Errorf("%d files with checkpoints", helpers)
	}
	for _, class := range alone {
		if !slices.ContainsFunc(cases, func(c *fixture) bool { return c.class == class }) {
			t.Errorf("there is no fixture %s", class)
		}
	}
	short := long.Without(t, "runs of most fixtures: they are compiled alone")
	dir, plain := t.TempDir(), plainly(t, k, cases)
	for _, encoding := range []string{"UTF-8", "ISO-8859-1"} {
		args := []string{"-J-XX:TieredStopAtLevel=1", "-nowarn",
			"-Xlint:all,-serial,-removal,-deprecation,-options,-unchecked", "-proc:none", "-encoding", encoding, "-d", filepath.Join(dir, "classes")}
		for _, c := range cases {
			if (c.encoding == "UTF-8") != (encoding == "UTF-8") {
				continue
			}
			file := filepath.Join(dir, encoding, c.class+".java")
			grow(t, filepath.Dir(file), map[string]string{filepath.Base(file): string(c.rewritten)})
			args = append(args, file)
		}
		out, err := exec.Command(filepath.Join(k.home, "bin/javac"), args...).CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("cg$")) {
			t.Fatalf("%v\n%.3000s", err, out)
		}
	}
	for _, c := range cases {
		if short && !slices.Contains(alone, c.class) {
			continue
		}
		t.Run(c.class, func(t *testing.T) {
			t.Parallel()
			want := plain(t, c)
			gotOut, gotErr, gotStatus, _ := runClass(t, k, dir, c)
			if gotOut != want.stdout || gotErr != want.stderr || gotStatus != want.status {
				t.Errorf("%s %s %s\nwant\n%s %s %s", gotOut, gotErr, gotStatus, want.stdout, want.stderr, want.status)
			}
		})
	}
}

// Test methods are tasks, around the function that they are, if it is wanted.
func TestTests(t *testing.T) {
	for _, c := range []struct{ name, source, coarse, fine string }{
		{"JUnit 5", "package p;\nimport org.junit.jupiter.api.*;\nclass A {\n @Test void a() {}\n @RepeatedTest(3) void b() {}\n void c() {}\n @Nested class N { @DisplayName(\"x\") @Test void d() {} }\n}",
			"task p.A.a, task p.A.b, task p.A.N.d", "task p.A.a, method p.A.a, task p.A.b, method p.A.b, method p.A.c, task p.A.N.d, method p.A.N.d"},
		{"JUnit 4, by its whole name", "class A { @org.junit.Test(timeout = 3) public void a() {} }", "task A.a", "task A.a, method A.a"},
		{"parameters", "import org.junit.jupiter.params.ParameterizedTest;\nclass A { @ParameterizedTest void a(int x) {} @ParameterizedTest void a(String y) {} }",
			"task A.a(int), task A.a(String)", "task A.a(int), method A.a(int), task A.a(String), method A.a(String)"},
		{"JUnit 3", "class A extends TestCase { public void testA() {} public void helpA() {} void testB() {} public void testC(int x) {} }",
			"task A.testA", "task A.testA, method A.testA, method A.helpA, method A.testB, method A.testC"},
		{"TestNG", "import org.testng.annotations.Test;\n@Test public class A { public void a() {} @BeforeMethod public void b() {} void c() {} }",
			"task A.a", "task A.a, method A.a, method A.b, method A.c"},
		{"another Test", "class A { @Test void a() {} @com.acme.Test void b() {} }", "", "method A.a, method A.b"},
		{"a test that is abstract", "import org.junit.Test;\nabstract class A { @Test abstract void a(); }", "", ""},
	} {
		j, err := parse([]byte(c.source))
		if err != nil {
			t.Fatal(c.name, err)
		}
		for g, want := range map[instrument.Granularity]string{instrument.Coarse: c.coarse, instrument.Fine: c.fine} {
			p := j.plan(instrument.Options{Granularity: g, Entry: true}, wish{tests: true})
			var got []string
			for _, s := range p.Sites {
				got = append(got, fmt.Sprintf("%s %s", s.Kind, s.Func))
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%s, %s: %q, want %s", c.name, g, got, want)
			}
			for _, s := range j.plan(instrument.Options{Granularity: g, Entry: true}, wish{}).Sites {
				if s.Kind == "task" {
					t.Errorf("%s, %s: a task outside a project", c.name, g)
				}
			}
		}
	}
	// The task is the outer one.
	j, _ := parse([]byte("class A { @org.junit.Test public void a() { b(); } }"))
	text, err := rewriteWithHelper("A.java", j, j.plan(instrument.Options{Granularity: instrument.Fine}, wish{tests: true}), 7)
	if want := "{cg$A$.e(7);cg$A$.e(8);try{ b(); }finally{cg$A$.x(8);cg$A$.x(7);}}"; err != nil ||
		!strings.Contains(string(text), want) {
		t.Errorf("%s, %v", text, err)
	}
}

// brought is a project whose sources have been copied.
func brought(t testing.TB, from, place string, o instrument.Options) (*project, []string) {
	t.Helper()
	p := &project{given: from, named: from}
	var told []string
	p.setup = languages.Setup{
		Options: o, PlanKey: string(o.Granularity) + strings.Join(o.Exclude, " "),
		Skip:        func(file, reason string) { told = append(told, filepath.Base(file)+": "+reason) },
		TakeNumbers: func(n int) (int, error) { return 0, nil },
		PlaceSites: func(file, lines string, first int) error {
			for line := range strings.Lines(lines) {
				f := strings.Split(strings.TrimSpace(line), "\t")
				told = append(told, fmt.Sprintf("%d %s", first, f[len(f)-1]))
				first++
			}
			return nil
		},
	}
	var err error
	if p.mirror, err = openMirror(from, runtimes.Cache{Dir: place}); err != nil {
		t.Fatal(err)
	}
	if err := p.update(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, told
}

// A source keeps its numbers as long as they are enough, and one that is as it
// was is not written again.
func TestProjectNumbers(t *testing.T) {
	root := t.TempDir()
	from, place := filepath.Join(root, "p"), filepath.Join(root, "place")
	grow(t, from, map[string]string{
		"A.java": "class A { void a() {} }", "B.java": "class B { void b() {} void c() {} }",
		"Bad.java": "class {", "C.kt": "fun c() {}", "resources/D.java": "class D { void d() {} }", "package-info.java": "package p;",
	})
	fine := instrument.Options{Granularity: instrument.Fine}
	p, told := brought(t, from, place, fine)
	want := []string{"1 A.a", "4 B.b", "5 B.c", "Bad.java: not parsed: the grammar does not place the text at line 1",
		"p: 1 files of Kotlin, Scala or Groovy are built as they are"}
	if slices.Sort(told); !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
	for name, want := range map[string]string{"Bad.java": "class {", "C.kt": "fun c() {}",
		"resources/D.java": "class D { void d() {} }", "package-info.java": "package p;"} {
		if b, err := os.ReadFile(filepath.Join(p.mirror.folder, name)); err != nil || string(b) != want {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
	a, before := filepath.Join(p.mirror.folder, "A.java"), digest(t, p.mirror.folder)
	if _, again := brought(t, from, place, fine); len(again) != len(told) || digest(t, p.mirror.folder) != before {
		t.Errorf("%q", again)
	}

	// One more function: there is room. Then many: it moves, the other does not.
	grow(t, from, map[string]string{"A.java": "class A { void a() {} void x() {} }"})
	_, told = brought(t, from, place, fine)
	if slices.Sort(told); !slices.Equal(told[:4], []string{"1 A.a", "2 A.x", "4 B.b", "5 B.c"}) {
		t.Errorf("%q", told)
	}
	grow(t, from, map[string]string{"A.java": "class A { void a() {} void x() {} void y() {} void z() {} }"})
	_, told = brought(t, from, place, fine)
	if slices.Sort(told); !slices.Equal(told[:6], []string{"10 A.y", "11 A.z", "4 B.b", "5 B.c", "8 A.a", "9 A.x"}) {
		t.Errorf("%q", told)
	}
	if b, err := os.ReadFile(a); err != nil || !strings.Contains(string(b), "cg$A$.e(11)") {
		t.Errorf("%s, %v", b, err)
	}

	// Other options rewrite it; what the build has written over is written again.
	_, told = brought(t, from, place, instrument.Options{Granularity: instrument.Coarse})
	if b, err := os.ReadFile(a); err != nil || strings.Contains(string(b), "cg$") {
		t.Errorf("%s, %v; %q", b, err, told)
	}
	grow(t, p.mirror.folder, map[string]string{"A.java": "formatted"})
	brought(t, from, place, fine)
	if b, err := os.ReadFile(a); err != nil || !strings.Contains(string(b), "cg$A$") {
		t.Errorf("%s, %v", b, err)
	}
}

// What the compiler refuses gives way, and is remembered until the text changes.
func TestProjectGivesWay(t *testing.T) {
	root := t.TempDir()
	from, place := filepath.Join(root, "p"), filepath.Join(root, "place")
	grow(t, from, map[string]string{"src/A.java": "class A {\n void a() {\n }\n void b() {\n }\n}\n",
		"src/B.java": "class B { void b() {} }"})
	fine := instrument.Options{Granularity: instrument.Fine}
	p, _ := brought(t, from, place, fine)
	p.messages = newMessageFilter(p, "-X", "")
	say := func(line string) string { return string(p.messages.change([]byte(line), false)) }
	if got := say("before\n"); got != "before\n" {
		t.Error(got)
	}
	for _, line := range []string{p.mirror.folder + "/src/A.java:2: error: code too large\n",
		"src/B.java:1: error: too many constants\n", "src/A.java:3: error: code too large for try statement\n"} {
		if got := say(line); got != "" {
			t.Errorf("%q is shown before it is known whose fault it is", got)
		}
	}
	if v := p.rebuild(0); v.Why != "" ||
		!strings.Contains(string(v.Stdout), from+"/src/A.java:2: error: code too large\n") {
		t.Errorf("%+v", v)
	}
	if v := p.rebuild(1); !strings.Contains(v.Why, "A.java:2, ") || !strings.Contains(v.Why, "B.java:") ||
		v.Stdout != nil {
		t.Errorf("%+v", v)
	}
	for range 2 {
		_, told := brought(t, from, place, fine)
		slices.Sort(told)
		if want := []string{"1 A.b", "2 left alone: its code is too large with checkpoints",
			"B.java: built without checkpoints: the compiler said of it: too many constants"}; !slices.Equal(told, want) {
			t.Errorf("%q", told)
		}
	}
	if v := p.rebuild(1); v.Why != "" && strings.Contains(v.Why, "A.java:2") {
		t.Errorf("again for the same: %+v", v)
	}
	grow(t, from, map[string]string{"src/B.java": "class B { void c() {} }"})
	if _, told := brought(t, from, place, fine); !strings.Contains(fmt.Sprint(told), "B.c") {
		t.Errorf("%q", told)
	}
}

// TestWords: what a build says of cg's folder.
func TestWords(t *testing.T) {
	root := t.TempDir()
	from, place := filepath.Join(root, "my p"), filepath.Join(root, "a place")
	grow(t, from, map[string]string{"m/src/A.java": "class A {\n\tint a() { int x = \"s\"; }\n}\n"})
	p, _ := brought(t, from, place, instrument.Options{Granularity: instrument.Fine})
	to := p.mirror.folder
	rewritten, err := os.ReadFile(filepath.Join(to, "m/src/A.java"))
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(string(rewritten), "\n")[1]
	at := strings.Index(line, `"s"`)
	caret := "\t" + strings.Repeat(" ", at-1) + "^"
	column := 8 + at // a tab is eight columns
	own := "\tint a() { int x = \"s\"; }"
	ownAt := strings.Index(own, `"s"`)
	for _, c := range []struct{ theirs, in, want string }{
		{"", "plain\n", "plain\n"},
		{"", "Picked up JAVA_TOOL_OPTIONS: -Xopt\n", ""},
		{"", "[ERROR] Picked up JAVA_TOOL_OPTIONS: -Xopt\r\n", ""},
		{"-Xmine", "Picked up JAVA_TOOL_OPTIONS: -Xmine -Xopt\n", "Picked up JAVA_TOOL_OPTIONS: -Xmine\n"},
		{"", "Picked up JAVA_TOOL_OPTIONS: -Xother\n", "Picked up JAVA_TOOL_OPTIONS: -Xother\n"},
		{"", "at " + to + "/m/x and " + to + ".\n", "at " + from + "/m/x and " + from + ".\n"},
		{"", to + "2/x " + to + "-old\n", to + "2/x " + to + "-old\n"},
		{"", "file:" + strings.ReplaceAll(to, " ", "%20") + "/x\n", "file:" + strings.ReplaceAll(from, " ", "%20") + "/x\n"},
		{"", to + "/m/src/A.java:2: error: incompatible types\n" + line + "\n" + caret + "\nnext ^\n",
			from + "/m/src/A.java:2: error: incompatible types\n" + own + "\n\t" + strings.Repeat(" ",
				ownAt-1) + "^\nnext ^\n"},
		{"", "    [javac] src/A.java:2: error: incompatible types\n    [javac] " + line + "\n    [javac] " + caret + "\n",
			"    [javac] src/A.java:2: error: incompatible types\n    [javac] " + own + "\n    [javac] \t" + strings.Repeat(" ", ownAt-1) + "^\n"},
		{"", fmt.Sprintf("[ERROR] %s/m/src/A.java:[2,%d] incompatible types\n", to, column), fmt.Sprintf("[ERROR] %s/m/src/A.java:[2,%d] incompatible types\n", from, 8+ownAt)},
		{"", fmt.Sprintf("\x1b[1;31mERROR\x1b[m] %s/m/src/A.java:[1,3] x\n", to), fmt.Sprintf("\x1b[1;31mERROR\x1b[m] %s/m/src/A.java:[1,3] x\n", from)},
		{"", "[WARNING] " + to + "/m/src/A.java:[1,3] unreachable\n", "[WARNING] " + from + "/m/src/A.java:[1,3] unreachable\n"},
	} {
		options := "-Xopt"
		if c.theirs != "" {
			options = c.theirs + " " + options
		}
		w := newMessageFilter(p, options, c.theirs)
		var got []byte
		for l := range strings.Lines(c.in) {
			got = append(got, w.change([]byte(l), false)...)
		}
		if string(got) != c.want {
			t.Errorf("%q:\n%q\nwant\n%q", c.in, got, c.want)
		}
	}
}

func TestProjectPaths(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"/a/p", "/m"}, {"/a/p/x", "/m/x"}, {"-f/a/p/pom.xml", "-f/m/pom.xml"}, {"-Dx=/a/p/x:/a/p", "-Dx=/m/x:/m"},
		{"/a/pp", "/a/pp"}, {"/b/a/p", "/b/a/p"}, {"(/a/p).", "(/m)."}, {"/a/p.old", "/a/p.old"}, {"", ""}, {"é/a/p", "é/a/p"},
	} {
		if got := replacePath(c.text, "/a/p", "/m"); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	// A copy that lies in the project itself, by both of its names.
	p := &project{named: "/home/p", mirror: &mirror{original: "/data/p", folder: "/home/p/.cache/p"}}
	for text, want := range map[string]string{"/home/p/x:/data/p/y": "/home/p/.cache/p/x:/home/p/.cache/p/y",
		"/home/pp": "/home/pp"} {
		if got := p.toMirror(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	p = &project{named: "/p", mirror: &mirror{original: "/p", folder: "/p/.cache/p"}}
	if got := p.toMirror("-f /p/pom.xml"); got != "-f /p/.cache/p/pom.xml" {
		t.Error(got)
	}
}

// TestReports: what Surefire, Failsafe and Gradle say of tests.
func TestReports(t *testing.T) {
	root := t.TempDir()
	grow(t, root, map[string]string{
		"m/target/surefire-reports/TEST-p.A.xml": `<?xml version="1.0"?><testsuite>
<testcase name="a" classname="p.A" time="1"/>
<testcase name="b" classname="p.A"><failure message="m">trace</failure></testcase>
<testcase name="c(int)[1]" classname="p.A"/><testcase name="c(int)[2]" classname="p.A"><error/></testcase><testcase name="c{int}[3]" classname="p.A"/>
<testcase name="d" classname="p.A$N"><skipped/></testcase>
<testcase name="inherited" classname="p.Sub"/></testsuite>`,
		"m/target/surefire-reports/p.A.txt":             "no XML",
		"m/target/failsafe-reports/TEST-p.IT.xml":       `<testsuite><testcase name="it" classname="p.IT"/><testcase name="cut`,
		"g/build/test-results/test/TEST-p.G.xml":        `<testsuite><testcase name="g()" classname="p.G"/></testsuite>`,
		"g/src/target/surefire-reports/TEST-p.Data.xml": `<testsuite><testcase name="a" classname="p.A"><error/></testcase></testsuite>`,
	})
	p := &project{mirror: &mirror{folder: root, Seen: map[string]*copiedFile{}}}
	got := p.testResults([]string{"p.A.a", "p.A.b", "p.A.c(int)", "p.A.c(String)", "p.A.N.d", "p.Base.inherited",
		"p.IT.it", "p.G.g", "p.Other.none"})
	want := map[string]languages.Test{
		"p.A.a": {Status: "passed", Runs: 1}, "p.A.b": {Status: "failed", Runs: 1}, "p.A.c(int)": {Status: "error", Runs: 3}, "p.A.c(String)": {Status: "error", Runs: 3}, "p.A.N.d": {Status: "skipped", Runs: 1},
		"p.Base.inherited": {Status: "passed", Runs: 1}, "p.IT.it": {Status: "passed", Runs: 1}, "p.G.g": {Status: "passed", Runs: 1},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.clearReports()
	if got := p.testResults([]string{"p.A.a", "p.IT.it"}); len(got) != 0 {
		t.Errorf("after they were cleared: %v", got)
	}
}
