package reporttest

import (
	"os"
	"path/filepath"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
)

// Viewers is the folder into which .ci/run has npm put the viewers' own readers.
func Viewers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CG_VIEWERS")
	if dir == "" {
		t.Skip("the readers of the viewers are not installed: see .ci/run (CG_VIEWERS)")
	}
	return dir
}

// Viewed are runs in a format, with the log of calls of one.
func Viewed(t *testing.T, as string) map[string]struct {
	Run  *report.Run
	File string
} {
	t.Helper()
	out := map[string]struct {
		Run  *report.Run
		File string
	}{}
	for name, r := range map[string]*report.Run{
		"measured": Example(t, nemb.Measured), "estimated": Example(t, nemb.Estimated),
		"unknown": Example(t, nemb.Unavailable),
		"suite":   Suite(t, nemb.Measured), "calls": Example(t, nemb.Measured), "hostile": Hostile(t),
		"poisoned": Poisoned(Example(t, nemb.Measured)),
	} {
		var o format.Options
		if name == "calls" {
			o.Events = EventLog(t, r.Meta.RunID, 1000)
		}
		file := filepath.Join(t.TempDir(), name+".json")
		if err := os.WriteFile(file, Write(t, as, r, o), 0o666); err != nil {
			t.Fatal(err)
		}
		out[name] = struct {
			Run  *report.Run
			File string
		}{r, file}
	}
	return out
}
