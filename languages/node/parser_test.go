package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cg/instrument/edit"
	"cg/languages/languagetest"
)

// accepted compiles texts in one process of Node. It prints for each why the text is refused, or nothing.
const accepted = `
const { readFileSync } = require('node:fs')
const vm = require('node:vm')
const why = (text, module) => {
  try { module ? new vm.SourceTextModule(text) : new vm.Script('(function (exports, require, module) {' + text + '\n})'); return '' } catch (e) { return String(e) }
}
console.log(JSON.stringify(JSON.parse(readFileSync(process.argv[2], 'utf8')).map(([text, module]) => why(text, module))))
`

// TestParserTests: Node accepts each program of test262-parser-tests with checkpoints where it accepts it without them, and
// refuses it else.
func TestParserTests(t *testing.T) {
	folder := filepath.Join(os.Getenv("CG_VIEWERS"), "node_modules", "test262-parser-tests")
	var files []string // pass-explicit has those of pass with more parentheses
	for _, kind := range []string{"pass", "fail", "early"} {
		found, err := filepath.Glob(filepath.Join(folder, kind, "*.js"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if os.Getenv("CG_VIEWERS") == "" || len(files) == 0 {
		t.Skip("CG_VIEWERS names no folder with test262-parser-tests")
	}
	type program [2]any // its text, and whether it is an ES module
	var names []string
	var programs []program // in turns without checkpoints and with them
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := planModule(text, languagetest.Fine)
		if err != nil {
			continue // it runs as it is
		}
		edits, err := rewrite(text, p, 1)
		if err != nil {
			continue
		}
		changed, err := edit.Apply(text, edits)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		module := strings.HasSuffix(file, ".module.js")
		names = append(names, file)
		programs = append(programs, program{string(text), module}, program{string(changed), module})
	}
	dir := t.TempDir()
	content, err := json.Marshal(programs)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{"accepted.js": accepted, "programs.json": string(content)})
	for _, node := range firstNode(t) {
		r := execute(t, dir, nil, node, "--experimental-vm-modules", "--no-warnings", "accepted.js", "programs.json")
		var why []string
		if err := json.Unmarshal([]byte(r.Stdout), &why); err != nil || len(why) != len(programs) {
			t.Fatalf("%v: %s", err, r.Stderr)
		}
		for i, name := range names {
			if plain, with := why[2*i], why[2*i+1]; (plain == "") != (with == "") {
				t.Errorf("%s/%s: without checkpoints %q, with them %q:\n%s\n%s", filepath.Base(filepath.Dir(name)),
					filepath.Base(name), plain, with, programs[2*i][0], programs[2*i+1][0])
			}
		}
		t.Logf("Node %s: %d of %d programs", majorOf(t, node), len(names), len(files))
	}
}
