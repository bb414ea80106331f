package node

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"cg/instrument/edit"
	"cg/languages/languagetest"
)

// TestMaps: a map that is read and written again tells the same.
func TestMaps(t *testing.T) {
	for _, c := range []struct{ mappings, want string }{
		{"", ""},
		{"AAAA", ""},
		{";;AACA,CAAC;A", ""},
		{"AAAAA,SAASC;;ACAAC", ""},
		{"gCAAgC;D", ""},
		{"A!", "refused"},
		{"Ag", "refused"},
	} {
		m, err := readMap(fmt.Appendf(nil, `{"version":3,"sources":["a"],"x":[1],"mappings":%q}`, c.mappings))
		if c.want == "refused" {
			if err == nil {
				t.Errorf("%s: read", c.mappings)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.mappings, err)
			continue
		}
		text, err := m.write()
		if c.want == "" {
			c.want = c.mappings
		}
		want := fmt.Sprintf(`{"mappings":%q,"sources":["a"],"version":3,"x":[1]}`, c.want)
		if err != nil || string(text) != want {
			t.Errorf("%s: %s, %v; want %s", c.mappings, text, err, want)
		}
	}
	for _, text := range []string{"", "{}", `{"version":3,"sections":[]}`, "no"} {
		if _, err := readMap([]byte(text)); err == nil {
			t.Errorf("%s: read", text)
		}
	}
}

// FuzzReadMap: no text of mappings stops the program, and what is read can be written and read again.
func FuzzReadMap(f *testing.F) {
	for _, seed := range []string{"AAAA", ";;AACA,CAAC;A", "AAAAA,SAASC;;ACAAC", "g", "gggggggggggA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, mappings string) {
		m, err := readMap(fmt.Appendf(nil, `{"version":3,"mappings":%q}`, mappings))
		if err != nil {
			return
		}
		text, err := m.write()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readMap(text); err != nil {
			t.Errorf("%q was written as %s: %v", mappings, text, err)
		}
	})
}

// TestMapShifts: each word of a text with checkpoints is found where it was without them.
func TestMapShifts(t *testing.T) {
	const text = "'use strict'\r\nconst é = '😀', f = (x) => x + g(é)\u2028async function g(all) {\n  for await (const a of all) { await a.b }\n" +
		"  return 1 }\nmodule.exports = { f, g }\n"
	source := []byte(text + madeMark + "apart -1 =/a.js")
	p, err := planModule(source, languagetest.Fine)
	if err != nil {
		t.Fatal(err)
	}
	edits, err := rewrite(source, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := edit.Apply(source, edits)
	if err != nil {
		t.Fatal(err)
	}
	changed, answer, found := strings.Cut(string(out), madeMark)
	content, err := base64.StdEncoding.DecodeString(answer)
	if err != nil || !found {
		t.Fatalf("%s: %v", out, err)
	}
	m, err := readMap(content)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(changed, "'use strict'; var cg$e=") || !strings.Contains(changed, "cg$e(0x000001);try{") {
		t.Errorf("the text: %s", changed)
	}
	before, after := positionsOf([]byte(text)), positionsOf([]byte(changed))
	words := 0
	for _, word := range []string{"const é", "'😀'", "f = ", "x + g", "+ g", "g(é", "é)", "function g", "await (", "all) {", "a.b", "return 1", "1 }", "f, g"} {
		from, to := before.at(strings.Index(text, word)), after.at(strings.Index(changed, word))
		for _, s := range m.lines[to.line] {
			if s.col == to.col && s.line == from.line && s.from == from.col {
				words++
			}
		}
	}
	if words != 14 {
		t.Errorf("%d of 14 words are found in %s", words, changed)
	}
}

// TestPlaces: places are the same as those that are counted from the beginning of their line.
func TestPlaces(t *testing.T) {
	text := []byte("é = '😀'; \xff\r\nx\u2028ß + \u2029\n\n'日本' + y")
	p, lines := positionsOf(text), linesOf(text)
	for b := range len(text) + 1 {
		if b < len(text) && !utf8.RuneStart(text[b]) {
			continue
		}
		line := len(lines) - 1
		for lines[line][0] > b {
			line--
		}
		if got, want := p.at(b), (position{line, columns(text[lines[line][0]:b])}); got != want {
			t.Errorf("byte %d: %v, want %v", b, got, want)
		}
	}
}

// TestPartsBetween: the parts between two places are found in steps that do not grow with the length of a line.
func TestPartsBetween(t *testing.T) {
	const n = 100_000
	m := &sourceMap{lines: make([][]segment, 2)}
	for i := range n { // every other part of the second line was written
		m.lines[1] = append(m.lines[1], segment{col: 10 * i, source: -i % 2, name: -1})
	}
	parts := m.partsOf(0)
	for _, c := range []struct{ from, to position }{
		{position{0, 0}, position{1, 0}},
		{position{0, 0}, position{2, 0}},
		{position{1, 0}, position{1, 1}},
		{position{1, 1}, position{1, 20}},
		{position{1, 1}, position{1, 21}},
		{position{1, 10*n - 40}, position{1, 10*n - 20}},
		{position{1, 10*n - 19}, position{1, 10 * n}},
		{position{1, 500}, position{1, 10}},
	} {
		steps, want, last := 0, 0, -1
		for i, p := range parts {
			if p.at.compare(c.from) >= 0 && p.at.compare(c.to) < 0 {
				want, last = want+1, i
			}
		}
		first, behind := between(len(parts), func(i int) position { steps++; return parts[i].at }, c.from, c.to)
		if max(behind-first, 0) != want || want > 0 && behind-1 != last {
			t.Errorf("%v: parts %d to %d, want %d parts up to %d", c, first, behind, want, last+1)
		}
		if steps > 2*18 {
			t.Errorf("%v: %d steps among %d parts", c, steps, len(parts))
		}
	}
}

// TestMadeSites: sites stand where they were written, and what nobody wrote has none.
func TestMadeSites(t *testing.T) {
	// const f = (x) => x, on the second line of the source, is on the second of the text, behind a helper.
	const text = "function helper() { return 1 }\nconst f = (x) => x\n"
	m, err := mapOfItself([]byte("\nconst f = (x) => x\n"), "a.ts")
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.lines[1] {
		m.lines[1][i].line += 6
	}
	content, err := m.write()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		source int
		want   string
	}{
		{0, "<module> 1-8, f 8-8"},
		{-1, "<module> 1-2, helper 1-1, f 2-2"},
	} {
		p, err := planModule(fmt.Appendf(nil, "%s%shere %d %s", text, madeMark, c.source, base64.StdEncoding.EncodeToString(content)), languagetest.Fine)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range p.Sites {
			got = append(got, fmt.Sprintf("%s %d-%d", s.Func, s.Line, s.EndLine))
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("source %d: %s, want %s", c.source, got, c.want)
		}
	}
}

