package node

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/languages"
	"cg/long"
)

// countedProgram calls in every way in which a pause may be left or a stack lost, often enough that there are pauses.
// It counts its calls itself; each worker does so, too.
const countedProgram = `
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads')
const counts = {}
const hit = (name) => { counts[name] = (counts[name] || 0) + 1 }
function leaf(x) { hit('leaf'); return x + 1 }
function other(x) { hit('other'); return x - 1 }
function third(x) { hit('third'); return x ^ 1 }
function turns(k) { hit('turns'); let s = 0; for (let i = 0; i < k; i++) s += i & 1 ? leaf(i) : i & 2 ? other(i) : third(i); return s }
function fib(n) { hit('fib'); return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function even(n) { hit('even'); return n === 0 || odd(n - 1) }
function odd(n) { hit('odd'); return n !== 0 && even(n - 1) }
function deep(n) { hit('deep'); return n === 0 ? 0 : 1 + deep(n - 1) }
function fails(n) { hit('fails'); if (n === 0) throw new Error('bottom'); fails(n - 1) }
function catches() { hit('catches'); try { fails(20) } catch {} }
function* steps(n) { hit('steps'); for (let i = 0; i < n; i++) yield leaf(i) }
async function waits(n) { hit('waits'); for (let i = 0; i < n; i++) { leaf(i); await null; other(i) } }
function overflows() { overflows() }
class A { constructor(x) { hit('A.constructor'); this.x = x } get v() { hit('A.get v'); return this.x } }
function objects(k) { hit('objects'); let s = 0; for (let i = 0; i < k; i++) s += new A(i).v; return s }
async function main() {
  hit('main')
  for (let round = 0; round < 4; round++) {
    turns(5000)
    fib(16)
    for (let i = 0; i < 20; i++) { even(200); catches() }
    for (let i = 0; i < 5; i++) deep(3000)
    let s = 0
    for (const v of steps(500)) s += v
    for (const v of steps(500)) { s += v; if (v > 100) break }
    objects(2000)
    await Promise.all([waits(50), waits(50), waits(50)])
    try { overflows() } catch (e) { if (!(e instanceof RangeError)) throw e }
    turns(5000)
  }
}
main().then(() => {
  if (!isMainThread) return parentPort.postMessage(counts)
  if (process.argv[2] === 'alone') return console.log('COUNTS ' + JSON.stringify(counts))
  let left = 3
  for (let i = 0; i < 3; i++) new Worker(__filename).on('message', (more) => {
    for (const [name, n] of Object.entries(more)) counts[name] += n
    if (--left === 0) console.log('COUNTS ' + JSON.stringify(counts))
  })
})
`

// TestCounted: whatever share of the events is timed, the calls are those that the program counts itself, in one thread
// and in several; with a small budget there are events that JavaScript counts.
func TestCounted(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"program.js": countedProgram})
	parts := []float64{0.001, 0.5}
	if !long.Without(t, "a budget between a small one and a large one") {
		parts = append(parts, 0.1)
	}
	for _, node := range lastNode(t) {
		for _, args := range [][]string{{"program.js", "alone"}, {"program.js"}} {
			for _, part := range parts {
				got := measured(t, dir, node, args, func(_ *languages.Setup, c *checkpoint.Channel) { c.SetBudget(part) })
				if got.Status != 0 || got.Lost > 0 || got.Off != "" {
					t.Fatalf("status %d, %d events lost, %s\n%s", got.Status, got.Lost, got.Off, got.Stderr)
				}
				_, line, _ := strings.Cut(got.Stdout, "COUNTS ")
				want := map[string]uint64{}
				if err := json.Unmarshal([]byte(line), &want); err != nil {
					t.Fatal(err)
				}
				calls := maps.Clone(got.Calls)
				maps.DeleteFunc(calls, func(name string, _ uint64) bool { return want[name] == 0 })
				if !maps.Equal(calls, want) {
					t.Errorf("%s %v, budget %v: calls %v\nthe program counted %v", majorOf(t, node), args, part, calls, want)
				}
				if part < 0.01 && got.Counted < got.Events/50 {
					t.Errorf("%s %v: %d of %d events were counted", majorOf(t, node), args, got.Counted, got.Events)
				}
			}
		}
	}
}

// overflowProgram has more calls on a stack that is full than a buffer takes.
const overflowProgram = `let n = 0
function evil() { n++; evil() }
for (let i = 0; i < 6; i++) try { evil() } catch {}
console.log('COUNTS ' + n)
`

// closingProgram closes its files, of which the channel is one, and goes on.
const closingProgram = `const fs = require('node:fs')
for (const fd of fs.readdirSync('/proc/self/fd')) {
  try { if (fd > 2 && !/^(pipe|socket|anon_inode|\/dev\/(?!shm))/.test(fs.readlinkSync('/proc/self/fd/' + fd))) fs.closeSync(Number(fd)) } catch {}
}
let n = 0
function evil() { n++ }
for (let i = 0; i < 50000; i++) evil()
console.log('COUNTS ' + n)
`

// TestNoneLost: JavaScript alone records each call, also where the stack is full, or cg is told that events are lost.
func TestNoneLost(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"overflow.js": overflowProgram, "closing.js": closingProgram})
	for _, node := range lastNode(t) {
		for _, script := range []string{"overflow.js", "closing.js"} {
			got := measured(t, dir, node, []string{script}, withoutAddon)
			_, line, _ := strings.Cut(got.Stdout, "COUNTS ")
			n, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil || got.Status != 0 || !got.Pure {
				t.Fatalf("%s: status %d, pure %v: %v\n%s", script, got.Status, got.Pure, err, got.Stderr)
			}
			calls, lost := got.enters()["evil"], int(got.Lost)
			if calls+lost < n || calls > n+12 || (script == "overflow.js" && lost > n/10) {
				t.Errorf("Node %s, %s: %d calls, %d events lost; the program counted %d", majorOf(t, node), script, calls, lost, n)
			}
		}
	}
}

