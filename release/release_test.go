package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake answers what packages asks of cg.
const fake = `#!/bin/sh
case "$1 $2" in
"--version ") echo cg 0.1.0 ;;
"man -o") mkdir -p "$3/man1" && echo .TH cg >"$3/man1/cg.1" ;;
"sdk python") mkdir -p "$3/codegreen" && echo pass >"$3/codegreen/__init__.py" ;;
"sdk java") mkdir -p "$3/src/main/java/codegreen" && echo '<version>0.1.0</version>' >"$3/pom.xml" &&
  echo 'package codegreen; public class Session {}' >"$3/src/main/java/codegreen/Session.java" ;;
*) echo "$@" ;;
esac
`

// made are the packages of the fake cg, by name.
func made(t *testing.T) map[string][]byte {
	t.Helper()
	r := &release{source: "..", out: t.TempDir(), work: t.TempDir(), staged: t.TempDir(), at: time.Unix(1_700_000_000, 0).UTC()}
	for name, text := range map[string]string{
		"go.mod": "module " + repository + "\n\ngo 1.26\n", "LICENSE": "a licence\n", "main.go": "package main\n\nimport _ \"" + repository + "/part\"\n\nfunc main() {}\n",
		"part/part.go": "package part\n", "runtimes/prebuilt/made.so": "no source",
	} {
		name = filepath.Join(r.staged, name)
		if err := errorOf(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	// A root file system with one file.
	base := filepath.Join(r.work, "base.tar")
	w, err := os.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := errorOf(r.packed(w, "lib", []file{{"libc.so.6", []byte("a library"), 0o755}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	r.bases = map[string]string{runtime.GOARCH: base}
	cg := filepath.Join(r.work, "cg")
	if err := os.WriteFile(cg, []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	r.cg = map[target]string{native(): cg, {runtime.GOARCH, "musl"}: cg}
	if err := r.packages(); err != nil {
		t.Fatal(err)
	}
	files, err := read(r.out)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		all[f.name] = f.content
	}
	return all
}

// The same programs give the same packages, in whichever folder they are made.
func TestPackagesAreReproducible(t *testing.T) {
	if _, err := exec.LookPath("javac"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	first, second := made(t), made(t)
	if len(first) != 16 {
		t.Errorf("%d files, want an archive, a wheel and npm's package for two C libraries, .deb, .rpm, Maven's package, image, source, Go module, script, formula, flake and SHA256SUMS", len(first))
	}
	for name, content := range first {
		if !bytes.Equal(content, second[name]) {
			t.Errorf("%s differs", name)
		}
		if name != "SHA256SUMS" && !strings.Contains(string(first["SHA256SUMS"]), "  "+name+"\n") {
			t.Errorf("SHA256SUMS lacks %s", name)
		}
		if strings.HasSuffix(name, ".whl") {
			wheelIsWhole(t, content)
		}
	}
}

// wheelIsWhole compares a wheel with its RECORD.
func wheelIsWhole(t *testing.T, content []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	listed, err := z.Open("codegreen_cg-0.1.0.dist-info/RECORD")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(listed); err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if !strings.Contains("\n"+text.String(), "\n"+f.Name+",") {
			t.Errorf("RECORD lacks %s", f.Name)
		}
		executable := f.Mode()&0o111 != 0
		if executable != strings.HasSuffix(f.Name, "scripts/cg") {
			t.Errorf("%s has the mode %v", f.Name, f.Mode())
		}
	}
}

// Each C library has packages of its own, and their names and descriptions say which.
func TestTargets(t *testing.T) {
	if got, err := targets("amd64,arm64", "gnu,musl"); err != nil || len(got) != 4 {
		t.Errorf("%v, %v", got, err)
	}
	for _, test := range []struct{ arch, libc, want string }{
		{"amd64,sparc", "gnu", "-arch sparc is not known: use amd64, arm64"},
		{runtime.GOARCH, "gnu,uclibc", "-libc uclibc is not known: use gnu, musl"},
		{runtime.GOARCH, "musl", "-arch has to have " + runtime.GOARCH + ", and -libc gnu, too"},
	} {
		if _, err := targets(test.arch, test.libc); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: %v", test.arch, test.libc, err)
		}
	}
	r := &release{source: "/s", version: "1.2.3"}
	for _, test := range []struct {
		target                   target
		archive, wheel, compiler string
	}{
		{target{"amd64", "gnu"}, "cg-1.2.3-linux-amd64", "manylinux_2_28_x86_64", "/s/release/zigcc x86_64-linux-gnu.2.28"},
		{target{"arm64", "musl"}, "cg-1.2.3-linux-musl-arm64", "musllinux_1_2_aarch64", "/s/release/zigcc aarch64-linux-musl"},
	} {
		if got := []string{r.archiveName(test.target), test.target.wheel(), r.compiler(test.target)}; !slices.Equal(got, []string{test.archive, test.wheel, test.compiler}) {
			t.Errorf("%v: %v", test.target, got)
		}
	}
}

// npm takes the package of its own C library only.
func TestPackageOfNpm(t *testing.T) {
	needs(t, "javac", "tar")
	dir := saved(t, made(t))
	cpu := arches[runtime.GOARCH].npm
	for name, libc := range map[string]string{"codegreen-cg-linux-" + cpu: "glibc", "codegreen-cg-linux-musl-" + cpu: "musl"} {
		text, err := exec.Command("tar", "-xzOf", filepath.Join(dir, name+"-0.1.0.tgz"), "package/package.json").Output()
		var about struct {
			Name string
			Libc []string
		}
		if err := errorOf(err, json.Unmarshal(text, &about)); err != nil || about.Name != name || !slices.Equal(about.Libc, []string{libc}) {
			t.Errorf("%s: %+v, %v", name, about, err)
		}
	}
}
