//go:build linux || darwin

// Directives stay where they are: build constraints, generate, embed, noinline,
// nosplit, and line, which changes what Caller tells from there on.
package main

import (
	_ "embed"
	"fmt"
	"runtime"
)

//go:generate echo never

//go:embed text.txt
var text string

//go:noinline
func add(a, b int) int { return a + b }

//go:nosplit
func leaf(n int) int { return n }

func where() string {
	_, file, line, _ := runtime.Caller(1)
	i := len(file) - 1
	for i > 0 && file[i] != '/' { i-- }
	return fmt.Sprint(file[i:], " ", line)
}

func main() {
	fmt.Print(text, add(1, 2), leaf(3), "\n", where(), "\n")
	generated()
/*line :7:1*/ fmt.Println(where())
}

//line grammar.y:100
func generated() { fmt.Println(where())
	func() { fmt.Println(where()) }()
}
