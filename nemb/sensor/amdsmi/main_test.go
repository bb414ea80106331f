package amdsmi

import (
	"os"
	"testing"

	"cg/nemb/leaks"
	_ "cg/nemb/sensor/hwmon"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }
