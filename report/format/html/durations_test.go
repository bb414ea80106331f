package html

import (
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// lasting has times of calls: of one function with an upper bound that is not known, of the other none.
func lasting(t *testing.T) *report.Run {
	r := reporttest.Example(t, nemb.Measured)
	hi := 1.4e-6
	r.Functions[0].CallsTime = &report.CallsTime{N: 40, MinS: 0.9e-6, MedianS: 1.2e-6, MedianLoS: 1e-6, MedianHiS: &hi,
		P95S: 8e-6, P95LoS: 6e-6, MaxS: 9e-6, Calls: 100, BurstSquares: 300,
		Bins: [][]float64{{156, 161, 60}, {161, 165, 30}, {201, 206, 10}}}
	return r
}

// The panel of a function shows how long its calls took, with a histogram; that of a function without such
// times, or of an older file without bins, does not.
func TestDurations(t *testing.T) {
	b := browserOf(t)
	of := func(name string, r *report.Run) *tab {
		p := open(t, b, name, reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		p.tab("functions")
		p.click(`#functions-table tbody button.name`)
		return p
	}
	told := `[...document.querySelectorAll('#chosen dt')].find((e) => e.textContent === 'Duration of a call')`
	r := lasting(t)
	first := r.Functions[0].Name
	p := of("durations", r)
	p.value(`[...document.querySelectorAll('#functions-table tbody button.name')].find((e) => e.textContent === '` + first +
		`').click()`)
	p.is(`document.querySelector('#chosen h2').textContent`, first)
	p.is(`[...`+told+`.nextSibling.querySelectorAll('span, small')].map((e) => e.textContent.trim()).join('; ').replaceAll('\u00a0', ' ')`,
		"median 1.20 µs; 1.00 µs to 1.40 µs; p95 8.00 µs; 6.00 µs to ?; 900 ns to 9.00 µs, of 40 calls that were timed")
	p.is(`document.querySelectorAll('#chosen .histogram .calls').length`, "5")
	p.is(`document.querySelectorAll('#chosen .histogram .bounds').length`, "2")
	p.is(`(() => { const all = [...document.querySelectorAll('#chosen .histogram .calls')]; const tall = all.map((e) => +e.getAttribute('height')); return tall.indexOf(Math.max(...tall)); })()`, "0")
	p.quiet()
	r = lasting(t)
	r.Functions[0].CallsTime.Bins = nil
	for i := range r.Functions {
		r.Functions[i].CallsTime = r.Functions[0].CallsTime
	}
	p = of("old", r)
	p.is(`Boolean(`+told+`)`, "true")
	p.is(`document.querySelectorAll('#chosen .histogram').length`, "0")
	p.quiet()
}

// The page gets no bins that it could not draw: a file may have any numbers.
func TestDurationsOfAChangedFile(t *testing.T) {
	r := lasting(t)
	for _, bins := range [][][]float64{r.Functions[0].CallsTime.Bins, {{0, 1e300, 5}}, {{1}}} {
		r.Functions[0].CallsTime.Bins = bins
		shown := functionsOf(r, func(string) int { return 0 }).More[0].CallsTime
		if want := len(bins) == 3; shown == nil || shown.N != 40 || (len(shown.Bins) == 3) != want {
			t.Errorf("%v: %+v", bins, shown)
		}
	}
}
