package node

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/languages/languagetest"
)

const casesDir = "../../testdata/programs/javascript/cases"

// fixture is a program whose behaviour checkpoints must not change: a file, or a folder with a main.js.
// Its first line may say why frames are open at its end ("// unbalanced: why").
type fixture struct {
	name, dir, script string
	unbalanced        bool
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	entries, err := os.ReadDir(casesDir)
	if err != nil {
		t.Fatal(err)
	}
	var all []fixture
	for _, e := range entries {
		f := fixture{strings.TrimSuffix(e.Name(), ".js"), casesDir, e.Name(), false}
		if e.IsDir() {
			f.dir, f.script = filepath.Join(casesDir, e.Name()), "main.js"
		}
		text, err := os.ReadFile(filepath.Join(f.dir, f.script))
		if err != nil {
			t.Fatal(err)
		}
		f.unbalanced = strings.HasPrefix(string(text), "// unbalanced: ")
		all = append(all, f)
	}
	return all
}

// originals are what fixtures said as they are, by the Node: several tests compare with them.
var originals = map[[2]string]ran{}

func (f fixture) original(t *testing.T, node string) ran {
	t.Helper()
	key := [2]string{f.name, node}
	if _, is := originals[key]; !is {
		originals[key] = execute(t, f.dir, nil, node, f.script)
	}
	return originals[key]
}

// TestCases runs every fixture as it is and with checkpoints, with the last Node where it must not take long.
func TestCases(t *testing.T) { runCases(t, lastNode(t)) }

// TestCasesWithoutAddon does so where the addon cannot be had, with the first Node: checkpoints are JavaScript alone.
func TestCasesWithoutAddon(t *testing.T) { runCases(t, firstNode(t), words, withoutAddon) }

func runCases(t *testing.T, nodes []string, options ...option) {
	for _, node := range nodes {
		for _, f := range fixtures(t) {
			t.Run(majorOf(t, node)+"/"+f.name, func(t *testing.T) {
				if f.name == "detected" && majorOf(t, node) == "18" {
					t.Skip("Node 18 does not look into a text for what kind of module it is")
				}
				want := f.original(t, node)
				got := measured(t, f.dir, node, []string{f.script}, options...)
				same(t, want, got)
				if got.Pure != (len(options) > 0) {
					t.Errorf("without the addon: %v", got.Pure)
				}
				if got.Lost > 0 || got.Off != "" {
					t.Errorf("%d events lost, %s", got.Lost, got.Off)
				}
				for _, s := range got.Skipped {
					if !strings.Contains(s.Reason, "left alone") && !strings.HasSuffix(s.File, "broken.js") {
						t.Errorf("skipped %s: %s", s.File, s.Reason)
					}
				}
				if problems := balance(got, f.unbalanced); len(problems) > 0 {
					t.Errorf("events do not balance:\n%s", strings.Join(problems, "\n"))
				}
				if len(got.enters()) < 2 {
					t.Errorf("calls: %v", got.enters())
				}
				compareCounts(t, got)
			})
		}
	}
}

// same fails unless the measured program did what the plain one did.
func same(t *testing.T, want, got ran) {
	t.Helper()
	if got.Stdout != want.Stdout {
		t.Errorf("stdout:\n%s\nwant:\n%s", got.Stdout, want.Stdout)
	}
	if got.Stderr != want.Stderr {
		t.Errorf("stderr:\n%s\nwant:\n%s", got.Stderr, want.Stderr)
	}
	if got.Status != want.Status {
		t.Errorf("status %d, want %d", got.Status, want.Status)
	}
}

// compareCounts compares the calls with those that the program counted itself.
func compareCounts(t *testing.T, got ran) { compareCountsOf(t, got.Stdout, got.enters()) }

func compareCountsOf(t *testing.T, stdout string, calls map[string]int) {
	t.Helper()
	_, line, counts := strings.Cut(stdout, "COUNTS ")
	if !counts {
		return
	}
	want := map[string]int{}
	if err := json.Unmarshal([]byte(line), &want); err != nil {
		t.Fatal(err)
	}
	for name := range maps.Clone(calls) {
		if name == "hit" || strings.HasSuffix(name, ".js") {
			delete(calls, name)
		}
	}
	if !maps.Equal(calls, want) {
		t.Errorf("calls %v\nthe program counted %v", calls, want)
	}
}

