package java

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages/languagetest"
	"cg/long"
	"cg/runtimes"
)

// testJDK is a Java development kit of this machine.
type testJDK struct {
	home    string
	version int
}

// testJDKs are those below /usr/lib/jvm, JAVA_HOME and the one of the command line,
// from the oldest that is tested.
var testJDKs = sync.OnceValue(func() []testJDK {
	homes, _ := filepath.Glob("/usr/lib/jvm/*")
	homes = append(homes, os.Getenv("JAVA_HOME"))
	if javac, err := exec.LookPath("javac"); err == nil {
		if javac, err = filepath.EvalSymlinks(javac); err == nil {
			homes = append(homes, filepath.Dir(filepath.Dir(javac)))
		}
	}
	var all []testJDK
	for _, home := range homes {
		out, err := exec.Command(filepath.Join(home, "bin/javac"), runtimes.NoPerfData, "-version").CombinedOutput()
		var k testJDK
		if _, scan := fmt.Sscanf(string(out), "javac %d", &k.version); err != nil || scan != nil || k.version < 17 {
			continue
		}
		k.home = home
		if !slices.ContainsFunc(all, func(o testJDK) bool { return o.version == k.version }) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b testJDK) int { return cmp.Compare(a.version, b.version) })
	return all
})

// needJDKs skips a test without a JDK, but not where all is there.
func needJDKs(t testing.TB) []testJDK {
	t.Helper()
	all := testJDKs()
	if len(all) == 0 {
		languagetest.Missing(t, "no javac of Java 17 or newer on PATH, in JAVA_HOME or below /usr/lib/jvm")
	}
	return all
}

// fixture is a program whose behaviour checkpoints must not change. Comment
// lines at its top say how it is run:
//
//	// needs 21           the lowest Java that takes it
//	// encoding: NAME     of the file, else UTF-8
//	// unbalanced: why    sites may be open at the end
type fixture struct {
	class      string
	source     []byte
	needs      int
	encoding   string
	unbalanced bool
	rewritten  []byte
	sites      int
	owners     []int // of each site, the number of the function whose place it is, or 0
}

func fixtures(t testing.TB) []*fixture {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(casesFolder, "*.java"))
	if err != nil || len(names) < 20 {
		t.Fatal(len(names), err)
	}
	var all []*fixture
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := &fixture{class: strings.TrimSuffix(filepath.Base(name), ".java"), source: source, encoding: "UTF-8"}
		for line := range strings.Lines(string(source)) {
			text, comment := strings.CutPrefix(strings.TrimSpace(line), "// ")
			if !comment {
				break
			}
			if number, ok := strings.CutPrefix(text, "needs "); ok {
				c.needs, _ = strconv.Atoi(number)
			}
			switch key, value, _ := strings.Cut(text, ": "); key {
			case "encoding":
				c.encoding = value
			case "unbalanced":
				c.unbalanced = true
			}
		}
		all = append(all, c)
	}
	return append(all, manyReturns(4500))
}

// manyReturns is a method with so many returns that it compiles, but would not
// with a copy of the exit at each, and one beside it.
func manyReturns(n int) *fixture {
	var b strings.Builder
	b.WriteString("public class Returns {\n  static int f(int x) {\n")
	for i := range n {
		fmt.Fprintf(&b, "    if (x == %d) return %d;\n", i, i+1)
	}
	b.WriteString(
		"    return 0;\n  }\n  public static void main(String[] args) { System.out.println(f(7) + f(4499)); }\n}\n")
	return &fixture{class: "Returns", source: []byte(b.String()), encoding: "UTF-8"}
}

