package report

import (
	"strings"
	"testing"
)

// Why a program has no checkpoints is what the run tells, or else what is usual in its language.
func TestWhyNothing(t *testing.T) {
	for usual, want := range map[string]string{"": "none of the modules that were loaded", "it was not built": "it was not built"} {
		r := &Run{Meta: Meta{Granularity: "fine"}}
		r.WarnOfNothing(usual)
		if len(r.Warnings) != 1 || r.Warnings[0].Slug != "nothing-instrumented" || !strings.Contains(r.Warnings[0].Message, want) {
			t.Errorf("%q: %+v", usual, r.Warnings)
		}
	}
	r := &Run{Skipped: []Skip{{File: "a.c", Reason: "too large"}}}
	if got := r.WhyNothing(""); got != "a.c: too large" {
		t.Error(got)
	}
	r.Warnings = []Warning{{Slug: "checkpoints-off", Message: "no compiler was reached"}}
	if r.WarnOfNothing(""); len(r.Warnings) != 1 || r.WhyNothing("") != "no compiler was reached" {
		t.Errorf("%+v", r.Warnings)
	}
}
