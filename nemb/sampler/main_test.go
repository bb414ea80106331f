package sampler

import (
	"os"
	"testing"

	"cg/nemb/leaks"
	_ "cg/nemb/sensor/perf"
	_ "cg/nemb/sensor/powercap"
)

// TestMain also plays the other process of the ring's test.
func TestMain(m *testing.M) {
	if os.Getenv("NEMB_CHILD") == "ring" {
		readShared()
		return
	}
	os.Exit(leaks.Run(m))
}
