package gate

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var ctx = context.Background()

// sh runs lines in a folder, with git as somebody.
func sh(t *testing.T, dir, lines string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", lines)
	cmd.Dir = dir
	cmd.Env = append(Environment(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", lines, err, out)
	}
	return string(out)
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func there(path ...string) bool {
	_, err := os.Lstat(filepath.Join(path...))
	return err == nil
}

func found(t *testing.T, dir string) *Repository {
	t.Helper()
	r, err := FindRepository(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestCheckOut(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, `git init -q; mkdir sub; echo one >file; echo same >sub/same; ln -s file link; echo '*.o' >.gitignore; echo gone >gone; git add .; git commit -qm 'first change'; git tag v1
		echo two >file; git commit -qam second
		echo three >file; rm gone link; ln -s sub link; echo new >sub/new; chmod 700 sub/new; echo staged >staged; git add staged; echo ignored >x.o
		printf '#!/bin/sh\ntouch ../hooked\n' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout`)
	before := sh(t, dir, "git status --porcelain; git worktree list; sha1sum .git/index; cat .git/HEAD")
	r := found(t, filepath.Join(dir, "sub"))
	if r.Prefix != "sub" || filepath.Base(r.Top) != filepath.Base(dir) {
		t.Errorf("%+v", r)
	}
	base, err := r.Resolve(ctx, "v1")
	if err != nil || base.Subject != "first change" || len(base.Commit) != 40 {
		t.Fatalf("%+v, %v", base, err)
	}
	head, err := r.WorkingTree(ctx, t.TempDir())
	if err != nil || !slices.Equal(head.Changed, []string{"file", "gone", "link", "staged", "sub/new"}) || !head.WorkingTree {
		t.Fatalf("%+v, %v", head, err)
	}
	out := t.TempDir()
	for side, v := range map[string]Revision{"base": base, "head": head} {
		if err := r.CheckOut(ctx, v, filepath.Join(out, side)); err != nil {
			t.Fatal(err)
		}
	}
	if b, h := read(t, out, "base/file"), read(t, out, "head/file"); b != "one\n" || h != "three\n" {
		t.Errorf("%q, %q", b, h)
	}
	if !there(out, "base/gone") || there(out, "head/gone") || there(out, "base/sub/new") || read(t, out, "head/sub/new") != "new\n" || read(t, out, "head/staged") != "staged\n" || there(out, "head/x.o") || there(dir, "../hooked") {
		t.Error("other files than those of the sides")
	}
	if to, err := os.Readlink(filepath.Join(out, "head/link")); err != nil || to != "sub" {
		t.Errorf("%q, %v", to, err)
	}
	if info, err := os.Stat(filepath.Join(out, "head/sub/new")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	// A worktree knows its revision, for builds that ask.
	if got := sh(t, filepath.Join(out, "base"), "git describe --tags"); got != "v1\n" {
		t.Errorf("%q", got)
	}
	sh(t, out, "mkdir base/ro; touch base/ro/x; chmod 500 base/ro")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if after := sh(t, dir, "git status --porcelain; git worktree list; sha1sum .git/index; cat .git/HEAD"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if there(out, "base") || there(out, "head") || there(dir, ".git/worktrees/base") {
		t.Error("something is left")
	}
}

// git diff writes the index anew where a file was touched.
func TestWorkingTreeKeepsIndex(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, "git init -q; echo one >file; echo two >other; git add .; git commit -qm one; touch -d 2001-01-01 file; echo three >other; echo part >.out.part-1; echo new >new")
	before := read(t, dir, ".git/index")
	scratch := t.TempDir()
	v, err := found(t, dir).WorkingTree(ctx, scratch, filepath.Join(dir, ".out.part-1"), filepath.Join(dir, "none"))
	if err != nil || !slices.Equal(v.Changed, []string{"new", "other"}) {
		t.Errorf("%+v, %v", v, err)
	}
	if read(t, dir, ".git/index") != before {
		t.Error("the index was written")
	}
	if there(scratch, "index") {
		t.Error("the copy is left")
	}
	// Without an index, all of the commit's files are gone from it.
	os.Remove(filepath.Join(dir, ".git/index"))
	if v, err := found(t, dir).WorkingTree(ctx, scratch); err != nil || !slices.Contains(v.Changed, "file") || there(dir, ".git/index") {
		t.Errorf("%+v, %v", v, err)
	}
}

// Worktrees of the user's stay, also one whose folder is away, and one of ours goes
// that git cannot remove.
func TestCloseKeepsWorktrees(t *testing.T) {
	dir, disk, out := t.TempDir(), t.TempDir(), t.TempDir()
	sh(t, dir, "git init -q; echo one >file; git add .; git commit -qm one; git worktree add -q "+disk+"/mine; mv "+disk+"/mine "+disk+"/away")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(out, link); err != nil {
		t.Fatal(err)
	}
	r := found(t, dir)
	v, _ := r.Resolve(ctx, "HEAD")
	for _, side := range []string{"base", "head"} {
		if err := r.CheckOut(ctx, v, filepath.Join(link, side)); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, dir, "rm "+out+"/base/.git; echo initializing >.git/worktrees/base/locked; rm -r "+out+"/head")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if there(dir, ".git/worktrees/base") || there(dir, ".git/worktrees/head") || there(out, "base") {
		t.Error("something is left")
	}
	if !there(dir, ".git/worktrees/mine") {
		t.Error("the user's worktree is forgotten")
	}
	sh(t, disk, "mv away mine; git -C mine status")
}

func TestSubmodules(t *testing.T) {
	lib, dir := t.TempDir(), t.TempDir()
	sh(t, lib, "git init -q; echo one >lib; git add .; git commit -qm one; echo two >lib; git commit -qam two")
	sh(t, dir, `git init -q; git -c protocol.file.allow=always submodule --quiet add `+lib+` deps/lib; git -C deps/lib checkout -q HEAD~1; git add .; git commit -qm one; git tag v1
		git -C deps/lib checkout -q -; git add .; git commit -qm two; echo dirty >deps/lib/lib; echo new >deps/lib/new`)
	r := found(t, dir)
	base, _ := r.Resolve(ctx, "v1")
	middle, _ := r.Resolve(ctx, "HEAD")
	head, err := r.WorkingTree(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for name, c := range map[string]struct {
		rev  Revision
		want string
	}{"base": {base, "one\n"}, "mid": {middle, "two\n"}, "head": {head, "dirty\n"}} {
		if err := r.CheckOut(ctx, c.rev, filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, out, name, "deps/lib/lib"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if there(out, "mid/deps/lib/new") || !there(out, "head/deps/lib/new") {
		t.Error("new files of a submodule")
	}
	if left := sh(t, dir, "git -C deps/lib status --porcelain"); left != " M lib\n?? new\n" {
		t.Errorf("%q", left)
	}
	// A commit that the user's clone of it has not got.
	sh(t, dir, "git update-index --cacheinfo 160000,1111111111111111111111111111111111111111,deps/lib; git commit -qm three")
	broken, _ := r.Resolve(ctx, "HEAD")
	if err := r.CheckOut(ctx, broken, filepath.Join(out, "none")); err == nil || !strings.Contains(err.Error(), "submodule deps/lib has not got commit 1111111111: git submodule update --init deps/lib") {
		t.Errorf("%v", err)
	}
}

// What the error advises in a clone of one commit is typed into a shell: the base is
// there afterwards, with its files.
func TestShallow(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, `git init -q -b main; for n in 1 2 3; do echo $n >file; git add .; git commit -qm "$n"; done; git tag light HEAD~1; git tag -am 'a note' noted HEAD~1
		for branch in side topic/side 'x&touch$IFS.hacked' "it's" deadbeef; do git branch "$branch" HEAD~1; done; git checkout -q side; echo side >file; git commit -qam side; git checkout -q main`)
	digest := strings.TrimSpace(sh(t, dir, "git rev-parse HEAD~1"))
	clone := func(t *testing.T, prepare string) string {
		at := t.TempDir()
		sh(t, at, "git clone -q --no-tags --depth=1 file://"+dir+" ."+prepare)
		return at
	}
	for _, test := range []struct{ base, holds, prepare string }{
		{"HEAD~1", "2", ""},
		{"HEAD^", "2", ""},
		{"HEAD~2", "1", ""},
		{"HEAD^{/2}", "2", ""},
		{"main~1", "2", ""},
		{"HEAD~2", "2", "; echo 4 >file; git commit -qam 4"},
		{"HEAD~1", "2", "; git checkout -q --detach; git branch -qD main"},
		{"HEAD~1", "2", "; git remote rename origin upstream"},
		{digest, "2", ""},
		{digest[:10], "2", ""},
		{"origin/side", "side", ""},
		{"origin/side~1", "2", ""},
		{"origin/topic/side", "2", ""},
		{"origin/x&touch$IFS.hacked", "2", ""},
		{"origin/it's", "2", ""},
		{"side", "side", ""},
		{"x&touch$IFS.hacked", "2", ""},
		{"light", "2", ""},
		{"noted", "2", ""},
		{"noted^{}", "2", ""},
		{"light~1", "1", ""},
	} {
		t.Run(test.base+test.prepare, func(t *testing.T) {
			at := clone(t, test.prepare)
			r := found(t, at)
			_, err := r.Resolve(ctx, test.base)
			if err == nil {
				t.Fatal("it was there already")
			}
			_, advice, _ := strings.Cut(err.Error(), "; the clone is shallow: ")
			command, instead, another := strings.Cut(advice, ", and name it ")
			sh(t, at, command)
			base := test.base
			if another {
				base = instead
			}
			v, err := r.Resolve(ctx, base)
			if err != nil {
				t.Fatalf("after %s: %v", command, err)
			}
			tree := filepath.Join(t.TempDir(), "tree")
			if err := r.CheckOut(ctx, v, tree); err != nil {
				t.Fatal(err)
			}
			if got := read(t, tree, "file"); got != test.holds+"\n" || there(at, ".hacked") {
				t.Errorf("after %s it holds %q, want %s", command, got, test.holds)
			}
		})
	}
	for _, name := range []string{"--upload-pack=touch .hacked", "+side", "a b", "nonesuch", "origin/nonesuch", "HEAD:x", "HEAD~9"} {
		at := clone(t, "")
		r := found(t, at)
		_, err := r.Resolve(ctx, name)
		if err == nil {
			t.Fatal(name)
		}
		_, advice, _ := strings.Cut(err.Error(), "; the clone is shallow: ")
		command, _, _ := strings.Cut(advice, ", and name it ")
		exec.Command("sh", "-c", "cd "+at+" && "+command).Run()
		if _, err := r.Resolve(ctx, name); command == "" || err == nil || there(at, ".hacked") {
			t.Errorf("%s: %s: %v", name, command, err)
		}
	}
	lonely := clone(t, "; git remote remove origin")
	if _, err := found(t, lonely).Resolve(ctx, "HEAD~1"); err == nil || !strings.HasSuffix(err.Error(), "; the clone is shallow, and has no remote to fetch from") {
		t.Errorf("%v", err)
	}
}

func TestRepositoryErrors(t *testing.T) {
	empty := t.TempDir()
	if _, err := FindRepository(ctx, empty); !errors.Is(err, ErrNoRepository) {
		t.Errorf("%v", err)
	}
	bare := t.TempDir()
	sh(t, bare, "git init -q --bare")
	if _, err := FindRepository(ctx, bare); !errors.Is(err, ErrNoRepository) {
		t.Errorf("bare: %v", err)
	}
	dir := t.TempDir()
	sh(t, dir, "git init -q; echo x >x; git add .; git commit -qm one; echo y >x; git commit -qam two")
	r := found(t, dir)
	for _, name := range []string{"nonesuch", "", "HEAD:x", "--all"} {
		if _, err := r.Resolve(ctx, name); err == nil || !strings.HasSuffix(err.Error(), ": no such revision in "+r.Top) {
			t.Errorf("%q: %v", name, err)
		}
	}
	unborn := t.TempDir()
	sh(t, unborn, "git init -q; echo x >x")
	if _, err := found(t, unborn).WorkingTree(ctx, t.TempDir()); err == nil {
		t.Error("a repository without a commit")
	}
	// Where a hook of git runs us, the environment names another repository.
	t.Setenv("GIT_INDEX_FILE", filepath.Join(dir, ".git/other-index"))
	t.Setenv("GIT_DIR", filepath.Join(bare))
	if v, err := r.Resolve(ctx, "HEAD"); err != nil || v.Subject != "two" {
		t.Errorf("%+v, %v", v, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := r.CheckOut(cancelled, Revision{Commit: "HEAD"}, filepath.Join(empty, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestBuild(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := (Build{Base, "v1", `test "$PWD" = ` + dir + ` && echo built >made`, dir, log}).Run(ctx); err != nil || read(t, dir, "made") != "built\n" {
		t.Error(err)
	}
	err := (Build{Head, "HEAD", "seq 1 30; echo because >&2; exit 3", dir, log}).Run(ctx)
	var failed *BuildError
	if !errors.As(err, &failed) || !strings.HasPrefix(err.Error(), "the build of head (HEAD) failed: exit status 3\n12\n13\n") || !strings.HasSuffix(err.Error(), "\n30\nbecause") {
		t.Errorf("%v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := (Build{Head, "HEAD", "sleep 60", dir, log}).Run(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := (Build{Head, "HEAD", "true", dir, filepath.Join(dir, "none/log")}).Run(ctx); err == nil {
		t.Error("no place for a log")
	}
}

// loops compiles a program that counts to its first argument, and where it has
// a second one forks a child that counts to that. Its loop calls nothing, so
// its instructions do not depend on where the stack or the environment lies
// (those of a shell's loop do, by the paths of strcmp).
func loops(t *testing.T) string {
	t.Helper()
	const source = `
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void count(const char *text) {
	long to = atol(text);
	for (volatile long i = 0; i < to; i++)
		;
}

int main(int argc, char **argv) {
	count(argv[1]);
	if (argc > 2) {
		if (fork() == 0) {
			count(argv[2]);
			exit(0);
		}
		wait(NULL);
	}
	return 0;
}
`
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no compiler for C is installed")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "loops")
	if err := os.WriteFile(name+".c", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-O0", "-o", name, name+".c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

func TestCallgrind(t *testing.T) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("valgrind is not installed")
	}
	worker := loops(t)
	c, err := NewCallgrind(filepath.Join(t.TempDir(), "counts"))
	if err != nil {
		t.Fatal(err)
	}
	count := func(args ...string) float64 {
		t.Helper()
		cmd := exec.Command("", c.Args(append([]string{worker}, args...))...)
		cmd.Path, _ = exec.LookPath("valgrind")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		n, err := c.Count()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	none, one, two := count("0"), count("100000"), count("200000")
	if again := count("100000"); again != one {
		t.Errorf("%.0f and %.0f", one, again)
	}
	if ratio := (two - none) / (one - none); ratio < 1.99 || ratio > 2.01 {
		t.Errorf("twice the work is %.3f times the instructions", ratio)
	}
	// What a process did before it forked counts once.
	forked := count("100000", "100000")
	if ratio := (forked - none) / (one - none); ratio < 1.99 || ratio > 2.05 {
		t.Errorf("the same work in a child: %.3f times", ratio)
	}
	if _, err := c.Count(); err == nil || !strings.HasPrefix(err.Error(), "callgrind counted nothing") {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{"version: 1\n": "has no totals", "totals: x\n": "invalid syntax"} {
		os.WriteFile(filepath.Join(c.dir, "1"), []byte(text), 0o600)
		if _, err := c.Count(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if env := c.Environment([]string{"A=b"}); !slices.Contains(env, "PYTHONHASHSEED=0") {
		t.Errorf("%v", env)
	}
	if env := c.Environment([]string{"PYTHONHASHSEED=7"}); !slices.Equal(env, []string{"PYTHONHASHSEED=7"}) {
		t.Errorf("%v", env)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := NewCallgrind(t.TempDir()); err != ErrNoValgrind {
		t.Errorf("%v", err)
	}
}
