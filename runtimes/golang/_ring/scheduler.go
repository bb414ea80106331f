package ring

import "unsafe"

// Events that package runtime writes, which knows threads and goroutines.

// CodegreenEnter records that a call of a site begins.
//
//go:linkname CodegreenEnter runtime.codegreenEnter
func CodegreenEnter(site uint32)

// CodegreenExit records that a call of a site ends.
//
//go:linkname CodegreenExit runtime.codegreenExit
func CodegreenExit(site uint32)

// codegreenBegin has its body in package runtime.
func codegreenBegin(head, chunks unsafe.Pointer, pid uint32, space uint64, nap func(int64) bool)

// codegreenTask says which span the goroutines are part of that this one starts,
// and returns which one it was.
//
//go:linkname codegreenTask runtime.codegreenTask
func codegreenTask(site uint32) (before uint32)

const codegreenHasCycles = true
