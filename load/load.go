// Package load keeps processors, memory or a GPU busy, or idle, so that they can be measured.
//
// It takes the kind of load, for how long, and for how much of the time. It returns how
// many rounds were done. A round is the same work on every machine.
package load

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what to do. With Rounds 0 it takes Duration; otherwise it is that
// many rounds in each thread, however long they take.
type Config struct {
	Kind      string // of Kinds
	Threads   int    // 0: one for each processor that may be used; a GPU has none
	Intensity int    // percent of the time, 1 to 100
	Duration  time.Duration
	Rounds    int
}

// A worker does a round at each call.
type worker func()

// kinds makes the workers: thread i of n.
var kinds = map[string]func(i int) worker{
	"idle":          func(int) worker { return func() { time.Sleep(period) } },
	"cpu_stress":    func(int) worker { return compute() },
	"memory_stress": func(int) worker { return move() },
	"mixed": func(i int) worker {
		if i%2 == 0 {
			return compute()
		}
		return move()
	},
}

// Kinds lists what can be done without a GPU.
func Kinds() []string {
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Run does it and returns the rounds of all threads together.
func Run(c Config) (rounds uint64, err error) {
	if c.Kind == GPU {
		return runGPU(c)
	}
	make, ok := kinds[c.Kind]
	if !ok {
		return 0, fmt.Errorf("load: no kind %q; known are %s", c.Kind, strings.Join(append(Kinds(), GPU), ", "))
	}
	if c.Intensity < 1 || c.Intensity > 100 {
		return 0, fmt.Errorf("load: an intensity of %d %%: use 1 to 100", c.Intensity)
	}
	if c.Threads <= 0 {
		c.Threads = runtime.GOMAXPROCS(0)
	}
	var done atomic.Uint64
	var threads sync.WaitGroup
	begin := time.Now()
	for i := range c.Threads {
		threads.Go(func() {
			// The thread is its own: what it has used is the work's.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			work := make(i)
			done.Add(c.repeat(since(begin), time.Sleep, func() bool { work(); return true }))
		})
	}
	threads.Wait()
	return done.Load(), nil
}

// period is in which an intensity is kept: work first, then rest.
const period = 20 * time.Millisecond

// repeat works by a clock, which tells the time since the beginning, until a
// round fails at the latest.
func (c Config) repeat(clock func() time.Duration, sleep func(time.Duration), work func() (done bool)) (rounds uint64) {
	busy := period * time.Duration(c.Intensity) / 100
	for {
		// On a common grid, so that threads rest together.
		elapsed := clock()
		if c.Rounds == 0 && elapsed >= c.Duration || c.Rounds > 0 && rounds >= uint64(c.Rounds) {
			return rounds
		}
		if in := elapsed % period; in >= busy {
			sleep(period - in)
			continue
		}
		if !work() {
			return rounds
		}
		rounds++
	}
}

func since(begin time.Time) func() time.Duration {
	return func() time.Duration { return time.Since(begin) }
}

// sink keeps what was computed, so that it must be.
var sink atomic.Uint64

// compute is about a millisecond of integer and floating point work in
// registers.
func compute() worker {
	x, f := uint64(88172645463325252), 1.0
	return func() {
		for range 300_000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			f = f*0.999999 + float64(x&1)
		}
		sink.Store(x + uint64(f))
	}
}

// move copies 8 MiB at a time through 64 MiB: more than a core has cache for.
func move() worker {
	const block = 8 << 20
	memory := make([]byte, 8*block)
	for i := range memory {
		memory[i] = byte(i)
	}
	at := 0
	return func() {
		from := memory[at*block : (at+1)*block]
		at = (at + 3) % 8
		copy(memory[at*block:(at+1)*block], from)
		sink.Store(uint64(memory[at*block]))
	}
}
