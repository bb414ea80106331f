package main

import (
	"os"
	"os/exec"
	"testing"
)

// What .ci/run and .ci/release share holds in a function of a shell where set -eu does, as .ci/release reads it: a
// step that passes ends with status 0, and one that fails with its own.
func TestStepsOfCI(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	for script, want := range map[string]int{
		"step() { . .ci/common; }; step":                                                                                               0,
		"part() { echo made; }; step() { . .ci/common; begin part; ended part; }; step":                                                0,
		"part() { return 3; }; step() { . .ci/common; begin part; ended part || return 4; }; step":                                     4,
		"part() { sleep 60; }; step() { . .ci/common; begin part; return 5; }; step":                                                   5,
		"once() { [ -e $made ] || { : >$made; return 3; }; }; step() { . .ci/common; made=$said/made; twice once; }; step":             0,
		"once() { [ -e $made ] || { : >$made; return 3; }; }; step() { . .ci/common; made=$said/made; patience=0; twice once; }; step": 3,
		"step() { . .ci/common; limit=0.1 patience=0; twice bounded sleep 60; }; step":                                                 124,
		"step() { . .ci/common; twice bounded true; }; step":                                                                           0,
	} {
		said, err := exec.Command("bash", "-euo", "pipefail", "-c", script).CombinedOutput()
		got := 0
		if exit, is := err.(*exec.ExitError); is {
			got = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: status %d, want %d\n%s", script, got, want, said)
		}
	}
}
