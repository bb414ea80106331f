package main

import (
	cg "container/ring"
	"fmt"
	"testing"
	"time"
)

func init() { programs["refold"], programs["allocs"] = refold, allocs }

// refold calls itself so often that recursion is folded; the innermost call works for 3 ms.
func refold(n int) {
	for range n {
		again(70)
	}
}

//go:noinline
func again(depth int) {
	{
		defer cg.CodegreenEnter(base + 4)()
	}
	if depth == 0 {
		burn(3 * time.Millisecond)
		return
	}
	again(depth - 1)
}

// allocs prints how much calls take from the heap.
func allocs(int) {
	fmt.Println(testing.AllocsPerRun(10, func() { fib(10) }))
}
