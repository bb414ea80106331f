package python

import (
	"os/exec"
	"testing"
)

// TestRuntime runs the tests that are written in Python.
func TestRuntime(t *testing.T) {
	for _, python := range interpreters(t) {
		out, err := exec.Command(python, "-B", "testdata/runtime_test.py", "../../runtimes/python").CombinedOutput()
		if err != nil {
			t.Errorf("Python %s: %v\n%s", version(python), err, out)
		}
	}
}
