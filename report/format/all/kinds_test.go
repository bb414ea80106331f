package all

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"cg/report/format"
)

// docs/formats.md has the formats of each kind of document, as they are registered.
func TestFormatsOfKinds(t *testing.T) {
	var table strings.Builder
	table.WriteString("| document | formats |\n|---|---|\n")
	for _, kind := range format.Kinds() {
		var names []string
		for _, f := range format.All() {
			for _, w := range f.Writers {
				if w.Kind == kind {
					names = append(names, "`"+f.Name+"`")
				}
			}
		}
		fmt.Fprintf(&table, "| %s | %s |\n", kind, strings.Join(names, ", "))
	}
	text, err := os.ReadFile("../../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n\n"+table.String()+"\n") {
		t.Errorf("docs/formats.md does not have this table:\n%s", table.String())
	}
}
