package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What .ci/run and .ci/release share holds in a function of a shell where set -eu does, as .ci/release reads it: a
// step that passes ends with status 0, and one that fails with its own.
func TestStepsOfCI(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	for script, want := range map[string]int{
		"step() { . .ci/common; }; step":                                                                                               0,
		"part() { echo made; }; step() { . .ci/common; begin part; ended part; }; step":                                                0,
		"part() { return 3; }; step() { . .ci/common; begin part; ended part || return 4; }; step":                                     4,
		"part() { sleep 60; }; step() { . .ci/common; begin part; return 5; }; step":                                                   5,
		"once() { [ -e $made ] || { : >$made; return 3; }; }; step() { . .ci/common; made=$said/made; twice once; }; step":             0,
		"once() { [ -e $made ] || { : >$made; return 3; }; }; step() { . .ci/common; made=$said/made; patience=0; twice once; }; step": 3,
		"step() { . .ci/common; limit=0.1 patience=0; twice bounded sleep 60; }; step":                                                 124,
		"step() { . .ci/common; twice bounded true; }; step":                                                                           0,
	} {
		said, err := exec.Command("bash", "-euo", "pipefail", "-c", script).CombinedOutput()
		got := 0
		if exit, is := err.(*exec.ExitError); is {
			got = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: status %d, want %d\n%s", script, got, want, said)
		}
	}
}

// Of the processes below a gotestsum, .ci/overdue ends those that a test has started, and neither the test nor go, which
// have run as long. What such a program has started ends with it.
func TestOverdueProgramsOfTests(t *testing.T) {
	for _, name := range []string{"bash", "python3"} {
		if _, err := exec.LookPath(name); err != nil && os.Getenv("CI") != "true" {
			t.Skip(err)
		}
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"gotestsum", "go", "hangs.test"} {
		if err := os.Symlink(shell, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf(`.ci/overdue $$ 0.05 & %[1]s/gotestsum -c '%[1]s/go -c "%[1]s/hangs.test \"%[1]s/script\"; echo go has \$?"; true'; wait`, dir)
	// The last has a child that holds the pipe from which the test reads.
	test := "sleep 60; echo ended with $?; n=$(sh -c 'sleep 60; true'); echo ended with $?; exit 3\n"
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(test), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("bash", "-c", strings.Replace(script, "wait", "kill $!", 1)).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	if n := strings.Count(string(said), "ended with 131"); n != 2 || !strings.Contains(string(said), "go has 3") ||
		!strings.Contains(string(said), "is ended: of hangs.test: sleep 60") {
		t.Errorf("%d of 2 programs ended:\n%s", n, said)
	}
}

// Where a timeout has struck, all runs once more that has not passed, scripts one by one; else nothing does.
func TestOnceMoreAfterATimeout(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	event := func(action, pkg, test string) string {
		return fmt.Sprintf("{\"Action\":%q,\"Package\":%q,\"Test\":%q}\n", action, pkg, test)
	}
	events := event("run", "cg/a", "TestFine") + event("pass", "cg/a", "TestFine") + event("pass", "cg/a", "") +
		event("pass", "cg/b", "TestFine") + event("fail", "cg/b", "TestOdd") + event("fail", "cg/b", "") +
		event("run", "cg/e2e", "TestHangs") + event("pass", "cg/e2e", "TestFine") + event("skip", "cg/e2e", "TestLeftOut") +
		event("run", "cg/e2e", "TestScripts") + event("pass", "cg/e2e", "TestScripts/go") + event("fail", "cg/e2e", "TestScripts/c") +
		event("pass", "cg/e2e", "TestHangs/part")
	struck := `{"Action":"output","Package":"cg/e2e","Output":"panic: test timed out after 30m0s\n"}` + "\n" + event("fail", "cg/e2e", "")
	name := filepath.Join(t.TempDir(), "tests.json")
	for text, want := range map[string]string{
		events + event("fail", "cg/e2e", ""): "",
		events + struck: "cg/b\t^(TestFine)$\n" +
			"cg/e2e\t^(TestFine|TestLeftOut)$|^TestScripts$/^(go)$\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(".ci/again", name)
		var told strings.Builder
		cmd.Stderr = &told
		out, err := cmd.Output()
		if string(out) != want || (err == nil) != (want != "") {
			t.Errorf("%v:\n%s%s", err, out, told.String())
		}
		if want != "" && told.String() != "cg/e2e: TestHangs has not ended\ncg/e2e: TestScripts has not ended\n" {
			t.Errorf("told: %s", told.String())
		}
	}
}
