package report

import (
	"bytes"
	"encoding/base64"
	"html"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report/format"
)

// drawn is the page of repeated runs.
func drawn(t *testing.T, r *Repeated) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeIn("html", &b, r, format.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The page shows the picture of the runs, and asks for nothing.
func TestPageHasThePicture(t *testing.T) {
	for _, r := range []*Repeated{repeated(nemb.Measured, 13), repeated(nemb.Unavailable, 4)} {
		var svg bytes.Buffer
		if err := writeIn("svg", &svg, r, format.Options{}); err != nil {
			t.Fatal(err)
		}
		page := string(drawn(t, r))
		for _, outside := range []string{`src="http`, `href="http`, "@import", "<script"} {
			if strings.Contains(page, outside) {
				t.Errorf("the page has %s", outside)
			}
		}
		if !strings.Contains(html.UnescapeString(page), base64.StdEncoding.EncodeToString(svg.Bytes())) {
			t.Error("the page has not the picture")
		}
	}
}

func TestPageOfRepeated(t *testing.T) {
	b := browser(t)
	evil := repeated(nemb.Estimated, 13)
	evil.Commands[0].Argv = []string{"</title><script>window.pwned=1</script>"}
	for name, r := range map[string]*Repeated{"runs": repeated(nemb.Measured, 13), "runs-hostile": evil} {
		content := strings.Replace(string(drawn(t, r)), `<html lang="en">`,
			`<html lang="en" data-ready="true">`, 1)
		p := open(t, b, name, []byte(content), 1200, 900)
		p.is(`document.images[0].naturalWidth > 0`, "true")
		p.is(`document.querySelectorAll('tbody tr').length+','+document.scripts.length`, "2,0")
		p.is(`window.pwned`, "undefined")
		p.shot(name)
		p.quiet()
		night := open(t, b, name+"-dark", []byte(content), 1200, 900, dark())
		night.is(`getComputedStyle(document.body).backgroundColor`, "rgb(20, 23, 26)")
		night.shot(name + "-dark")
	}
}
