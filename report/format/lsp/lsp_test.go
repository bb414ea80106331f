package lsp

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

func TestGolden(t *testing.T) {
	for file, r := range map[string]*report.Run{
		"measured.lsp.json": reporttest.Example(t, nemb.Measured), "estimated.lsp.json": reporttest.Example(t, nemb.Estimated),
		"unknown.lsp.json": reporttest.Example(t, nemb.Unavailable),
	} {
		reporttest.Golden(t, filepath.Join("testdata", file), reporttest.Write(t, "lsp", r, format.Options{}))
	}
}

// Each hint has the form of an InlayHint of the protocol 3.17, and each function of a file one, in the order of lines.
func TestForm(t *testing.T) {
	for _, r := range []*report.Run{reporttest.Example(t, nemb.Measured), reporttest.Suite(t, nemb.Measured), reporttest.Hostile(t),
		reporttest.Poisoned(reporttest.Example(t, nemb.Measured))} {
		var files []map[string]any
		if err := json.Unmarshal(reporttest.Write(t, "lsp", r, format.Options{}), &files); err != nil {
			t.Fatal(err)
		}
		hints := 0
		for _, f := range files {
			u, err := url.Parse(f["uri"].(string))
			if err != nil || u.Scheme != "file" || u.Host != "" || !filepath.IsAbs(u.Path) {
				t.Errorf("%v: %v", f["uri"], err)
			}
			last := -1.0
			for _, h := range f["hints"].([]any) {
				hints++
				h := h.(map[string]any)
				at := h["position"].(map[string]any)
				line, character := at["line"].(float64), at["character"].(float64)
				if line < last || line != float64(int(line)) || character < 0 || character > 1<<31-1 {
					t.Errorf("position %v behind line %v", at, last)
				}
				last = line
				if _, is := h["label"].(string); !is || h["label"] == "" || strings.Contains(h["label"].(string), "\n") {
					t.Errorf("label %v", h["label"])
				}
				if _, is := h["tooltip"].(string); !is {
					t.Errorf("tooltip %v", h["tooltip"])
				}
				for name := range h {
					if !slices.Contains([]string{"position", "label", "kind", "textEdits", "tooltip", "paddingLeft", "paddingRight", "data"}, name) {
						t.Errorf("an InlayHint has no %q", name)
					}
				}
			}
		}
		want := 0
		for _, f := range r.Functions {
			if _, ok := uriOf(r.Meta.Cwd, f); ok {
				want++
			}
		}
		if hints != want || want == 0 && filepath.IsAbs(r.Meta.Cwd) {
			t.Errorf("%d hints of %d functions", hints, want)
		}
	}
}

const takes = `
const { InlayHint } = require('vscode-languageserver-types');
const files = JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8'));
for (const { hints } of files) for (const h of hints) if (!InlayHint.is(h)) throw new Error(JSON.stringify(h));
console.log('taken', files.length);
`

// The library with which Visual Studio Code and servers speak the protocol takes the hints.
func TestLibraryTakesHints(t *testing.T) {
	dir := reporttest.Viewers(t)
	for name, of := range reporttest.Viewed(t, "lsp") {
		cmd := exec.Command("node", "-e", takes, of.File)
		cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "taken ") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// A function whose two energies are shown alike has one in its label.
func TestLabelSaysAThingOnce(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	label := func(self, inclusive report.Joules) string {
		return hintOf(r, report.Function{Name: "f", Line: 1, SelfEnergyJ: &self, InclusiveEnergyJ: &inclusive}).Label
	}
	for _, k := range []struct {
		self, inclusive report.Joules
		want            string
	}{
		{66_401, 66_401, "66.4 mJ"}, {66_401, 66_409, "66.4 mJ"}, {450_000, 1_230_000, "1.23 J, self 450 mJ"},
	} {
		if got := label(k.self, k.inclusive); got != k.want {
			t.Errorf("%s, not %s", got, k.want)
		}
	}
}