// compileCases compiles texts by class, in one call for each encoding.
func compileCases(t testing.TB, k testJDK, dir string, cases []*fixture, rewritten bool) {
	t.Helper()
	byEncoding := map[string][]string{}
	packages := map[string]bool{}
	out := filepath.Join(dir, "classes")
	place := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range cases {
		text := c.source
		if rewritten {
			text = c.rewritten
			packages[runtimePackage(c.source)] = true
		}
		byEncoding[c.encoding] = append(byEncoding[c.encoding], place(c.class+".java", text))
	}
	stub, err := os.ReadFile("../../testdata/programs/java/R.java")
	if err != nil {
		t.Fatal(err)
	}
	for p := range packages {
		byEncoding["UTF-8"] = append(byEncoding["UTF-8"],
			place(p+"/R.java", bytes.Replace(stub, []byte("PACKAGE"), []byte(p), 1)))
	}
	for _, encoding := range slices.Sorted(func(yield func(string) bool) { // UTF-8 last has the stub: others need it first
		for e := range byEncoding {
			if !yield(e) {
				return
			}
		}
	}) {
		args := []string{"-J-XX:TieredStopAtLevel=1", "-nowarn", "-proc:none", "-encoding", encoding, "-d", out, "-cp",
			out, "-sourcepath", dir}
		cmd := exec.Command(filepath.Join(k.home, "bin/javac"), append(args, byEncoding[encoding]...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("javac %d, rewritten %v: %v\n%s", k.version, rewritten, err, text[:min(len(text), 6000)])
		}
	}
}

// runClass runs a class and returns what can be seen of it.
func runClass(t testing.TB, k testJDK, dir string, c *fixture) (stdout, stderr, status, balance string) {
	t.Helper()
	file, owners := filepath.Join(t.TempDir(), "balance"), filepath.Join(t.TempDir(), "owners")
	if err := os.WriteFile(owners, []byte(strings.Trim(strings.ReplaceAll(fmt.Sprintln(c.owners), " ", "\n"), "[]\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(k.home, "bin/java"), "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1",
		"-Xshare:auto", "-Xss512k", "-Dcg.balance="+file, "-Dcg.owners="+owners, "-cp", filepath.Join(dir, "classes"), c.class)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(file)
	return o.String(), e.String(), cmd.ProcessState.String(), string(b)
}

// said is what can be seen of a fixture without checkpoints.
type said struct{ stdout, stderr, status string }

// plainSaid has what fixtures said, by JDK and class: with each granularity they are compared with the same.
var plainSaid sync.Map

// plainly compiles the cases of which it is not known yet what they say, and returns how that is found.
func plainly(t *testing.T, k testJDK, cases []*fixture) func(t *testing.T, c *fixture) said {
	key := func(c *fixture) string { return k.home + " " + c.class }
	dir := t.TempDir()
	unknown := slices.DeleteFunc(slices.Clone(cases), func(c *fixture) bool {
		_, known := plainSaid.Load(key(c))
		return known
	})
	if len(unknown) > 0 {
		compileCases(t, k, dir, unknown, false)
	}
	return func(t *testing.T, c *fixture) said {
		if known, is := plainSaid.Load(key(c)); is {
			return known.(said)
		}
		var s said
		s.stdout, s.stderr, s.status, _ = runClass(t, k, dir, c)
		plainSaid.Store(key(c), s)
		return s
	}
}

// TestPrograms compiles every fixture as it is and rewritten, and compares
// what the two print, with traces and status. What was entered was left, in
// order, on each thread. Where CG_JAVAS is set that is done with every JDK that
// takes the fixture, else with the oldest.
func TestPrograms(t *testing.T) { testPrograms(t, instrument.Fine) }

// TestProgramsWithLines: so it is where the lines, or the blocks, of functions are told apart. A call that goes to a
// place in its code is the innermost.
func TestProgramsWithLines(t *testing.T) {
	testPrograms(t, instrument.Lines)
	if !long.Without(t, "blocks") {
		testPrograms(t, instrument.Blocks)
	}
}

func testPrograms(t *testing.T, g instrument.Granularity) {
	all := needJDKs(t)
	byJDK := map[testJDK][]*fixture{}
	for _, c := range fixtures(t) {
		i := slices.IndexFunc(all, func(k testJDK) bool { return k.version >= c.needs })
		if i < 0 {
			t.Run(c.class, func(t *testing.T) { t.Skipf("no JDK %d", c.needs) })
			continue
		}
		var p *filePlan
		var err error
		if c.rewritten, p, err = rewritten(t, c.source, 1, g); err != nil {
			t.Errorf("%s: %v", c.class, err)
			continue
		}
		c.sites = len(p.Sites)
		if c.sites == 0 {
			t.Errorf("%s: no sites", c.class)
		}
		for i, s := range p.Sites {
			owner := 0
			if s.Kind.IsPlace() {
				for owner = i; p.Sites[owner-1].Kind.IsPlace(); owner-- {
				}
			}
			c.owners = append(c.owners, owner)
		}
		last := i
		if os.Getenv("CG_JAVAS") != "" {
			last = len(all) - 1
		}
		for _, k := range all[i : last+1] {
			byJDK[k] = append(byJDK[k], c)
		}
	}
	for k, cases := range byJDK {
		rewritten := t.TempDir()
		plain := plainly(t, k, cases)
		compileCases(t, k, rewritten, cases, true)
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s/%d", c.class, k.version), func(t *testing.T) {
				t.Parallel()
				want := plain(t, c)
				gotOut, gotErr, gotStatus, balance := runClass(t, k, rewritten, c)
				for _, part := range []struct{ name, got, want string }{{"stdout", gotOut, want.stdout},
					{"stderr", gotErr, want.stderr}, {"status", gotStatus, want.status}} {
					if part.got != part.want {
						t.Errorf("%s:\n%s\nwant\n%s", part.name, part.got, part.want)
					}
				}
				if want.stdout == "" {
					t.Error("prints nothing")
				}
				entered := 0
				for line := range strings.Lines(balance) {
					var n, open int
					fmt.Sscan(line, &n, &open)
					entered += n
					if (open != 0 || strings.Contains(line, "wrong")) && !c.unbalanced {
						t.Errorf("entered, open: %s", line)
					}
				}
				if entered == 0 {
					t.Errorf("nothing was entered: %q", balance)
				}
			})
		}
	}
}

