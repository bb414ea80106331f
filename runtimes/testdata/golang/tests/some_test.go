package tests

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func burn(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

func TestBurns(t *testing.T) { burn(60 * time.Millisecond) }

func TestSleeps(t *testing.T) { time.Sleep(60 * time.Millisecond) }

// What a test starts is the test's.
func TestStarts(t *testing.T) {
	var wg sync.WaitGroup
	wg.Go(func() { burn(60 * time.Millisecond) })
	wg.Wait()
}

func TestSubs(t *testing.T) {
	for _, name := range []string{"a b", "c"} {
		t.Run(name, func(t *testing.T) { t.Parallel(); burn(10 * time.Millisecond) })
	}
	t.Run("serial", func(t *testing.T) { t.Cleanup(func() { burn(10 * time.Millisecond) }) })
}

func TestSkips(t *testing.T) { t.Skip("on purpose") }

func Example_burns() {
	fmt.Println("x")
	// Output: x
}

func FuzzSeeds(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) {})
}

func BenchmarkN(b *testing.B) {
	burn(5 * time.Millisecond) // not timed
	b.ResetTimer()
	for range b.N {
		burn(20 * time.Microsecond)
	}
}

func BenchmarkLoop(b *testing.B) {
	for b.Loop() {
		burn(20 * time.Microsecond)
	}
}

func BenchmarkParallel(b *testing.B) {
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			burn(20 * time.Microsecond)
		}
	})
}

func BenchmarkSubs(b *testing.B) {
	b.Run("x", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			burn(20 * time.Microsecond)
			b.StartTimer()
		}
	})
}
