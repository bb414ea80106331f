// Thousands of goroutines that end in every way, channels, select, a pool, and
// a context that ends.
// varies: how often square runs depends on the scheduler
package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

func producer(ctx context.Context, out chan<- int) {
	defer close(out)
	for i := 0; ; i++ {
		select {
		case out <- i:
		case <-ctx.Done():
			return
		}
	}
}

func worker(in <-chan int, out chan<- int, wait *sync.WaitGroup) {
	defer wait.Done()
	for n := range in { out <- square(n) }
}

func square(n int) int { runtime.Gosched(); return n * n }

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	numbers, results := make(chan int), make(chan int)
	go producer(ctx, numbers)
	var wait sync.WaitGroup
	for range 8 { wait.Add(1); go worker(numbers, results, &wait) }
	seen := map[int]bool{}
	for len(seen) < 500 { seen[<-results] = true }
	cancel()
	go func() { for range results { } }()
	wait.Wait()
	close(results)
	fmt.Println(len(seen))
	var mu sync.Mutex
	sum := 0
	var all sync.WaitGroup
	for i := range 5000 {
		all.Add(1)
		go func() {
			defer all.Done()
			if i%3 == 0 { runtime.Goexit() }
			if i%5 == 0 { defer func() { recover() }(); panic(i) }
			mu.Lock()
			defer mu.Unlock()
			sum += i
		}()
	}
	all.Wait()
	fmt.Println(sum)
	timer := make(chan string)
	time.AfterFunc(time.Millisecond, func() { timer <- "timer" })
	fmt.Println(<-timer, sync.OnceValue(func() int { return 4 })())
	for runtime.NumGoroutine() > 1 { // they go on behind what they told
		runtime.Gosched()
	}
}
