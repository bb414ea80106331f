//go:build amd64 || arm64

package checkpoint

const cyclesReadable = true

// cycles reads the processor's counter. The reading is not ordered against
// the instructions around it.
func cycles() uint64
