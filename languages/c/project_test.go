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
		{[]string{"Makefile"}, true},
		{[]string{"meson.build"}, true},
		{[]string{"Makefile", "pom.xml"}, false},
		{[]string{"CMakeLists.txt", "build.gradle"}, false},
		{[]string{"Makefile", "build.gradle.kts"}, false},
	} {
		folder := t.TempDir()
		for _, name := range tt.files {
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := ownsProject(folder); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.files, got, tt.want)
		}
	}
}
