package node

import (
	"errors"
	"strings"
	"testing"

	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages/languagetest"
)

// TestSyntaxOfTranspilers: what other tools turn into JavaScript is planned, and the text with checkpoints is of the same
// syntax: JSX, decorators, types.
func TestSyntaxOfTranspilers(t *testing.T) {
	for text, want := range map[string]string{
		"const View = ({ items }) => <ul>{items.map((i) => <li key={i}>{i}</li>)}</ul>":                                               "View View.<anonymous>",
		"function App() { return <><View a={() => 1} {...rest} /></> }":                                                               "App App.<anonymous>",
		"@service class A { @log() go(x) { return x } @field value = () => 1 }":                                                       "A.go A.value",
		"@service() export class A { constructor(@inject(B) private b: B) { go() } }":                                                 "A.constructor",
		"enum E { a = 1 }\nnamespace N { export function f<T>(x: T): x is T { return !!x } }":                                         "N.f",
		"abstract class A { abstract f(): void; g(this: A, x?: number): number { return x! } }":                                       "A.g",
		"const f = async <T,>(x: T): Promise<T> => await x":                                                                           "f",
		"function f() { using a = open(); return a.n }\nfor (using b of all) { g(b) }\nfunction g(using) { using = 1; return using }": "f g",
	} {
		p, err := planModule([]byte(text), languagetest.Fine)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var names []string
		for _, site := range p.Sites {
			if site.Func != moduleName {
				names = append(names, site.Func)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: sites %s, want %s", text, got, want)
		}
		edits, err := rewrite([]byte(text), p, 1)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		changed, err := edit.Apply([]byte(text), edits)
		if err == nil {
			_, err = parse(changed)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", text, err, changed)
		}
	}
}

// TestUsing: declarations by using dispose as they do; those by await using leave their file alone.
func TestUsing(t *testing.T) {
	node := newestNode()
	if node == "" {
		t.Skip("CG_VIEWERS names no Node that knows using")
	}
	const class = "class R { constructor(n) { this.n = n } [Symbol.dispose]() { console.log('disposed', this.n) } }\n"
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"main.js":  class + "function f() { using a = new R(1), b = new R(2); return a.n + b.n }\nfor (using e of [new R(5)]) console.log(e.n)\nconsole.log(f())\n",
		"await.js": class + "async function g() { await using c = new R(3); return c.n }\ng().then(console.log)\n",
	})
	got := measured(t, dir, node, []string{"main.js"})
	same(t, execute(t, dir, nil, node, "main.js"), got)
	if calls := got.enters(); calls["f"] != 1 || calls["R.constructor"] != 3 || calls["R.[Symbol.dispose]"] != 3 {
		t.Errorf("calls: %v", calls)
	}
	got = measured(t, dir, node, []string{"await.js"})
	same(t, execute(t, dir, nil, node, "await.js"), got)
	if len(got.Skipped) != 1 {
		t.Errorf("skipped: %v", got.Skipped)
	}
}

// TestAwaitUsingNamed: only a declaration leaves its file alone, and not a text that names one.
func TestAwaitUsingNamed(t *testing.T) {
	const f = "async function f(db, open) { return db }\n"
	for _, text := range []string{
		f + "// await using a = open()\n", f + "/* await using a = open() */", f + "'await using a = open()'",
		f + "`\nawait using a = open() ${f}`", f + "const r = /await using a = b/",
		f + "const View = <p>await using a = open()</p>",
		"using(1)\n" + f + "// await using a = open()\n",
	} {
		p, err := planModule([]byte(text), languagetest.Fine)
		if err != nil || len(p.Sites) < 2 {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"async function f(open) { await using a = open() }", "async function f(all) { for (await using a of all) a.b() }",
		"await using a = open()", "async function f(open) { `${async () => { await using a = open() }}` }",
		"// await using a = open()\nasync function f(open) {\n  await using a = open()\n}",
	} {
		_, err := planModule([]byte(text), languagetest.Fine)
		if !errors.Is(err, instrument.ErrSyntax) || !strings.Contains(err.Error(), "await using") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
