package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
	"cg/languages/languagetest"
	"cg/long"
	"cg/runtimes"
)

// cacheDir keeps the native runtime for all tests of this process.
var cacheDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cg-languages-test-")
	if err != nil {
		panic(err)
	}
	cacheDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// nodes are the node of this machine, and the newest that .ci/run installs for viewers of exports, or
// those that CG_NODES names.
func nodes(t testing.TB) []string {
	t.Helper()
	if named := os.Getenv("CG_NODES"); named != "" {
		return filepath.SplitList(named)
	}
	var found []string
	if path, err := exec.LookPath("node"); err == nil {
		found = append(found, path)
	}
	if newest := newestNode(); newest != "" {
		found = append(found, newest)
	}
	if len(found) == 0 {
		languagetest.Missing(t, "no node found: install nodejs")
	}
	return found
}

// firstNode is the first of them where a test, which does the same with each, must not take long. lastNode is the last:
// those that are about what V8 does with checkpoints, or about every way to write code, have it.
func firstNode(t *testing.T) []string {
	t.Helper()
	all := nodes(t)
	if len(all) > 1 && long.Without(t, "the same with other versions of Node") {
		all = all[:1]
	}
	return all
}

func lastNode(t *testing.T) []string {
	t.Helper()
	all := nodes(t)
	if len(all) > 1 && long.Without(t, "the same with other versions of Node") {
		all = all[len(all)-1:]
	}
	return all
}

// newestNode is the node beside the viewers of exports, "" if there is none.
func newestNode() string {
	if viewers := os.Getenv("CG_VIEWERS"); viewers != "" {
		path := filepath.Join(viewers, "node_modules/node/bin/node")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// majorOf is the major version of a node.
func majorOf(t testing.TB, node string) string {
	t.Helper()
	_, version, err := findNode(node)
	if err != nil {
		t.Fatal(err)
	}
	major, _, _ := strings.Cut(version, ".")
	return major
}

// ran is what a program did.
type ran struct {
	Stdout, Stderr  string
	Status          int
	Runs            []checkpoint.Run // words, as the reader got them
	Sites           []checkpoint.Site
	Skipped         []instrument.Skip
	Lost            uint64
	Off             string
	Planned         int32             // files that cg was asked for
	Pure            bool              // checkpoints were JavaScript alone
	Events, Counted uint64            // of sums: all, and intervals that were not timed
	Calls           map[string]uint64 // of sums, by function
	Nests           map[string]bool   // outer/inner of all sites that a path of sums has below one another
}

// enters counts the calls of each function.
func (r ran) enters() map[string]int {
	calls := map[string]int{}
	for _, run := range r.Runs {
		for _, w := range run.Words {
			if w.Kind() == checkpoint.Enter && w.Site() != checkpoint.OwnSite {
				calls[r.Sites[w.Site()-1].Func]++
			}
		}
	}
	return calls
}

// execute runs a command, which has five minutes: machines are busy at times.
func execute(t testing.TB, dir string, env []string, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, dir
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	r := ran{Stdout: out.String(), Stderr: errs.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		if r.Status = exit.ExitCode(); r.Status < 0 {
			r.Status = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
		}
	case err != nil:
		t.Fatal(err)
	}
	return r
}

// compiled is the native library.
func compiled(t testing.TB, scratch string) languages.Native {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		languagetest.Missing(t, "no C compiler")
	}
	path, content, err := runtimes.Library(context.Background(), "node.c", runtimes.Cache{Dir: cacheDir}, scratch)
	if err != nil {
		t.Fatal(err)
	}
	return languages.Native{Path: path, Content: content}
}

// option changes how a program is measured.
type option func(*languages.Setup, *checkpoint.Channel)

// adding has threads only add up, and tell no single events.
func adding(*languages.Setup, *checkpoint.Channel) {}

// words has threads tell single events, too, as they do without an option.
func words(_ *languages.Setup, c *checkpoint.Channel) { c.WriteWords() }

// withoutAddon has no addon.
func withoutAddon(s *languages.Setup, _ *checkpoint.Channel) {
	s.Native = languages.Native{Reason: "no C compiler"}
}

// coarse has checkpoints in the main module only.
func coarse(s *languages.Setup, _ *checkpoint.Channel) {
	s.Coarse, s.Options.Granularity = true, instrument.Coarse
}

// measured runs a program with checkpoints and collects its events.
func measured(t testing.TB, dir, node string, args []string, options ...option) ran {
	t.Helper()
	scratch, err := os.MkdirTemp("", "cg-run-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(scratch)
	channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	channel.Stamp()
	if len(options) == 0 {
		channel.WriteWords()
	}
	language := languages.Named("javascript")
	setup := languages.Setup{
		Dir: scratch, Cache: runtimes.Cache{Dir: cacheDir}, Channel: channel.Path(),
		Server: filepath.Join(scratch, "server"), Native: compiled(t, scratch), Options: languagetest.Fine,
	}
	for _, o := range options {
		o(&setup, channel)
	}
	if setup.PlanKey == "" {
		setup.PlanKey = fmt.Sprint(setup.Options)
	}
	var planned atomic.Int32
	plan := func(source []byte, o instrument.Options) (*instrument.Plan, error) {
		planned.Add(1)
		return language.Plan(source, o)
	}
	server := &instrument.Server{Planner: plan, Rewriter: language.Rewrite, Language: "javascript", Channel: channel,
		Options: setup.Options}
	if err := server.Listen(setup.Server); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	command, err := language.Launch(languages.Target{Args: args, Interpreter: node}, setup)
	if err != nil {
		t.Fatal(err)
	}
	server.SetKeep(command.Keep)
	var runs []checkpoint.Run
	nests := map[[2]checkpoint.SiteID]bool{}
	calls := map[checkpoint.SiteID]uint64{}
	var events, counted uint64
	fold := func(run checkpoint.Run) int {
		if run.Tally != nil {
			noteNests(nests, run.Tally.Nodes)
			events += run.Tally.Events
			for _, w := range run.Tally.Windows {
				for _, part := range w.Parts {
					calls[run.Tally.Nodes[part.Node].Site] += part.Calls
					counted += part.Counted
				}
			}
			return len(run.Tally.Windows)
		}
		run.Words = slices.Clone(run.Words)
		runs = append(runs, run)
		return len(run.Words)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				channel.Stamp()
				channel.Drain(fold)
			}
		}
	}()
	r := execute(t, dir, command.Env, command.Args...)
	close(stop)
	<-stopped
	channel.Finish(fold)
	r.Planned = planned.Load()
	r.Runs, r.Sites, r.Skipped, r.Lost = runs, server.Sites(), server.Skipped(), channel.Lost()
	_, r.Pure = server.PureRuntime()
	r.Events, r.Counted, r.Calls = events, counted, map[string]uint64{}
	for site, n := range calls {
		if site > 0 && site < checkpoint.OwnSite {
			r.Calls[r.Sites[site-1].Func] += n
		}
	}
	r.Nests = map[string]bool{}
	for pair := range nests {
		r.Nests[r.Sites[pair[0]-1].Func+"/"+r.Sites[pair[1]-1].Func] = true
	}
	if command.Ended != nil {
		r.Off = command.Ended(0)
	}
	if command.Uninstrumented != "" {
		r.Off = command.Uninstrumented
	}
	return r
}

