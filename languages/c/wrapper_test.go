package c

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A stand-in that a build has installed runs its compiler plainly when its run has ended.
func TestStandInWithoutRun(t *testing.T) {
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone", "wrapping.json")
	for name, script := range map[string]string{
		"plain/cc": "#!/bin/sh\n",
		"bin/cc":   fmt.Sprintf("#!/bin/sh\nexec cg compiler -- c %s cc \"$@\"\n", shellQuoted(gone)),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	compiler := filepath.Join(dir, "plain/cc")
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(os.PathListSeparator)+filepath.Join(dir, "plain"))
	for _, name := range []string{"cc", compiler} {
		call, err := wrap([]string{gone, name, "-c", "a.c"})
		if want := []string{compiler, "-c", "a.c"}; err != nil || !slices.Equal(call.Exec, want) {
			t.Errorf("%s: %v, %q, want %q", name, err, call.Exec, want)
		}
	}
	if call, err := wrap([]string{gone, filepath.Join(dir, "no/cc")}); err == nil {
		t.Errorf("a compiler that is not there: %q", call.Exec)
	}
}

// Build files name a stand-in only where make and shells read its path as one word.
func TestRedirected(t *testing.T) {
	dir := t.TempDir()
	compiler := filepath.Join(dir, "gcc")
	if err := os.WriteFile(compiler, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "CC = " + compiler + " -O1\n"
	for folder, redirects := range map[string]bool{"bin": true, "a blank": false, "a$sign": false, "a:colon": false} {
		p := &project{dialect: dialects[0], named: map[string]string{}, wrapping: wrapping{Shims: filepath.Join(dir, folder)}}
		out, err := p.redirected([]byte(text))
		if err != nil || (string(out) != text) != redirects || (len(p.named) > 0) != redirects {
			t.Errorf("%s: %v, %q, %v", folder, err, out, p.named)
		}
	}
}
