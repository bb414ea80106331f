package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"text/template"

	"gopkg.in/yaml.v3"

	"cg/version"
)

// examples are the texts of docs/ci.md in a language, such as yaml, with the heading above each.
func examples(t *testing.T, language string) map[string]string {
	t.Helper()
	page, err := os.ReadFile("docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	form := regexp.MustCompile("(?ms)^## ([^\n]*)\n+```" + language + "\n(.*?)^```")
	for _, m := range form.FindAllStringSubmatch(string(page), -1) {
		all[m[1]] = m[2]
	}
	return all
}

// packed is an archive as release/ makes it, with a cg that is the test's.
func packed(t *testing.T) []byte {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range map[string][]byte{"bin/cg": program, "share/doc/cg/licences.md": nil} {
		header := &tar.Header{Name: "cg-" + version.Cg + "-linux-" + runtime.GOARCH + "/" + name, Mode: 0o755, Size: int64(len(content))}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// published serves a release over HTTP as a repository does, and gives the repository's address and the
// script that installs it. CG_PACKAGES is a folder with a release that release/ made, in place of one with the
// test's own cg.
func published(t *testing.T) (repository string, install []byte) {
	t.Helper()
	var folder string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, is := strings.CutPrefix(r.URL.Path, "/releases/download/v"+version.Cg+"/")
		if !is {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, filepath.Join(folder, filepath.Base(name)))
	}))
	t.Cleanup(server.Close)
	if folder = os.Getenv("CG_PACKAGES"); folder != "" {
		install, err := os.ReadFile(filepath.Join(folder, "install.sh"))
		if err != nil {
			t.Fatal(err)
		}
		return server.URL, install
	}
	folder = t.TempDir()
	archive := packed(t)
	name := "cg-" + version.Cg + "-linux-" + runtime.GOARCH + ".tar.gz"
	cpu := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	recipe, err := template.ParseFiles("release/recipes/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	err = recipe.Execute(&text, map[string]any{
		"Version": version.Cg, "Downloads": server.URL + "/releases/download/v" + version.Cg, "Glibc": "2.28", "Repository": server.URL, "Musl": nil,
		"Archives": []map[string]string{{"CPU": cpu, "File": name, "SHA256": fmt.Sprintf("%x", sha256.Sum256(archive))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{name: archive, "install.sh": text.Bytes()} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return server.URL, text.Bytes()
}

// proposed makes a repository in which the branch side makes ./bench, which make builds, costlier than
// main does by a factor, and gives its folder. The commit pull merges side into main, as GitHub does.
func proposed(t *testing.T, factor int) string {
	t.Helper()
	dir := t.TempDir()
	script(t, dir, fmt.Sprintf(`git init -q -b main
printf 'bench: bench.sh\n\tcp bench.sh bench && chmod +x bench\n' >Makefile
printf '#!/bin/sh\n[ "$*" = --quick ] || exit 9\ni=0\nwhile [ $i -lt %%d ]; do i=$((i+1)); done\n' 200 >bench.sh
echo bench >.gitignore; git add .; git commit -qm one
git checkout -qb side; sed -i s/200/%d/ bench.sh; echo >>README; git add .; git commit -qm two
git checkout -q --detach main; git merge -q --no-ff -m merge side; git branch pull; git checkout -q main`, 200*factor))
	return dir
}

// TestWorkflowOfGitHub runs the steps of the workflow in docs/ci.md, as far as they can be run without GitHub: the
// checkout is a clone of the merge of a pull request, and the action is action.yml with the script of its version.
func TestWorkflowOfGitHub(t *testing.T) {
	t.Parallel()
	needed(t, "valgrind")
	var flow struct {
		On   string `yaml:"on"`
		Jobs map[string]struct {
			Permissions map[string]string
			Steps       []struct {
				Uses string
				With map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(examples(t, "yaml")["GitHub"]), &flow); err != nil {
		t.Fatal(err)
	}
	job := flow.Jobs["gate"]
	if flow.On != "pull_request" || len(job.Steps) != 2 || job.Permissions["contents"] != "read" {
		t.Fatalf("%+v", flow)
	}
	a, _ := theAction(t)
	_, install := published(t)
	here := t.TempDir()
	r := &runner{t: t, event: map[string]string{"pull_request.base.ref": "main", "repository.default_branch": "main"}, dir: filepath.Join(here, "shop"), temp: t.TempDir()}
	status := -1
	for _, step := range job.Steps {
		switch name, revision, _ := strings.Cut(step.Uses, "@"); name {
		case "actions/checkout":
			script(t, here, "git clone -q --no-tags --depth=1 -b pull file://"+proposed(t, 10)+" shop")
		case "OWNER/cg":
			if revision != "v"+version.Cg {
				t.Errorf("the workflow uses %s, and this is v%s", revision, version.Cg)
			}
			r.action = t.TempDir() // as the repository of the version is: release/publisher.go
			if err := os.Mkdir(filepath.Join(r.action, "release"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(r.action, "release", "install.sh"), install, 0o644); err != nil {
				t.Fatal(err)
			}
			if folder := os.Getenv("CG_PACKAGES"); folder != "" { // whose script names the published address
				step.With["packages"] = "file://" + folder
			}
			r.inputs = a.complete(t, step.With)
			r.env = []string{"GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge", "GITHUB_SHA=" + script(t, r.dir, "git rev-parse HEAD")}
			status = r.run(a)
		default:
			t.Errorf("what does %s do?", step.Uses)
		}
	}
	if status != 1 || !strings.Contains(r.output, "verdict=regression\n") || !strings.Contains(r.summary, "merge") {
		t.Errorf("status %d\n%s\n%s\n%s", status, r.output, r.summary, r.log)
	}
	if _, err := os.Stat(filepath.Join(r.temp, "cg", "bin", "cg")); err != nil || !strings.Contains(r.log, "cg "+version.Cg+" is in ") {
		t.Errorf("cg was not installed: %v\n%s", err, r.log)
	}
}

// TestJobOfGitLab runs the script of the job in docs/ci.md. What it asks of apt-get is there.
func TestJobOfGitLab(t *testing.T) {
	t.Parallel()
	needed(t, "valgrind")
	needed(t, "curl")
	var jobs map[string]struct {
		Image     string
		Variables map[string]string
		Script    []string
		Artifacts struct {
			Paths   []string
			Reports map[string]string
		}
		Allow struct {
			Codes int `yaml:"exit_codes"`
		} `yaml:"allow_failure"`
	}
	if err := yaml.Unmarshal([]byte(examples(t, "yaml")["GitLab"]), &jobs); err != nil {
		t.Fatal(err)
	}
	job := jobs["energy"]
	if len(job.Script) < 3 || job.Allow.Codes != 3 || job.Variables["GIT_DEPTH"] != "0" {
		t.Fatalf("%+v", jobs)
	}
	repository, install := published(t)
	here, prefix, bin := t.TempDir(), t.TempDir(), t.TempDir()
	script(t, here, "git clone -q "+proposed(t, 1)+" shop; cd shop; git checkout -q origin/side")
	shop := filepath.Join(here, "shop")
	stub(t, bin, "apt-get", `case $1 in update | install) ;; *) exit 1 ;; esac; echo "$@" >>`+here+"/apt")
	env := []string{"PREFIX=" + prefix, "CG_REPOSITORY=" + repository, fmt.Sprintf("CG_INSTALL_SHA256=%x", sha256.Sum256(install)), "CG_URL=",
		"CI_MERGE_REQUEST_DIFF_BASE_SHA=" + script(t, shop, "git rev-parse origin/main")}
	if os.Getenv("CG_PACKAGES") != "" { // whose script names the published address
		env = append(env, "CG_URL="+repository+"/releases/download/v"+version.Cg)
	}
	status, out := shell(t, shop, strings.Join(job.Script, "\n"), append(env, "PATH="+bin+":"+prefix+"/bin:"+os.Getenv("PATH"))...)
	if status != 0 || !strings.Contains(out, "pass: ") {
		t.Fatalf("status %d\n%s", status, out)
	}
	asked, _ := os.ReadFile(filepath.Join(here, "apt"))
	if !strings.Contains(string(asked), " curl") || !strings.Contains(string(asked), " valgrind") {
		t.Errorf("asked for %s", asked)
	}
	for _, name := range append(job.Artifacts.Paths, job.Artifacts.Reports["junit"], job.Artifacts.Reports["metrics"]) {
		if b, err := os.ReadFile(filepath.Join(shop, name)); err != nil || len(b) == 0 {
			t.Errorf("%q: %v", name, err)
		}
	}
	readsJUnit(t, filepath.Join(shop, "gate.xml"), 0)

	// Another script than the one whose checksum the project keeps is not run.
	env[2] = fmt.Sprintf("CG_INSTALL_SHA256=%x", sha256.Sum256(nil))
	if err := os.RemoveAll(prefix); err != nil {
		t.Fatal(err)
	}
	status, out = shell(t, shop, strings.Join(job.Script[:3], "\n"), append(env, "PATH="+bin+":"+os.Getenv("PATH"))...)
	if _, err := os.Stat(prefix); status == 0 || err == nil {
		t.Errorf("a script with another checksum was run: status %d\n%s", status, out)
	}
}

// TestStageOfJenkins runs the shell script of the stage in docs/ci.md with the cg that a node has.
func TestStageOfJenkins(t *testing.T) {
	t.Parallel()
	needed(t, "valgrind")
	stage := examples(t, "groovy")["Jenkins"]
	m := regexp.MustCompile(`(?s)script: '''(.*?)'''`).FindStringSubmatch(stage)
	if m == nil || !strings.Contains(stage, "status == 3") || !strings.Contains(stage, "junit 'gate.xml'") {
		t.Fatal(stage)
	}
	here := t.TempDir()
	script(t, here, "git clone -q "+proposed(t, 10)+" shop; cd shop; git checkout -q origin/side")
	shop := filepath.Join(here, "shop")
	status, out := shell(t, shop, m[1], "CHANGE_TARGET=main", "PATH="+os.Getenv("CG_TEST_BIN")+":"+os.Getenv("PATH"))
	if status != 1 || !strings.Contains(out, "regression: ") {
		t.Errorf("status %d\n%s", status, out)
	}
	readsJUnit(t, filepath.Join(shop, "gate.xml"), 1)
	if _, err := os.Stat(filepath.Join(shop, "gate.json")); err != nil {
		t.Error(err)
	}
}

// stub puts a command that runs a line of sh into a folder.
func stub(t *testing.T, dir, name, line string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+line+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// shell runs lines as the runners of GitLab and Jenkins do, which stop at the first one that fails.
func shell(t *testing.T, dir, lines string, env ...string) (status int, out string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", lines)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null"), env...)
	b, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// readsJUnit fails where a file has not this many failures in all its suites.
func readsJUnit(t *testing.T, name string, failures int) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Suites []struct {
			Failures int `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b, &suites); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range suites.Suites {
		n += s.Failures
	}
	if n != failures || len(suites.Suites) == 0 {
		t.Errorf("%s has %d failures, want %d:\n%s", name, n, failures, b)
	}
}