// balance runs the events of every thread through a stack, as package checkpoint defines them, and tells
// what does not fit.
func balance(r ran, open bool) (problems []string) {
	note := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	type thread struct {
		checkpoint.Thread
		life int
	}
	stacks := map[thread][]checkpoint.SiteID{}
	lives := map[checkpoint.Thread]int{}
	away := map[checkpoint.SiteID]int{}
	name := func(site checkpoint.SiteID) string {
		if site == 0 || site == checkpoint.OwnSite {
			return "cg"
		}
		return r.Sites[site-1].Func
	}
	for _, run := range r.Runs {
		if run.First {
			lives[run.Thread]++
		}
		at := thread{run.Thread, lives[run.Thread]}
		for _, w := range run.Words {
			stack, top := stacks[at], checkpoint.SiteID(0)
			if len(stack) > 0 {
				top = stack[len(stack)-1]
			}
			switch site := w.Site(); w.Kind() {
			case checkpoint.Enter:
				stacks[at] = append(stack, site)
			case checkpoint.Resume:
				stacks[at] = append(stack, site)
				if away[site]--; away[site] < 0 {
					note("%s came back more often than it left", name(site))
				}
			case checkpoint.Exit, checkpoint.Suspend:
				if top != site {
					note("%v of %s in %s", w.Kind(), name(site), name(top))
					continue
				}
				stacks[at] = stack[:len(stack)-1]
				if w.Kind() == checkpoint.Suspend {
					away[site]++
				}
			case checkpoint.Close:
				if away[site]--; away[site] < 0 {
					note("%s was closed and not away", name(site))
				}
			}
		}
	}
	if open {
		return nil
	}
	for at, stack := range stacks {
		if len(stack) > 0 {
			note("%v ended inside %s", at.Thread, name(stack[len(stack)-1]))
		}
	}
	return problems
}

// TestBytes runs texts that an editor would not leave alone.
func TestBytes(t *testing.T) {
	const body = "function f(x) {\n  return x + 'é'\n}\nconst g = x => f(x)\nconsole.log(f('1'), g('2'), String(f), new Error('x').stack.split('\\n')[1].slice(-10))\n"
	for name, text := range map[string]string{
		"bom":             "\ufeff" + body,
		"crlf":            strings.ReplaceAll(body, "\n", "\r\n"),
		"cr":              strings.ReplaceAll(body, "\n", "\r"),
		"hashbang crlf":   "#!/usr/bin/env node\r\n'use strict'\r\n" + body,
		"bom, hashbang":   "\ufeff#!/usr/bin/env node\n" + body,
		"line separators": "const s = 'a\u2028b\u2029c'\nfunction f() { return s.length } // \u2028 console.log(f())\nconsole.log(f())",
		"no final line":   "function f() { return 1 }\nconsole.log(f()) // the end",
		"only a comment":  "// nothing",
		"empty":           "",
		"identifiers":     "const ünï = ä => ä + 1; function 変数() { return ünï(1) }\nconsole.log(変数(), '😀', 変数.name, new Error('').stack.split('\\n')[1].slice(-10))",
		"regexp":          "const f = (s) => /[}]'\"`/.test(s); const g = (a, b) => a / b / 2\nconsole.log(f('x'), g(4, 2), `${f(`${g(1, 1)}`)}`)",
		"syntax error":    "function f() { return 1 }\nconsole.log(f())\nx = = 2\n",
		"our names":       "function cg$own() { return 1 }\nconsole.log(cg$own())\n",
		"return outside":  "function f() { return 1 }\nconsole.log(f())\nreturn\n",
		"stacks, cr":      "function f() { return 1 } // one\rconst g = () => new Error('').stack; const h = () => g()\rconsole.log(f(), h().split('\\n').slice(1, 3).map((l) => l.slice(-10)))",
		"stacks, u2028":   "function f() { return 1 }\u2028const g = () => new Error('').stack; const h = () => g()\u2029console.log(f(), h().split('\\n').slice(1, 3).map((l) => l.slice(-10)))",
		"html comment":    "function f() { return 1 }\n<!-- old\nconsole.log(f())\n--> old\n",
		"no semicolons":   "const f = () => 1\nconst g = () => f()\n;[1].map(g)\nlet a = f()\n++a\nconsole.log(a)\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"main.js": text})
			node := nodes(t)[0]
			same(t, execute(t, dir, nil, node, "main.js"), measured(t, dir, node, []string{"main.js"}))
		})
	}
}

