//go:build !amd64 && !arm64

package checkpoint

const cyclesReadable = false

func cycles() uint64 { panic("checkpoint: no cycle counter on this architecture") }
