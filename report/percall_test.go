package report

import (
	"math"
	"strings"
	"testing"

	"cg/footprint"
	"cg/nemb"
)

func TestPerCall(t *testing.T) {
	joules := func(v Joules) *Joules { return &v }
	r := &Run{Meta: Meta{Granularity: "fine", StartedAt: "2026-01-02T03:04:05Z", EndedAt: "2026-01-02T03:04:15Z"},
		Totals: Totals{EnergyJ: joules(9e6), DurationS: 10, Provenance: Provenance{LoJ: joules(8e6), HiJ: joules(10e6)}},
		Functions: []Function{
			{Name: "shop.stock.Stock.take", File: "stock.py", Line: 3, Calls: 400, InclusiveEnergyJ: joules(2e6),
				InclusiveEnergyLoJ: joules(1e6), InclusiveEnergyHiJ: joules(4e6), EnergyKind: nemb.Measured, InclusiveTimeS: 3},
			{Name: "shop.main", File: "main.py", Line: 9, Calls: 1, EnergyKind: nemb.Unavailable},
			{Name: "other.main", File: "other.py", Line: 1, Calls: 1},
		},
		Sites: []Site{{Name: "shop.stock.Stock.take"}, {Name: "shop.main"}, {Name: "other.main"}, {Name: "shop.never"}}}
	for name, want := range map[string]string{
		"shop.stock.Stock.tak": `no function "shop.stock.Stock.tak" has a checkpoint: did you mean "shop.stock.Stock.take"?`,
		"nver":                 `no function "nver" has a checkpoint: did you mean "never"?`,
		"nothing like it":      `no function "nothing like it" has a checkpoint: functions lists those that have one`,
		"":                     `no function "" has a checkpoint: functions lists those that have one`,
		"never":                "shop.never was not called",
		"shop.never":           "shop.never was not called",
		"main":                 `"main" may be shop.main (main.py:9) or other.main (other.py:1): name one by its whole name`,
		"ake":                  `no function "ake" has a checkpoint: did you mean "take"?`,
	} {
		if err := r.AddPerCall(name); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	for _, name := range []string{"Stock.take", "shop.main"} {
		if err := r.AddPerCall(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.AddPerCall("take"); err == nil || !strings.Contains(err.Error(), "was named already") {
		t.Errorf("the same function twice: %v", err)
	}
	take, unknown := r.PerCall[0], r.PerCall[1]
	for what, of := range map[string][2]float64{"energy": {*take.EnergyJ, 0.005}, "lo": {*take.LoJ, 0.0025},
		"hi": {*take.HiJ, 0.01}, "calls": {*take.PerJ, 200}, "calls lo": {*take.PerLoJ, 100}, "calls hi": {*take.PerHiJ, 400}} {
		if math.Abs(of[0]-of[1]) > 1e-12 {
			t.Errorf("%s: %v, want %v", what, of[0], of[1])
		}
	}
	if unknown.EnergyJ != nil || unknown.PerJ != nil || unknown.Lines()[0][1]+unknown.Lines()[1][1] != "?  of shop.main?  of 1 calls" {
		t.Errorf("what is not known: %+v, %q", unknown, unknown.Lines())
	}
	for i, want := range []string{"5.00 mJ  [2.50 mJ, 10.0 mJ]  of shop.stock.Stock.take", "200  [100, 400]  of 400 calls"} {
		if got := take.Lines()[i][1]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	faults := func() []string {
		c := &check{}
		c.perCall(r)
		return c.faults
	}
	if f := faults(); f != nil {
		t.Error(f)
	}
	half := *take.EnergyJ / 2
	r.PerCall[0].EnergyJ = &half
	if f := faults(); len(f) != 2 {
		t.Errorf("a wrong energy: %q", f)
	}
}

// What a call emits is the emissions of its energy, and those of making the machine while calls ran.
func TestPerCallEmits(t *testing.T) {
	joules := func(v Joules) *Joules { return &v }
	r := &Run{Meta: Meta{StartedAt: "2026-01-02T03:04:05Z", EndedAt: "2026-01-02T03:04:15Z"},
		Totals: Totals{EnergyJ: joules(36e6), DurationS: 10, Provenance: Provenance{LoJ: joules(36e6), HiJ: joules(36e6)}},
		Functions: []Function{{Name: "f", Calls: 10, InclusiveEnergyJ: joules(18e6), InclusiveEnergyLoJ: joules(9e6),
			InclusiveEnergyHiJ: joules(36e6), InclusiveTimeS: 40}}}
	if err := r.AddPerCall("f"); err != nil {
		t.Fatal(err)
	}
	rates, err := footprint.New(footprint.Settings{Carbon: true, Intensity: "1000", Embodied: "36 g/h, the maker"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Account(rates)
	// 18 J are 5e-6 kWh, or 5 mg at 1 kg/kWh; 36 g/h are 10 mg in each of the 10 s that the run lasted: 4 threads need one machine.
	g := r.PerCall[0].CO2eG
	if g == nil || math.Abs(g.Value-(0.005+0.1)/10) > 1e-9 || math.Abs(g.Lo-(0.0025+0.1)/10) > 1e-9 || math.Abs(g.Hi-(0.01+0.1)/10) > 1e-9 {
		t.Errorf("%+v", g)
	}
}
