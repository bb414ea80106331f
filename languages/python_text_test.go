package languages

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cg/instrument"
)

// TestPythonSaved rewrites every fixture as text and runs it without cg: it
// prints what the original prints, and one result block at exit.
func TestPythonSaved(t *testing.T) {
	language := Named("python")
	python := byDefault(t)
	for _, f := range append(fixtures(t), encodings()...) {
		if f.notSaved || f.needs > minor(python) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			for _, kv := range f.env {
				name, value, _ := strings.Cut(kv, "=")
				t.Setenv(name, value)
			}
			source, dir := t.TempDir(), t.TempDir()
			f.place(t, source)
			want := plainly(t, source, python, f.args...)
			if strings.Contains(want.Stderr, "SyntaxError") || strings.Contains(want.Stderr, "IndentationError") || strings.Contains(want.Stderr, "TabError") {
				return // no Python
			}
			f.place(t, source) // what the first run removed
			var names []string
			filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
				if err == nil && filepath.Ext(path) == ".py" {
					names = append(names, path)
				}
				return err
			})
			tree := &instrument.Tree{Planner: language.Plan, Decode: language.Decode, Options: instrument.Options{Granularity: instrument.Fine, Entry: true}}
			tree.Read(names)
			if f.skipped && len(tree.Skipped) > 0 {
				return
			}
			for _, s := range tree.Skipped {
				t.Errorf("skipped %s: %s", s.File, s.Reason)
			}
			beside, err := language.Beside()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tree.Save(source, dir, language.Render, beside); err != nil {
				t.Fatal(err)
			}
			f.place(t, source)
			if err := overwrite(source, dir); err != nil {
				t.Fatal(err)
			}
			got := plainly(t, source, python, f.args...)
			stdout, blocks := unblock(t, got.Stdout)
			if stdout != want.Stdout {
				t.Errorf("stdout:\n%s\nwant:\n%s\nstderr:\n%s", stdout, want.Stdout, got.Stderr)
			}
			if got.Status != want.Status {
				t.Errorf("status %d, want %d", got.Status, want.Status)
			}
			if len(blocks) != 1 {
				t.Fatalf("%d result blocks, want 1; stderr:\n%s", len(blocks), got.Stderr)
			}
			if n := len(blocks[0]); n < 2 {
				t.Errorf("%d measurements", n)
			}
			open := map[string]int{}
			for _, m := range blocks[0] {
				id, _ := m["checkpoint_id"].(string)
				what, rest, ok := strings.Cut(id, ":")
				name, _, numbered := strings.Cut(rest, "#inv_")
				if !ok || !numbered {
					t.Fatalf("checkpoint_id %q", id)
				}
				switch what {
				case "enter":
					open[name]++
				case "exit":
					open[name]--
				}
			}
			for name, n := range open {
				if n < 0 {
					t.Errorf("%s: %d exits too many", name, -n)
				}
			}
			if t.Failed() && os.Getenv("CG_DEBUG") != "" {
				text, _ := os.ReadFile(filepath.Join(dir, f.script))
				t.Logf("%s", text)
			}
		})
	}
}

// unblock takes the result blocks out of an output.
func unblock(t *testing.T, output string) (rest string, blocks [][]map[string]any) {
	const begin, end = "--- CODEGREEN_RESULT_START ---\n", "\n--- CODEGREEN_RESULT_END ---\n"
	for {
		before, after, found := strings.Cut(output, begin)
		if !found {
			return output, blocks
		}
		block, behind, found := strings.Cut(after, end)
		if !found {
			t.Fatal("a result block does not end")
		}
		var result struct {
			Measurements []map[string]any
		}
		if err := json.Unmarshal([]byte(block), &result); err != nil {
			t.Fatalf("a result block is no JSON: %v", err)
		}
		blocks = append(blocks, result.Measurements)
		output = before + behind
	}
}

// overwrite copies the files of a tree over those of another.
func overwrite(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
}
