package node

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cg/languages"
	"cg/languages/languagetest"
	"cg/measure"
)

var resultBlock = regexp.MustCompile(`(?s)` + measure.BlockStart + `\n(.*?)\n` + measure.BlockEnd + `\n`)

// showText are fixtures whose output has texts of functions, columns, or the modules that are loaded: those of
// saved source are its own.
var showText = []string{"classes", "commonjs", "functions", "generators", "minified", "sloppy", "stacks"}

// TestSavedCases runs every fixture as it is and as source that runs without cg: it prints the same, and blocks with
// its calls.
func TestSavedCases(t *testing.T) {
	for _, node := range nodes(t) {
		for _, f := range fixtures(t) {
			t.Run(majorOf(t, node)+"/"+f.name, func(t *testing.T) {
				target := filepath.Join(f.dir, f.script)
				if f.script == "main.js" {
					target = f.dir
				}
				dir := filepath.Join(t.TempDir(), "saved")
				if _, err := saveTarget(languages.Target{Args: []string{target}}, languagetest.Fine, dir); err != nil {
					t.Fatal(err)
				}
				want, got := execute(t, f.dir, nil, node, f.script), execute(t, dir, nil, node, f.script)
				if want.Status != got.Status {
					t.Errorf("status %d, want %d: %s", got.Status, want.Status, got.Stderr)
				}
				out := resultBlock.ReplaceAllString(got.Stdout, "")
				if out != want.Stdout && !slices.Contains(showText, f.name) {
					t.Errorf("stdout:\n%s\nwant:\n%s", out, want.Stdout)
				}
				blocks := resultBlock.FindAllStringSubmatch(got.Stdout, -1)
				if (len(blocks) == 0) != (f.name == "killed") {
					t.Errorf("%d result blocks", len(blocks))
				}
				calls := map[string]int{}
				for _, b := range blocks {
					block, err := measure.ReadBlock([]byte(b[1]))
					if err != nil {
						t.Fatal(err)
					}
					for _, m := range block.Measurements {
						if name, is := strings.CutPrefix(m.CheckpointID, "enter:"); is {
							calls[name[:strings.LastIndexByte(name[:strings.LastIndexByte(name, '#')], ':')]]++
						}
					}
				}
				compareCountsOf(t, out, calls)
			})
		}
	}
}

// TestSavedModules: files whose kind of module only their text tells, or a package.json above them; a folder's other
// files, its packages, and what is refused.
func TestSavedModules(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"package.json":               `{"type": "module"}`,
		"node_modules/pad/index.cjs": "exports.pad = (x) => '<' + x + '>'\n",
		"lib/main.js":                "import { pad } from 'pad/index.cjs'\nimport { f } from './deep/f.js'\nimport { readFileSync } from 'node:fs'\nconsole.log(pad(f(2)), readFileSync(new URL('data.txt', import.meta.url), 'utf8'))\n",
		"lib/deep/f.js":              "export const f = (x) => x * 2\n",
		"lib/data.txt":               "data",
		"lib/old.cjs":                "console.log(typeof require, this === module.exports)\n",
		"lib/meta.js":                "console.log(typeof import.meta.url)\n",
	})
	out := filepath.Join(t.TempDir(), "out")
	target := languages.Target{Args: []string{filepath.Join(dir, "lib")}}
	for range 2 { // it may write over what it has written
		if _, err := saveTarget(target, languagetest.Fine, out); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range nodes(t) {
		for _, script := range []string{"main.js", "old.cjs", "meta.js"} {
			want, got := execute(t, filepath.Join(dir, "lib"), nil, node, script), execute(t, out, nil, node, script)
			if text := resultBlock.ReplaceAllString(got.Stdout, ""); text != want.Stdout || text == got.Stdout {
				t.Errorf("%s: %s%s\nwant %s", script, got.Stdout, got.Stderr, want.Stdout)
			}
		}
	}
	for folder, want := range map[string]string{dir: "is a source", filepath.Join(dir, "node_modules"): "did not write"} {
		_, err := saveTarget(target, languagetest.Fine, folder)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want: %s", folder, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "lib/names.cjs"), []byte("const cg$ = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := saveTarget(target, languagetest.Fine, out); err == nil || !strings.Contains(err.Error(), "copies it as it is") {
		t.Errorf("a text with cg$: %v", err)
	}
	excluding := languagetest.Fine
	excluding.Exclude = []string{"*/names.cjs"}
	if _, err := saveTarget(target, excluding, out); err != nil {
		t.Error(err)
	}
}
