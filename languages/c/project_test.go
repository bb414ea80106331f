package c

import (
	"os"
	"path/filepath"
	"testing"
)

// A Makefile alone is the build of a project in C; beside that of another language it starts that.
func TestOwnsProject(t *testing.T) {
	for _, tt := range []struct {
		files []string
		want  bool
	}{
		{nil, false},
		{[]string{"Makefile"}, false},
		{[]string{"Makefile", "src/main.c"}, true},
		{[]string{"GNUmakefile", "lib/a.cc", "src/A.java"}, true},
		{[]string{"Makefile", "src/A.java"}, false},
		{[]string{"meson.build"}, true},
		{[]string{"Makefile", "pom.xml", "src/main.c"}, false},
		{[]string{"Makefile", "build.gradle.kts", "src/main.c"}, false},
		{[]string{"CMakeLists.txt", "build.gradle"}, true},
		{[]string{"configure.ac", "Makefile", "pom.xml"}, true},
	} {
		folder := t.TempDir()
		for _, name := range tt.files {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := ownsProject(folder); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.files, got, tt.want)
		}
	}
}
