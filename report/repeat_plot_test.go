package report

import (
	"bytes"
	"encoding/base64"
	"html"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report/format"
)

func drawn(t *testing.T, r *Repeated, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeIn(name, &b, r, format.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every run is a dot: each command has as many as it has runs, twice.
func TestDrawRepeated(t *testing.T) {
	none := &Repeated{Command: Command{Argv: []string{"true"}, Measurements: []Measurement{}}}
	none.Summarize(false)
	evil := repeated(nemb.Measured, 3)
	evil.Commands[0].Argv = []string{"</svg><script>alert(1)</script>", "a\x00\nb"}
	evil.Warnings = []Warning{{"slug", "<script>alert(2)</script>"}}
	one := repeated(nemb.Measured, 13)
	one.Commands = nil
	for _, c := range []struct {
		name string
		run  *Repeated
		want []string
		not  string
		dots int
	}{
		{"measured", repeated(nemb.Measured, 13), []string{"sh -c 'make '\\''all'\\'''", "./bench 'a|b'",
			"measured · mean 11.9 J", "joules", "watts of the machine", "12 runs", "+10.0 % against the first"}, "~",
			52},
		{"estimated", repeated(nemb.Estimated, 2), []string{"estimated, not measured · mean ~10.1 J"}, "CV", 8},
		{"unknown", repeated(nemb.Unavailable, 4), []string{"no energy known", "seconds of processor time"}, "joules",
			16},
		{"one", one, []string{"joules"}, "against the first", 26},
		{"hostile", evil, []string{"</svg><script>alert(1)</script>", "a��b"}, "\x00", 12},
		{"none", none, []string{"no energy known", "0 runs"}, "", 0},
	} {
		svg := drawn(t, c.run, "svg")
		all := strings.Join(texts(t, svg), "|")
		for _, w := range c.want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: no %q in %s", c.name, w, all)
			}
		}
		if c.not != "" && strings.Contains(all, c.not) {
			t.Errorf("%s: there is %q in %s", c.name, c.not, all)
		}
		// A dot is the only thing that is round.
		if n := len(regexp.MustCompile(`<path d="M[^"]*A`).FindAll(svg, -1)); n != c.dots {
			t.Errorf("%s: %d dots, want %d", c.name, n, c.dots)
		}
		image, err := png.Decode(bytes.NewReader(drawn(t, c.run, "png")))
		if err != nil || image.Bounds().Dx() != 2*pictureWidth {
			t.Errorf("%s: %v, %v", c.name, err, image.Bounds())
		}
		page := html.UnescapeString(string(drawn(t, c.run, "html")))
		for _, outside := range []string{`src="http`, `href="http`, "@import", "<script"} {
			if strings.Contains(string(drawn(t, c.run, "html")), outside) {
				t.Errorf("%s: the page has %s", c.name, outside)
			}
		}
		if !strings.Contains(page, base64.StdEncoding.EncodeToString(svg)) {
			t.Errorf("%s: the page has not the picture", c.name)
		}
	}
	if err := writeIn("pdf", &bytes.Buffer{}, one, format.Options{}); err == nil {
		t.Error("a format that there is not is drawn")
	}
}

func TestPageOfRepeated(t *testing.T) {
	b := browser(t)
	evil := repeated(nemb.Estimated, 13)
	evil.Commands[0].Argv = []string{"</title><script>window.pwned=1</script>"}
	for name, r := range map[string]*Repeated{"runs": repeated(nemb.Measured, 13), "runs-hostile": evil} {
		content := strings.Replace(string(drawn(t, r, "html")), `<html lang="en">`,
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