// TestCoarse: the main module has checkpoints, and its main; what it loads has none.
func TestCoarse(t *testing.T) {
	for _, node := range lastNode(t) {
		for name, files := range map[string]map[string]string{
			"CommonJS": {"main.js": "const o = require('./other')\nfunction main() { o.f() }\nmain()", "other.js": "exports.f = function main() {}"},
			"modules":  {"main.mjs": "import { f } from './other.mjs'\nfunction main() { f() }\nmain()", "other.mjs": "export function f() {}"},
		} {
			dir, script := t.TempDir(), "main.js"
			if name == "modules" {
				script = "main.mjs"
			}
			writeFiles(t, dir, files)
			got := measured(t, dir, node, []string{script}, words, coarse)
			if want := map[string]int{script: 1, "main": 1}; got.Status != 0 || !maps.Equal(got.enters(), want) {
				t.Errorf("%s: %v, want %v\n%s", name, got.enters(), want, got.Stderr)
			}
		}
	}
}

// TestCoarseEntry: the file that is run is known by each name that Node takes for it.
func TestCoarseEntry(t *testing.T) {
	const module = "import { f } from './other.mjs'\nfunction main() { f() }\nmain()\n"
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"main.mjs": module, "other.mjs": "export function f() {}\nexport function main() {}\n",
		"folder/package.json": `{"type": "module", "main": "start.js"}`, "folder/start.js": module,
		"folder/other.mjs": "export function f() {}\n",
		"plain/main.js":    "function main() {}\nmain()\n", "plain/package.json": `{"main": "main"}`,
	})
	for link, to := range map[string]string{"tool": "main.mjs", "link.js": "main.mjs", "folder/link.js": "../plain/main.js"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range lastNode(t) {
		for _, c := range []struct{ args, file string }{
			{"tool", "main.mjs"}, {"link.js", "main.mjs"}, {"folder", "start.js"}, {"folder/start", "start.js"},
			{"plain", "main.js"}, {"plain/main", "main.js"}, {"folder/link", "main.js"},
			{"--preserve-symlinks-main folder/link.js", "link.js"},
		} {
			args := strings.Fields(c.args)
			plain, got := execute(t, dir, nil, append([]string{node}, args...)...), measured(t, dir, node, args, words, coarse)
			same(t, plain, got)
			if want := map[string]int{c.file: 1, "main": 1}; plain.Status == 0 && !maps.Equal(got.enters(), want) {
				t.Errorf("%s %s: %v, want %v", majorOf(t, node), c.args, got.enters(), want)
			}
		}
	}
}

// TestRequiredModule: an ES module that is required has its checkpoints once, and is not listed.
func TestRequiredModule(t *testing.T) {
	node := newestNode()
	if node == "" {
		languagetest.Missing(t, "no Node that requires ES modules: CG_VIEWERS names none")
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"main.cjs":  "const { f } = require('./other.mjs')\nconsole.log(f(), String(f))\n",
		"other.mjs": "export function f() { return 1 }\n",
	})
	got := measured(t, dir, node, []string{"main.cjs"})
	same(t, execute(t, dir, nil, node, "main.cjs"), got)
	if want := map[string]int{"main.cjs": 1, "other.mjs": 1, "f": 1}; !maps.Equal(got.enters(), want) {
		t.Errorf("%v, want %v", got.enters(), want)
	}
	if len(got.Skipped) > 0 {
		t.Errorf("skipped %v", got.Skipped)
	}
}

