// Functions whose bodies are in assembly, one of which calls back into Go.
package main

import "fmt"

func add(a, b int64) int64

func viaGo(n int64) int64

//go:noinline
func called(n int64) int64 { if n == 0 { panic("zero") }; return n * 10 }

func main() {
	fmt.Println(add(2, 3), viaGo(4))
	defer func() { fmt.Println(recover()) }()
	viaGo(0)
}
