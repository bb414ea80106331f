package openmetrics

import (
	"testing"

	"cg/report/format"
	"cg/report/reporttest"
	"cg/report/verdict"
)

// The figures of a check are text that GitLab and Prometheus read.
func TestGateMetrics(t *testing.T) {
	reporttest.Golden(t, "testdata/gate.metrics.txt", reporttest.Write(t, "openmetrics", reporttest.Saved[verdict.Check](t, "gate"), format.Options{}))
}
