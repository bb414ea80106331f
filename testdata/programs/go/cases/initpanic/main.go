// A panic before main: in the initialiser of a variable.
// untold: main has not begun
package main

import "os"

var config = load(len(os.Args) + 5)

//go:noinline
func load(n int) []int { if n > 5 { panic("cannot load") }; return make([]int, n) }

func main() { println(len(config)) }