// TestRetry: a function that the compiler refuses with checkpoints can be
// left out by its name and line.
func TestRetry(t *testing.T) {
	source := []byte("class M {\n  void f() { }\n  Runnable a = () -> { };\n  Runnable b = () -> { };\n}\n")
	for _, c := range []struct{ exclude, want string }{
		{"M.f", "M.<lambda>:3 M.<lambda>:4"},
		{"M.<lambda>:4", "M.f:2 M.<lambda>:3"},
		{"M.<lambda>:5", "M.f:2 M.<lambda>:3 M.<lambda>:4"},
	} {
		p, err := planFile(source, instrument.Options{Granularity: instrument.Fine, Exclude: []string{c.exclude}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range p.Sites {
			got = append(got, fmt.Sprintf("%s:%d", s.Func, s.Line))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", c.exclude, got, c.want)
		}
	}
}

// TestCorpus rewrites every file below the folders of CG_JAVA_CORPUS
// (testdata/corpus/java.sh gives them), or cg's own Java, and writes those that come
// out below CG_JAVA_OUT, in the same places, with what CG_JAVA_GRANULARITY is told apart.
func TestCorpus(t *testing.T) {
	g := instrument.Granularity(cmp.Or(os.Getenv("CG_JAVA_GRANULARITY"), string(instrument.Fine)))
	folders := filepath.SplitList(os.Getenv("CG_JAVA_CORPUS"))
	if len(folders) == 0 {
		folders = []string{"../../runtimes/java", "../../testdata/programs/java", "../../testdata/session"}
	}
	var files, sites, left, size, refused int
	var spent time.Duration
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".java" {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			begin := time.Now()
			j, err := parse(source)
			var p *filePlan
			var edits []edit.Edit
			if err == nil {
				p = j.plan(instrument.Options{Granularity: g}, wish{})
				edits, err = render(runtimePackage(source), source, p, sites+1)
			}
			spent += time.Since(begin)
			files++
			size += len(source)
			if err != nil {
				refused++
				t.Errorf("%s: %v", path, err)
				return nil
			}
			out, _, err := rewritten(t, source, sites+1, g)
			if err != nil || len(edits) != 2*len(p.Points)+len(p.marks) {
				t.Errorf("%s: %v", path, err)
			}
			for _, l := range p.LeftAlone {
				t.Logf("%s:%d: %s %s", path, l.Line, l.Name, l.Reason)
			}
			sites += len(p.Sites)
			left += len(p.LeftAlone)
			if to := os.Getenv("CG_JAVA_OUT"); to != "" {
				rel, _ := filepath.Rel(folder, path)
				if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o755); err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(to, rel), out, 0o600)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files, %.1f MB, %d refused; %d sites, %d left alone; planned and rendered at %.1f MB/s",
		files, float64(size)/1e6, refused, sites, left, float64(size)/1e6/spent.Seconds())
}
