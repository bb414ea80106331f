//go:build !linux

package codegreen

// monotonic is a clock that begins with the program.
func monotonic() int64 { return 1 }
