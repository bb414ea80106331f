package jsonl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, []byte(`{"cut`), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Rotation{Size: 40, Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if err := f.Write(map[string]int{"row": i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"":   "{\"row\":10} {\"row\":11}",
		".1": "{\"row\":7} {\"row\":8} {\"row\":9}",
		".2": "{\"row\":3} {\"row\":4} {\"row\":5} {\"row\":6}",
	} {
		b, err := os.ReadFile(path + name)
		if got := strings.Join(strings.Fields(string(b)), " "); err != nil || got != want {
			t.Errorf("%s: %v, %q, want %q", name, err, got, want)
		}
	}
	if _, err := os.Stat(path + ".3"); err == nil {
		t.Error("a file too many is kept")
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	for range 2 {
		f, err := Open(path, Rotation{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(1); err != nil {
			t.Fatal(err)
		}
		if f.file.WriteString(`{"cut`); f.Close() != nil {
			t.Fatal(err)
		}
	}
	if b, _ := os.ReadFile(path); string(b) != "1\n{\"cut\n1\n{\"cut" {
		t.Errorf("%q", b)
	}
	if _, err := Open(t.TempDir(), Rotation{}); err == nil {
		t.Error("a folder is opened")
	}
}

func TestParseRotation(t *testing.T) {
	for s, want := range map[string]Rotation{
		"1000": {1000, 5}, "100MB": {100e6, 5}, "1.5 GiB,3": {3 << 29, 3}, "64KiB , 1": {64 << 10, 1}, "2kB": {2000, 5},
	} {
		if got, err := ParseRotation(s); err != nil || got != want {
			t.Errorf("%s: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "999", "big", "1MB,0", "1MB,many", "-1MB", "1XB", "NaN MB", "1e99GB"} {
		if got, err := ParseRotation(s); err == nil {
			t.Errorf("%q: %+v", s, got)
		}
	}
}
