package html

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cg/report"
)

// onPaper reads a printed page: it has the energy, call paths, functions and tests, on few
// sheets, and every word lies on its sheet.
func onPaper(t *testing.T, pdf []byte, r *report.Run) {
	t.Helper()
	reader, err := exec.LookPath("pdftotext")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("pdftotext (poppler-utils) is not installed")
		}
		t.Skip("pdftotext (poppler-utils) is not installed")
	}
	file := filepath.Join(t.TempDir(), "page.pdf")
	if err := os.WriteFile(file, pdf, 0o644); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("CG_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "print.pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(reader, "-bbox", file, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Pages []struct {
			Width  float64 `xml:"width,attr"`
			Height float64 `xml:"height,attr"`
			Words  []struct {
				Text string  `xml:",chardata"`
				X0   float64 `xml:"xMin,attr"`
				X1   float64 `xml:"xMax,attr"`
				Y0   float64 `xml:"yMin,attr"`
				Y1   float64 `xml:"yMax,attr"`
			} `xml:"word"`
		} `xml:"body>doc>page"`
	}
	d := xml.NewDecoder(bytes.NewReader(out))
	d.Strict, d.Entity = false, xml.HTMLEntity
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if n := len(doc.Pages); n < 1 || n > 4 {
		t.Errorf("%d sheets", n)
	}
	var text strings.Builder
	for i, p := range doc.Pages {
		for _, w := range p.Words {
			text.WriteString(w.Text + " ")
			if w.X0 < 0 || w.X1 > p.Width || w.Y0 < 0 || w.Y1 > p.Height {
				t.Errorf("sheet %d of %v x %v: %q reaches from %v, %v to %v, %v", i+1, p.Width, p.Height, w.Text, w.X0,
					w.Y0, w.X1, w.Y1)
			}
		}
	}
	words := text.String()
	for _, want := range []string{"Energy of the program", "Call paths", "Functions", "Tests", r.Tasks[1].Name} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q on paper: %s", want, words)
		}
	}
	// Each function stands in the first table, the call paths of the first view, those below, and the whole table.
	for _, f := range r.Functions {
		last := f.Name[strings.LastIndexAny(f.Name, ".")+1:]
		if n := strings.Count(words, last); n < 4 {
			t.Errorf("%q stands %d times on paper: %s", last, n, words)
		}
	}
}
