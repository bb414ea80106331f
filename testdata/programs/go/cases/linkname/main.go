// A function of the runtime under a name of its own, and one that another package
// gets under another name.
package main

import (
	"fmt"
	_ "unsafe"

	"cases/linkname/pull"
)

//go:linkname nanotime runtime.nanotime
func nanotime() int64

//go:linkname pushed cases/linkname/pull.Pulled
func pushed(n int) int { if n > 0 { return pushed(n-1) + 1 }; return 0 }

func main() { fmt.Println(nanotime() > 0, pull.Pulled(5)) }
