// Programs whose functions bear checkpoints, as cg writes them.
package main

import (
	cg "container/ring"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var key, _ = strconv.ParseUint(os.Getenv("KEY"), 10, 64)
var base = cg.CodegreenFile(key)

func main() {
	{
		cg.CodegreenEnter(base + 1)
		defer cg.CodegreenExit(base + 1)
	}
	n := 0
	if len(os.Args) > 2 {
		n, _ = strconv.Atoi(os.Args[2])
	}
	programs[os.Args[1]](n)
}

var programs = map[string]func(int){}

func init() {
	for name, f := range map[string]func(int){
		"counts": counts, "migrate": migrate, "blocked": blocked, "many": many, "panic": panics, "goexit": goexit,
		"ready": ready, "child": child, "exec": execs, "pull": pull, "locked": locked, "spin": spin, "unknown": unknown,
		"race": race, "overload": overload, "threads": threads,
	} {
		programs[name] = f // those of other files are there
	}
}

//go:noinline
func fib(n int) int {
	{
		cg.CodegreenEnter(base + 2)
		defer cg.CodegreenExit(base + 2)
	}
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func small(n int) int {
	{
		cg.CodegreenCountedEnter(base + 3)
		defer cg.CodegreenCountedExit(base + 3)
	}
	return n + 1
}

func counts(int) {
	x := fib(15)
	for i := range 1000 {
		x = small(x) - i
	}
	fmt.Println(x)
}

// step calls itself, and gives the processor away on the way.
//
//go:noinline
func step(depth int, c chan int) int {
	{
		cg.CodegreenEnter(base + uint32(4+depth%8))
		defer cg.CodegreenExit(base + uint32(4+depth%8))
	}
	if depth == 0 {
		select {
		case c <- 1:
		case v := <-c:
			return v
		default:
			runtime.Gosched()
		}
		return 1
	}
	return step(depth-1, c) + 1
}

// migrate runs 64 goroutines that go from thread to thread, n events each.
func migrate(n int) {
	runtime.GOMAXPROCS(4)
	c := make(chan int)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := 0; i < n; {
				depth := (g + i) % 9
				step(depth, c)
				i += 2 * (depth + 1)
			}
		})
	}
	wg.Wait()
}

//go:noinline
func produce(c chan int, n int) {
	{
		cg.CodegreenEnter(base + 4)
		defer cg.CodegreenExit(base + 4)
	}
	for i := range n {
		burn(20 * time.Millisecond)
		c <- i
	}
	close(c)
}

//go:noinline
func burn(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

//go:noinline
func consume(c chan int) (sum int) {
	{
		cg.CodegreenEnter(base + 5)
		defer cg.CodegreenExit(base + 5)
	}
	for v := range c {
		sum += v
	}
	return sum
}

// blocked is a consumer that waits for its producer, n times 20 ms, beside one
// that waits for ever.
func blocked(n int) {
	c, never := make(chan int), make(chan int)
	go consume(never)
	go produce(c, n)
	consume(c)
}

// many starts n goroutines that all wait in a function, and lets them go.
func many(n int) {
	var wg sync.WaitGroup
	gate := make(chan bool)
	for range n {
		wg.Go(func() {
			{
				cg.CodegreenEnter(base + 4)
				defer cg.CodegreenExit(base + 4)
			}
			<-gate
			fib(1)
		})
	}
	close(gate)
	wg.Wait()
}

//go:noinline
func throws(n int) {
	{
		cg.CodegreenEnter(base + 4)
		defer cg.CodegreenExit(base + 4)
	}
	if n == 0 {
		panic("thrown")
	}
	throws(n - 1)
}

func panics(n int) {
	func() {
		defer func() { recover() }()
		throws(3)
	}()
	fib(n)
	throws(2)
}

func goexit(int) {
	var wg sync.WaitGroup
	wg.Go(func() {
		{
			cg.CodegreenEnter(base + 4)
			defer cg.CodegreenExit(base + 4)
		}
		runtime.Goexit()
	})
	wg.Wait()
}

// ready says so after n calls, inside of one, and waits to be killed.
func ready(n int) {
	{
		cg.CodegreenEnter(base + 4)
		defer cg.CodegreenExit(base + 4)
	}
	for range n {
		small(1)
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
}

func child(n int) {
	if n == 0 {
		fib(5)
		return
	}
	c := exec.Command(os.Args[0], "child", strconv.Itoa(n-1))
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		fmt.Println(err)
	}
	fib(5)
}

// execs becomes another program, with its frames open.
func execs(int) {
	{
		cg.CodegreenEnter(base + 4)
		defer cg.CodegreenExit(base + 4)
	}
	fib(5)
	fmt.Println(syscall.Exec("/proc/self/exe", []string{os.Args[0], "counts"}, os.Environ()))
}

func numbers(yield func(int) bool) {
	{
		cg.CodegreenEnter(base + 4)
		defer cg.CodegreenExit(base + 4)
	}
	for i := 0; yield(fib(i % 3)); i++ {
	}
}

// pull switches between two goroutines without the scheduler.
func pull(n int) {
	next, stop := iter.Pull(numbers)
	defer stop()
	sum := 0
	for range n {
		v, _ := next()
		sum += v + small(1)
	}
	fmt.Println(sum)
}

// locked ends threads: a goroutine that is locked to its thread takes it along.
func locked(n int) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			runtime.LockOSThread()
			{
				cg.CodegreenEnter(base + 4)
				defer cg.CodegreenExit(base + 4)
			}
			fib(3)
		})
		wg.Wait()
	}
}

// spin makes many events in two goroutines.
func spin(n int) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range n {
				small(i)
			}
		})
	}
	wg.Wait()
}

// unknown calls a function of a file that the channel does not know.
func unknown(int) {
	none := cg.CodegreenFile(key + 1)
	cg.CodegreenEnter(none + 1)
	cg.CodegreenCountedEnter(none + 1)
	cg.CodegreenCountedExit(none + 1)
	cg.CodegreenExit(none + 1)
	fib(1)
}

var shared int

//go:noinline
func write() {
	{
		cg.CodegreenEnter(base + 4)
		defer cg.CodegreenExit(base + 4)
	}
	shared++
}

// race writes from two goroutines, one behind the other, with nothing but
// checkpoints to order them.
func race(int) {
	done := make(chan bool, 2)
	go func() { write(); done <- true }()
	time.Sleep(50 * time.Millisecond)
	go func() { write(); done <- true }()
	<-done
	<-done
}

// overload makes events in many more goroutines than there are threads.
func overload(n int) {
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for i := range n {
				small(i)
			}
		})
	}
	wg.Wait()
}

// threads makes events on n threads at the same time.
func threads(n int) {
	var wg, all sync.WaitGroup
	all.Add(n)
	for range n {
		wg.Go(func() {
			runtime.LockOSThread()
			small(0)
			all.Done()
			all.Wait()
			for i := range 999 {
				small(i)
			}
		})
	}
	wg.Wait()
}
