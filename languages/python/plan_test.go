package python

import (
	"fmt"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages/languagetest"
)

// TestPlan pins positions: lines and columns from 1, columns in bytes,
// offsets in the text that the planner was given.
func TestPlan(t *testing.T) {
	fine := languagetest.Fine
	languagetest.Plans(t, planDecoded, []languagetest.PlanCase{
		{Name: "plain", Source: "def f():\n    return 1\n", Options: fine, Want: `
			module <module> 1:1-2:1 0-22
			body f 1:1-2:13 0-21`},
		{Name: "bom", Source: "\ufeffdef f(): pass\n", Options: fine, Want: `
			module <module> 1:1-1:1 0-14
			body f 1:1-1:14 0-13`},
		{Name: "crlf", Source: "x = 1\r\ndef f():\r\n    yield\r\n", Options: fine, Want: `
			module <module> 1:1-3:1 0-28
			body f 2:1-3:10 7-26
			pause f 3:5-3:10 21-26`},
		{Name: "lone cr", Source: "x = 1\rdef f():\r    yield\r", Options: fine, Want: `
			module <module> 1:1-3:1 0-25
			body f 2:1-3:10 6-24
			pause f 3:5-3:10 19-24`},
		{Name: "tabs", Source: "class A:\n\tdef f(self):\n\t\treturn lambda: 0\n", Options: fine, Want: `
			module <module> 1:1-3:1 0-42
			body A.f 2:2-3:19 10-41
			lambda A.f.<locals>.<lambda> 3:10-3:19 32-41`},
		{Name: "not ascii", Source: "é = 'ü'; g = lambda: é\n", Options: fine, Want: `
			module <module> 1:1-1:1 0-26
			lambda <lambda> 1:16-1:26 15-25`},
		{Name: "decorated", Source: "@d\nasync def f():\n  async with a: await b\n", Options: fine, Want: `
			module <module> 1:1-3:1 0-42
			body f 2:1-3:24 3-41
			pause f 3:3-3:24 20-41
			pause f 3:17-3:24 34-41`},
		{Name: "names", Source: "class A:\n  class B:\n    def f(s):\n      def g(): pass\n      class C:\n        h = lambda: 0\n", Options: fine, Want: `
			module <module> 1:1-6:1 0-91
			body A.B.f 3:5-6:22 24-90
			body A.B.f.<locals>.g 4:7-4:20 40-53
			lambda A.B.f.<locals>.C.<lambda> 6:13-6:22 81-90`},
		{Name: "handlers", Source: "try: pass\nfinally: pass\n", Options: fine, Want: `
			module <module> 1:1-2:1 0-24
			handlers <module> 1:1-2:14 0-23`},
		{Name: "an await in a generator expression is not the function's", Source: "async def f():\n  return (await x for x in (await y))\n", Options: fine, Want: `
			module <module> 1:1-2:1 0-53
			body f 1:1-2:38 0-52
			pause f 2:29-2:36 43-50`},
		{Name: "coarse, not the file that is run", Source: "def main(): pass\n", Options: instrument.Options{Granularity: instrument.Coarse}, Want: ``},
		{Name: "coarse", Source: "def main():\n  def main(): pass\ndef f(): pass\nclass A:\n  def main(s): pass\n", Options: instrument.Options{Granularity: instrument.Coarse, Entry: true}, Want: `
			module <module> 1:1-5:1 0-74
			body main 1:1-2:19 0-30`},
		{Name: "include", Source: "def f(): pass\ndef g(): pass\n", Options: instrument.Options{Granularity: instrument.Fine, Include: []string{"g"}}, Want: `
			body g 2:1-2:14 14-27`},
		{Name: "exclude", Source: "def f():\n  yield\n  lambda: 0\n", Options: instrument.Options{Granularity: instrument.Fine, Exclude: []string{"<module>", "f"}}, Want: `
			lambda f.<locals>.<lambda> 3:3-3:12 19-28`},
		{Name: "empty", Source: "", Options: fine, Want: `
			module <module> 1:1-1:1 0-0`},
	}, func(_ string, s checkpoint.Site, q instrument.Point) string {
		return fmt.Sprintf("%s %s %d:%d-%d:%d %d-%d", q.Role, s.Func, q.Line, q.Col, q.EndLine, q.EndCol, q.Start, q.End)
	})
}

// planDecoded plans the bytes of a file.
func planDecoded(source []byte, o instrument.Options) (*instrument.Plan, error) {
	text, err := decode(source)
	if err != nil {
		return nil, err
	}
	return planModule(text, o)
}

func TestPlanRefuses(t *testing.T) {
	languagetest.Refuses(t, planModule, map[string]string{
		"def f(:\n":                "line 1",
		"x = = 1\n":                "line 1",
		"def f():\n  return (1,\n": "line",
	})
}

func TestDecode(t *testing.T) {
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

// FuzzPlan: whatever the text, planning ends without a panic, every
// point lies in the text, and rendering gives edits that apply or an error.
func FuzzPlan(f *testing.F) {
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

// TestCompiled has functions that something else compiles, and some that look so.
func TestCompiled(t *testing.T) {
	for source, want := range map[string]string{
		"f = lambda x: g(x)\n":        "site <lambda>",
		"@njit\ndef f(x): return x\n": "left f numba",
		"@numba.njit(parallel=True)\n@other\ndef f(x):\n  def g(): pass\n": "left f numba",
		"@cuda.jit('void()')\ndef f(): pass\n":                             "left f numba",
		"@torch.jit.script\ndef f(): pass\n":                               "left f torch",
		"@functools.partial(jax.jit, static=1)\ndef f(): pass\n":           "left f jax",
		"@jitclass\nclass A:\n  def f(self): pass\n":                       "left A numba",
		"@np.vectorize\ndef f(x): return x\n":                              "site f",
		"@torch.no_grad()\ndef f(x): return x\n":                           "site f",
		"@property\ndef f(x): return x\n":                                  "site f",
		"class A:\n  @staticmethod\n  def f(x): return x\n":                "site A.f",
	} {
		p, err := planModule([]byte(source), instrument.Options{Granularity: instrument.Fine, Exclude: []string{"<module>"}})
		if err != nil {
			t.Errorf("%q: %v", source, err)
			continue
		}
		var got []string
		for _, s := range p.Sites {
			got = append(got, "site "+s.Func)
		}
		for _, l := range p.LeftAlone {
			got = append(got, "left "+l.Name+" "+strings.Fields(l.Reason)[2])
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}