// deoptBenchmarks are five programs, each of which calls small functions for some tenths of a second.
var deoptBenchmarks = map[string]string{
	"recursion": `function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
for (let i = 0; i < 12; i++) fib(24)`,
	"objects": `class Shape { area() { return 0 } } class Square extends Shape { constructor(a) { super(); this.a = a } area() { return this.a * this.a } }
class Circle extends Shape { constructor(r) { super(); this.r = r } area() { return 3 * this.r * this.r } }
function total(shapes) { let s = 0; for (const x of shapes) s += x.area(); return s }
for (let i = 0; i < 3000; i++) total(Array.from({ length: 100 }, (_, k) => k & 1 ? new Square(k) : new Circle(k)))`,
	"strings": `const isWord = (c) => c >= 'a' && c <= 'z'
function words(text) { const found = []; let at = -1; for (let i = 0; i <= text.length; i++) { if (i < text.length && isWord(text[i])) { if (at < 0) at = i } else if (at >= 0) { found.push(text.slice(at, i)); at = -1 } } return found }
const text = 'the quick brown fox, the lazy dog. '.repeat(50)
for (let i = 0; i < 300; i++) words(text)`,
	"closures": `function lcg(seed) { return () => (seed = (seed * 1103515245 + 12345) % 2147483648) }
const next = lcg(1), compare = (a, b) => a - b
for (let i = 0; i < 300; i++) Array.from({ length: 200 }, next).sort(compare).map((x) => x / 2).filter((x) => x > 1e6)`,
	"waiting": `function* range(n) { for (let i = 0; i < n; i++) yield i }
async function sum(n) { let s = 0; for (const x of range(n)) { s += x; if (x % 100 === 0) await null } return s }
async function main() { for (let i = 0; i < 300; i++) await sum(500) }
main()`,
}

// mostDeopts is how often V8 may throw the code of one function away in such a program: it learns some types late, and
// later where other work lets it compile at other times. A function that loops does so for as long as it runs, in each
// of its hundreds of calls.
const mostDeopts = 40

var deoptOf = regexp.MustCompile(`bailout \(kind: \S+, reason: ([^)]*)\): begin\. deoptimizing \S+ <JSFunction ([^ >]*)` +
	`.*?, (\S+ <Code [^>]*>, opt id \d+)`)

// deoptsOf is how many codes of each function V8 threw away for each reason, by what --trace-deopt prints. V8 keeps a loop's
// code that it left behind the loop, and leaves it there again in the next call: that is once, however often it is told.
func deoptsOf(said string) map[string]int {
	n := map[string]int{}
	told := map[string]bool{}
	for _, m := range deoptOf.FindAllStringSubmatch(said, -1) {
		if what := m[2] + ": " + m[1]; !told[what+m[3]] {
			told[what+m[3]] = true
			n[what]++
		}
	}
	return n
}

// The form is that of Node 24.
func TestDeoptsAreCountedByCode(t *testing.T) {
	line := func(code string, id int) string {
		return fmt.Sprintf("[bailout (kind: deopt-eager, reason: Insufficient type feedback for call): begin. deoptimizing "+
			"0x05bf322a3fe9 <JSFunction f (sfi = 0x23b4cd027db9)>, %s <Code MAGLEV>, opt id %d, bytecode offset 40, "+
			"deopt exit 9, FP to SP delta 120, caller SP 0x7ffd66c9f5b8, pc 0x7fa0c2803e37]\n", code, id)
	}
	said := line("0x1", 0) + line("0x1", 0) + line("0x2", 0) + "\n" + line("0x2", 7) + line("0x1", 0)
	if got, want := deoptsOf(said), map[string]int{"f: Insufficient type feedback for call": 3}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNoDeoptLoops: V8 compiles functions with checkpoints for good, whether each event is timed or most are counted.
func TestNoDeoptLoops(t *testing.T) {
	dir := t.TempDir()
	for name, program := range deoptBenchmarks {
		writeFiles(t, dir, map[string]string{name + ".js": program})
	}
	some := func(_ *languages.Setup, c *checkpoint.Channel) { c.SetBudget(0.1) }
	short := long.Without(t, "most programs where most events are counted, and without the addon")
	for _, node := range lastNode(t) {
		seen := 0
		for name := range deoptBenchmarks {
			for mode, option := range map[string]option{"timed": adding, "budget": some, "pure": withoutAddon} {
				if short && mode != "timed" && name != "recursion" && name != "waiting" {
					continue
				}
				got := measured(t, dir, node, []string{"--trace-deopt", name + ".js"}, option)
				if got.Status != 0 {
					t.Fatalf("%s: %s", name, got.Stderr)
				}
				for what, n := range deoptsOf(got.Stdout) {
					seen += n
					if n > mostDeopts {
						t.Errorf("Node %s, %s, %s: %d times %s", majorOf(t, node), name, mode, n, what)
					}
				}
			}
		}
		if seen == 0 {
			t.Errorf("Node %s: no deoptimisation at all: the form of what it prints has changed", majorOf(t, node))
		}
	}
}
