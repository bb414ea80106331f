//go:build 386 || amd64 || arm64

package ring

// codegreenCycles reads the processor's counter.
func codegreenCycles() uint64

const codegreenHasCycles = true
