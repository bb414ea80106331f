package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"cg/ranks"
)

// How long the calls of a function took is told over all ranks whose reports tell it, and goes with the
// merged document.
func TestTimesOfRanks(t *testing.T) {
	dir := example(t)
	before := merge(t, dir)
	told := 0
	for i, r := range before.Ranks {
		name := filepath.Join(dir, filepath.FromSlash(ranks.RunFile(r.Rank)))
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		var of map[string]any
		if err := json.Unmarshal(b, &of); err != nil {
			t.Fatal(err)
		}
		functions := of["functions"].([]any)
		if len(functions) == 0 {
			continue
		}
		times := map[string]any{"n": 10, "min_s": 1e-6, "median_s": 1e-6, "median_lo_s": 1e-6, "median_hi_s": 2e-6, "p95_s": 2e-6,
			"p95_lo_s": 1e-6, "p95_hi_s": 2e-6, "max_s": 3e-6, "calls": 10}
		if i > 0 { // an older cg told no bins
			times["bins"] = [][]float64{{159, 176, 10}}
			told++
		}
		functions[0].(map[string]any)["calls_time"] = times
		if b, err = json.Marshal(of); err == nil {
			err = os.WriteFile(name, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d := merge(t, dir)
	n, ranks := uint64(0), 0
	for _, f := range d.Functions {
		if f.CallsTime != nil {
			n, ranks = n+f.CallsTime.N, ranks+f.CallsTimeRanks
		}
	}
	if told == 0 || n != uint64(10*told) || ranks != told {
		t.Errorf("%d calls of %d ranks, want %d ranks", n, ranks, told)
	}
	if faults := d.Check(); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	n = 0
	for _, f := range d.Functional().Functions {
		if f.CallsTime != nil {
			n += f.CallsTime.N
		}
	}
	if n != uint64(10*told) {
		t.Errorf("seen as one run, %d calls", n)
	}
}
