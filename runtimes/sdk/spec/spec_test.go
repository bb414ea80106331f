package spec

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sdks are the sources of the packages for sessions, and the endings of their files.
var sdks = map[string]string{"../../python/sdk/codegreen": ".py", "../../java/sdk/src/main/java/codegreen": ".java", "../../golang/_sdk": ".go"}

// The warnings of sessions are those of the table in docs/session.md, in all
// languages.
func TestSlugs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/session.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Warnings")
	var documented []string
	for _, line := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(table, -1) {
		for _, slug := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(line[1], -1) {
			documented = append(documented, slug[1])
		}
	}
	if !slices.Equal(documented, Slugs) {
		t.Errorf("docs/session.md documents %q, want %q", documented, Slugs)
	}
	given := regexp.MustCompile(`(?:[nN]ote(?:Locked)?|warn|list)\("([a-z-]+)"|slug(?:, text)? :?= "([a-z-]+)"`)
	for dir, ending := range sdks {
		found := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ending {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range given.FindAllStringSubmatch(string(b), -1) {
				found++
				if slug := m[1] + m[2]; !slices.Contains(Slugs, slug) {
					t.Errorf("%s warns of %q, which is no slug", path, slug)
				}
			}
			return err
		})
		if err != nil || found < 8 {
			t.Errorf("%s: only %d warnings found: %v", dir, found, err)
		}
	}
}
