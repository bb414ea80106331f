package doctor

import (
	"errors"
	"strings"
	"testing"
)

// What prevents samples of machine code, and what prevents exact processor times, are two findings.
func TestStacks(t *testing.T) {
	var d Diagnosis
	d.stacks(nil)
	d.account(nil)
	if len(d.Findings) != 0 {
		t.Errorf("%+v", d.Findings)
	}
	d.stacks(errors.New("no room"))
	d.account(errors.New("denied"))
	if len(d.Findings) != 2 || d.Findings[0].Check != "stacks" || !strings.HasSuffix(d.Findings[0].Text, ": no room") ||
		d.Findings[1].Check != "perf_event" || strings.Contains(d.Findings[1].Text, "--sample") {
		t.Errorf("%+v", d.Findings)
	}
}
