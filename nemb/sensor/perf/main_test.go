package perf

import (
	"os"
	"testing"

	"cg/nemb/leaks"
	_ "cg/nemb/sensor/estimate"
	_ "cg/nemb/sensor/powercap"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }
