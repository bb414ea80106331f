package report

import (
	"path/filepath"
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/sampler"
)

// evened has no stamps that differ from run to run.
func evened(r *Run) *Run {
	r.Meta.StartedAt, r.Meta.EndedAt = "2026-01-02T03:04:05.000000+00:00", "2026-01-02T03:04:06.000000+00:00"
	r.Meta.EndedAtLocal, r.Meta.DurationTotalS = "", 1
	r.Tasks[0].EndedAt = 1001
	return r
}

// The saved documents that the tests of formats read are what this package makes.
func TestExamplesAreSaved(t *testing.T) {
	k := kindsOfRuns()["small"]
	good := k.run("good")
	k.faults = []sampler.Faults{{Domain: "package-0", Failed: 90, Unknown: 800 * time.Millisecond}}
	part := k.run("part")
	k.watts, k.faults = []float64{0}, nil
	zero := k.run("zero")
	for name, d := range map[string]interface{ JSON() ([]byte, error) }{
		"run-measured": evened(example(nemb.Measured)), "run-estimated": evened(example(nemb.Estimated)),
		"run-unavailable": evened(example(nemb.Unavailable)), "suite-measured": evened(suite(nemb.Measured)),
		"suite-estimated": evened(suite(nemb.Estimated)), "hostile": evened(hostile()),
		"faults-none": evened(good), "faults-part": evened(part), "faults-zero": evened(zero),
	} {
		b, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("reporttest", "testdata", name+".json"), b)
	}
}
