package kernels

import (
	"os"
	"testing"

	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }
