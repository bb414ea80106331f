package java

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/languages"
)

// What a folder declares, and what java and javac are told of it.
func TestModule(t *testing.T) {
	file := func(name, text string) *sourceFile { return &sourceFile{name: name, text: []byte(text)} }
	other := file("src/A.java", "module x { }\n")
	for _, c := range []struct {
		files     []*sourceFile
		want, err string
	}{
		{[]*sourceFile{other}, "", ""},
		{[]*sourceFile{other, file("src/module-info.java",
			"import java.util.*;\n@Deprecated open module a . b.c { requires java.base; }\n")}, "a.b.c", ""},
		{[]*sourceFile{file("a/module-info.java", "/* module x {} */ module m {}")}, "m", ""},
		{[]*sourceFile{file("a/module-info.java", "module m {}"), file("b/module-info.java", "module n {}")}, "",
			"a/module-info.java and b/module-info.java: one module at a time"},
		{[]*sourceFile{file("a/module-info.java", "module {")}, "", "a/module-info.java: "},
	} {
		got, err := moduleName(c.files)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %q", c.files[0].name, got, err, c.want, c.err)
		}
	}
	t.Setenv("CLASSPATH", "")
	target, err := splitArgs(languages.Target{Args: []string{"--module-path", "lib", "-Xmx1g", "--add-opens",
		"m/p=ALL-UNNAMED", "--add-exports=m/p=n", "--enable-preview", "src", "--add-modules", "no"}})
	if err != nil {
		t.Fatal(err)
	}
	lib, _ := filepath.Abs("lib")
	if got, want := target.compilerFlags(), []string{"--module-path", lib, "--add-exports",
		"m/p=n"}; !slices.Equal(got, want) {
		t.Errorf("javac: %q, want %q", got, want)
	}
	b := &build{target: target, jar: "R.jar", module: "m", main: "m/p.Main"}
	want := "-Xmx1g --add-opens m/p=ALL-UNNAMED --add-exports m/p=n --enable-preview --add-reads m=ALL-UNNAMED -p C:lib -cp R.jar -m m/p.Main"
	if got := strings.Join(b.inModule(target.flags, "C"), " "); got != want {
		t.Errorf("java: %s\nwant %s", got, want)
	}
}
