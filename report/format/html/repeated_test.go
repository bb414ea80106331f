package html

import (
	"encoding/base64"
	"html"
	"strings"
	"testing"

	"cg/footprint"
	"cg/nemb"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
)

// The page shows the picture of the runs, and asks for nothing.
func TestPageHasThePicture(t *testing.T) {
	for _, r := range []*repeated.Result{reporttest.Saved[repeated.Result](t, "repeated-measured"), reporttest.Saved[repeated.Result](t, "repeated-unavailable")} {
		svg := reporttest.Write(t, "svg", r, format.Options{})
		page := string(reporttest.Write(t, "html", r, format.Options{}))
		for _, outside := range []string{`src="http`, `href="http`, "@import", "<script"} {
			if strings.Contains(page, outside) {
				t.Errorf("the page has %s", outside)
			}
		}
		if !strings.Contains(html.UnescapeString(page), base64.StdEncoding.EncodeToString(svg)) {
			t.Error("the page has not the picture")
		}
	}
}

// The page of repeated runs and that of one run have what their energies come to, where that was asked for.
func TestPageHasTheFootprint(t *testing.T) {
	rates, err := footprint.New(footprint.Settings{Carbon: true, Cost: true, Intensity: "360", Price: "0.36 EUR"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	runs, run := reporttest.Saved[repeated.Result](t, "repeated-measured"), reporttest.Example(t, nemb.Measured)
	lines := func() (got [2]int) {
		for i, d := range []format.Document{runs, run} {
			page := string(reporttest.Write(t, "html", d, format.Options{}))
			got[i] = strings.Count(page, "360 g/kWh") + strings.Count(page, "0.360 EUR/kWh")
		}
		return got
	}
	if n := lines(); n != [2]int{} {
		t.Errorf("nobody asked, and the pages have %d lines", n)
	}
	runs.Account(rates)
	run.Account(rates)
	// A run's page has each twice: for its script, and as text for a browser without one.
	if n := lines(); n != [2]int{2 * len(runs.All()), 4} {
		t.Errorf("the pages have %d lines", n)
	}
}

func TestPageOfRepeated(t *testing.T) {
	b := browserOf(t)
	evil := reporttest.Saved[repeated.Result](t, "repeated-estimated")
	evil.Commands[0].Argv = []string{"</title><script>window.pwned=1</script>"}
	for name, r := range map[string]*repeated.Result{"runs": reporttest.Saved[repeated.Result](t, "repeated-measured"), "runs-hostile": evil} {
		content := strings.Replace(string(reporttest.Write(t, "html", r, format.Options{})), `<html lang="en">`,
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
