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
	for _, node := range firstNode(t) {
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
				want, got := f.original(t, node), execute(t, dir, nil, node, f.script)
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
	for _, node := range firstNode(t) {
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

// TestSavedLinks: a link of the source is a file of its own in the copy where it is rewritten; nothing is written through a
// link, neither one of the source nor one that an earlier run has made.
func TestSavedLinks(t *testing.T) {
	top := t.TempDir()
	const text = "module.exports = function a() { return 1 }\n"
	files := map[string]string{
		"ext/a.js": text, "ext/lib/b.js": text, "ext/data.txt": "data\n",
		"q/main.js": "console.log(require('./bin/link.js')(), require('./bin/near.js')(), require('./lib/b.js')())\n",
	}
	writeFiles(t, top, files)
	q, qo := filepath.Join(top, "q"), filepath.Join(top, "deep", "er", "qo")
	if err := os.Mkdir(filepath.Join(q, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"bin/link.js": filepath.Join(top, "ext/a.js"), "bin/near.js": "../../ext/a.js",
		"lib": filepath.Join(top, "ext/lib"), "data.txt": filepath.Join(top, "ext/data.txt"),
	} {
		if err := os.Symlink(to, filepath.Join(q, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(top, "ext/a.js"), 0o444); err != nil {
		t.Fatal(err)
	}
	node := nodes(t)[0]
	save := func() {
		t.Helper()
		if _, err := saveTarget(languages.Target{Args: []string{q}}, languagetest.Fine, qo); err != nil {
			t.Fatal(err)
		}
		got := execute(t, qo, nil, node, "main.js")
		if out := resultBlock.ReplaceAllString(got.Stdout, ""); out != "1 1 1\n" || got.Status != 0 {
			t.Errorf("status %d: %s%s", got.Status, out, got.Stderr)
		}
		for _, rel := range []string{"bin/link.js", "bin/near.js"} {
			content, err := os.ReadFile(filepath.Join(qo, rel))
			if err != nil || !strings.Contains(string(content), aloneNames) {
				t.Errorf("%s has no checkpoints: %s, %v", rel, content, err)
			}
		}
		for rel, want := range files {
			if content, err := os.ReadFile(filepath.Join(top, rel)); err != nil || string(content) != want {
				t.Errorf("the source %s is %q, %v", rel, content, err)
			}
		}
		if info, err := os.Stat(filepath.Join(top, "ext/a.js")); err != nil || info.Mode().Perm() != 0o444 {
			t.Errorf("the source a.js: %v, %v", info.Mode(), err)
		}
	}
	save()
	save()
	for _, link := range []string{"lib", "data.txt"} { // what was a link is none now
		if err := os.Remove(filepath.Join(q, link)); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, q, map[string]string{"lib/b.js": text, "data.txt": "other\n"})
	save()
	for _, rel := range []string{"lib/b.js", "data.txt"} {
		if info, err := os.Lstat(filepath.Join(qo, rel)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s in the copy: %v, %v", rel, info, err)
		}
	}
}
