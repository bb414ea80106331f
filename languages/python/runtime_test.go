package python

import (
	"os/exec"
	"testing"

	"cg/long"
)

// TestRuntime runs the tests that are written in Python: of the runtime, which asks what version it is in.
func TestRuntime(t *testing.T) {
	more := bounds(t)
	if len(more) > 1 && long.Without(t, "the lowest interpreter") {
		more = more[1:]
	}
	for _, python := range interpretersAmong(t, 0, more) {
		out, err := exec.Command(python, "-B", "testdata/runtime_test.py", "../../runtimes/python").CombinedOutput()
		if err != nil {
			t.Errorf("Python %s: %v\n%s", version(python), err, out)
		}
	}
}
