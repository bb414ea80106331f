package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const editedProgram = `# A program with two functions.
def slow(n):
    return sum(i * i for i in range(n))


def main():
    for _ in range(20):
        slow(20000)


main()
`

// The task of docs/hooks.md for Visual Studio Code is JSON, runs, and its problem matcher finds each function in what cg really prints.
func TestVisualStudioCodeTasks(t *testing.T) {
	t.Parallel()
	var file struct {
		Version string
		Tasks   []struct {
			Label, Type, Command string
			Args                 []string
			DependsOn            string
			ProblemMatcher       json.RawMessage
		}
	}
	text := exampleBelow(t, "hooks.md", "### Visual Studio Code", "json")
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if file.Version != "2.0.0" || len(file.Tasks) != 2 || file.Tasks[1].DependsOn != file.Tasks[0].Label {
		t.Fatalf("%+v", file)
	}
	dir, env := t.TempDir(), sdkMachine(t)
	program := filepath.Join(dir, "my program.py")
	if err := os.WriteFile(program, []byte(editedProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, task := range file.Tasks {
		if task.Type != "process" || task.Command != "cg" {
			t.Fatalf("%+v", task)
		}
		for i, arg := range task.Args {
			task.Args[i] = strings.NewReplacer("${workspaceFolder}", dir, "${file}", program).Replace(arg)
		}
		cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), task.Args...)
		cmd.Dir, cmd.Env = dir, env
		var err error
		if out, err = cmd.Output(); err != nil {
			t.Fatalf("%q: %v\n%s", task.Args, err, out)
		}
	}
	var matcher struct {
		Owner, Severity, FileLocation string
		Pattern                       struct {
			Regexp              string
			File, Line, Message int
		}
	}
	if err := json.Unmarshal(file.Tasks[1].ProblemMatcher, &matcher); err != nil || matcher.FileLocation != "absolute" || matcher.Severity != "info" {
		t.Fatalf("%v: %+v", err, matcher)
	}
	pattern := regexp.MustCompile(matcher.Pattern.Regexp) // of what JavaScript and Go have alike
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		m := pattern.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[matcher.Pattern.File] != program {
			t.Errorf("%q: %q", line, m)
			continue
		}
		found[m[matcher.Pattern.Line]] = m[matcher.Pattern.Message]
	}
	if len(found) != 3 || !strings.HasPrefix(found["2"], "__main__.slow: self ") || !strings.HasPrefix(found["6"], "__main__.main: self ") || !strings.Contains(found["2"], "J [") {
		t.Errorf("%q of\n%s", found, out)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	if !strings.Contains(first, ":2: __main__.slow: ") {
		t.Errorf("the first one is not that which used most: %s", first)
	}
}

// That for Zed is JSON, too, and its command runs.
func TestZedTask(t *testing.T) {
	t.Parallel()
	var tasks []struct{ Label, Command, Cwd string }
	text := exampleBelow(t, "hooks.md", "### Zed", "json")
	if err := json.Unmarshal([]byte(text), &tasks); err != nil || len(tasks) != 1 || tasks[0].Cwd != "$ZED_WORKTREE_ROOT" {
		t.Fatalf("%v: %+v", err, tasks)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "my program.py")
	if err := os.WriteFile(program, []byte(editedProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", tasks[0].Command)
	cmd.Dir, cmd.Env = dir, append(sdkMachine(t), "ZED_FILE="+program, "PATH="+os.Getenv("CG_TEST_BIN")+":"+sdkPath())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	says(t, string(out), program+":2: __main__.slow: self ")
}
