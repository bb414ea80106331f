package report

import "testing"

func TestDearest(t *testing.T) {
	j := func(n Joules) *Joules { return &n }
	functions := []Function{
		{Name: "small", File: "/a", SelfEnergyJ: j(5), CPUTimeS: 8, SelfTimeS: 1},
		{Name: "large", File: "/a", SelfEnergyJ: j(60), CPUTimeS: 1, SelfTimeS: 1},
		{Name: "nowhere", SelfEnergyJ: j(10), CPUTimeS: 0, SelfTimeS: 1},
		{Name: "middle", File: "/b", SelfEnergyJ: j(25), CPUTimeS: 1, SelfTimeS: 1},
	}
	names := func(part float64) (s string, share float64) {
		r := Run{Functions: functions}
		found, share := r.Dearest(part)
		for _, f := range found {
			s += f.Name + " "
		}
		return s, share
	}
	check := func(part float64, want string, share float64) {
		t.Helper()
		if got, has := names(part); got != want || has != share {
			t.Errorf("%v: %q with %v, want %q with %v", part, got, has, want, share)
		}
	}
	check(0.5, "large ", 0.6)
	check(0.85, "large middle ", 0.85)
	check(0.9, "large middle small ", 0.9) // what has no file has no lines
	check(1, "large middle small ", 0.9)
	for i := range functions {
		functions[i].SelfEnergyJ = nil
	}
	check(0.8, "small ", 0.8) // by processor time
	for i := range functions {
		functions[i].CPUTimeS = 0
	}
	check(0.5, "small large ", 0.5) // by time
	functions = nil
	check(0.5, "", 0)
}
