package main

import (
	cg "container/ring"
	"fmt"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

func init() { programs["refold"], programs["allocs"], programs["naps"] = refold, allocs, naps }

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

// naps sleeps n times for 2 ms without leaving its thread or its processor, and calls small 1000 times each.
func naps(n int) {
	for range n {
		nap()
	}
}

//go:noinline
func nap() {
	{
		defer cg.CodegreenEnter(base + 4)()
	}
	for i := range 1000 {
		small(i)
	}
	t := syscall.NsecToTimespec(2_000_000)
	syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}
