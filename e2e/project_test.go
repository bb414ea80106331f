package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cg/long"
	"cg/report"
)

// need skips a test without a command, but not where all is there.
func need(t *testing.T, command, install string) {
	t.Helper()
	if _, err := exec.LookPath(command); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("no %s here (%s)", command, install)
	}
}

// project copies a sample to a folder whose name has a space.
func project(t *testing.T, sample string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "the project")
	if err := os.CopyFS(dir, os.DirFS(sample)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// digest is that of all that is below a folder, times included.
func digest(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(h, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		if err == nil && info.Mode().IsRegular() {
			var b []byte
			b, err = os.ReadFile(path)
			h.Write(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// built measures a build of a project that cannot be written: root mounts it so
// in a namespace of its own, others take away permissions. The project must be
// as it was afterwards. env is beside the tests' environment.
func built(t *testing.T, env []string, dir string, args ...string) (r *report.Run, stdout, stderr string, status int) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run.json")
	command := append([]string{filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "measure", "java", "-o", out}, args...)
	if os.Geteuid() == 0 && exec.Command("unshare", "-m", "true").Run() == nil {
		mount := `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && ! touch "$0/new" 2>/dev/null && exec "$@"`
		command = append([]string{"unshare", "-m", "sh", "-c", mount, dir}, command...)
	} else if os.Geteuid() != 0 {
		chmod := func(mode string) {
			if text, err := exec.Command("chmod", "-R", mode, dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
		}
		chmod("a-w")
		defer chmod("u+w")
	}
	before := digest(t, dir)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if digest(t, dir) != before {
		t.Error("the project has changed")
	}
	b, readErr := os.ReadFile(out)
	if readErr != nil {
		t.Fatalf("%v: %v\n%s%s", err, readErr, o.String(), e.String())
	}
	if r, readErr = report.Read(b); readErr != nil {
		t.Fatal(readErr)
	}
	if faults := r.Check(); len(faults) > 0 {
		t.Error(faults)
	}
	return r, o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// counted compares the calls of functions.
func counted(t *testing.T, r *report.Run, want map[string]uint64) {
	t.Helper()
	for name, calls := range want {
		if got := function(r, name).Calls; got != calls {
			t.Errorf("%s: %d calls, want %d", name, got, calls)
		}
	}
	if r.Channel.Lost != 0 || r.Channel.OpenAtEnd != 0 {
		t.Errorf("%+v", r.Channel)
	}
}

// said is what a build says, without times and colours.
func said(text string) string {
	var out []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\x1b[0m", "")) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "Time elapsed") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// TestMaven builds the sample of two modules, whose virtual machines are those
// of Surefire: what it says and how it ends is what Maven alone does.
func TestMaven(t *testing.T) {
	long.Skip(t, "")
	t.Parallel()
	need(t, "mvn", "apt-get install maven")
	dir := project(t, "testdata/programs/java/maven")
	mvn := []string{"mvn", "-B", "-q", "test"}
	if home, err := os.UserHomeDir(); err == nil { // Maven asks the user database, which may name no such folder
		mvn = append(mvn, "-Dmaven.repo.local="+filepath.Join(home, ".m2/repository"))
	}
	own := exec.Command(mvn[0], mvn[1:]...)
	own.Dir = project(t, "testdata/programs/java/maven")
	want, err := own.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	r, stdout, stderr, status := built(t, nil, dir, append([]string{"-g", "fine", "--project", dir, "--"}, mvn...)...)
	if said(stdout) != said(string(want)) || status != 0 || strings.Contains(stderr, "Picked up") {
		t.Errorf("status %d\n%s\nwant\n%s\n%s", status, said(stdout), said(string(want)), stderr)
	}
	orders := uint64(21891 + 21891 + 35421 + 57313) // for 20, twice, 21 and 22
	counted(t, r, map[string]uint64{
		"shop.stock.Stock.orders": orders, "shop.stock.Stock.add": 9, "shop.stock.Stock.count": 3, "shop.desk.Main.main": 1,
		"shop.stock.StockTest.counts": 1, "shop.stock.StockTest.orders": 3, "shop.stock.StockTest.fill": 6, "shop.stock.StockTest.Empty.countsNothing": 1,
	})
	tests := map[string]string{}
	last := int64(0)
	for _, task := range r.Tasks[1:] {
		tests[task.Name] = fmt.Sprintf("%s %d", task.Status, task.Runs)
		// What the machine used in a task that ran several times, in no one stretch, is not known.
		if task.StartedAtMonoNs < last || task.StartedAtMonoNs < r.Tasks[0].StartedAtMonoNs || task.EndedAtMonoNs > r.Tasks[0].EndedAtMonoNs ||
			task.ProgramEnergyJ == nil || (task.EnergyJ == nil) != (task.Runs > 1) {
			t.Errorf("%+v", task)
		}
		last = task.StartedAtMonoNs
	}
	if want := map[string]string{
		"shop.stock.StockTest.counts": "passed 1", "shop.stock.StockTest.refuses": "passed 1", "shop.stock.StockTest.orders": "passed 3",
		"shop.stock.StockTest.Empty.countsNothing": "passed 1", "shop.desk.MainTest.runs": "passed 1",
	}; fmt.Sprint(tests) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", tests, want)
	}

	// Again: nothing is compiled. The project by its path from elsewhere, modules
	// at a time, coarse: then they are compiled.
	_, stdout, _, _ = built(t, nil, dir, "-g", "fine", "--project", dir, "--", "mvn", "-B", "test")
	if n := strings.Count(stdout, "Nothing to compile"); n != 4 || strings.Contains(stdout, "Recompiling") {
		t.Errorf("%d times nothing to compile\n%s", n, stdout)
	}
	if !strings.Contains(stdout, "resourceDirectory "+dir+"/core/src/test/resources") {
		t.Error("paths are not the project's")
	}
	r, stdout, stderr, status = built(t, nil, dir, "--project", dir, "--", "mvn", "-B", "-T2", "-f", filepath.Join(dir, "pom.xml"), "-pl", "core", "-am", "test")
	if !strings.Contains(stdout, "Recompiling the module") || status != 0 || len(r.Functions) != 0 || len(r.Tasks) != 5 {
		t.Errorf("status %d, %d functions, %d tasks\n%s%s", status, len(r.Functions), len(r.Tasks), stdout, stderr)
	}

	// A test that fails, and an error of the compiler's.
	break1 := filepath.Join(dir, "core/src/test/java/shop/stock/StockTest.java")
	text, err := os.ReadFile(break1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(break1, bytes.Replace(text, []byte("assertEquals(7, "), []byte("assertEquals(8, "), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _, _, status = built(t, nil, dir, "--project", dir, "--", "mvn", "-B", "-q", "test")
	for _, task := range r.Tasks[1:] {
		if want := map[bool]string{true: "failed", false: "passed"}[strings.HasSuffix(task.Name, ".counts")]; task.Status != want {
			t.Errorf("%s: %s, want %s", task.Name, task.Status, want)
		}
	}
	if status != 1 || len(r.Tasks) != 5 {
		t.Errorf("status %d, %d tasks", status, len(r.Tasks))
	}
	if err := os.WriteFile(break1, bytes.Replace(text, []byte("assertEquals(7, "), []byte("assertEquals(none, "), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	_, stdout, _, status = built(t, nil, dir, "-g", "fine", "--project", dir, "--", "mvn", "-B", "-q", "test")
	if want := break1 + ":[26,22] cannot find symbol"; status != 1 || !strings.Contains(stdout, want) || strings.Contains(stdout, "cg$") {
		t.Errorf("status %d, want %s\n%s", status, want, stdout)
	}
}

// TestGradle builds the sample of two projects; tests that are up to date are
// run all the same.
func TestGradle(t *testing.T) {
	long.Skip(t, "")
	t.Parallel()
	need(t, "gradle", "apt-get install gradle")
	// Its workers leave files where the machine's temporary ones are.
	env := []string{"GRADLE_OPTS=" + strings.TrimSpace(os.Getenv("GRADLE_OPTS")+" -Djava.io.tmpdir="+t.TempDir())}
	dir := project(t, "testdata/programs/java/gradle")
	r, stdout, stderr, status := built(t, env, dir, "-g", "fine", "--project", dir, "--", "gradle", "run", "test")
	if !strings.Contains(stdout, "\n6765\n") || status != 0 || strings.Contains(stdout+stderr, "Picked up") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	counted(t, r, map[string]uint64{"lib.Numbers.fib": 21891 + 177, "app.Main.main": 1, "app.MainTest.fib": 1})
	for range 2 {
		r, stdout, _, status = built(t, env, dir, "--project", dir, "--", "gradle", "test")
		if len(r.Tasks) != 2 || r.Tasks[1].Name != "app.MainTest.fib" || r.Tasks[1].Status != "passed" || status != 0 {
			t.Errorf("status %d, %+v\n%s", status, r.Tasks, stdout)
		}
	}
	if !strings.Contains(stdout, ":app:compileJava UP-TO-DATE") {
		t.Errorf("compiled again:\n%s", stdout)
	}
	if len(r.Process.PIDsLeft) != 0 {
		t.Errorf("processes are left: %v", r.Process.PIDsLeft)
	}
}
