package cluster

import (
	"bytes"
	"strings"
	"testing"

	"cg/footprint"
)

// What the nodes used comes to money and grams; it is saved, read back and held against the energy.
func TestFootprint(t *testing.T) {
	rates, err := footprint.New(footprint.Settings{Carbon: true, Cost: true, Intensity: "360", Price: "0.36 EUR",
		Embodied: "36 g/h, the maker"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := merge(t, example(t))
	d.Account(rates)
	f := d.Footprint
	if f == nil {
		t.Fatalf("nothing: %+v", d.Warnings)
	}
	// Each of the nodes was made: 36 g/h are 0.01 g/s.
	want := d.Totals.EnergyJ.Float()*1e-4 + 0.01*d.Totals.DurationS*float64(len(d.Nodes))
	if got := f.Carbon.Grams.Value; got < want*(1-1e-6) || got > want*(1+1e-6) {
		t.Errorf("%g g, want %g", got, want)
	}
	facts := ""
	for _, fact := range d.Facts() {
		facts += fact[0] + ": " + fact[1] + "\n"
	}
	for _, part := range []string{"Carbon: ", "360 g/kWh", "Cost: ", "EUR"} {
		if !strings.Contains(facts, part) {
			t.Errorf("no %q in\n%s", part, facts)
		}
	}
	b, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(bytes.NewReader(b)); err != nil {
		t.Error(err)
	}
	again, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if faults := again.Check(); len(faults) > 0 || again.Footprint == nil {
		t.Errorf("%+v, %q", again.Footprint, faults)
	}
	again.SHA256, again.Footprint.EnergyJ.Value = "", 2*again.Footprint.EnergyJ.Hi
	if len(again.Check()) == 0 {
		t.Error("twice the energy is not found")
	}
	d.Totals.EnergyJ = nil
	d.Account(rates)
	if d.Footprint != nil || d.Warnings[len(d.Warnings)-1].Slug != "footprint-unknown" {
		t.Errorf("an energy that is not known comes to %+v", d.Footprint)
	}
}
