package python

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cg/instrument"
	"cg/instrument/edit"
)

// TestPythonPlan pins positions: lines and columns from 1, columns in bytes,
// offsets in the text that the planner was given.
func TestPythonPlan(t *testing.T) {
	fine := instrument.Options{Granularity: instrument.Fine}
	for _, c := range []struct {
		name, source string
		options      instrument.Options
		want         string // role name line:col-line:col start-end
	}{
		{"plain", "def f():\n    return 1\n", fine, `
			module <module> 1:1-2:1 0-22
			body f 1:1-2:13 0-21`},
		{"bom", "\ufeffdef f(): pass\n", fine, `
			module <module> 1:1-1:1 0-14
			body f 1:1-1:14 0-13`},
		{"crlf", "x = 1\r\ndef f():\r\n    yield\r\n", fine, `
			module <module> 1:1-3:1 0-28
			body f 2:1-3:10 7-26
			pause f 3:5-3:10 21-26`},
		{"lone cr", "x = 1\rdef f():\r    yield\r", fine, `
			module <module> 1:1-3:1 0-25
			body f 2:1-3:10 6-24
			pause f 3:5-3:10 19-24`},
		{"tabs", "class A:\n\tdef f(self):\n\t\treturn lambda: 0\n", fine, `
			module <module> 1:1-3:1 0-42
			body A.f 2:2-3:19 10-41
			lambda A.f.<locals>.<lambda> 3:10-3:19 32-41`},
		{"not ascii", "é = 'ü'; g = lambda: é\n", fine, `
			module <module> 1:1-1:1 0-26
			lambda <lambda> 1:16-1:26 15-25`},
		{"decorated", "@d\nasync def f():\n  async with a: await b\n", fine, `
			module <module> 1:1-3:1 0-42
			body f 2:1-3:24 3-41
			pause f 3:3-3:24 20-41
			pause f 3:17-3:24 34-41`},
		{"names", "class A:\n  class B:\n    def f(s):\n      def g(): pass\n      class C:\n        h = lambda: 0\n", fine, `
			module <module> 1:1-6:1 0-91
			body A.B.f 3:5-6:22 24-90
			body A.B.f.<locals>.g 4:7-4:20 40-53
			lambda A.B.f.<locals>.C.<lambda> 6:13-6:22 81-90`},
		{"handlers", "try: pass\nfinally: pass\n", fine, `
			module <module> 1:1-2:1 0-24
			handlers <module> 1:1-2:14 0-23`},
		{"an await in a generator expression is not the function's", "async def f():\n  return (await x for x in (await y))\n", fine, `
			module <module> 1:1-2:1 0-53
			body f 1:1-2:38 0-52
			pause f 2:29-2:36 43-50`},
		{"coarse, not the file that is run", "def main(): pass\n", instrument.Options{Granularity: instrument.Coarse}, ``},
		{"coarse", "def main():\n  def main(): pass\ndef f(): pass\nclass A:\n  def main(s): pass\n", instrument.Options{Granularity: instrument.Coarse, Entry: true}, `
			module <module> 1:1-5:1 0-74
			body main 1:1-2:19 0-30`},
		{"include", "def f(): pass\ndef g(): pass\n", instrument.Options{Granularity: instrument.Fine, Include: []string{"g"}}, `
			body g 2:1-2:14 14-27`},
		{"exclude", "def f():\n  yield\n  lambda: 0\n", instrument.Options{Granularity: instrument.Fine, Exclude: []string{"<module>", "f"}}, `
			lambda f.<locals>.<lambda> 3:3-3:12 19-28`},
		{"empty", "", fine, `
			module <module> 1:1-1:1 0-0`},
	} {
		text, err := decode([]byte(c.source))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p, err := planModule(text, c.options)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got strings.Builder
		for _, q := range p.Points {
			fmt.Fprintf(&got, "%s %s %d:%d-%d:%d %d-%d\n", q.Role, p.Sites[q.Site].Func, q.Line, q.Col, q.EndLine, q.EndCol, q.Start, q.End)
		}
		want := strings.ReplaceAll(strings.TrimPrefix(c.want, "\n"), "\t", "")
		if strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
			t.Errorf("%s:\n%swant\n%s", c.name, got.String(), want)
		}
	}
}

func TestPythonPlanRefuses(t *testing.T) {
	for _, source := range []string{"def f(:\n", "x = = 1\n", "def f():\n  return (1,\n"} {
		if _, err := planModule([]byte(source), instrument.Options{Granularity: instrument.Fine}); !errors.Is(err, instrument.ErrSyntax) {
			t.Errorf("%q: %v", source, err)
		}
	}
}

