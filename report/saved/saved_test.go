package saved_test

import (
	"bytes"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/compare"
	"cg/report/reporttest"
	"cg/report/saved"
)

func TestReadSaved(t *testing.T) {
	run, err := reporttest.Example(t, nemb.Measured).JSON()
	if err != nil {
		t.Fatal(err)
	}
	rep, err := reporttest.Repeated(t, nemb.Measured, 3).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := saved.Read(bytes.NewReader(run)); err != nil || s.Run == nil || s.Repeated != nil {
		t.Error(s, err)
	}
	s, err := saved.Read(bytes.NewReader(rep))
	if err != nil || s.Repeated == nil || s.Run != nil || len(s.Repeated.Commands) != 2 {
		t.Fatal(s, err)
	}
	if again, err := s.Repeated.JSON(); err != nil || !bytes.Equal(again, rep) {
		t.Errorf("reading and writing changes repeated runs: %v", err)
	}
	c, err := reporttest.Saved[compare.Result](t, "compare-single").JSON()
	if err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string][]byte{
		"it ends in the middle, after 300 bytes": rep[:300],
		"saved by cg 9.0 in schema version " +
			"7": []byte(`{"meta": {"schema_version": "7", "cg_version": "9.0"}, "measurements": []}`),
		"it has no meta.schema_version": []byte(`{"a": 1}`),
		"it is what cg compare wrote":   c,
		"it has no measurement":         []byte(`{"meta": {"schema_version": "1"}, "measurements": []}`),
		"the ledger of cg measure and the measurements of cg " +
			"run": []byte(`{"meta": {"schema_version": "1"}, "measurements": [], "ledger": []}`),
		"measurements.round: a text stands where a whole number " +
			"belongs": []byte(`{"meta": {"schema_version": "1"}, "measurements": [{"round": "x"}]}`),
	} {
		if _, err := saved.Read(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := report.Read(rep); err == nil || !strings.Contains(err.Error(), "it has the figures of repeated runs") {
		t.Error(err)
	}
}
