package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The generated files are those that go generate writes now.
func TestGeneratedFilesAreFresh(t *testing.T) {
	files, err := generated("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 5 {
		t.Errorf("%d files, want those of cg, Python, Java, Go and Node", len(files))
	}
	for path, want := range files {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): go generate ./runtimes/sdk/spec", path, err)
		}
	}
}

func TestParse(t *testing.T) {
	all, err := parse("# A.\n# B.\none_ns = 1\ntwo = [\"a\", \"b\"]\n\n# C.\n\nthree = 0.5\n")
	if err != nil || len(all) != 3 || strings.Join(all[0].comment, " ") != "A. B." || all[1].comment != nil || all[2].comment != nil {
		t.Errorf("%+v, %v", all, err)
	}
	own, err := parse("# A.\none = 1\ncg two = 2\ncg three = 3\n\n# B.\ncg four = 4\n# C.\nfive = 5\n")
	if own = ofCg(own); err != nil || len(own) != 3 || own[0].name != "two" || strings.Join(own[0].comment, "") != "A." ||
		own[1].comment != nil || strings.Join(own[2].comment, "") != "B." {
		t.Errorf("%+v, %v", own, err)
	}
	for line, want := range map[string]string{
		"a = 1\na = 2": `line 2: "a = 2" is no new name and value`, "a": `line 1: "a" is no new name and value`, "A = 1": "no new name",
		"a = [1,": `line 1: a: "[1," is no JSON value`, "a = 1 2": "is no JSON value",
	} {
		if _, err := parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}
