package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// texts are what is written in a picture.
func texts(t *testing.T, svg []byte) []string {
	t.Helper()
	var out []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	in := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "script" || token.Name.Local == "img" {
				t.Errorf("there is a %s in the picture", token.Name.Local)
			}
			in = token.Name.Local == "text"
		case xml.CharData:
			if in {
				out = append(out, string(token))
			}
		case xml.EndElement:
			in = false
		}
	}
}

func TestPictures(t *testing.T) {
	reporttest.Golden(t, filepath.Join("testdata", "measured.svg"), reporttest.Write(t, "svg", reporttest.Example(t, nemb.Measured), format.Options{}))
	reporttest.GoldenKinds(t, "svg", "svg", format.Options{})
	for _, c := range []struct {
		run  *report.Run
		plot string
		want []string
		not  string
	}{
		{reporttest.Example(t, nemb.Measured), "", []string{"Energy of main.py  18.0 J", "measured", "watts", "package-0",
			"shop.stock.prüfsumme"}, "~"},
		{reporttest.Example(t, nemb.Estimated), "power", []string{"~13.5 J", "estimated, not measured", "watts"}, "shop.stock"},
		{reporttest.Example(t, nemb.Measured), "flame", []string{"as wide as their energy", "shop.stock.Stock.refill"}, "watts"},
		{reporttest.Example(t, nemb.Unavailable), "all", []string{"Energy of main.py  ?", "no energy known",
			"as wide as their wall-clock time", "shop.stock.prüfsumme"}, "watts"},
		{reporttest.Suite(t, nemb.Estimated), "all", []string{"test_shop.py::test_work[1]"}, ""},
		{&report.Run{}, "all", []string{"Energy of program  ?", "no energy known"}, "watts"},
		{reporttest.Hostile(t), "all", []string{"<script>alert(1)</script>", "�"}, "\x00"},
		{reporttest.Largest(t), "all", []string{"gpu0", "core", "machine", "package14.module.f14"}, ""},
	} {
		all := strings.Join(texts(t, reporttest.Write(t, "svg", c.run, format.Options{Chosen: map[string]string{"plot": c.plot}})), "|")
		for _, w := range c.want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: no %q in %s", c.plot, w, all)
			}
		}
		if c.not != "" && strings.Contains(all, c.not) {
			t.Errorf("%s: there is %q in %s", c.plot, c.not, all)
		}
		image, err := png.Decode(bytes.NewReader(reporttest.Write(t, "png", c.run, format.Options{Chosen: map[string]string{"plot": c.plot}})))
		if err != nil {
			t.Fatal(err)
		}
		if w := image.Bounds().Dx(); w != 2*pictureWidth {
			t.Errorf("%d pixels wide", w)
		}
	}
	for _, c := range []struct {
		run        *report.Run
		plot, want string
	}{
		{reporttest.Example(t, nemb.Unavailable), "power", "the run tells no power over time: use --plot flame"},
		{reporttest.Example(t, nemb.Measured), "pie", `--plot "pie" is not known: use all, power, flame`},
	} {
		f, _ := format.Named("svg", (*report.Run)(nil))
		if err := f.Write(&bytes.Buffer{}, report.Together([]*report.Run{c.run}),
			format.Options{Chosen: map[string]string{"plot": c.plot}}); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Boxes are as wide as energies, and lie in their callers.
func TestBoxes(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	boxes := boxesOf(r, 1000)
	if len(boxes) != 3 || boxes[0].width != 1000 {
		t.Fatalf("%+v", boxes)
	}
	for i, want := range []*report.Joules{r.Totals.ProgramEnergyJ, r.Functions[1].InclusiveEnergyJ,
		r.Functions[0].InclusiveEnergyJ} {
		if got := boxes[i].width / 1000 * r.Totals.ProgramEnergyJ.Float(); math.Abs(got-want.Float()) > 1e-6 {
			t.Errorf("%s: %g J, want %g", boxes[i].name, got, want.Float())
		}
	}
	all := boxesOf(reporttest.Largest(t), 960)
	if len(all) > 16384 || len(all) < 1000 {
		t.Errorf("%d boxes", len(all))
	}
	ends := map[int]float64{}
	for _, b := range all {
		if b.x < ends[b.depth]-1e-6 || b.x+b.width > 960+1e-6 || b.depth >= boxRows {
			t.Fatalf("%+v overlaps what ends at %g", b, ends[b.depth])
		}
		ends[b.depth] = b.x + b.width
	}
}
