package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// saved writes packages into a folder.
func saved(t *testing.T, all map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range all {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// needs skips a test without a tool.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

// under lists the files below a folder.
func under(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(path, dir))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// readable lists the folders below one, and tells what others may not read there.
func readable(t *testing.T, dir string) (folders []string) {
	t.Helper()
	for _, name := range under(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			folders = append(folders, filepath.Join(dir, name))
		}
		if name != "" && info.Mode().Perm()&0o044 != 0o044 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	return folders
}

// The script installs what was released and removes what it installed. It refuses what is not
// that, what is not cg, and where it cannot write.
func TestInstall(t *testing.T) {
	needs(t, "javac", "getconf", "tar", "sha256sum")
	dir := saved(t, made(t))
	archive, err := filepath.Glob(filepath.Join(dir, "cg-*-linux-"+runtime.GOARCH+".tar.gz"))
	if err != nil || len(archive) != 1 {
		t.Fatal(archive, err)
	}
	run := func(shell, prefix, url string, args ...string) (string, error) {
		// Who installs may hide new files from others: cg is for all users.
		cmd := exec.Command("sh", append([]string{"-c", `umask 077; exec "$@"`, "sh", shell, filepath.Join(dir, "install.sh")}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PREFIX=" + prefix, "CG_URL=" + url, "TMPDIR=" + t.TempDir(), "HOME=/nonesuch"}
		out, err := cmd.CombinedOutput()
		if left := under(t, strings.TrimPrefix(cmd.Env[3], "TMPDIR=")); len(left) != 1 {
			t.Errorf("left behind: %v", left)
		}
		return string(out), err
	}
	shells := []string{"sh"}
	if _, err := exec.LookPath("bash"); err == nil {
		shells = append(shells, "bash")
	}
	for _, shell := range shells {
		prefix := t.TempDir()
		os.Mkdir(filepath.Join(prefix, "bin"), 0o755)
		os.WriteFile(filepath.Join(prefix, "bin", "other"), nil, 0o644)
		before := under(t, prefix)
		for range 2 { // the second in place of the first
			if out, err := run(shell, prefix, "file://"+dir); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		if out, err := exec.Command(filepath.Join(prefix, "bin", "cg"), "--version").Output(); err != nil || string(out) != "cg 0.1.0\n" {
			t.Errorf("%s, %v", out, err)
		}
		if _, err := os.Stat(filepath.Join(prefix, "share/man/man1/cg.1")); err != nil {
			t.Error(err)
		}
		folders := readable(t, prefix)
		removed := func(before []string) {
			t.Helper()
			if out, err := run(shell, prefix, "", "--uninstall"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if after := under(t, prefix); !slices.Equal(before, after) {
				t.Errorf("%s: %v was there, and after the removal %v", shell, before, after)
			}
		}
		removed(before)
		// Folders that were there stay, and nothing else.
		for _, d := range folders {
			os.MkdirAll(d, 0o755)
		}
		before = under(t, prefix)
		if out, err := run(shell, prefix, "file://"+dir); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		removed(before)
	}
	// Where getconf knows no GNU library and ldd is musl's, the archive for musl is taken.
	musl, prefix := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"getconf": "exit 1", "ldd": "echo 'musl libc (x86_64)' >&2; exit 1"} {
		if err := os.WriteFile(filepath.Join(musl, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", musl+":"+path)
	only := t.TempDir()
	name := "cg-0.1.0-linux-musl-" + runtime.GOARCH + ".tar.gz"
	if err := os.Link(filepath.Join(dir, name), filepath.Join(only, name)); err != nil {
		t.Fatal(err)
	}
	if out, err := run("sh", prefix, "file://"+only); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	os.WriteFile(filepath.Join(musl, "ldd"), []byte("#!/bin/sh\necho another\n"), 0o755)
	if out, err := run("sh", t.TempDir(), "file://"+only); err == nil || !strings.Contains(out, "or musl, and this system has another") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Setenv("PATH", path)

	another := t.TempDir()
	os.Mkdir(filepath.Join(another, "bin"), 0o755)
	os.WriteFile(filepath.Join(another, "bin", "cg"), []byte("#!/bin/sh\necho another\n"), 0o755)
	damaged := t.TempDir()
	text, err := os.ReadFile(archive[0])
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(damaged, filepath.Base(archive[0])), append(text, 'x'), 0o644)
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o644)
	for _, test := range []struct{ what, prefix, url, args, want string }{
		{"a damaged archive", t.TempDir(), "file://" + damaged, "", "is not what was released"},
		{"no archive", t.TempDir(), "file://" + t.TempDir(), "", "cannot be fetched"},
		{"an address that is not checked", t.TempDir(), "http://example.org", "", "use https:// or file://"},
		{"another host behind this one's name", t.TempDir(), "http://127.0.0.1:80@example.org", "", "it names a user"},
		{"another program", another, "file://" + dir, "", "is another program: move it away"},
		{"a file", file, "file://" + dir, "", "cannot be written"},
		{"a relative prefix", "here", "file://" + dir, "", "name the folder from / on"},
		{"a flag", t.TempDir(), "file://" + dir, "--force", "is not known"},
		{"nothing to remove", t.TempDir(), "", "--uninstall", "has not installed cg below"},
	} {
		var before []string
		if filepath.IsAbs(test.prefix) {
			before = under(t, test.prefix)
		}
		out, err := run("sh", test.prefix, test.url, strings.Fields(test.args)...)
		if err == nil || !strings.Contains(out, test.want) || !strings.Contains(out, "install.sh: ") {
			t.Errorf("%s: %v\n%s", test.what, err, out)
		}
		if filepath.IsAbs(test.prefix) && !slices.Equal(before, under(t, test.prefix)) {
			t.Errorf("%s: changed %v", test.what, under(t, test.prefix))
		}
	}
}

// The formula and the flake can be read by their programs, and have the archives' digests.
func TestRecipes(t *testing.T) {
	needs(t, "javac")
	all := made(t)
	dir := saved(t, all)
	for _, line := range strings.Split(string(all["SHA256SUMS"]), "\n") {
		sum, name, _ := strings.Cut(line, "  ")
		if !strings.Contains(name, "-linux-"+runtime.GOARCH+".tar.gz") {
			continue
		}
		for _, recipe := range []string{"cg.rb", "install.sh"} {
			if !strings.Contains(string(all[recipe]), sum) || !strings.Contains(string(all[recipe]), name) {
				t.Errorf("%s has not the digest of %s", recipe, name)
			}
		}
	}
	for recipe, command := range map[string][]string{"cg.rb": {"ruby", "-c"}, "flake.nix": {"nix-instantiate", "--parse"}, "install.sh": {"sh", "-n"}} {
		t.Run(recipe, func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip(err) // .ci/release installs it
			}
			cmd := exec.Command(command[0], append(command[1:], filepath.Join(dir, recipe))...)
			cmd.Env = append(os.Environ(), "NIX_STATE_DIR="+t.TempDir(), "NIX_STORE_DIR="+t.TempDir(), "HOME="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The image holds the base, and cg above it, and says how it is started.
func TestImage(t *testing.T) {
	needs(t, "javac")
	all := made(t)
	opener := func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(all["cg-0.1.0-image-"+runtime.GOARCH+".tar"])), nil
	}
	image, err := tarball.Image(opener, nil)
	if err != nil {
		t.Fatal(err)
	}
	about, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if about.Architecture != runtime.GOARCH || about.OS != "linux" || !slices.Equal(about.Config.Entrypoint, []string{"/usr/bin/cg"}) ||
		about.Config.Cmd[0] != "monitor" || about.Created.Unix() != 1_700_000_000 {
		b, _ := json.Marshal(about)
		t.Errorf("%s", b)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for t2 := tar.NewReader(r); ; {
			h, err := t2.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			modes[h.Name] = h.Mode
		}
		r.Close()
	}
	for name, mode := range map[string]int64{"lib/libc.so.6": 0o755, "usr/bin/cg": 0o755, "tmp/": 0o1777, "usr/share/doc/cg/LICENSE": 0o644, "host/lib": 0o777} {
		if modes[name] != mode {
			t.Errorf("%s has the mode %o, want %o; %v", name, modes[name], mode, modes)
		}
	}
}

// Only what the go command compiles gets the path of the published module.
func TestRenamed(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"go.mod", "module cg\n\ngo 1.26\n", "module " + repository + "\n\ngo 1.26\n"},
		{"a/b.go", "package b\n\nimport (\n\t\"cg/x\" // cg/x\n\ty \"cg/y/z\"\n\t\"cgo/x\"\n)\n\nconst s = \"cg/x\"\n",
			"package b\n\nimport (\n\t\"" + repository + "/x\" // cg/x\n\ty \"" + repository + "/y/z\"\n\t\"cgo/x\"\n)\n\nconst s = \"cg/x\"\n"},
		{"runtimes/golang/_ring/a.go", "package a\n\nimport \"cg/x\"\n", "package a\n\nimport \"cg/x\"\n"},
		{"testdata/a.go", "no Go", "no Go"},
		{"a.py", "import \"cg/x\"", "import \"cg/x\""},
	} {
		got, err := renamed(test.name, []byte(test.text))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
}

// go install finds the module in a folder, by its published path.
func TestGoInstalls(t *testing.T) {
	needs(t, "javac", "unzip")
	dir := saved(t, made(t))
	proxy, bin := t.TempDir(), t.TempDir()
	if out, err := exec.Command("unzip", "-q", filepath.Join(dir, "cg-0.1.0-goproxy.zip"), "-d", proxy).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command("go", "install", repository+"@v0.1.0")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOPROXY=file://"+proxy, "GONOSUMDB=*", "GOFLAGS=-modcacherw", "GOBIN="+bin, "GOMODCACHE="+t.TempDir(), "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(bin, filepath.Base(repository))); err != nil {
		t.Error(err)
	}
}

// An .rpm has the folders of its completions, as rpm leaves those behind that no package has.
func TestRPMLeavesNothing(t *testing.T) {
	needs(t, "javac", "rpm")
	dir := saved(t, made(t))
	name, err := filepath.Glob(filepath.Join(dir, "cg-*."+arches[runtime.GOARCH].cpu+".rpm"))
	if err != nil || len(name) != 1 {
		t.Fatal(name, err)
	}
	root := t.TempDir()
	rpm := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("rpm", append([]string{"--root", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	rpm("--initdb")
	for _, d := range []string{"usr/bin", "usr/share/man/man1", "usr/share/doc", "usr/lib/systemd/system"} { // a distribution's
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := under(t, filepath.Join(root, "usr"))
	rpm("-i", "--nodeps", "--ignoreos", name[0])
	if _, err := os.Stat(filepath.Join(root, "usr/share/zsh/site-functions/_cg")); err != nil {
		t.Error(err)
	}
	rpm("-e", "cg")
	if after := under(t, filepath.Join(root, "usr")); !slices.Equal(before, after) {
		t.Errorf("%v was there, and after the removal %v", before, after)
	}
}
