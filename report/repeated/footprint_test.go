package repeated_test

import (
	"strings"
	"testing"

	"cg/footprint"
	"cg/nemb"
	"cg/report/reporttest"
)

// Each command has a footprint of its own, and the first one's stands at the top, too. One whose energy
// is not known has none, not even an earlier one, and takes none from the others.
func TestFootprintOfEach(t *testing.T) {
	at := func(price string) *footprint.Rates {
		rates, err := footprint.New(footprint.Settings{Cost: true, Price: price}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return rates
	}
	r := reporttest.Repeated(t, nemb.Measured, 4)
	r.Account(at("0.30 EUR"))
	if top := r.Command.Footprint; top == nil || top != r.Commands[0].Footprint || r.Commands[1].Footprint == nil {
		t.Fatalf("at the top %+v, of the commands %+v and %+v", top, r.Commands[0].Footprint, r.Commands[1].Footprint)
	}
	r.Commands[0].EnergyJ = nil
	r.Account(at("0.60 EUR"))
	if r.Command.Footprint != nil || r.Commands[0].Footprint != nil {
		t.Error("an energy that is not known comes to something")
	}
	if f := r.Commands[1].Footprint; f == nil || f.Cost.Price.Value != 0.60 {
		t.Errorf("the second command has %+v", f)
	}
	if w := r.Warnings; len(w) != 1 || w[0].Slug != "footprint-unknown" || !strings.Contains(w[0].Message, "not known") {
		t.Errorf("warnings: %+v", w)
	}
	r.Commands[0].EnergyJ = r.Commands[1].EnergyJ
	if r.Account(at("0.30 EUR")); r.Commands[0].Footprint == nil || len(r.Warnings) != 0 {
		t.Errorf("what is known now is warned of: %+v", r.Warnings)
	}
}
