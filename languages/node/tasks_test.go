package node

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages/languagetest"
	"cg/long"
)

// tasks counts the runs of each test that was reported as a task.
func (r ran) tasks() map[string]int {
	runs := map[string]int{}
	for _, run := range r.Runs {
		for _, w := range run.Words {
			if w.Kind() == checkpoint.Enter && w.Site() != checkpoint.OwnSite && r.Sites[w.Site()-1].Kind == checkpoint.Task {
				runs[r.Sites[w.Site()-1].Func]++
			}
		}
	}
	return runs
}

// inside lists the functions that were called while a task was open.
func (r ran) inside(task string) map[string]int {
	calls := map[string]int{}
	open := map[checkpoint.Thread]bool{}
	for _, run := range r.Runs {
		for _, w := range run.Words {
			if w.Site() == checkpoint.OwnSite {
				continue
			}
			switch site := r.Sites[w.Site()-1]; {
			case site.Kind == checkpoint.Task && site.Func == task:
				open[run.Thread] = w.Kind() == checkpoint.Enter || w.Kind() == checkpoint.Resume
			case open[run.Thread] && w.Kind() == checkpoint.Enter && site.Kind != checkpoint.Task:
				calls[site.Func]++
			}
		}
	}
	return calls
}

// TestNodeTests: each test of Node's own runner is a task, which ends when the test does, whatever the
// functions around it do meanwhile.
func TestNodeTests(t *testing.T) {
	const text = `const hit = { plain() {}, later() {}, one() {}, two() {}, after() {}, both() {}, it() {}, done() {} }
test('later', async () => { await null; hit.later() })
test('plain', () => { hit.plain() })
test('group', async (t) => {
  await t.test('one', async () => { await null; hit.one() })
  await t.test('two', async () => { await null; hit.two() })
  hit.after()
})
describe('suite', () => { it('inside', () => { hit.it() }) })
test('callback', (t, done) => { setImmediate(() => { hit.done(); done() }) })
test('both', { concurrency: true }, (t) => Promise.all([
  t.test('a', async () => { await null; hit.both() }), t.test('b', async () => { await null; hit.both() })]))
test('fails', () => { throw new Error('no') })
test.skip('skipped', () => {})
`
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"main.cjs": "const test = require('node:test')\nconst { describe, it } = test\n" + text,
		"main.mjs": "import test, { describe, it } from 'node:test'\n" + text + "await null\n",
	})
	want := map[string]int{"later": 1, "plain": 1, "group": 1, "group > one": 1, "group > two": 1, "suite > inside": 1,
		"callback": 1, "both": 1, "both > a": 1, "fails": 1}
	// the call that each has in it, with those of the tests inside
	inside := map[string]string{"later": "hit.later", "plain": "hit.plain", "group > one": "hit.one", "group > two": "hit.two",
		"suite > inside": "hit.it", "callback": "hit.done"}
	for _, node := range firstNode(t) {
		for _, args := range [][]string{{"main.cjs"}, {"main.mjs"}, {"--test", "main.cjs"}, {"--test", "main.mjs"}} {
			t.Run(majorOf(t, node)+"/"+strings.Join(args, " "), func(t *testing.T) {
				plain, got := execute(t, dir, nil, append([]string{node}, args...)...), measured(t, dir, node, args)
				if got.Status != plain.Status || got.Lost > 0 || got.Off != "" {
					t.Fatalf("status %d, want %d; %d lost, %s\n%s", got.Status, plain.Status, got.Lost, got.Off, got.Stdout)
				}
				tasks := got.tasks()
				delete(tasks, "skipped") // of which some versions run a function
				if !maps.Equal(tasks, want) {
					t.Errorf("tasks %v, want %v", tasks, want)
				}
				for task, call := range inside {
					if got.inside(task)[call] != 1 {
						t.Errorf("in %s: %v, want %s", task, got.inside(task), call)
					}
				}
				if got.inside("group > two")["hit.after"] > 0 || got.inside("group")["hit.after"] != 1 {
					t.Errorf("in the group: %v", got.inside("group"))
				}
				if problems := balance(got, false); len(problems) > 0 {
					t.Errorf("events do not balance:\n%s", strings.Join(problems, "\n"))
				}
			})
		}
	}
}

// TestTasksAddUp: the sums of a thread have a task's time where its functions suspend.
func TestTasksAddUp(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"main.mjs": `import test from 'node:test'
const spin = () => { const until = performance.now() + 20; while (performance.now() < until); }
await test('group', async (t) => { await t.test('inner', async () => { await null; spin() }) })
`})
	for _, node := range firstNode(t) {
		got := measured(t, dir, node, []string{"main.mjs"}, adding)
		if got.Status != 0 {
			t.Fatal(got.Stderr)
		}
		if !got.Nests["group > inner/spin"] {
			t.Errorf("%s: %v has no call of spin in the test", majorOf(t, node), got.Nests)
		}
	}
}

