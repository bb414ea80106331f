package java

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The sources that one names, by whatever name, and those that these name.
func TestSiblings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Main.java":        "import a.*;\nimport b.c.One;\nimport static b.c.Statics.f;\nclass Main { static class Nested {} Same s; Own o; Missing m; String x = \"Quoted\"; Object n = new Nested(); int y = f() + d.e.Full.g + Upper.h(); }\nclass Own {}\n",
		"Same.java":        "class Same extends Further { /* Commented */ }",
		"Further.java":     "class Further { Main back; Own own; }",
		"Own.java":         "broken {",
		"Upper.java":       "broken {", // the compiler will say so
		"Unused.java":      "class Unused {}",
		"Quoted.java":      "class Quoted {}",
		"Commented.java":   "class Commented {}",
		"a/Star.java":      "package a; public class Star { Hidden h; }",
		"a/Hidden.java":    "package a; class Hidden {}",
		"a/Same.java":      "package a; class Same {}", // of the package, as far as names tell
		"b/c/One.java":     "package b.c; public class One { }",
		"b/c/Two.java":     "package b.c; public class Two { }",
		"b/c/Statics.java": "package b.c; public class Statics { static int f() { return 1; } }",
		"d/e/Full.java":    "package d . e; public class Full { public static int g; a.Star s; }",
		"f/Wrong.java":     "package g; class Wrong { }",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ from, file, want string }{
		{".", "Main.java", "Further.java Same.java Upper.java a/Hidden.java a/Same.java a/Star.java b/c/One.java b/c/Statics.java d/e/Full.java"},
		{".", "./Unused.java", ""},
		{".", "a/Star.java", "a/Hidden.java"},
		{"a", "Star.java", "Hidden.java"},
		{"d/e", "Full.java", "../../a/Hidden.java ../../a/Star.java"},
		{"a", filepath.Join(dir, "a/Star.java"), filepath.Join(dir, "a/Hidden.java")},
		{".", "f/Wrong.java", "wrong"},
		{".", "Own.java", ""},
	} {
		t.Chdir(filepath.Join(dir, c.from))
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		files, ok := siblingSources(c.file, text)
		slices.Sort(files)
		got := strings.Join(files, " ")
		if !ok {
			got = "wrong"
		}
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", c.file, got, c.want)
		}
	}
}

// The class that java starts.
func TestFirstType(t *testing.T) {
	for source, want := range map[string]string{
		"package a.b;\nimport c.D;\nclass Main { } class Other { }": "a.b.Main",
		"@interface A { } enum B { X }":                             "A",
		"record P(int x) { }\nvoid main() { }":                      "File",
		"int x = 3;\nclass C { }":                                   "File",
		"interface I { static void main(String[] a) { } }":          "I",
	} {
		j, err := parse([]byte(source))
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := j.firstType("dir/File.java"); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}
