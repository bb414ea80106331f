package java

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/runtimes"
)

// grow writes files below a folder: a name that ends in "/" is a folder, one
// with " -> " a link.
func grow(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if !yield(name) {
				return
			}
		}
	}) {
		path, to, link := strings.Cut(filepath.Join(folder, name), " -> ")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(to, path)
		case strings.HasSuffix(name, "/"):
			err = os.Mkdir(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(files[name]), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// digest is that of everything below a folder: names, modes, times, contents.
func digest(t testing.TB, folder string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, path, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%d %s\n", len(b), b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// listed is what is below a folder: links with where they lead, files with their
// content.
func listed(t testing.TB, folder string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		rel, _ := filepath.Rel(folder, path)
		switch {
		case d.IsDir():
			rel += "/"
		case d.Type() == fs.ModeSymlink:
			to, _ := os.Readlink(path)
			rel += "->" + to
		default:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel += "=" + string(b)
		}
		out = append(out, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// updated brings a folder over, without its sources.
func updated(t testing.TB, from, place string) *mirror {
	t.Helper()
	m, err := openMirror(from, runtimes.Cache{Dir: place})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.update(); err != nil {
		t.Fatal(err)
	}
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMirror(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(root, "outside")
	from, place := filepath.Join(root, "my project"), filepath.Join(root, "place")
	grow(t, outside, map[string]string{"lib/x.txt": "x"})
	grow(t, from, map[string]string{
		"pom.xml": "p", "target/classes/A.class": "theirs", ".git/HEAD": "h", ".mvn/jvm.config": "-Xmx1g", "mvnw": "#!/bin/sh\n",
		"sub/build.gradle": "g", "sub/build/libs/a.jar": "theirs", "sub/.gradle/x": "x", "docs/build/page": "kept", "docs/target": "kept",
		"out/B.class": "theirs", "out/C.class": "kept", "src/B.java": "class B {}", "src/main/resources/B.class": "data",
		"in -> docs/target": "", "absolute -> " + filepath.Join(from, "docs"): "", "lib -> ../outside/lib": "", "nowhere -> nothing": "",
		"empty/": "", "gone/pom.xml": "g",
	})
	if err := os.Chmod(filepath.Join(from, "mvnw"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := digest(t, from)
	m := updated(t, from, place)
	ours := filepath.Join(place, "my project")
	want := ".mvn/ .mvn/jvm.config=-Xmx1g absolute->" + filepath.Join(ours, "docs") +
		" docs/ docs/build/ docs/build/page=kept docs/target=kept empty/ gone/ gone/pom.xml=g in->docs/target lib->" + filepath.Join(outside, "lib") +
		" mvnw=#!/bin/sh\n nowhere->nothing out/ out/C.class=kept pom.xml=p src/ src/main/ src/main/resources/ src/main/resources/B.class=data" +
		" sub/ sub/build.gradle=g"
	if got := listed(t, m.folder); got != want || m.folder != ours {
		t.Errorf("%s:\n%s\nwant\n%s", m.folder, got, want)
	}
	if info, err := os.Stat(filepath.Join(ours, "mvnw")); err != nil || info.Mode() != 0o755 {
		t.Errorf("mvnw: %v, %v", info.Mode(), err)
	}

	// A build that writes into files, through links, and takes a folder's place.
	for _, name := range []string{"pom.xml", "in", "absolute/build/page"} {
		f, err := os.OpenFile(filepath.Join(ours, name), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString("written")
		f.Close()
	}
	grow(t, ours, map[string]string{"target/classes/A.class": "ours", "out/B.class": "ours",
		"sub/build/libs/a.jar": "ours", "empty/made": "m"})
	if err := os.Remove(filepath.Join(ours, "src/main/resources/B.class")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(ours, ".mvn")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, filepath.Join(ours, ".mvn")); err != nil { // a trap
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(ours, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, filepath.Join(ours, "gone")); err != nil { // another: gone/pom.xml is to be removed
		t.Fatal(err)
	}
	if digest(t, from) != before {
		t.Error("the user's folder has changed")
	}

	// The user edits, removes and adds.
	grow(t, from, map[string]string{"docs/target": "edited", "new/file": "n"})
	for _, name := range []string{"nowhere", "docs/build", "empty", "gone"} {
		if err := os.RemoveAll(filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	before = digest(t, from)
	early := time.Now()
	updated(t, from, place)
	if digest(t, from) != before {
		t.Error("the user's folder has changed")
	}
	want = ".mvn/ .mvn/jvm.config=-Xmx1g absolute->" + filepath.Join(ours, "docs") +
		" docs/ docs/target=edited empty/ empty/made=m in->docs/target lib->" + filepath.Join(outside, "lib") +
		" mvnw=#!/bin/sh\n new/ new/file=n out/ out/B.class=ours out/C.class=kept pom.xml=written src/ src/main/ src/main/resources/ src/main/resources/B.class=data" +
		" sub/ sub/build/ sub/build/libs/ sub/build/libs/a.jar=ours sub/build.gradle=g target/ target/classes/ target/classes/A.class=ours"
	if got := listed(t, ours); got != want {
		t.Errorf("after the edits:\n%s\nwant\n%s", got, want)
	}
	// What was edited is newer than what was built before.
	if info, err := os.Stat(filepath.Join(ours, "docs/target")); err != nil ||
		info.ModTime().Before(early.Add(-time.Second)) {
		t.Errorf("%v, %v", info.ModTime(), err)
	}

	// Nothing is touched that is as it was.
	before = digest(t, ours)
	updated(t, from, place)
	if digest(t, ours) != before {
		t.Error("the mirror has changed without a change")
	}

	// Without a record all is made anew: nobody knows what is the user's.
	if err := os.Remove(filepath.Join(place, "state")); err != nil {
		t.Fatal(err)
	}
	updated(t, from, place)
	if got := listed(t, ours); strings.Contains(got, "ours") || strings.Contains(got, "written") {
		t.Error(got)
	}
}

// No file of the mirror is one of the user's under another name.
func TestMirrorLinksNothing(t *testing.T) {
	root := t.TempDir()
	from, place := filepath.Join(root, "p"), filepath.Join(root, "place")
	grow(t, from, map[string]string{"big.bin": strings.Repeat("x", 1<<20), "small": "s"})
	m := updated(t, from, place)
	for _, name := range []string{"big.bin", "small"} {
		a, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.Lstat(filepath.Join(m.folder, name))
		if err != nil || !b.Mode().IsRegular() || os.SameFile(a, b) {
			t.Errorf("%s: %v, %v", name, b, err)
		}
		if b.ModTime() != a.ModTime() {
			t.Errorf("%s: %v, the user's is of %v", name, b.ModTime(), a.ModTime())
		}
	}
}

// Two runs at a time have a mirror each.
func TestClaim(t *testing.T) {
	base := t.TempDir()
	one, release, err := claim(runtimes.Cache{Dir: base}, "k")
	if err != nil {
		t.Fatal(err)
	}
	two, releaseTwo, err := claim(runtimes.Cache{Dir: base}, "k")
	if err != nil || one == two {
		t.Fatal(one, two, err)
	}
	releaseTwo()
	release()
	again, release, err := claim(runtimes.Cache{Dir: base}, "k")
	if err != nil || again != one {
		t.Error(again, one, err)
	}
	release()
}

// Links that lead into the user's folder by a detour lead into the copy: by a
// link to the folder, to what is not there yet, and out of it and back.
func TestMirrorDetours(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	from, named := filepath.Join(top, "data", "proj"), filepath.Join(top, "home")
	grow(t, from, map[string]string{"src/A.txt": "a", "sub/B.txt": "b"})
	if err := os.Symlink(from, named); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"out": filepath.Join(named, "gen", "classes"), "back": "../../data/proj/src", "sub/up": "../../proj/src", "near": "sub", "away": "../../other",
	} {
		if err := os.Symlink(text, filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	ours := updated(t, from, filepath.Join(top, "place")).folder
	for name, want := range map[string]string{
		"out": filepath.Join(ours, "gen", "classes"), "back": filepath.Join(ours, "src"), "sub/up": filepath.Join(ours, "src"), "near": "sub",
		"away": filepath.Join(top, "other"),
	} {
		if got, err := os.Readlink(filepath.Join(ours, name)); got != want {
			t.Errorf("%s leads to %s, want %s (%v)", name, got, want, err)
		}
	}
}
