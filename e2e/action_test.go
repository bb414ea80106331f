package e2e

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"cg/long"
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
	event                map[string]string // github.event., without what it has not got
	env                  []string
	dir, temp            string
	action               string // the folder of the action, "" for the repository
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
			if r.action != "" {
				return r.action
			}
			root, _ := os.Getwd()
			return root
		}
		if field, is := strings.CutPrefix(name, "github.event."); is {
			return r.event[field]
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
		installed, err := os.ReadFile(file("output")) // steps.install.outputs.cg
		if err != nil {
			r.t.Fatal(err)
		}
		switch s.If {
		case "":
		case "inputs.cg == ''":
			if r.inputs["cg"] != "" {
				continue
			}
		case "inputs.cg == '' && steps.install.outputs.cg == ''":
			if r.inputs["cg"] != "" || strings.HasPrefix(string(installed), "cg=") {
				continue
			}
		default:
			r.t.Errorf("condition %q is not known", s.If)
		}
		if s.Run == "" {
			continue
		}
		// How a runner calls bash (docs.github.com, workflow syntax, shell).
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		cmd.Dir = filepath.Join(r.dir, r.value(s.Dir))
		cmd.Env = append(os.Environ(), "GITHUB_ACTIONS=true", "GITHUB_ENV="+file("env"), "GITHUB_OUTPUT="+file("output"), "GITHUB_STEP_SUMMARY="+file("summary"), "RUNNER_TEMP="+r.temp,
			"GIT_CONFIG_GLOBAL=/dev/null", "GITHUB_EVENT_NAME=push", "GITHUB_REF=refs/heads/main", "GITHUB_SHA=")
		cmd.Env = append(cmd.Env, r.env...)
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

// theAction reads action.yml.
func theAction(t *testing.T) (a action, text string) {
	t.Helper()
	b, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" || len(a.Runs.Steps) < 3 {
		t.Fatalf("%+v", a.Runs)
	}
	return a, string(b)
}

// complete are inputs with the defaults of those that are not set.
func (a action) complete(t *testing.T, set map[string]string) map[string]string {
	t.Helper()
	inputs := map[string]string{}
	for name, in := range a.Inputs {
		inputs[name] = in.Default
	}
	for name, v := range set {
		if _, known := a.Inputs[name]; !known {
			t.Errorf("%s is no input", name)
		}
		inputs[name] = v
	}
	return inputs
}

