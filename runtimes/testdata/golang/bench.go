//go:build amd64 || arm64

package main

import (
	cg "container/ring"
	"fmt"
	"math"
	"time"
)

// cycles reads the processor's counter.
func cycles() uint64

//go:noinline
func plain(n int) int { return n + 1 }

//go:noinline
func paired(n int) int {
	exit := cg.CodegreenEnter(base + 4)
	n++
	exit()
	return n
}

//go:noinline
func deferred(n int) int {
	{
		defer cg.CodegreenEnter(base + 4)()
	}
	return n + 1
}

// looped defers in a loop: such a defer is kept on the heap, whoever defers.
//
//go:noinline
func looped(n int) {
	for range n {
		defer cg.CodegreenEnter(base + 4)()
	}
}

//go:noinline
func loopedPlain(n int) {
	for i := range n {
		defer plain(i)
	}
}

var benches = []struct {
	name string
	n    int // operations of a round
	f    func(n int)
}{
	{"call", 2000, func(n int) {
		for i := range n {
			plain(i)
		}
	}},
	{"pair", 2000, func(n int) {
		for i := range n {
			paired(i)
		}
	}},
	{"defer", 2000, func(n int) {
		for i := range n {
			deferred(i)
		}
	}},
	{"loop", 500, looped},
	{"loop-plain", 500, loopedPlain},
	{"cycles", 2000, func(n int) {
		for range n {
			cycles()
		}
	}},
	{"since", 2000, func(n int) {
		begin := time.Now()
		for range n {
			time.Since(begin)
		}
	}},
	{"go", 200, func(n int) {
		done := make(chan bool)
		for range n {
			go func() { done <- true }()
			<-done
		}
	}},
	{"go-pair", 200, func(n int) {
		done := make(chan bool)
		for range n {
			go func() {
				{
					defer cg.CodegreenEnter(base + 4)()
				}
				done <- true
			}()
			<-done
		}
	}},
}

func init() { programs["bench"] = bench }

// bench tells how long one operation of each takes: the least mean of n rounds
// that take turns.
func bench(rounds int) {
	least := make([]float64, len(benches))
	for i := range least {
		least[i] = math.Inf(1)
	}
	for range rounds {
		for i, b := range benches {
			begin := time.Now()
			b.f(b.n)
			least[i] = min(least[i], float64(time.Since(begin))/float64(b.n))
		}
		time.Sleep(200 * time.Microsecond)
	}
	for i, b := range benches {
		fmt.Printf("%s %.2f\n", b.name, least[i])
	}
}
