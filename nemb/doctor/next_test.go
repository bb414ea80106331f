package doctor

import "testing"

func TestNext(t *testing.T) {
	remark, warning := Finding{"a", Remark, "", "remark"}, Finding{"b", Warning, "", "warning"}
	failure, other := Finding{"c", Failure, "", "failure"}, Finding{"d", Failure, "", "other"}
	for _, test := range []struct {
		findings []Finding
		want     string
	}{
		{nil, ""},
		{[]Finding{{"x", Failure, "", ""}, {"y", Fine, "", ""}}, ""},
		{[]Finding{remark}, "remark"},
		{[]Finding{remark, warning}, "warning"},
		{[]Finding{remark, warning, {"x", Failure, "", ""}}, "warning"},
		{[]Finding{warning, failure, other}, "failure"},
	} {
		d := Diagnosis{Findings: test.findings}
		if got, ok := d.Next(); got.Fix != test.want || ok != (test.want != "") {
			t.Errorf("%v: %q, want %q", test.findings, got.Fix, test.want)
		}
	}
}
