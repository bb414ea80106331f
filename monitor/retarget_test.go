package monitor

import (
	"testing"
	"time"

	"cg/nemb/population"
)

// Targets change between two readings: those that stay go on, others begin at 0, and the sums hold.
func TestRetarget(t *testing.T) {
	s := newService(t)
	s.r.Host.Processes[1].Group = "/a/b"
	s.r.Host.Groups = []population.Group{{Path: "/a"}, {Path: "/a/b"}}
	a, b := Target{Kind: Cgroup, Name: "a", Path: "/a"}, Target{Kind: Cgroup, Name: "b", Path: "/a/b"}
	use := func() *Snapshot {
		for i := range s.r.Host.Groups {
			s.r.Host.Groups[i].CPU += 500 * ms
		}
		return s.read(time.Second, 500*ms, 500*ms) // 10 J each
	}
	use()
	for _, step := range []struct {
		targets []Target
		want    map[string]float64
	}{
		{[]Target{a}, map[string]float64{"a": 10}},
		{[]Target{b, a, a}, map[string]float64{"a": 20, "b": 10}},
		{[]Target{b}, map[string]float64{"b": 20}},
		{nil, nil},
		{[]Target{a, {Kind: PID, Name: "100", ID: population.ID{PID: 100, Start: 7}}}, map[string]float64{"a": 10}},
	} {
		s.book.Retarget(step.targets)
		got := use()
		if len(got.Targets) != len(step.want) {
			t.Errorf("%d targets, want %v", len(got.Targets), step.want)
		}
		for _, target := range got.Targets {
			want := int64(s.now) - int64(target.Joules/10*1e9) // 10 W since then
			if target.BeganUnix != want {
				t.Errorf("%s began at %d, want %d", target.Name, target.BeganUnix, want)
			}
			if target.Joules != step.want[target.Name] {
				t.Errorf("%s: %v J, want %v", target.Name, target.Joules, step.want)
			}
		}
	}
}
