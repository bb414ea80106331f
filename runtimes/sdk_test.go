package runtimes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The packages that cg sdk writes hold themselves to testdata/between.txt, which
// is what nemb.Series.Between says.

func TestGoSDK(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("golang/_sdk")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "module.txt"), filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	between, err := filepath.Abs("testdata/between.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-v", "."}, {"windows/amd64", "build", "."}} {
		env := append(os.Environ(), "BETWEEN="+between, "GOFLAGS=", "GOWORK=off")
		if system, arch, is := strings.Cut(args[0], "/"); is {
			env, args = append(env, "GOOS="+system, "GOARCH="+arch), args[1:]
		}
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil || args[0] == "test" && !strings.Contains(string(out), "--- PASS: TestBetween ") {
			t.Errorf("go %q: %v\n%s", args, err, out)
		}
	}
	if out, err := exec.Command("gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %v\n%s", err, out)
	}
}

func TestJavaSDK(t *testing.T) {
	if _, err := exec.LookPath("javac"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no javac")
	}
	dir := t.TempDir()
	sources, err := filepath.Glob("java/sdk/src/main/java/codegreen/*.java")
	if err != nil || len(sources) == 0 {
		t.Fatal("no sources", err)
	}
	sources = append(sources, "testdata/java/sdk/Held.java")
	if out, err := exec.Command("javac", append([]string{"--release", "17", "-encoding", "UTF-8", "-Xlint:all,-try", "-Werror", "-d", dir}, sources...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("java", "-XX:-UsePerfData", "-ea", "-cp", dir, "codegreen.Held", "testdata/between.txt").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "360 questions, ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSDKFilesAreShort(t *testing.T) {
	for _, pattern := range []string{"java/sdk/src/main/java/codegreen/*.java", "golang/_sdk/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 10 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if lines := strings.Count(string(b), "\n"); err != nil || lines > 600 {
				t.Error(fmt.Sprint(file, " has ", lines, " lines"), err)
			}
		}
	}
}