// times are what runners print of them, and how many blanks align them.
var times = regexp.MustCompile(`[ (]+\d+(\.\d+)? ?m?s\b\)?|Start at .*|Duration .*|Time: .*`)

// TestRunners: each test of mocha, jest and vitest is a task, also in their processes and threads. The functions that they
// call have checkpoints, and stand where they do in the file. What is said of tests that fail is the same: stacks,
// parts of files, and where snapshots stand.
func TestRunners(t *testing.T) {
	modules := filepath.Join(os.Getenv("CG_VIEWERS"), "node_modules")
	if os.Getenv("CG_VIEWERS") == "" {
		languagetest.Missing(t, "no runners of tests: CG_VIEWERS names none")
	}
	const text = "describe('suite', () => {\n  beforeEach(() => {})\n  it('adds', () => { one(1) })\n" +
		"  it('later', async () => { await null; one(String(one)) })\n})\n" +
		"it('fails', () => { const n = one(2);   throw new Error('no ' + n) })\nit.skip('skipped', () => {})\n"
	const one = "function one(n) {\n  if (typeof n === 'string' && n.includes('finally')) throw new Error(n)\n  return n }\n"
	const equal = "it('equal', () => { expect([1].map((n) => one(n))).toEqual([2]) })\nit('inline', () => { expect(one(3)).toMatchInlineSnapshot(`3`) })\n"
	const typed = "interface P { n: number }\nenum E { a = 1 }\n\nexport function one<T>(n: T): T {\n  if (typeof n === 'string' && n.includes('finally')) throw new Error(n)\n" +
		"  return twice(n) }\nconst twice = <T>(n: T): T => n\nexport class Q { constructor(private p: P) {}   fail(): never { throw new Error('of TypeScript ' + this.p.n + E.a) } }\n"
	const typedTest = "import { expect, it, describe, beforeEach, vi } from 'vitest'\nimport { one, Q } from './typed'\n" + text + equal + "it('typed', () => { new Q({ n: 1 }).fail() })\n" +
		"it('again', async () => { vi.resetModules(); expect((await import('./typed')).one(1)).toBe(1) })\n"
	t.Setenv("NO_COLOR", "1")
	want := map[string]int{"suite > adds": 1, "suite > later": 1, "fails": 1}
	more := map[string]int{"suite > adds": 1, "suite > later": 1, "fails": 1, "equal": 1, "inline": 1}
	mostly := maps.Clone(more)
	mostly["typed"], mostly["again"] = 1, 1
	ofTypes := map[string]int{"one 4-6": 6, "twice 7-7": 5, "Q.fail 8-8": 1, "Q.constructor 8-8": 1}
	for _, node := range firstNode(t) {
		for _, c := range []struct {
			line         string
			tasks, calls map[string]int // calls, with the lines, of functions that have a name
			long         bool
		}{
			{"mocha/bin/mocha.js a.spec.cjs", want, map[string]int{"one 1-3": 3}, false},
			{"mocha/bin/mocha.js --parallel a.spec.cjs b.spec.cjs", want, map[string]int{"one 1-3": 3}, false},
			{"jest/bin/jest.js --testMatch **/c.spec.cjs", more, map[string]int{"one 1-3": 5}, false},
			{"jest/bin/jest.js --transform {} --testMatch **/c.spec.cjs", more, map[string]int{"one 1-3": 5}, true},
			{"vitest/vitest.mjs run --globals --pool forks typed.test", mostly, ofTypes, false},
			{"vitest/vitest.mjs run --globals --pool threads typed.test", mostly, ofTypes, true},
			{"vitest/vitest.mjs run --globals --pool vmThreads typed.test", nil, ofTypes, true},
		} {
			t.Run(majorOf(t, node)+"/"+c.line, func(t *testing.T) {
				if c.long {
					long.Skip(t, "the runner with its other pool or transformer")
				}
				dir := t.TempDir()
				writeFiles(t, dir, map[string]string{
					"package.json": "{}", "a.spec.cjs": one + text, "b.spec.cjs": "it('other', () => {})\n", "c.spec.cjs": one + text + equal,
					"typed.ts": typed, "typed.test.ts": typedTest,
				})
				if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
					t.Fatal(err)
				}
				args := strings.Fields(c.line)
				args[0] = filepath.Join("node_modules", args[0])
				plain, got := execute(t, dir, nil, append([]string{node}, args...)...), measured(t, dir, node, args)
				if got.Status != plain.Status || got.Status == 0 {
					t.Fatalf("status %d, want %d\n%s\n%s", got.Status, plain.Status, got.Stdout, got.Stderr)
				}
				said := func(r ran) string { return times.ReplaceAllString(r.Stdout+r.Stderr, "") }
				if said(got) != said(plain) && !strings.Contains(c.line, "parallel") {
					t.Errorf("it says\n%s\nwant\n%s", said(got), said(plain))
				}
				tasks := got.tasks()
				delete(tasks, "other")
				delete(tasks, "skipped") // which jest begins and ends
				if !maps.Equal(tasks, c.tasks) {
					t.Errorf("tasks %v, want %v", tasks, c.tasks)
				}
				if calls := got.placed(); !maps.Equal(calls, c.calls) || len(got.Skipped) > 0 {
					t.Errorf("calls %v, want %v; skipped %v", calls, c.calls, got.Skipped)
				}
			})
		}
	}
}

