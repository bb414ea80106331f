package node

import (
	"os"
	"path/filepath"
	"testing"

	"cg/checkpoint"
	"cg/languages"
	"cg/runtimes"
)

// TestKept: a second run takes files from the cache. A file that was changed, other options, and an entry that is
// broken are planned anew. What runs, and is left alone, is told all the same.
func TestKept(t *testing.T) {
	for _, node := range lastNode(t) {
		t.Run(majorOf(t, node), func(t *testing.T) { testKept(t, node, words) })
	}
	t.Run("without addon", func(t *testing.T) { testKept(t, nodes(t)[0], words, withoutAddon) })
}

func testKept(t *testing.T, node string, with ...option) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"main.js": "const { f } = require('./part.js')\nrequire('./none.js')\nimport('./m.mjs').then((m) => m.g(f()))",
		"part.js": "exports.f = () => 'f ä \u2028 ' + new Error().stack.split('\\n')[1].replace(/.*\\//, '')\n",
		"m.mjs":   "import { readFile } from 'node:fs'\nexport function g(x) { console.log(x, g.toString(), typeof readFile) }\n",
		"none.js": "function two() { function a() {} var a; }\n",
	})
	cache, err := runtimes.OpenCache(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	key := "key"
	here := func(s *languages.Setup, _ *checkpoint.Channel) { s.Cache, s.PlanKey = cache, key }
	plain := execute(t, dir, nil, node, "main.js")
	run := func(name string, planned int32) {
		t.Helper()
		r := measured(t, dir, node, []string{"main.js"}, append(with, here)...)
		same(t, plain, r)
		calls := r.enters()
		if r.Planned != planned || calls["f"] != 1 || calls["g"] != 1 || calls["main.js"] != 1 {
			t.Errorf("%s: %d files planned, want %d; %v", name, r.Planned, planned, calls)
		}
		if len(r.Skipped) != 1 || r.Skipped[0].Reason != "two left alone: it declares a twice" {
			t.Errorf("%s: left alone: %v", name, r.Skipped)
		}
	}
	run("first", 4)
	run("second", 0)
	key = "another"
	run("another key", 4)
	writeFiles(t, dir, map[string]string{"none.js": "function two() { function a() {} var a; }\n// more\n"})
	run("changed", 1)
	files, err := filepath.Glob(filepath.Join(cache.Dir, "node", "*"))
	if err != nil || len(files) != 9 {
		t.Fatalf("%d files are kept, %v", len(files), err)
	}
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		broken := [][]byte{nil, content[:len(content)/2], append(content, ' '), []byte("no\nno\nno\n")}
		if err := os.WriteFile(file, broken[i%len(broken)], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("broken", 4)
	run("again", 0)
}
