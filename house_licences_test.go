package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/licences.md")

// licences are the licences that a module in cg may have, with phrases that all stand in their texts.
var licences = []struct {
	name    string
	phrases []string
}{
	{"Apache-2.0", []string{"apache license version 2.0"}},
	{"CC-BY-3.0", []string{"creative commons attribution 3.0"}},
	{"CC-BY-4.0", []string{"creativecommons.org/licenses/by/4.0"}},
	{"MPL-2.0", []string{"mozilla public license version 2.0"}},
	{"EPL-2.0 or EDL-1.0", []string{"eclipse public license", "eclipse distribution license"}},
	{"EPL-2.0", []string{"eclipse public license - v 2.0"}},
	{"OFL-1.1", []string{"sil open font license version 1.1"}},
	{"ISC", []string{"permission to use copy modify and"}},
	{"MIT", []string{"permission is hereby granted free of charge to any person obtaining a copy"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "endorse or promote"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"FTL", []string{"freetype"}},
}

// licenceOf is the name of the licence that a text is, "" for none that is known.
func licenceOf(text string) string {
	text = strings.ToLower(strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(",*#\"", r)
	}), " "))
	for _, l := range licences {
		if !slices.ContainsFunc(l.phrases, func(p string) bool { return !strings.Contains(text, p) }) {
			return l.name
		}
	}
	return ""
}

// TestLicences holds the licence of each module that is in cg: it has one of those above, and
// docs/licences.md says which.
func TestLicences(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}} {{.Dir}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := slices.Compact(slices.Sorted(strings.SplitSeq(strings.TrimSpace(string(out)), "\n")))
	page := "# Licences\n\ncg is under Apache-2.0 (`LICENSE`). A built cg contains these modules, and Go's standard library (BSD-3-Clause). A test reads the\n" +
		"licence that each of them has in its source (`go test . -run TestLicences -update` writes this page). `cg version --sbom` prints the list for programs.\n\n" +
		"| module | version | licence |\n|---|---|---|\n"
	seen := 0
	for _, m := range modules {
		words := strings.Fields(m)
		if len(words) != 3 { // cg itself
			continue
		}
		seen++
		found := []string{}
		files, _ := os.ReadDir(words[2])
		for _, f := range files {
			name := strings.ToUpper(f.Name())
			if f.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
				continue
			}
			b, err := os.ReadFile(filepath.Join(words[2], f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if l := licenceOf(string(b)); l != "" && !slices.Contains(found, l) {
				found = append(found, l)
			}
		}
		if len(found) == 0 {
			t.Errorf("%s has no licence that this test knows: %s", words[0], words[2])
		}
		page += fmt.Sprintf("| %s | %s | %s |\n", words[0], words[1], strings.Join(found, ", "))
	}
	if seen < 30 {
		t.Errorf("only %d modules", seen)
	}
	if *update {
		if err := os.WriteFile("docs/licences.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b, err := os.ReadFile("docs/licences.md"); err != nil || string(b) != page {
		t.Errorf("docs/licences.md is not what the modules say: go test . -run TestLicences -update (%v)", err)
	}
}