// script runs lines in a folder, with git as somebody, and gives what they print.
func script(t *testing.T, in, lines string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", lines)
	cmd.Dir = in
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// Another's action is what it was when this one was tried: tags move, digests do not.
func TestActionsArePinned(t *testing.T) {
	_, text := theAction(t)
	doc, err := os.ReadFile("docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`^uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	all := regexp.MustCompile(`(?m)uses: .*$`).FindAllString(text+string(doc), -1)
	if len(all) < 2 {
		t.Fatal(all)
	}
	for _, line := range all {
		if !pinned.MatchString(line) && !strings.HasPrefix(line, "uses: OWNER/cg@") {
			t.Errorf("%s: name the commit and, behind it, the version", line)
		}
	}
}

// TestAction runs the shell steps of action.yml on a repository made here.
func TestAction(t *testing.T) {
	long.Skip(t, "")
	a, used := theAction(t)
	for name, in := range a.Inputs {
		if in.Description == "" || !strings.Contains(used, "inputs."+name) {
			t.Errorf("input %s is not described, or has no effect", name)
		}
	}
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "eval ") {
			t.Errorf("%s: eval", s.Name)
		}
		// What somebody writes into a pull request must not become part of a script.
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an expression in a script", s.Name)
		}
		if (s.Run == "") != (s.Shell == "") {
			t.Errorf("%s: run and shell go together", s.Name)
		}
	}
	dir, clones := t.TempDir(), t.TempDir()
	sh := func(in, lines string) { t.Helper(); script(t, in, lines) }
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
		{"before a new branch", map[string]string{"command": "sh bench.sh", "base": strings.Repeat("0", 40), "metric": "cpu-time", "max-pairs": "5", "inconclusive": "pass"}, 0, "^status=0\n", "(?m)^- base: [0-9a-f]{10} two$", "base and head are the same"},
		{"the commit before", map[string]string{"command": "sh bench.sh", "base": "HEAD~1", "metric": "cpu-time", "max-pairs": "6"}, 1, "^status=1\n", "(?m)^- base: HEAD&#126;1: ", ""},
		{"a branch", map[string]string{"command": "sh bench.sh", "base": "origin/side", "metric": "cpu-time", "max-pairs": "6"}, 1, "^status=1\n", "(?m)^- base: origin/side: ", ""},
		{"no such base", map[string]string{"command": "true", "base": "nonesuch"}, 1, "^$", "^$", `^::error title=cg gate::base nonesuch is not in the clone and cannot be fetched .*: fatal: .*nonesuch\n$`},
		{"before the first commit", map[string]string{"command": "true", "base": "HEAD~9"}, 1, "^$", "^$", `^::error title=cg gate::base HEAD~9 is not in the clone and cannot be fetched .*\n$`},
	} {
		inputs := map[string]string{"cg": filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "working-directory": "shop/sub", "base": "v1"}
		maps.Copy(inputs, c.inputs)
		inputs = a.complete(t, inputs)
		if base := inputs["base"]; base != "v1" {
			inputs["working-directory"] = "fresh/sub"
			os.RemoveAll(filepath.Join(clones, "fresh"))
			clone("fresh")
		}
		r := &runner{t: t, inputs: inputs, event: map[string]string{"repository.default_branch": "main"}, dir: clones, temp: t.TempDir()}
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

// standIn is a cg that keeps its arguments, and the folder that it was started in, in
// files of NUL-separated words.
const standIn = `#!/bin/sh
printf '%s\0' "$@" >"$RUNNER_TEMP/argv"
printf '%s\0' "$0" "$PWD" >"$RUNNER_TEMP/called"
`

// words are those of a file of NUL-separated words.
func words(t *testing.T, path ...string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// hostile are values that a shell would take apart, or run.
var hostile = []string{
	"$(touch x)`touch x`", "'; touch x; '", "\"; touch x; \"", "a\ntouch x\n#", "-x", ";touch x&&touch x|touch x<(touch x)", " a  b* ${IFS}\t", `\`, "%0A::error::é", "a[$(touch x)]", "~",
}

// withStandIn gives a function that runs the action's steps with some inputs, in a
// repository of one commit below dir, and fails where they left a file x.
func withStandIn(t *testing.T) (a action, dir string, run func(set map[string]string) (*runner, int)) {
	a, _ = theAction(t)
	dir = t.TempDir()
	script(t, dir, "git init -q -b main shop; cd shop; echo x >file; git add .; git commit -qm one")
	fake := filepath.Join(dir, "cg")
	if err := os.WriteFile(fake, []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	return a, dir, func(set map[string]string) (*runner, int) {
		t.Helper()
		inputs := map[string]string{"cg": fake, "working-directory": "shop", "base": "HEAD", "command": "true", "metric": "cpu-time"}
		maps.Copy(inputs, set)
		r := &runner{t: t, inputs: a.complete(t, inputs), dir: dir, temp: t.TempDir()}
		status := r.run(a)
		for _, at := range []string{dir, filepath.Join(dir, "shop"), r.temp, "."} {
			if _, err := os.Lstat(filepath.Join(at, "x")); err == nil {
				t.Fatalf("%q was run: x is in %s", set, at)
			}
		}
		return r, status
	}
}

// What an input holds reaches cg as it was, and is run by nobody else.
func TestActionInputs(t *testing.T) {
	a, dir, run := withStandIn(t)
	flags := map[string]string{
		"build": "--build=", "metric": "--metric=", "threshold": "--threshold=", "max-pairs": "--max-pairs=", "max-time": "--max-time=", "inconclusive": "--inconclusive=",
	}
	tried := map[string]bool{}
	for _, v := range hostile {
		for name := range a.Inputs {
			tried[name] = true
			set := map[string]string{name: v}
			switch name {
			case "working-directory":
				if err := os.MkdirAll(filepath.Join(dir, "shop", v), 0o755); err != nil {
					t.Fatal(err)
				}
				set[name] = "shop/" + v
			case "cg":
				set[name] = filepath.Join(dir, "programs", v)
				if err := os.MkdirAll(filepath.Dir(set[name]), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Link(filepath.Join(dir, "cg"), set[name]); err != nil {
					t.Fatal(err)
				}
			case "args":
				set[name] = "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
			}
			r, status := run(set)
			argv, called := words(t, r.temp, "argv"), words(t, r.temp, "called")
			ok := status == 0 && len(argv) > 0 && argv[0] == "gate"
			switch flag := flags[name]; {
			case flag != "":
				ok = ok && slices.Contains(argv, flag+v)
			case name == "base":
				// It names nothing, so it comes back in the message, on one line.
				said := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(v)
				ok = status == 1 && argv == nil && strings.HasPrefix(r.log, "::error title=cg gate::base "+said+" is not in the clone ") && strings.Count(r.log, "\n") == 1
			case name == "command":
				line := []string{"--", "sh", "-c", v}
				if strings.HasPrefix(v, "-") { // it is no flag of sh either
					line = []string{"--", "sh", "-c", "--", v}
				}
				ok = ok && slices.Equal(argv[len(argv)-len(line):], line)
			case name == "args":
				ok = ok && argv[slices.Index(argv, "--")-1] == v
			case name == "functions":
				ok = ok && !slices.Contains(argv, "--functions")
			case name == "working-directory":
				ok = ok && len(called) == 2 && called[1] == filepath.Join(dir, "shop", v)
			case name == "cg":
				ok = ok && len(called) == 2 && called[0] == set["cg"]
			}
			if !ok {
				t.Errorf("%s: %q: status %d, %q, %q\n%s", name, v, status, argv, called, r.log)
			}
		}
	}
	if len(tried) != len(a.Inputs) || len(tried) < 12 {
		t.Errorf("tried %v", tried)
	}
}

// A version of the action installs its cg by the script that its release made. One that is no
// version is built, and cannot be told where packages are.
func TestActionInstalls(t *testing.T) {
	a, dir, _ := withStandIn(t)
	version := t.TempDir()
	if err := os.Mkdir(filepath.Join(version, "release"), 0o755); err != nil {
		t.Fatal(err)
	}
	// What release/recipes/install.sh does is tested there: here it is whether it is asked.
	install := "#!/bin/sh\n[ \"$CG_URL\" != https://example.org/damaged ] || { echo 'install.sh: not what was released' >&2; exit 1; }\n" +
		"mkdir -p \"$PREFIX/bin\" && cp " + filepath.Join(dir, "cg") + " \"$PREFIX/bin/cg\" && printf '%s\\n' \"$CG_URL\" >\"$PREFIX/url\"\n"
	if err := os.WriteFile(filepath.Join(version, "release", "install.sh"), []byte(install), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what, action, packages string
		status                 int
		log                    string
	}{
		{"a version", version, "", 0, ""},
		{"packages elsewhere", version, "file:///packages", 0, ""},
		{"damaged", version, "https://example.org/damaged", 1, "install.sh: not what was released"},
		{"no version", t.TempDir(), "file:///packages", 1, "::error title=cg gate::packages is for a version"},
	} {
		inputs := map[string]string{"working-directory": "shop", "base": "HEAD", "command": "true", "metric": "cpu-time", "packages": test.packages}
		r := &runner{t: t, inputs: a.complete(t, inputs), dir: dir, temp: t.TempDir(), action: test.action}
		status := r.run(a)
		if status != test.status || !strings.Contains(r.log, test.log) {
			t.Errorf("%s: status %d, %s", test.what, status, r.log)
		}
		called := words(t, r.temp, "called")
		if ran := len(called) > 0; ran != (test.status == 0) || ran && called[0] != filepath.Join(r.temp, "cg", "bin", "cg") {
			t.Errorf("%s: called %q", test.what, called)
		}
		if url, _ := os.ReadFile(filepath.Join(r.temp, "cg", "url")); test.status == 0 && strings.TrimSpace(string(url)) != test.packages {
			t.Errorf("%s: the script was told %q", test.what, url)
		}
	}
}

// The words of a command with functions, and of args.
func TestActionWords(t *testing.T) {
	_, _, run := withStandIn(t)
	for _, test := range []struct {
		text string
		want []string
	}{
		{"python bench.py", []string{"python", "bench.py"}},
		{" python\t'a  b'\n\"c d\" ", []string{"python", "a  b", "c d"}},
		{`a'b'"c"d "" ''`, []string{"abcd", "", ""}},
		{`a\ b \' \" \\ "\"\\\$\` + "`" + `\a" '\a"'`, []string{"a b", "'", `"`, `\`, `"\$` + "`" + `\a`, `\a"`}},
		{"a \\\n b \"c\\\nd\" 'e\\\nf' 'g\nh'", []string{"a", "b", "cd", "e\\\nf", "g\nh"}},
		{"$(touch x) `touch x` $HOME * ~ ;touch x #y \"$(touch x)\"", []string{"$(touch", "x)", "`touch", "x`", "$HOME", "*", "~", ";touch", "x", "#y", "$(touch x)"}},
		{`x\`, []string{`x\`}},
		{"", nil},
	} {
		r, status := run(map[string]string{"functions": "true", "command": test.text, "args": test.text})
		argv := words(t, r.temp, "argv")
		end := slices.Index(argv, "--")
		if status != 0 || end < 0 || !slices.Equal(argv[end+1:], test.want) || !slices.Equal(argv[end-1-len(test.want):end-1], test.want) || argv[end-1] != "--functions" {
			t.Errorf("%q: status %d, %q\nwant %q\n%s", test.text, status, argv, test.want, r.log)
		}
	}
	for text, name := range map[string]string{"a 'b": "args", `"`: "args"} {
		if r, status := run(map[string]string{name: text}); status != 2 || words(t, r.temp, "argv") != nil || r.log != "::error title=cg gate::args: a quote is not closed\n" {
			t.Errorf("%q: status %d, %s", text, status, r.log)
		}
	}
}

// The base is what the change was made from: what others brought to the branch meanwhile
// is in neither side.
func TestActionBase(t *testing.T) {
	a, _ := theAction(t)
	dir := t.TempDir()
	fake := filepath.Join(dir, "cg")
	if err := os.WriteFile(fake, []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	// A pull request of two commits, which took over what had come meanwhile; then GitHub
	// merged it to try it, and the branch went on.
	origin := filepath.Join(dir, "origin")
	script(t, dir, `git init -q -b start origin; cd origin
		commit() { git commit -q --allow-empty -m "$1"; git tag "$1"; }
		commit old; commit fork; git checkout -q -b pull; commit mine1
		git checkout -q start; commit others1; git checkout -q pull; git merge -q --no-ff -m taken start; commit mine2
		git checkout -q start; commit others2; git checkout -q --detach; git merge -q --no-ff -m merge pull; git tag merged; git update-ref refs/pull/1/merge HEAD
		git checkout -q start; commit others3`)
	for _, name := range []string{"main", "-x$(touch${IFS}x)`touch${IFS}x`;touch${IFS}x'\"", "+x"} {
		if out, err := exec.Command("git", "-C", origin, "update-ref", "refs/heads/"+name, "start").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		commit := func(name string) string { return script(t, origin, "git rev-parse "+name+"^0") }
		pull := map[string]string{"pull_request.base.ref": name, "pull_request.base.sha": commit("fork"), "before": commit("mine1"), "repository.default_branch": name}
		merge := []string{"GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/1/merge", "GITHUB_SHA=" + commit("merged")}
		for _, c := range []struct {
			name, out, want string
			event           map[string]string
			env             []string
			input           string
		}{
			{"merged by GitHub", "refs/pull/1/merge", commit("others2"), pull, merge, ""},
			{"the branch itself", "refs/heads/pull", commit("others1"), pull, merge, ""},
			{"for the branch's own rights", "refs/heads/start", commit("others3"), pull, []string{"GITHUB_EVENT_NAME=pull_request_target", "GITHUB_SHA=" + commit("others3")}, ""},
			{"a base is named", "refs/pull/1/merge", commit("old"), pull, merge, commit("old")},
			{"a branch is named", "refs/pull/1/merge", "origin/" + name, pull, merge, "origin/" + name},
			{"a push", "refs/heads/start", commit("others1"), map[string]string{"before": commit("others1"), "repository.default_branch": name}, nil, ""},
			{"a push that made the branch", "refs/heads/pull", commit("others1"), map[string]string{"before": strings.Repeat("0", 40), "repository.default_branch": name}, nil, ""},
			{"neither", "refs/heads/start", "HEAD~1", nil, nil, ""},
			{"a branch that is gone", "refs/heads/pull", "", map[string]string{"pull_request.base.ref": "gone"}, merge, ""},
		} {
			if name != "main" && !slices.Contains([]string{"the branch itself", "a branch is named", "a push that made the branch"}, c.name) {
				continue // the branch's name has no part in it
			}
			for _, depth := range []string{"--depth=1", ""} {
				clone := filepath.Join(dir, "clone")
				if err := os.RemoveAll(clone); err != nil {
					t.Fatal(err)
				}
				// As actions/checkout does, with fetch-depth 1 and 0.
				heads := ""
				if depth == "" {
					heads = " '+refs/heads/*:refs/remotes/origin/*'"
				}
				script(t, dir, "git init -q clone; cd clone; git remote add origin file://"+origin+"; git fetch -q --no-tags "+depth+" origin +"+c.out+":refs/remotes/pull"+heads+"; git checkout -q --detach refs/remotes/pull")
				r := &runner{t: t, event: c.event, env: c.env, dir: dir, temp: t.TempDir(), inputs: a.complete(t, map[string]string{
					"cg": fake, "working-directory": "clone", "base": c.input, "command": "true", "metric": "cpu-time",
				})}
				status := r.run(a)
				argv := words(t, r.temp, "argv")
				switch {
				case c.want != "" && (status != 0 || !slices.Contains(argv, "--base="+c.want)):
					t.Errorf("%s, %s %s: status %d, %q\nwant %s\n%s", name, c.name, depth, status, argv, c.want, r.log)
				case c.want == "" && (status != 1 || argv != nil || !strings.HasPrefix(r.log, "::error title=cg gate::the branch gone is not in the clone and cannot be fetched: ")):
					t.Errorf("%s, %s %s: status %d, %q\n%s", name, c.name, depth, status, argv, r.log)
				}
				if _, err := os.Lstat(filepath.Join(clone, "x")); err == nil {
					t.Fatalf("%s was run", name)
				}
				if shallow := script(t, clone, "git rev-parse --is-shallow-repository"); depth == "" && shallow != "false" {
					t.Errorf("%s, %s: a whole clone became shallow", name, c.name)
				}
			}
		}
	}
}
