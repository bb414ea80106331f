// The program ends in the middle of calls: what is deferred does not run.
// unbalanced: os.Exit leaves calls open
package main

import (
	"fmt"
	"os"
)

func leave(n int) {
	if n == 0 {
		os.Exit(7)
	}
	leave(n - 1)
}

func main() {
	defer fmt.Println("never")
	fmt.Println("leaving")
	leave(3)
}
