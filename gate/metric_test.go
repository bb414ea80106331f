package gate

import "testing"

func TestMetricOfUnits(t *testing.T) {
	for m, want := range map[Metric][3]string{
		Energy: {"energy", "", "J"}, "energy/token": {"energy", "token", "J/token"},
		"cpu-energy/row": {"cpu-energy", "row", "J/row"}, CPUTime: {"cpu-time", "", "s"},
	} {
		whole, unit := m.Of()
		if got := [3]string{string(whole), unit, m.Unit()}; got != want {
			t.Errorf("%s: %q, want %q", m, got, want)
		}
	}
}
