package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tables are the files of cases, with what each package says of one: "NAME: N cases".
func tables(t *testing.T) (said []string) {
	t.Helper()
	files, err := os.ReadDir("cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join("cases", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(b, []byte("\nb ")) // a question of between.txt
		if filepath.Ext(f.Name()) == ".json" {
			var all []json.RawMessage
			if err := json.Unmarshal(b, &all); err != nil {
				t.Fatalf("%s: %v", f.Name(), err)
			}
			n = len(all)
		}
		said = append(said, fmt.Sprintf("%s: %d cases", f.Name(), n))
	}
	if len(said) < 2 {
		t.Fatalf("only %q", said)
	}
	return said
}

// holds checks what a package said of all tables.
func holds(t *testing.T, out []byte, err error) {
	t.Helper()
	lines := strings.Split(string(out), "\n")
	for _, want := range tables(t) {
		if !slices.Contains(lines, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("%v\n%.8000s", err, out)
	}
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("cases")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// environment is that of a package under test, with more. OTHER is a process that
// goes on, ZOMBIE one that is over and was not waited for.
func environment(t *testing.T, more ...string) []string {
	t.Helper()
	other := exec.Command("cat")
	until, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		until.Close()
		other.Wait()
	})
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { zombie.Wait() })
	if err := unix.Waitid(unix.P_PID, zombie.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	processes := []string{fmt.Sprint("OTHER=", other.Process.Pid), fmt.Sprint("ZOMBIE=", zombie.Process.Pid)}
	return slices.Concat(os.Environ(), processes, more)
}

// The package for Go agrees with cg, keeps its own laws, and compiles elsewhere.
func TestGo(t *testing.T) {
	dir := t.TempDir()
	for _, from := range []string{"../../golang/_sdk", "testdata/golang"} {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "module.txt"), filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	run := func(more []string, args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(environment(t, "CASES="+folder(t), "GOFLAGS=", "GOWORK=off"), more...)
		return cmd.CombinedOutput()
	}
	if out, err := run(nil, "vet", "./..."); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
	if out, err := run([]string{"GOOS=windows", "GOARCH=amd64"}, "build", "."); err != nil {
		t.Errorf("go build for Windows: %v\n%s", err, out)
	}
	if out, err := exec.Command("gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %v\n%s", err, out)
	}
	out, err := run(nil, "test", "-v", ".")
	holds(t, out, err)
}

// The package for Java agrees with cg, and keeps its own laws.
func TestJava(t *testing.T) {
	if _, err := exec.LookPath("javac"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no javac")
	}
	dir := t.TempDir()
	var sources []string
	for _, pattern := range []string{"../../java/sdk/src/main/java/codegreen/*.java", "testdata/java/*.java"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal("no sources", err)
		}
		sources = append(sources, files...)
	}
	flags := []string{"--release", "17", "-encoding", "UTF-8", "-Xlint:all,-try", "-Werror", "-d", dir}
	if out, err := exec.Command("javac", append(flags, sources...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command("java", "-XX:-UsePerfData", "-ea", "-cp", dir, "codegreen.Held", folder(t))
	cmd.Env = environment(t)
	out, err := cmd.CombinedOutput()
	holds(t, out, err)
}

// The package for Python agrees with cg, under all interpreters of CG_PYTHONS.
func TestPython(t *testing.T) {
	pythons := filepath.SplitList(os.Getenv("CG_PYTHONS"))
	if len(pythons) == 0 {
		pythons = []string{"python3"}
	}
	for _, python := range pythons {
		cmd := exec.Command(python, "testdata/python/cases.py", folder(t))
		cmd.Env = environment(t, "PYTHONPATH=../../python/sdk", "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		holds(t, out, err)
	}
}
