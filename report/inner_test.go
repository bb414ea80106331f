package report

import (
	"testing"

	"cg/attach"
	"cg/checkpoint"
	"cg/measure"
	"cg/nemb/attribute"
)

// What a function called has the part of its energy that its samples show, and the function with checkpoints keeps all
// of its own. Costs without a site, and tasks, are no functions.
func TestInnerEnergies(t *testing.T) {
	j := func(e Joules) *Joules { return &e }
	r := &Run{Functions: []Function{
		{Name: "f", SelfEnergyJ: j(1000), SelfEnergyLoJ: j(900), SelfEnergyHiJ: j(1200)},
		{Name: "g"},
	}}
	sites := []checkpoint.Site{{ID: 1, Func: "task", Kind: checkpoint.Task}, {ID: 2, Func: "f"}, {ID: 3, Func: "g"}}
	r.inner(&measure.Inner{Functions: []attach.Inside{
		{Site: 2, Looks: 10, Parts: []attach.Part{
			{Site: checkpoint.Site{Func: "add", File: "/fast.so", Language: "c"}, Looks: 5, Under: 10}}},
		{Site: 3, Looks: 1, Parts: []attach.Part{{Site: checkpoint.Site{Func: "add"}, Looks: 1, Under: 1}}},
	}}, []attribute.Cost{{Site: 1}, {Site: 99}, {Site: 2}, {Site: 3}}, sites)
	f, g := r.Functions[0], r.Functions[1]
	if *f.SelfEnergyJ != 1000 || f.InnerSamples != 10 || len(f.Inner) != 1 {
		t.Fatalf("%+v", f)
	}
	in := f.Inner[0]
	// 5 of 10 is 0.187 to 0.813, 10 of 10 is 0.692 to 1 (Clopper and Pearson).
	for _, e := range []struct {
		name string
		got  *Joules
		want Joules
	}{
		{"self", in.SelfEnergyJ, 500}, {"at least", in.SelfEnergyLoJ, 168}, {"at most", in.SelfEnergyHiJ, 975},
		{"inclusive", in.InclusiveEnergyJ, 1000}, {"at least", in.InclusiveEnergyLoJ, 622},
		{"at most", in.InclusiveEnergyHiJ, 1200},
	} {
		if *e.got != e.want {
			t.Errorf("%s: %d, want %d", e.name, *e.got, e.want)
		}
	}
	if in.Name != "add" || in.File != "/fast.so" || in.StackSamples != 5 || in.StackSamplesInclusive != 10 {
		t.Errorf("%+v", in)
	}
	if g.Inner[0].SelfEnergyJ != nil || g.Inner[0].InclusiveEnergyHiJ != nil {
		t.Errorf("an energy that nobody knows: %+v", g.Inner[0])
	}
}
