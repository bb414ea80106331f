package powercap

import (
	"os"
	"testing"

	"cg/nemb/leaks"
	_ "cg/nemb/sensor/estimate"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }
