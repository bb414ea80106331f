// Package part is embedded by its program.
package part

// Double has checkpoints, for the compiler cannot inline it.
//
//go:noinline
func Double(n int) int { return 2 * n }
