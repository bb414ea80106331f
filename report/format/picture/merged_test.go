package picture

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"
	"time"

	"cg/report/format"
	"cg/track/energylog"
	"cg/track/merge"
)

// A power with a hole has two lines, one of a single moment; names are safe.
func TestMerged(t *testing.T) {
	nan := math.NaN()
	l, err := merge.Align([]merge.Source{{Name: "n\x1b1.csv", Log: mergedLog(10, 20, nan, nan, nan, 30)}, {Name: "n2.csv", Log: mergedLog(1, 1, 1, 1, 1, 1)}}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	draw := func(name string) []byte {
		t.Helper()
		f, err := format.Named(name, l)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Write(&b, l, format.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	svg := string(draw("svg"))
	for _, want := range []string{"Power of 2 logs", "derived · 20", "n\uFFFD1.csv", "n2.csv", ">all<", "watts"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	if n := strings.Count(svg, "stroke:#1F6F8B"); n != 3 { // two pieces and the line beside the name
		t.Errorf("%d lines of the log with a hole, want 3", n)
	}
	if _, err := png.Decode(bytes.NewReader(draw("png"))); err != nil {
		t.Error(err)
	}
}

// mergedLog is a log of a power each second.
func mergedLog(watts ...float64) *energylog.Rows {
	r := &energylog.Rows{Names: []string{"p_w"}, Values: [][]float64{watts}, Kind: "derived",
		Powers: []energylog.Part{{Scale: 1, Power: true}}, Amounts: []energylog.Part{{Scale: 1, Power: true}}}
	for i := range watts {
		r.Unix = append(r.Unix, int64(i)*1e9)
	}
	return r
}