// TestStacksOfLongFiles: a stack of a function far down in a file, or in a long line, takes no more time than one
// of a function in front.
func TestStacksOfLongFiles(t *testing.T) {
	const timed = "const { performance } = require('node:perf_hooks')\n" +
		"function least(f) { let best = Infinity; for (let i = 0; i < 30; i++) { const at = performance.now(); " +
		"for (let n = 0; n < 10; n++) f(); best = Math.min(best, performance.now() - at) } return best }\n" +
		"const [front, ...others] = ['front', 'down', 'line'].map((name) => least(require('./' + name)))\n" +
		"console.log(others.map((o) => o < 12 * front ? 'as quick' : 'slower by ' + o / front).join())\n" +
		"console.log(['front', 'down', 'line'].map((name) => require('./' + name)().split('\\n')[1].split(':').slice(-2)).join())\n"
	const f = "module.exports = function () { return new Error('e').stack }"
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"main.js": timed, "front.js": f,
		"down.js": strings.Repeat("// a line\n", 40000) + f,
		"line.js": strings.Repeat("(() => 1)();", 5000) + f,
	})
	for _, node := range lastNode(t) {
		plain, got := execute(t, dir, nil, node, "main.js"), measured(t, dir, node, []string{"main.js"})
		same(t, plain, got)
		if !strings.HasPrefix(got.Stdout, "as quick,as quick\n") {
			t.Errorf("%s: %s", majorOf(t, node), got.Stdout)
		}
	}
}

// TestTypeScript: what strips types leaves lines and columns, so functions are those of the file.
func TestTypeScript(t *testing.T) {
	node := newestNode()
	if node == "" {
		languagetest.Missing(t, "no Node that strips types: CG_VIEWERS names none")
	}
	const text = "interface P { x: number }\nclass Q<T extends P> { p: T; constructor(p: T) { this.p = p }\n  get(): number { return this.p.x } }\n" +
		"const f = (a: number): number => a * 2\nconsole.log(new Q({ x: 3 }).get(), f(2), new Error('e').stack!.split('\\n')[1].split('/').pop())\n"
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"main.cts": text, "main.mts": "export {}\n" + text})
	for _, script := range []string{"main.cts", "main.mts"} {
		got := measured(t, dir, node, []string{script})
		same(t, execute(t, dir, nil, node, script), got)
		want := map[string]int{script: 1, "Q.constructor": 1, "Q.get": 1, "f": 1}
		if !maps.Equal(got.enters(), want) {
			t.Errorf("%s: %v, want %v", script, got.enters(), want)
		}
	}
}

// TestTransformed: programs that change the texts of modules themselves, before and behind cg.
func TestTransformed(t *testing.T) {
	dir := t.TempDir()
	const text = "function f() { return NAME }\nconsole.log(f())\n"
	writeFiles(t, dir, map[string]string{
		"require.cjs": "const { _extensions } = require('node:module')\nconst load = _extensions['.js']\n" +
			"_extensions['.js'] = (m, file) => { const { _compile } = m; m._compile = function (text, ...rest) { return _compile.call(this, text.replace('NAME', '\"required\"'), ...rest) }; return load(m, file) }\n",
		"hooks.mjs":    "export async function load(url, context, next) { const r = await next(url, context); return r.format === 'module' ? { ...r, source: String(r.source).replace('NAME', '\"hooked\"') } : r }\n",
		"register.mjs": "import { register } from 'node:module'\nregister('./hooks.mjs', import.meta.url)\n",
		"main.js":      text,
		"main.mjs":     "export {}\n" + text,
		"mapped.js":    "process.setSourceMapsEnabled(true)\nrequire('./made')\n",
		"made.js":      "function f() { return 1 }\nf()\n//# sourceMappingURL=data:application/json;base64,e30=\n",
	})
	for _, node := range lastNode(t) {
		for _, args := range [][]string{{"--require", "./require.cjs", "main.js"}, {"--import", "./register.mjs", "main.mjs"}} {
			got := measured(t, dir, node, args)
			same(t, execute(t, dir, nil, append([]string{node}, args...)...), got)
			if got.enters()["f"] != 1 {
				t.Errorf("%s %v: calls %v", majorOf(t, node), args, got.enters())
			}
		}
		got := measured(t, dir, node, []string{"mapped.js"})
		same(t, execute(t, dir, nil, node, "mapped.js"), got)
		if len(got.Skipped) != 1 || !strings.Contains(got.Skipped[0].Reason, "source map") {
			t.Errorf("%s: skipped %v", majorOf(t, node), got.Skipped)
		}
	}
}
