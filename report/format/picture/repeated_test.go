package picture

import (
	"bytes"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"cg/report"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
)

// Every run is a dot: each command has as many as it has runs, twice.
func TestDrawRepeated(t *testing.T) {
	none := &repeated.Result{Command: repeated.Command{Argv: []string{"true"}, Measurements: []repeated.Measurement{}}}
	none.Summarize(false)
	saved := func(name string) *repeated.Result { return reporttest.Saved[repeated.Result](t, "repeated-"+name) }
	evil := saved("measured")
	evil.Commands[0].Argv = []string{"</svg><script>alert(1)</script>", "a\x00\nb"}
	evil.Warnings = []report.Warning{{Slug: "slug", Message: "<script>alert(2)</script>"}}
	one := saved("measured")
	one.Commands = nil
	for _, c := range []struct {
		name string
		run  *repeated.Result
		want []string
		not  string
		dots int
	}{
		{"measured", saved("measured"), []string{"sh -c 'make '\\''all'\\'''", "./bench 'a|b'",
			"measured · mean 11.9 J", "joules", "watts of the machine", "12 runs", "+10.0 % against the first"}, "~",
			52},
		{"estimated", saved("estimated"), []string{"estimated, not measured · mean ~10.1 J"}, "CV", 8},
		{"unknown", saved("unavailable"), []string{"no energy known", "seconds of processor time"}, "joules",
			16},
		{"one", one, []string{"joules"}, "against the first", 26},
		{"hostile", evil, []string{"</svg><script>alert(1)</script>", "a��b"}, "\x00", 52},
		{"none", none, []string{"no energy known", "0 runs"}, "", 0},
	} {
		svg := reporttest.Write(t, "svg", c.run, format.Options{})
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
		image, err := png.Decode(bytes.NewReader(reporttest.Write(t, "png", c.run, format.Options{})))
		if err != nil || image.Bounds().Dx() != 2*pictureWidth {
			t.Errorf("%s: %v, %v", c.name, err, image.Bounds())
		}
	}
}
