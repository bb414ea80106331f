// Programs whose clock is their own, for tests of what is counted and not timed, as those of
// measure/testdata/budget.c: each knows how long its calls took to the tick.
//
//	program NAME SEED    prints "calls SITE N" for each site, and "times SITE LEAST MEDIAN P95 MOST" of those
//	                     that call nothing, and "place SITE TICKS" of parts of a function
//
// The clock stands but for the work of functions and for readings of it. A sample is taken each period: the
// program asks for it in the channel's header, at 264, and waits until it is taken.
package main

import (
	cg "container/ring"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"
)

var key, _ = strconv.ParseUint(os.Getenv("KEY"), 10, 64)
var base = cg.CodegreenFile(key)

//go:linkname clock runtime.codegreenVirtual
var clock uint64

//go:linkname stopped runtime.codegreenStopped
var stopped uint64

const period = 5_000_000

var (
	channel    []byte
	nextSample uint64
	dice       uint64
	calls      [16]uint64
	took       [16][]uint64 // of those that call nothing
	placed     [16]uint64   // ticks
)

func at(offset int) *uint64 { return (*uint64)(unsafe.Pointer(&channel[offset])) }

func pass(ticks uint64) {
	for clock+ticks >= nextSample {
		ticks -= nextSample - min(clock, nextSample)
		clock = max(clock, nextSample)
		nextSample += period
		atomic.StoreUint64(at(256), clock)
		atomic.StoreUint64(at(264), clock)
		for atomic.LoadUint64(at(264)) != 0 {
		}
	}
	clock += ticks
}

// stop is for how long the thread has no processor.
func stop(ticks uint64) {
	stopped += ticks
	pass(ticks)
}

func below(n uint64) uint64 {
	dice = dice*6364136223846793005 + 1442695040888963407
	return dice >> 33 % n
}

//go:noinline
func call(site uint32, ticks uint64) {
	{
		defer cg.CodegreenEnter(base + site)()
	}
	calls[site]++
	took[site] = append(took[site], ticks)
	pass(ticks)
}

//go:noinline
func calling(site uint32, f func()) {
	{
		defer cg.CodegreenEnter(base + site)()
	}
	calls[site]++
	f()
}

// lines is a function with lines: one before a loop, the loop's head, its body, which calls another function, and one
// behind it.
//
//go:noinline
func lines() {
	{
		defer cg.CodegreenEnter(base + 2)()
	}
	calls[2]++
	line(3, 400)
	line(4, 100)
	for i := range uint64(3) {
		line(5, 150+i*below(100))
		call(8, 700)
		line(5, 90) // the same line goes on
		line(4, 60)
	}
	line(6, 2500)
}

func line(site uint32, ticks uint64) {
	cg.CodegreenPlace(base+site, site-2)
	placed[site] += ticks
	pass(ticks)
}

// fib calls itself, and every tenth of its calls ends by a panic.
//
//go:noinline
func fib(n int) {
	{
		defer cg.CodegreenEnter(base + 2)()
	}
	calls[2]++
	pass(uint64(30 + n))
	if n > 1 {
		fib(n - 1)
		fib(n - 2)
	}
	if calls[2]%10 == 0 {
		panic("tenth")
	}
}

func recovered(f func()) {
	defer func() { recover() }()
	f()
}

var programs = map[string]func(){
	"even": func() {
		for range 100_000 {
			call(2, 100)
			call(3, 300)
			pass(40)
		}
	},
	"uneven": func() {
		for range 100_000 {
			call(2, 20+below(400))
			call(3, max(60, 900*(1-min(1, below(8)))))
			pass(below(60))
		}
	},
	// A call of the outer function has more events than a burst, and the inner ones tell when it is long.
	"spanning": func() {
		for range 3000 {
			n := 20 + 200*below(2)
			calling(2, func() {
				for range n {
					call(3, 50*(1+n/100))
				}
			})
		}
	},
	"callers": func() {
		for range 60_000 {
			calling(2, func() { call(4, 80) })
			calling(3, func() { call(4, 900); call(4, 900) })
		}
	},
	"slower": func() {
		for i := range uint64(120_000) {
			call(2, 100+i/133)
			call(3, 200)
		}
	},
	"phases": func() {
		for i := range 120_000 {
			call(2, uint64(60+540*(i/600%2)))
			call(3, 150)
			if i/600%3 == 0 {
				call(4, 90)
			}
		}
	},
	"periodic": func() {
		for i := range 150_000 {
			call(2, uint64(50+2450*(1-min(1, i%32))))
			call(3, 120)
		}
	},
	"tailed": func() {
		for range 150_000 {
			call(2, 60+1<<20/(below(1<<20)+1))
			call(3, 100)
		}
	},
	"many": func() {
		for range 120_000 {
			site := 2 + below(below(14)+1)
			call(uint32(site), 40*site)
		}
	},
	"hiccups": func() {
		for i := range 150_000 {
			call(2, uint64(60+19_940*(1-min(1, i%60))))
			call(3, 100)
		}
	},
	"panics": func() {
		for range 3000 {
			recovered(func() { fib(8) })
			call(3, 200)
		}
	},
	"lines": func() {
		for range 20_000 {
			lines()
			call(3, 200)
		}
	},
	"stopped": func() {
		for i := range 100_000 {
			call(2, 300)
			call(3, 400)
			if i%1000 == 0 {
				stop(2_000_000)
			}
		}
	},
	// The share that bursts have follows one window behind.
	"lagging": func() {
		for range 1000 {
			for range 300 {
				call(2, 60)
			}
			stop(nextSample - min(clock, nextSample))
			for range 400 {
				call(3, 800)
				pass(60)
			}
			stop(nextSample - min(clock, nextSample))
		}
	},
}

func main() {
	debug.SetGCPercent(-1)
	file, err := os.OpenFile(os.Getenv("CG_CHANNEL"), os.O_RDWR, 0)
	if err == nil {
		channel, err = syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	}
	if err != nil {
		panic(err)
	}
	seed, _ := strconv.ParseUint(os.Args[2], 10, 64)
	dice = seed*0x9e3779b97f4a7c15 | 1
	for i := range took {
		took[i] = make([]uint64, 0, 400_000)
	}
	nextSample = clock + period
	calling(1, programs[os.Args[1]])
	for site, n := range calls {
		fmt.Println("calls", site, n)
		if t := took[site]; n > 0 && uint64(len(t)) == n {
			slices.Sort(t)
			fmt.Println("times", site, t[0], t[n/2], t[n*95/100], t[n-1])
		}
	}
	for site, ticks := range placed {
		if ticks > 0 {
			fmt.Println("place", site, ticks)
		}
	}
	fmt.Println("end", clock)
}
