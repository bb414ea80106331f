package python

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

func TestModules(t *testing.T) {
	for _, c := range []struct {
		argv         []string
		file, module string
	}{
		{[]string{"python", "main.py"}, "/w/main.py", "__main__"},
		{[]string{"python", "main.py"}, "main.py", "__main__"},
		{[]string{"python", "-O", "-X", "dev", "app/main.py", "-c"}, "/w/app/main.py", "__main__"},
		{[]string{"python", "app/main.py"}, "/w/app/shop/__init__.py", "shop"},
		{[]string{"python", "app/main.py"}, "/w/app/shop/till.py", "shop.till"},
		{[]string{"python", "app"}, "/w/app/__main__.py", "__main__"},
		{[]string{"python", "-m", "shop.till"}, "/w/shop/till.py", "__main__"},
		{[]string{"python", "-Bm", "shop"}, "/w/shop/__main__.py", "__main__"},
		{[]string{"python", "-W", "error", "-c", "main.py"}, "<string>", "__main__"},
		{[]string{"python", "main.py"}, "/usr/lib/python3.11/json/decoder.py", "json.decoder"},
		{[]string{"python", "main.py"}, "/v/lib/python3.8/site-packages/numpy/core/x.py", "numpy.core.x"},
		{[]string{"python", "main.py"}, "<frozen importlib._bootstrap>", "importlib._bootstrap"},
		{[]string{"python", "main.py"}, "/elsewhere/tool.py", "tool"},
	} {
		n := &Names{lines: map[string][]string{}}
		n.take(c.argv, "/w")
		if got := n.moduleOf(c.file); got != c.module {
			t.Errorf("%v: %s is module %q, want %q", c.argv, c.file, got, c.module)
		}
	}
}

const source = `import os

class Shop:
    if os.name:
        @staticmethod
        @property
        def sell(
            n):
            # class Nothing: 's
            text = """
def within():
"""
            def inner():
                return [x for x in range(n)], (lambda: n)
            return inner

async def serve():
    pass
`

// A definition is found by its whole name, whatever bytes the name has.
func TestDefines(t *testing.T) {
	for _, c := range []struct {
		line, name string
		want       bool
	}{
		{"  def sell(n):", "sell", true},
		{"async\tdef sell (n):", "sell", true},
		{"class größe:", "größe", true},
		{"def größen():", "größe", false},
		{"def sell_all():", "sell", false},
		{"defsell():", "sell", false},
		{"def", "sell", false},
		{"def a():", "\xff\xfe(", false},
	} {
		if got := defines(c.line, c.name); got != c.want {
			t.Errorf("%q, %q: %v", c.line, c.name, got)
		}
	}
}

// A file of the program that is none does not hold cg up.
func TestFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "libpython3.12.so")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if lines := NamesOf(os.Getpid()).text(fifo); len(lines) != 0 {
		t.Error(lines)
	}
	if _, _, err := openFile(fifo); err == nil {
		t.Error("a FIFO was opened as an interpreter")
	}
}

// An interpreter before 3.11 tells no qualified names: they come from the source.
func TestQualifiedNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.py")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	n := NamesOf(os.Getpid())
	n.script, n.folder = file, filepath.Dir(file)
	for _, c := range []struct {
		name string
		line int
		want string
		at   int
		kind checkpoint.SiteKind
	}{
		{"<module>", 1, "__main__.<module>", 1, checkpoint.Module},
		{"sell", 5, "__main__.Shop.sell", 7, checkpoint.Method},
		{"inner", 13, "__main__.Shop.sell.<locals>.inner", 13, checkpoint.Function},
		{"<lambda>", 14, "__main__.Shop.sell.<locals>.inner.<locals>.<lambda>", 14, checkpoint.Lambda},
		{"serve", 17, "__main__.serve", 17, checkpoint.Function},
		{"changed", 17, "__main__.changed", 17, checkpoint.Function}, // the file has another text by now
		{"sell", 999, "__main__.sell", 999, checkpoint.Function},
	} {
		s := n.Site(Function{Name: c.name, File: file, Line: c.line})
		if s.Func != c.want || s.Line != c.at || s.Kind != c.kind {
			t.Errorf("%s, line %d: %s, line %d, %s", c.name, c.line, s.Func, s.Line, s.Kind)
		}
	}
	if s := n.Site(Function{Name: "sell", Qualname: "Market.sell", File: file, Line: 5}); s.Func != "__main__.Market.sell" ||
		s.Line != 7 {
		t.Errorf("%+v", s)
	}
}
