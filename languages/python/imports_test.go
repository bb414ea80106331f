package python

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImports: the files that a module imports as it is executed, in order, once each.
func TestImports(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/__init__.py", "a/b.py", "a/c/__init__.py", "a/c/d.py", "a/c/e.py", "f.py", "g.py", "main.py"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, file, text, want string }{
		{"__main__", "main.py", "import f, g as x\nimport os\n", "f g"},
		{"__main__", "main.py", "import a.c.d\n", "a a.c a.c.d"},
		{"__main__", "main.py", "from a import b, nothing\nfrom a.c import (  # two\n    d,  # one\n    e as x,\n)\n", "a a.b a.c a.c.d a.c.e"},
		{"__main__", "main.py", "def h():\n    import f\n\nclass I:\n    import f\nimport g\n", "g"},
		{"__main__", "main.py", "try:\n    import f\nexcept ImportError:\n    import g\n", "f g"},
		{"__main__", "main.py", "async def h():\n    import f\n# import g\n'import g'\n", ""},
		{"__main__", "main.py", "from f import *\nfrom f import g\n", "f"},
		{"a.c", "a/c/__init__.py", "from . import d\nfrom .e import x\nfrom .. import b\nfrom ..b import y\n", "a a.c.d a.c.e a.b"},
		{"a.c.d", "a/c/d.py", "from . import e\nimport a.b\nimport f\n", "a a.c a.c.e a.b f"},
		{"a.c.d", "a/c/d.py", "from .d import itself\nfrom ....... import b\n", "a a.c"},
		{"f", "f.py", "import g; import a\nfrom g import (\n", "g"},
	} {
		var got []string
		for _, m := range imports(module{c.name, filepath.Join(root, c.file)}, c.text) {
			if m.path != find(root, m.name) {
				t.Errorf("%q: %s is in %s", c.text, m.name, m.path)
			}
			got = append(got, m.name)
		}
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: %q: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
