package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// action is what action.yml says, as far as a runner reads it.
type action struct {
	Inputs map[string]struct {
		Description string
		Default     string
		Required    bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, ID, If, Uses, Shell, Run string
			Env                            map[string]string
			Dir                            string `yaml:"working-directory"`
		}
	}
}

// runner is GitHub's, as far as this action needs one.
type runner struct {
	t                    *testing.T
	inputs               map[string]string
	dir, temp            string
	output, summary, log string
}

var expression = regexp.MustCompile(`\$\{\{ *([^}]*?) *\}\}`)

// value puts values in the place of expressions.
func (r *runner) value(text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		name := expression.FindStringSubmatch(e)[1]
		if input, is := strings.CutPrefix(name, "inputs."); is {
			v, known := r.inputs[input]
			if !known {
				r.t.Errorf("%s is no input", input)
			}
			return v
		}
		if name == "github.action_path" {
			root, _ := os.Getwd()
			return root
		}
		if name == "github.event.repository.default_branch" {
			return "main"
		}
		r.t.Errorf("expression %q is not known", name)
		return ""
	})
}

// run runs the steps of shell, and gives the status of the last.
func (r *runner) run(a action) int {
	file := func(name string) string { return filepath.Join(r.temp, name) }
	for _, name := range []string{"env", "output", "summary"} {
		if err := os.WriteFile(file(name), nil, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	var log bytes.Buffer
	status := 0
	for _, s := range a.Runs.Steps {
		if s.If == "inputs.cg == ''" && r.inputs["cg"] != "" {
			continue
		} else if s.If != "" && s.If != "inputs.cg == ''" {
			r.t.Errorf("condition %q is not known", s.If)
		}
		if s.Run == "" {
			continue
		}
		// How a runner calls bash (docs.github.com, workflow syntax, shell).
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		cmd.Dir = filepath.Join(r.dir, r.value(s.Dir))
		cmd.Env = append(os.Environ(), "GITHUB_ACTIONS=true", "GITHUB_ENV="+file("env"), "GITHUB_OUTPUT="+file("output"), "GITHUB_STEP_SUMMARY="+file("summary"), "RUNNER_TEMP="+r.temp,
			"GIT_CONFIG_GLOBAL=/dev/null")
		for name, v := range s.Env {
			cmd.Env = append(cmd.Env, name+"="+r.value(v))
		}
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Run(); err != nil {
			status = cmd.ProcessState.ExitCode()
			break
		}
	}
	read := func(name string) string {
		b, _ := os.ReadFile(file(name))
		return string(b)
	}
	r.output, r.summary, r.log = read("output"), read("summary"), log.String()
	return status
}

// TestAction runs the shell steps of action.yml on a repository made here.
func TestAction(t *testing.T) {
	text, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a action
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" || len(a.Runs.Steps) < 3 {
		t.Fatalf("%+v", a.Runs)
	}
	used := string(text)
	for name, in := range a.Inputs {
		if in.Description == "" || !strings.Contains(used, "inputs."+name) {
			t.Errorf("input %s is not described, or has no effect", name)
		}
	}
	for _, s := range a.Runs.Steps {
		// What somebody writes into a pull request must not become part of a script.
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an expression in a script", s.Name)
		}
		if (s.Run == "") != (s.Shell == "") {
			t.Errorf("%s: run and shell go together", s.Name)
		}
	}
	dir, clones := t.TempDir(), t.TempDir()
	sh := func(in, lines string) {
		t.Helper()
		cmd := exec.Command("sh", "-ec", lines)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	sh(dir, `git init -q -b main; mkdir sub
		printf 'i=0\nwhile [ $i -lt 2000 ]; do i=$((i+1)); done\n' >sub/bench.sh; printf 'def work():\n    return sum(range(100000))\nfor _ in range(20): work()\n' >bench.py; git add .; git commit -qm one; git tag v1
		sed -i s/2000/20000/ sub/bench.sh; git commit -qam two; git branch side v1`)
	clone := func(name string) { // as actions/checkout does
		sh(clones, "git clone -q --no-tags --depth=1 file://"+dir+" "+name)
	}
	clone("shop")
	for _, c := range []struct {
		name            string
		inputs          map[string]string
		want            int
		output, summary string
		log             string
	}{
		{"a regression", map[string]string{"command": "sh bench.sh", "metric": "cpu-time", "max-pairs": "6"}, 1, `(?s)^status=1\nreport=.*/gate.json\nverdict=regression\nchange=[0-9.]+\n$`, "^### ❌ Energy check of", "(?m)^::error title=cg gate%3A cpu-time::regression: "},
		{"no change", map[string]string{"command": "sh bench.sh", "base": "HEAD", "build": "touch made", "args": "-w 1"}, 0, `(?s)^status=0\nreport=.*\nverdict=pass\nchange=-?[0-9.e-]+\n$`, "^### ✅ ", "(?m)^::notice title=cg gate%3A instructions::pass: "},
		{"inconclusive", map[string]string{"command": `if rm "$RUNNER_TEMP/turn"; then sh bench.sh; else : >"$RUNNER_TEMP/turn"; fi`, "metric": "cpu-time", "max-pairs": "8", "args": "--seed 3"}, 0, `(?s)^status=3\nreport=.*\nverdict=inconclusive\n`, "^### ⚠️ ", "(?m)^::warning title=cg gate%3A cpu-time::inconclusive: "},
		{"a wrong flag", map[string]string{"command": "true", "metric": "cpu-time", "max-pairs": "5", "threshold": "0.001", "args": "--seed 1 --max-time '1 ms'"}, 2, `^status=2\n$`, "could not check the change .status 2.", `--max-time: "1 ms"`},
		{"a build that fails", map[string]string{"command": "true", "build": "false"}, 125, `^status=125\n$`, "^cg gate could not check the change .status 125.: see the log\n$", "the build of base .v1. failed"},
		{"functions", map[string]string{"command": "python '../bench.py'", "functions": "true", "max-pairs": "5", "inconclusive": "pass", "args": "-w 1"}, 0, `(?m)^status=0$`, "main&#95;&#95;.work", ""},
		// What a clone of one commit has not got.
		{"before a new branch", map[string]string{"command": "sh bench.sh", "base": strings.Repeat("0", 40), "metric": "cpu-time", "max-pairs": "5", "inconclusive": "pass"}, 0, "^status=0\n", "(?m)^- base: origin/main: ", "base and head are the same"},
		{"the commit before", map[string]string{"command": "sh bench.sh", "base": "HEAD~1", "metric": "cpu-time", "max-pairs": "6"}, 1, "^status=1\n", "(?m)^- base: HEAD&#126;1: ", ""},
		{"a branch", map[string]string{"command": "sh bench.sh", "base": "origin/side", "metric": "cpu-time", "max-pairs": "6"}, 1, "^status=1\n", "(?m)^- base: origin/side: ", ""},
		{"no such base", map[string]string{"command": "true", "base": "nonesuch"}, 1, "^$", "^$", `^::error title=cg gate::base nonesuch is not in the clone and cannot be fetched .*: fatal: .*nonesuch\n$`},
		{"before the first commit", map[string]string{"command": "true", "base": "HEAD~9"}, 1, "^$", "^$", `^::error title=cg gate::base HEAD~9 is not in the clone and cannot be fetched .*\n$`},
	} {
		inputs := map[string]string{"cg": filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "working-directory": "shop/sub", "base": "v1"}
		for name, in := range a.Inputs {
			if _, set := inputs[name]; !set {
				inputs[name] = in.Default
			}
		}
		for name, v := range c.inputs {
			if _, known := a.Inputs[name]; !known {
				t.Errorf("%s is no input", name)
			}
			inputs[name] = v
		}
		if base := inputs["base"]; base != "v1" {
			inputs["working-directory"] = "fresh/sub"
			os.RemoveAll(filepath.Join(clones, "fresh"))
			clone("fresh")
		}
		r := &runner{t: t, inputs: inputs, dir: clones, temp: t.TempDir()}
		sh(r.temp, "mkdir cg-gate; echo stale >cg-gate/gate.json; echo stale >cg-gate/gate.md") // of a step before
		status := r.run(a)
		for what, pair := range map[string][2]string{"output": {r.output, c.output}, "summary": {r.summary, c.summary}, "log": {r.log, c.log}} {
			if !regexp.MustCompile(pair[1]).MatchString(pair[0]) {
				t.Errorf("%s: %s is\n%s\nwant %s", c.name, what, pair[0], pair[1])
			}
		}
		if status != c.want {
			t.Errorf("%s: status %d, want %d\n%s", c.name, status, c.want, r.log)
		}
	}
}