// placed counts the calls of functions that have a name, by it and their lines.
func (r ran) placed() map[string]int {
	calls := map[string]int{}
	for _, run := range r.Runs {
		for _, w := range run.Words {
			if w.Kind() != checkpoint.Enter || w.Site() == checkpoint.OwnSite {
				continue
			}
			s := r.Sites[w.Site()-1]
			if s.Kind != checkpoint.Task && s.Kind != checkpoint.Module && !strings.Contains(s.Func, anonymous) {
				calls[fmt.Sprintf("%s %d-%d", s.Func, s.Line, s.EndLine)]++
			}
		}
	}
	return calls
}

// TestCoverageLeavesAlone: where V8's coverage is collected, functions have no checkpoints, and cg says so; jest's own
// coverage is the same with them.
func TestCoverageLeavesAlone(t *testing.T) {
	modules := filepath.Join(os.Getenv("CG_VIEWERS"), "node_modules")
	if os.Getenv("CG_VIEWERS") == "" {
		languagetest.Missing(t, "no jest: CG_VIEWERS names none")
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"package.json": "{}", "a.js": "exports.one = (n) => n ? 1 : 2\n",
		"a.test.js": "const { one } = require('./a')\nit('is', () => { expect(one(1)).toBe(1) })\n"})
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NO_COLOR", "1")
	node := nodes(t)[0]
	for provider, checkpoints := range map[string]bool{"babel": true, "v8": false} {
		args := []string{"node_modules/jest/bin/jest.js", "--coverage", "--coverageProvider", provider}
		plain, got := execute(t, dir, nil, append([]string{node}, args...)...), measured(t, dir, node, args)
		if got.Status != 0 || times.ReplaceAllString(got.Stdout, "") != times.ReplaceAllString(plain.Stdout, "") {
			t.Errorf("%s:\n%s\n%s\nwant\n%s", provider, got.Stdout, got.Stderr, plain.Stdout)
		}
		if has := got.placed()["one 1-1"] == 1; has != checkpoints {
			t.Errorf("%s: calls %v, skipped %v", provider, got.placed(), got.Skipped)
		}
		said := slices.ContainsFunc(got.Skipped, func(s instrument.Skip) bool { return strings.Contains(s.Reason, "coverage") })
		if said == checkpoints {
			t.Errorf("%s: skipped %v", provider, got.Skipped)
		}
	}
}

// TestMochaTriesAgain: each try of a test of mocha is a task, which ends with the try; so does that of a test whose hook
// fails. The tests behind these are tasks of their own.
func TestMochaTriesAgain(t *testing.T) {
	modules := filepath.Join(os.Getenv("CG_VIEWERS"), "node_modules")
	if os.Getenv("CG_VIEWERS") == "" {
		languagetest.Missing(t, "no mocha: CG_VIEWERS names none")
	}
	const text = `let tries = 0
const hit = { try() {}, after() {}, last() {} }
it('flaky', function () { this.retries(2); hit.try(); if (++tries < 3) throw new Error('again') })
it('after it', () => { hit.after() })
describe('hook', () => {
  beforeEach(() => { throw new Error('no') })
  it('never', () => {})
})
describe('then', () => { it('runs', () => { hit.last() }) })
`
	want := map[string]int{"flaky": 3, "after it": 1, "hook > never": 1, "then > runs": 1}
	inside := map[string]string{"after it": "hit.after", "then > runs": "hit.last"}
	for _, node := range firstNode(t) {
		t.Run(majorOf(t, node), func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"package.json": "{}", "a.spec.cjs": text})
			if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
				t.Fatal(err)
			}
			args := []string{"node_modules/mocha/bin/mocha.js", "a.spec.cjs"}
			plain, got := execute(t, dir, nil, append([]string{node}, args...)...), measured(t, dir, node, args)
			if got.Status != plain.Status || got.Status == 0 {
				t.Fatalf("status %d, want %d\n%s\n%s", got.Status, plain.Status, got.Stdout, got.Stderr)
			}
			if tasks := got.tasks(); !maps.Equal(tasks, want) {
				t.Errorf("tasks %v, want %v", tasks, want)
			}
			for task, call := range inside {
				if calls := got.inside(task); calls[call] != 1 {
					t.Errorf("in %s: %v, want %s", task, calls, call)
				}
			}
			if calls := got.inside("flaky"); calls["hit.try"] != 3 || calls["hit.after"] > 0 {
				t.Errorf("in flaky: %v", calls)
			}
		})
	}
}