func TestDecodePython(t *testing.T) {
	for _, c := range []struct{ name, source, want, fail string }{
		{name: "utf-8", source: "é\n", want: "é\n"},
		{name: "bom", source: "\ufeffé", want: "é"},
		{name: "latin-1", source: "# coding: latin-1\n\xe9", want: "# coding: utf-8\né"},
		{name: "vim, line 2", source: "#!x\n# vim: set fileencoding=iso8859-15 :\n\xa4", want: "#!x\n# vim: set fileencoding=utf-8 :\n€"},
		{name: "windows", source: "# -*- coding: cp1252 -*-\n\x80", want: "# -*- coding: utf-8 -*-\n€"},
		{name: "ibm", source: "# coding=cp437\n\x80", want: "# coding=utf-8\nÇ"},
		{name: "japanese", source: "# coding: shift_jis\n\x83e", want: "# coding: utf-8\nテ"},
		{name: "line 3 is too late", source: "#\n#\n# coding: latin-1\n\xe9", fail: "not UTF-8"},
		{name: "behind code", source: "x = 1\n# coding: latin-1\n\xe9", fail: "not UTF-8"},
		{name: "none", source: "\xe9", fail: "not UTF-8"},
		{name: "unknown", source: "# coding: klingon\n", fail: `"klingon" is not known`},
	} {
		got, err := decode([]byte(c.source))
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%s: error %v, want one that says %q", c.name, err, c.fail)
			}
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

// FuzzPythonPlan: whatever the text, planning ends without a panic, every
// point lies in the text, and rendering gives edits that apply or an error.
func FuzzPythonPlan(f *testing.F) {
	for _, c := range append(fixtures(f), encodings()...) {
		if len(c.files[c.script]) < 4096 {
			f.Add([]byte(c.files[c.script]))
		}
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		text, err := decode(source)
		if err != nil {
			return
		}
		p, err := planModule(text, instrument.Options{Granularity: instrument.Fine, Entry: true})
		if err != nil {
			return
		}
		for _, q := range p.Points {
			if q.Start < 0 || q.End > len(text) || q.Start > q.End || q.Site >= len(p.Sites) {
				t.Errorf("point %+v", q)
			}
		}
		edits, err := render(text, p, 1)
		if err != nil {
			return
		}
		if _, err := edit.Apply(text, edits); err != nil {
			t.Error(err)
		}
	})
}

// TestSmallAndCompiled tells the functions that may be counted, and those that
// something else compiles.
func TestSmallAndCompiled(t *testing.T) {
	for source, want := range map[string]string{
		"def f(self): return self._x\n":                                    "small f",
		"def f(self):\n  'text'\n  self._x = 1\n  return self._x[0] + 2\n": "small f",
		"def f(): pass\n":                           "small f",
		"f = lambda x: x.y\n":                       "small <lambda>",
		"def f(x):\n  if x: return 1\n  return 2\n": "small f",
		"def f(x): return g(x)\n":                   "timed f",
		"def f(x):\n  for y in x: pass\n":           "timed f",
		"def f(x): return [y for y in x]\n":         "timed f",
		"def f(x): yield x\n":                       "timed f",
		"f = lambda: g()\n":                         "timed <lambda>",
		"def f(x):\n  a = 1\n  b = 2\n  return a\n": "timed f",
		"def f(x): return x + x + x + x + x + x + x + x + x + x + x + x + x + x + x\n": "timed f",
		"@njit\ndef f(x): return x\n":                                      "left f numba",
		"@numba.njit(parallel=True)\n@other\ndef f(x):\n  def g(): pass\n": "left f numba",
		"@cuda.jit('void()')\ndef f(): pass\n":                             "left f numba",
		"@torch.jit.script\ndef f(): pass\n":                               "left f torch",
		"@functools.partial(jax.jit, static=1)\ndef f(): pass\n":           "left f jax",
		"@jitclass\nclass A:\n  def f(self): pass\n":                       "left A numba",
		"@np.vectorize\ndef f(x): return x\n":                              "small f",
		"@torch.no_grad()\ndef f(x): return x\n":                           "small f",
		"@property\ndef f(x): return x\n":                                  "small f",
		"class A:\n  @staticmethod\n  def f(x): return x\n":                "small A.f",
	} {
		p, err := planModule([]byte(source), instrument.Options{Granularity: instrument.Fine, Exclude: []string{"<module>"}})
		if err != nil {
			t.Errorf("%q: %v", source, err)
			continue
		}
		var got []string
		for _, s := range p.Sites {
			got = append(got, map[bool]string{true: "small ", false: "timed "}[s.Small]+s.Func)
		}
		for _, l := range p.Left {
			got = append(got, "left "+l.Name+" "+strings.Fields(l.Reason)[2])
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}
