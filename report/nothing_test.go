package report

import (
	"strings"
	"testing"
)

// Why a program has no checkpoints depends on how its language comes by them.
func TestWhyNothing(t *testing.T) {
	for language, want := range map[string]string{
		"python": "none of the modules that were loaded", "javascript": "as files of jest and vitest do",
		"c": "no program ran that was compiled in this run", "cpp": "no program ran that was compiled in this run",
	} {
		r := &Run{Meta: Meta{Language: language, Granularity: "fine"}}
		r.WarnOfNothing()
		if len(r.Warnings) != 1 || r.Warnings[0].Slug != "nothing-instrumented" || !strings.Contains(r.Warnings[0].Message, want) {
			t.Errorf("%s: %+v", language, r.Warnings)
		}
	}
	r := &Run{Meta: Meta{Language: "c"}, Skipped: []Skip{{File: "a.c", Reason: "too large"}}}
	if got := r.WhyNothing(); got != "a.c: too large" {
		t.Error(got)
	}
	r.Warnings = []Warning{{Slug: "checkpoints-off", Message: "no compiler was reached"}}
	if r.WarnOfNothing(); len(r.Warnings) != 1 || r.WhyNothing() != "no compiler was reached" {
		t.Errorf("%+v", r.Warnings)
	}
}
