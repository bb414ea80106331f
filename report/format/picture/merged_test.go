package picture

import (
	"bytes"
	"image/png"
	"math"
	"slices"
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

// Of many moments, a step has the mean of those that are known, and one without any is a hole.
func TestMergedOfManyMoments(t *testing.T) {
	watts := make([]float64, 3*pictureSteps)
	for i := range watts {
		watts[i] = 10
	}
	for _, test := range []struct {
		what       string
		from, to   int // not known
		wantPieces int
	}{{"whole", 0, 0, 1}, {"two of three moments", 300, 302, 1}, {"three steps", 300, 309, 2}} {
		known := slices.Clone(watts)
		for i := test.from; i < test.to; i++ {
			known[i] = math.NaN()
		}
		l, err := merge.Align([]merge.Source{{Name: "n1.csv", Log: mergedLog(known...)}, {Name: "n2.csv", Log: mergedLog(watts...)}}, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		f, err := format.Named("svg", l)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Write(&b, l, format.Options{}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "stroke:#1F6F8B") - 1; n != test.wantPieces { // one is beside the name
			t.Errorf("%s: %d pieces, want %d", test.what, n, test.wantPieces)
		}
	}
}

// A picture of logs without power says that nothing is known.
func TestMergedWithoutPower(t *testing.T) {
	log := &energylog.Rows{Unix: []int64{0, 1e9}, Names: []string{"t_c"}, Values: [][]float64{{40, 41}}, Kind: "measured"}
	l, err := merge.Align([]merge.Source{{Name: "t1", Log: log}, {Name: "t2", Log: log}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := mergedFacts(l); !strings.HasPrefix(got, "not known · ? · ") {
		t.Error(got)
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