// noteNests notes the sites that a tree has below one another.
func noteNests(nests map[[2]checkpoint.SiteID]bool, nodes []checkpoint.Node) {
	known := func(s checkpoint.SiteID) bool { return s > 0 && s < checkpoint.OwnSite }
	for i := range nodes {
		for p := nodes[i].Parent; p > 0 && int(p) < len(nodes) && p != uint32(i); p = nodes[p].Parent {
			if known(nodes[i].Site) && known(nodes[p].Site) {
				nests[[2]checkpoint.SiteID{nodes[p].Site, nodes[i].Site}] = true
			}
		}
	}
}

// writeFiles makes files below a folder.
func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestArguments: command lines, each with the target in it that is found, and the status of a refusal.
func TestArguments(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"app.js": "", "both.js": "", "both/readme": "", "empty/readme": "", "folder/index.js": "", "folder.js/readme": "",
	})
	t.Chdir(dir)
	for line, want := range map[string]struct {
		path   string
		status int
	}{
		"app.js x": {"app.js", 0}, "app": {"app", 0}, "nosuch": {"nosuch", 127},
		"both": {"both", 0}, "both/": {"both/", 126}, "empty": {"empty", 126}, "folder": {"folder", 0},
		"--eval=1 app.js": {"app.js", 0}, "--eval=1 nosuch": {"nosuch", 0}, "--print=1": {"", 0}, "-p 1": {"", 0},
		"--eval=1": {"", 0}, "--evaluate=1": {"", 2}, "--require": {"", 2}, "--title=x": {"", 2},
		"--disable-warning DEP0001 app.js": {"app.js", 0}, "--test-timeout 5 app.js": {"app.js", 0},
		"--test-concurrency 5 app.js": {"app.js", 0}, "--test-shard 1/2 app.js": {"app.js", 0},
		"--max-http-header-size 9 app.js": {"app.js", 0}, "--dns-result-order verbatim app.js": {"app.js", 0},
		"--heapsnapshot-signal SIGUSR2 app.js": {"app.js", 0}, "--cpu-prof-name x app.js": {"app.js", 0},
		"--heap-prof-dir x app.js": {"app.js", 0}, "--experimental-default-type module app.js": {"app.js", 0},
		"--report-filename x app.js": {"app.js", 0}, "--tls-keylog x app.js": {"app.js", 0},
		"--allow-fs-read * --allow-fs-write=* app.js": {"app.js", 0}, "--allow-fs-write * app.js": {"app.js", 0},
		"--disable-warning=DEP0001 app.js": {"app.js", 0}, "--cpu-prof app.js": {"app.js", 0},
	} {
		target := languages.Target{Args: strings.Fields(line)}
		p, _ := splitArgs(target)
		status := 0
		if err := check(target); err != nil {
			var refused *languages.Error
			if !errors.As(err, &refused) {
				t.Fatalf("%s: %v", line, err)
			}
			status = refused.Status
		}
		if p.path != want.path || status != want.status {
			t.Errorf("%s: target %q, status %d; want %q, %d", line, p.path, status, want.path, want.status)
		}
	}
}

// TestForbidden: flags with which Node can have no checkpoints, also those of the environment.
func TestForbidden(t *testing.T) {
	for line, want := range map[string]bool{
		"--permission": true, "--experimental-permission": true, "--permission --allow-addons": false, "--no-addons": false, "": false,
	} {
		if got := forbidden(strings.Fields(line)) != ""; got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
		t.Setenv("NODE_OPTIONS", line)
		if got := forbidden(nil) != ""; got != want {
			t.Errorf("NODE_OPTIONS=%s: %v, want %v", line, got, want)
		}
		t.Setenv("NODE_OPTIONS", "")
	}
}
