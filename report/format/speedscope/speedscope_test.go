package speedscope

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

func TestSpeedscopeGolden(t *testing.T) {
	reporttest.GoldenKinds(t, "speedscope", "speedscope.json", format.Options{})
}

func TestSpeedscopeSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/speedscope/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*report.Run{reporttest.Example(t, nemb.Measured), reporttest.Example(t, nemb.Unavailable), reporttest.Suite(t, nemb.Estimated), reporttest.Hostile(t)} {
		b := reporttest.Write(t, "speedscope", r, format.Options{})
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Error(err)
		}
		var f struct {
			Profiles []struct {
				Name     string  `json:"name"`
				EndValue float64 `json:"endValue"`
			} `json:"profiles"`
		}
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Profiles {
			if strings.HasPrefix(p.Name, "energy") && p.EndValue != float64(*r.Totals.ProgramEnergyJ) {
				t.Errorf("%s: %g, the program used %d", p.Name, p.EndValue, *r.Totals.ProgramEnergyJ)
			}
		}
		if (r.Totals.EnergyJ != nil) != (len(f.Profiles) == 3) {
			t.Errorf("%d profiles", len(f.Profiles))
		}
	}
}