// TestMadeTexts: what a transpiler gives to Node with a map in it has checkpoints, functions stand in the file, and stacks
// are the same, whether Node applies maps or not.
func TestMadeTexts(t *testing.T) {
	const text = "const f = (x) => { if (x) throw new Error('no'); return x }\nfunction g() { return f(0) || f(1) }\n" +
		"try { g() } catch (e) { console.log(e.stack.split('\\n').slice(0, 4).join('\\n').replaceAll(__dirname, '')) }\n"
	m, err := mapOfItself([]byte(text), "app.ts")
	if err != nil {
		t.Fatal(err)
	}
	content, err := m.write()
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(string(content), `"mappings":"`, `"mappings":";;`, 1) // two lines stand before it
	made := "function helper() { return 1 }\nhelper();\n" + text + "//# sourceMappingURL=data:application/json;base64," +
		base64.StdEncoding.EncodeToString([]byte(moved)) + "\n"
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"app.ts": "// it is not read", "made.txt": made, "app.js": made,
		"hook.cjs": "require.extensions['.ts'] = (m, file) => m._compile(require('node:fs').readFileSync(__dirname + '/made.txt', 'utf8'), file)\n" +
			"require('./app.ts')\n",
	})
	for _, node := range firstNode(t) {
		for _, c := range []struct {
			args string
			want map[string]int
		}{
			{"hook.cjs", map[string]int{"f 1-1": 2, "g 2-2": 1}},
			{"--enable-source-maps hook.cjs", map[string]int{"f 1-1": 2, "g 2-2": 1}},
			{"app.js", map[string]int{"helper 1-1": 1, "f 3-3": 2, "g 4-4": 1}},
			{"--enable-source-maps app.js", map[string]int{"helper 1-1": 1, "f 3-3": 2, "g 4-4": 1}},
		} {
			args := strings.Fields(c.args)
			plain, got := execute(t, dir, nil, append([]string{node}, args...)...), measured(t, dir, node, args)
			same(t, plain, got)
			calls := got.placed()
			for name := range calls {
				if strings.HasPrefix(name, "require.") {
					delete(calls, name)
				}
			}
			if !maps.Equal(calls, c.want) || len(got.Skipped) > 0 {
				t.Errorf("%s %s: calls %v, want %v; skipped %v", majorOf(t, node), c.args, calls, c.want, got.Skipped)
			}
		}
	}
}

// TestMapsOfPrograms: what a text has for a map, and what a program does to Node's objects, changes nothing that the
// program does.
func TestMapsOfPrograms(t *testing.T) {
	const text = "function f() { return 1 }\nconsole.log(f())\n"
	mapped := func(fields string) string {
		return "//# sourceMappingURL=data:application/json;base64," +
			base64.StdEncoding.EncodeToString([]byte(`{"version":3,"mappings":"AAAA",`+fields+`}`)) + "\n"
	}
	within := mapped(`"sources":["within.cjs"]`)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"host.js":     text + mapped(`"sources":["file://otherhost/x/host.js","file://%zz","file:"]`),
		"root.js":     text + mapped(`"sourceRoot":5,"sources":["root.js"]`),
		"within.cjs":  "const s = `\n" + within + "// a line`\n" + text + "console.log(s)\n",
		"replaced.js": "String.prototype.matchAll = () => { throw new Error('of the program') }\nrequire('./mapped')\n",
		"mapped.js":   text + mapped(`"sources":["mapped.js"]`),
	})
	for _, node := range firstNode(t) {
		for _, c := range []struct {
			args  string
			calls int
		}{
			{"host.js", 1}, {"root.js", 1}, {"within.cjs", 1},
			{"--enable-source-maps within.cjs", 0}, // Node takes it for the file's map
			{"replaced.js", 0},
		} {
			args := strings.Fields(c.args)
			got := measured(t, dir, node, args)
			same(t, execute(t, dir, nil, append([]string{node}, args...)...), got)
			if got.enters()["f"] != c.calls {
				t.Errorf("%s %s: calls %v, want %d of f", majorOf(t, node), c.args, got.enters(), c.calls)
			}
			if c.calls == 0 && len(got.Skipped) != 1 {
				t.Errorf("%s %s: skipped %v", majorOf(t, node), c.args, got.Skipped)
			}
		}
	}
}
