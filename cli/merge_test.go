package cli

import (
	"os"
	"path/filepath"
	"testing"

	"cg/ranks"
	"cg/report/cluster"
)

// Who merges asks Slurm as long as there is no energy, whatever a rank was told.
func TestSlurmIsAskedAgain(t *testing.T) {
	const told = "sacct ConsumedEnergyRaw"
	later, lagging := "printf '7.0|7.0|1795449595|1795449599|600\\n'", "exit 0"
	for _, c := range []struct {
		what, source, sacct string
		joules              float64 // that a rank was told, 0 for none
		want                float64
		wantSource          string
	}{
		{"the step still ran", ranks.StillRan, later, 0, 600, told},
		{"rank 0 was killed", ranks.AskedByFirst, later, 0, 600, told},
		{"no sacct where it ran", ranks.NoSacct, later, 0, 600, told},
		{"the accounting lagged", "sacct knows nothing of the step 7.0", later, 0, 600, told},
		{"no answer", "sacct: signal: killed", later, 0, 600, told},
		{"a heterogeneous step", "sacct: Slurm gathers no energy here (AcctGatherEnergyType)", later, 0, 600, told},
		{"it still lags", ranks.StillRan, lagging, 0, 0, "sacct knows nothing of the step 7.0"},
		{"no sacct here", "sacct: signal: killed", "", 0, 0, "sacct: signal: killed"},
		{"it is known", told, later, 500, 500, told},
	} {
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		if c.sacct != "" {
			if err := os.WriteFile(filepath.Join(dir, "sacct"), []byte("#!/bin/sh\n"+c.sacct+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		d := &cluster.Run{Ranks: []cluster.Rank{{StartedUnixNs: 1795449597e9}}}
		s := &cluster.Slurm{JobID: "7", StepID: "0", Source: c.source}
		if c.joules > 0 {
			s.ConsumedEnergyJ = &c.joules
		}
		d.Meta.Slurm = s
		askAgain(d)
		got := 0.0
		if s.ConsumedEnergyJ != nil {
			got = *s.ConsumedEnergyJ
		}
		if got != c.want || s.Source != c.wantSource {
			t.Errorf("%s: %g J, %q; want %g J, %q", c.what, got, s.Source, c.want, c.wantSource)
		}
	}
}
