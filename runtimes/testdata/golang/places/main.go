// Functions whose code is told apart, as cg writes them: the sites of a function's places follow its own.
package main

import (
	cg "container/ring"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

var key, _ = strconv.ParseUint(os.Getenv("KEY"), 10, 64)
var base = cg.CodegreenFile(key)

func main() {
	defer cg.CodegreenEnter(base + 1)()
	n, _ := strconv.Atoi(os.Args[2])
	map[string]func(int){"loop": loop, "panics": panics, "exits": exits, "deep": deep, "others": others,
		"threads": threads, "times": times, "wide": wide}[os.Args[1]](n)
	fmt.Println("done")
}

// loop has its head at 5 and its body at 6, where it calls small, which is 2.
//
//go:noinline
func loop(n int) {
	defer cg.CodegreenEnter(base + 4)()
	cg.CodegreenPlace(base+5, 1)
	for i := range n {
		cg.CodegreenPlace(base+6, 2)
		small(i)
		cg.CodegreenPlace(base+5, 1)
	}
}

//go:noinline
func small(n int) int {
	defer cg.CodegreenEnter(base + 2)()
	return n + 1
}

// times is 1 ms at 8, in which it calls small, 3 ms at 9, and 2 ms at 8.
func times(n int) {
	for range n {
		work()
	}
}

//go:noinline
func work() {
	defer cg.CodegreenEnter(base + 7)()
	cg.CodegreenPlace(base+8, 1)
	burn(time.Millisecond)
	small(1)
	cg.CodegreenPlace(base+9, 2)
	small(1)
	burn(3 * time.Millisecond)
	cg.CodegreenPlace(base+8, 1)
	burn(2 * time.Millisecond)
}

func burn(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

// panics is at 8 when what it calls panics at 5, and goes on at 9.
func panics(n int) {
	for range n {
		func() {
			defer cg.CodegreenEnter(base + 7)()
			cg.CodegreenPlace(base+8, 1)
			recovers()
			small(1)
			cg.CodegreenPlace(base+9, 2)
			small(1)
		}()
	}
}

//go:noinline
func recovers() {
	defer cg.CodegreenEnter(base + 10)()
	cg.CodegreenPlace(base+11, 1)
	defer func() {
		defer cg.CodegreenEnter(base + 12)()
		cg.CodegreenPlace(base+13, 1)
		recover()
	}()
	func() {
		defer cg.CodegreenEnter(base + 4)()
		cg.CodegreenPlace(base+5, 1)
		panic(1)
	}()
}

// exits ends goroutines at a place.
func exits(n int) {
	for range n {
		var wait sync.WaitGroup
		wait.Go(func() {
			defer cg.CodegreenEnter(base + 4)()
			cg.CodegreenPlace(base+5, 1)
			runtime.Goexit()
		})
		wait.Wait()
	}
}

// deep calls itself at 5.
func deep(n int) {
	defer cg.CodegreenEnter(base + 4)()
	cg.CodegreenPlace(base+5, 1)
	if n > 0 {
		deep(n - 1)
		cg.CodegreenPlace(base+6, 2)
	}
}

// others is no function with checkpoints: what it says is of none.
//
//go:noinline
func others(n int) {
	for range n {
		cg.CodegreenPlace(base+5, 1)
		small(1)
		cg.CodegreenPlace(base+3, 1) // of small, which has ended
	}
}

// wide has 64 call paths, and a place in each of them. used are the functions above.
func wide(used int) {
	for i, site := range []uint32{2, 4, 7, 10} {
		if used&(1<<i) == 0 {
			func() {
				defer cg.CodegreenEnter(base + site)()
				cg.CodegreenPlace(base+site+1, 1)
				wide(used | 1<<i)
			}()
		}
	}
}

// threads has goroutines that leave their threads at a place.
func threads(n int) {
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			defer cg.CodegreenEnter(base + 4)()
			for range n {
				cg.CodegreenPlace(base+5, 1)
				runtime.Gosched()
				small(1)
				cg.CodegreenPlace(base+6, 2)
				runtime.Gosched()
			}
		})
	}
	wait.Wait()
}
