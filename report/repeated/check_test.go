package repeated_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/repeated"
	"cg/report/reporttest"
)

// inDomains makes the machine of invented runs one of a single domain.
func inDomains(r *repeated.Result) *repeated.Result {
	r.Meta.DomainTopology = map[string]nemb.Place{"package-0": {TopLevel: true, Kind: "cpu_package", Includes: []string{}}}
	r.Commands = r.All()
	for i := range r.Commands {
		c := &r.Commands[i]
		for k, m := range c.Measurements {
			if c.Measurements[k].Domains = map[string]report.Joules{}; m.EnergyJ != nil {
				c.Measurements[k].Domains["package-0"] = *m.EnergyJ
			}
		}
		c.Summarize(false)
	}
	r.Compare()
	return r
}

// What is written agrees with its runs; each figure that is changed is named.
func TestVerify(t *testing.T) {
	documents := map[string]*repeated.Result{
		"commands": inDomains(reporttest.Repeated(t, nemb.Measured, 13)), "estimated": inDomains(reporttest.Repeated(t, nemb.Estimated, 2)),
		"unknown": inDomains(reporttest.Repeated(t, nemb.Unavailable, 4)), "program": repeatedly(used(t, 2, 3), used(t, 2.5, 0.9), used(t, 3, 0)),
	}
	texts := map[string]string{}
	for name, r := range documents {
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(b)
		if faults, err := repeated.Verify(bytes.NewReader(b), r.Meta.CgVersion); err != nil || len(faults) > 0 {
			t.Errorf("%s: %v, %q", name, err, faults)
		}
	}
	for _, test := range []struct{ of, old, new, want string }{
		{"program", `"functions": \[\n *\{\n *"name": "a"(?s:.*?)"mean": `, "${0}7", "functions[0].calls.mean: 71, but the runs make it 1"},
		{"program", `"share_percent": `, "${0}1", "functions[0].share_percent: "},
		{"program", `(?s)("measurements": .*?"energy_j": )[0-9.]+`, "${1}1e9", "measurements[0].energy_j: 1e+09 J, but its domains at the top level add up to"},
		{"program", `(?s)("measurements": .*?"program_energy_j": )[0-9.]+`, "${1}1e9", "measurements[0].program_energy_j: 1e+09 J, which is more than"},
		{"program", `(?s)("measurements": .*?"program_energy_j": )[0-9.]+`, "${1}0.5", "measurements[0].functions: they used"},
		{"program", `(?s)("measurements": .*?"functions": .*?"inclusive_energy_j": )[0-9.]+`, "${1}0.5", "measurements[0].functions[0].inclusive_energy_j: 0.5 J, less than"},
		{"program", `"energy_valid": 3`, `"energy_valid": 2`, "runs.energy_valid: 2, but the runs make it 3"},
		{"program", `"attempted": 3`, `"attempted": "3"`, "runs.attempted"},
		{"commands", `"change": [-0-9.]+`, `"change": 5`, "against_first.change: 5, but"},
		{"commands", `"ci95_lower": `, "${0}9", "energy_j.ci95_lower: 9"},
		{"commands", `"ci95_lower": `, "${0}9", "energy_j.mean: "},
		{"commands", `"rounds": [0-9]+`, `"rounds": 3`, "against_first.rounds: 3, but"},
	} {
		pattern := regexp.MustCompile(test.old)
		at := pattern.FindStringSubmatchIndex(texts[test.of])
		if at == nil {
			t.Errorf("%s: no %s", test.of, test.old)
			continue
		}
		text := texts[test.of]
		text = text[:at[0]] + string(pattern.ExpandString(nil, test.new, text, at)) + text[at[1]:]
		faults, err := repeated.Verify(strings.NewReader(text), documents[test.of].Meta.CgVersion)
		if err != nil {
			faults = []string{err.Error()}
		}
		if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, test.want) }) {
			t.Errorf("%s for %s: no %q in %q", test.new, test.old, test.want, faults)
		}
	}
	// Another cg may have computed intervals otherwise; the mean lies inside all the same.
	text := regexp.MustCompile(`"ci95_lower": [0-9.e-]+`).ReplaceAllString(texts["commands"], `"ci95_lower": 0`)
	if faults, err := repeated.Verify(strings.NewReader(text), "0.0.1"); err != nil || len(faults) > 0 {
		t.Errorf("%v, %q", err, faults)
	}
}

// Another cg told by its own interval whether the budget was exceeded.
func TestVerifyBudget(t *testing.T) {
	r := inDomains(reporttest.Repeated(t, nemb.Measured, 5))
	c := &r.Commands[0]
	budget := *c.ProgramEnergyJ.CI95Lower - 0.01
	c.BudgetJ = &budget
	c.Summarize(false)
	narrow, wide, exceeded, kept := *c.ProgramEnergyJ.CI95Lower, budget-1, true, false
	for _, test := range []struct {
		version string
		lower   *float64
		said    *bool
		right   bool
	}{
		{r.Meta.CgVersion, &narrow, &exceeded, true}, {r.Meta.CgVersion, &narrow, &kept, false},
		{"0.0.1", &narrow, &exceeded, true}, {"0.0.1", &narrow, &kept, false},
		{"0.0.1", &wide, &kept, true}, {"0.0.1", &wide, &exceeded, false},
	} {
		c.ProgramEnergyJ.CI95Lower, c.BudgetExceeded = test.lower, test.said
		r.Compare()
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		faults, err := repeated.Verify(bytes.NewReader(b), test.version)
		if told := strings.Contains(strings.Join(faults, "\n"), "budget_exceeded"); err != nil || told == test.right {
			t.Errorf("%s, from %g J, %v: %v, %q", test.version, *test.lower, *test.said, err, faults)
		}
	}
}

// Files of the older schema are verified, too.
func TestVerifyOlder(t *testing.T) {
	b, err := os.ReadFile("../testdata/schema1/repeated.json")
	if err != nil {
		t.Fatal(err)
	}
	faults, err := repeated.Verify(bytes.NewReader(b), "another")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults { // its runs are invented
		if !strings.Contains(fault, "its domains at the top level") {
			t.Error(fault)
		}
	}
}
