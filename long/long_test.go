package long

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What is left out is a skipped test with its reason, which ./test.sh counts; without -short everything runs.
func TestLeavesOut(t *testing.T) {
	if os.Getenv("CG_LONG_EXAMPLE") != "" {
		t.Logf("%d rounds", Rounds(t, 2, 9))
		t.Logf("without: %v, runs: %v", Without(t, "the newest JDK"), Runs())
		Skip(t, "it waits")
		t.Log("to its end")
		return
	}
	for flag, want := range map[string][]string{
		"-test.short=true": {"takes long: 7 of 9 rounds", ": 2 rounds", "takes long: the newest JDK", "without: true, runs: false",
			"takes long: it waits", "--- SKIP: TestLeavesOut/left_out ", "--- SKIP: TestLeavesOut "},
		"-test.short=false": {": 9 rounds", "without: false, runs: true", "to its end", "--- PASS: TestLeavesOut "},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLeavesOut$", "-test.v", flag)
		cmd.Env = append(os.Environ(), "CG_LONG_EXAMPLE=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", flag, err, out)
		}
		for _, w := range want {
			if !strings.Contains(string(out), w) {
				t.Errorf("%s: no %q in\n%s", flag, w, out)
			}
		}
		if flag == "-test.short=false" && strings.Contains(string(out), Reason) {
			t.Errorf("%s: left out something\n%s", flag, out)
		}
	}
}
