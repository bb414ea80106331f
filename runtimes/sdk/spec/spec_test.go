package spec_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cg/runtimes/sdk/spec"
)

// sdks are the sources of the packages for sessions, and the endings of their files.
var sdks = map[string]string{"../../python/sdk/codegreen": ".py", "../../java/sdk/src/main/java/codegreen": ".java", "../../golang/_sdk": ".go"}

// Each constant of this package is read by cg's Go code. Those that only the
// packages for sessions read are left out.
func TestConstantsAreRead(t *testing.T) {
	text, err := os.ReadFile("constants.go")
	if err != nil {
		t.Fatal(err)
	}
	unread := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:const|var) (\w+)`).FindAllStringSubmatch(string(text), -1) {
		unread[m[1]] = true
	}
	if len(unread) < 20 {
		t.Fatalf("only %d constants", len(unread))
	}
	read := regexp.MustCompile(`\bspec\.(\w+)`)
	err = filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || name == ".git") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range read.FindAllStringSubmatch(string(b), -1) {
			delete(unread, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range unread {
		t.Errorf("nothing reads spec.%s: take the word cg from its line in constants.txt", name)
	}
}

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
	if !slices.Equal(documented, spec.Slugs) {
		t.Errorf("docs/session.md documents %q, want %q", documented, spec.Slugs)
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
				if slug := m[1] + m[2]; !slices.Contains(spec.Slugs, slug) {
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
