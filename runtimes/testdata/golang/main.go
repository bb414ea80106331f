// Programs whose functions bear checkpoints, as cg writes them.
package main

import (
	cg "container/ring"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var key, _ = strconv.ParseUint(os.Getenv("KEY"), 10, 64)
var base = cg.CodegreenFile(key)

func main() {
	{
		defer cg.CodegreenEnter(base + 1)()
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
		"counts": counts, "migrate": migrate, "crowd": crowd, "blocked": blocked, "many": many, "panic": panics, "goexit": goexit,
		"ready": ready, "child": child, "exec": execs, "pull": pull, "locked": locked, "spin": spin, "unknown": unknown,
		"race": race, "overload": overload, "threads": threads, "fib": fibs, "deep": deep, "range": ranges,
		"fibs": fibAll, "mixed": mixed, "turn": turn, "long": long, "busy": busy, "stack": stacks,
		"bare": bares, "shares": shares, "seldom": seldom,
	} {
		programs[name] = f // those of other files are there
	}
}

//go:noinline
func fib(n int) int {
	{
		defer cg.CodegreenEnter(base + 2)()
	}
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func small(n int) int {
	{
		defer cg.CodegreenEnter(base + 3)()
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
		defer cg.CodegreenEnter(base + uint32(4+depth%8))()
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
func migrate(n int) { moving(64, 4, func(int) {}, n) }

// crowd runs 256 goroutines on 64 processors, n events each. They also lose their processors in system calls, and
// keep threads for themselves.
func crowd(n int) {
	moving(256, 64, func(i int) {
		switch i % 64 {
		case 0:
			syscall.Nanosleep(&syscall.Timespec{Nsec: 1000}, nil)
		case 8:
			runtime.LockOSThread()
		case 16:
			runtime.UnlockOSThread()
		}
	}, n)
}

func moving(goroutines, processors int, disturb func(i int), n int) {
	runtime.GOMAXPROCS(processors)
	c := make(chan int)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := 0; i < n; {
				disturb(g + i)
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
		defer cg.CodegreenEnter(base + 4)()
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
		defer cg.CodegreenEnter(base + 5)()
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
				defer cg.CodegreenEnter(base + 4)()
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
		defer cg.CodegreenEnter(base + 4)()
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
			defer cg.CodegreenEnter(base + 4)()
		}
		runtime.Goexit()
	})
	wg.Wait()
}

// ready says so after n calls, inside of one, and waits to be killed.
func ready(n int) {
	{
		defer cg.CodegreenEnter(base + 4)()
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
		defer cg.CodegreenEnter(base + 4)()
	}
	fib(5)
	fmt.Println(syscall.Exec("/proc/self/exe", []string{os.Args[0], "counts"}, os.Environ()))
}

func numbers(yield func(int) bool) {
	{
		defer cg.CodegreenEnter(base + 4)()
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
				defer cg.CodegreenEnter(base + 4)()
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
	outer := cg.CodegreenEnter(none + 1)
	cg.CodegreenEnter(none + 1)()
	outer()
	fib(1)
}

var shared int

//go:noinline
func write() {
	{
		defer cg.CodegreenEnter(base + 4)()
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

// fibs calls fib alone, for the time it takes.
func fibs(n int) {
	begin := time.Now()
	x := fib(n)
	fmt.Println(x, time.Since(begin).Round(time.Millisecond))
}

// bare is fib without checkpoints.
//
//go:noinline
func bare(n int) int {
	if n < 2 {
		return n
	}
	return bare(n-1) + bare(n-2)
}

func bares(n int) {
	begin := time.Now()
	x := bare(n)
	fmt.Println(x, time.Since(begin).Round(time.Millisecond))
}

// shares calls two functions in turns, of which one works three times as long as the other.
func shares(n int) {
	for i := range n {
		third(uint64(i))
		whole(uint64(i))
	}
}

//go:noinline
func third(x uint64) uint64 {
	{
		defer cg.CodegreenEnter(base + 6)()
	}
	return churn(x, 500)
}

//go:noinline
func whole(x uint64) uint64 {
	{
		defer cg.CodegreenEnter(base + 7)()
	}
	return churn(x, 1500)
}

// seldom calls a function 2000 times that works for a short time, and then once for 200 us, n times.
func seldom(n int) {
	for i := range n * 2001 {
		rare(uint64(i))
	}
}

//go:noinline
func rare(x uint64) uint64 {
	{
		defer cg.CodegreenEnter(base + 6)()
	}
	if x%2001 == 2000 {
		burn(200 * time.Microsecond)
	}
	return churn(x, 300)
}

//go:noinline
func churn(x uint64, n int) uint64 {
	for range n {
		x = x*6364136223846793005 + 1
	}
	return x
}

// fibAll runs many goroutines at the same time.
func fibAll(n int) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { fib(24) })
	}
	wg.Wait()
	status, _ := os.ReadFile("/proc/self/status")
	fmt.Print(string(status)) // the most memory that it had
}

// stacks calls itself n times with stacks of 64 MiB at the most, which is all that the calls
// need without checkpoints.
func stacks(n int) {
	debug.SetMaxStack(64 << 20)
	down(n)
}

//go:noinline
func down(n int) int {
	{
		defer cg.CodegreenEnter(base + 4)()
	}
	if n == 0 {
		return small(0)
	}
	return down(n-1) + 1
}

// deep calls itself n times, and panics through as many frames.
func deep(n int) {
	if down(n) != n+1 {
		panic("deep")
	}
	func() {
		defer func() { recover() }()
		throws(n / 10)
	}()
	fib(1)
}

func values(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		{
			defer cg.CodegreenEnter(base + 5)()
		}
		for i := range n {
			if !yield(small(i)) {
				return
			}
		}
	}
}

// ranges leaves iterators at their end, by break, return and panic.
func ranges(n int) {
	sum := 0
	for v := range values(n) {
		sum += fib(v % 2)
	}
	for v := range values(n) {
		if v == n/2 {
			break
		}
	}
	func() {
		defer func() { recover() }()
		for range values(n) {
			throws(1)
		}
	}()
	fmt.Println(sum, small(1))
}

// mix calls itself by one of its sites after the other, along n different paths.
//
//go:noinline
func mix(n, depth int) {
	{
		defer cg.CodegreenEnter(base + uint32(4+n%8))()
	}
	if depth > 0 {
		mix(n/8, depth-1)
	}
}

func mixed(n int) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			mix(i*7919, 12)
		}
	})
	wg.Wait()
}

// turn calls itself by three sites in turn, and at its end by two others.
//
//go:noinline
func turn(n int) {
	site := uint32(4 + n%3)
	if n < 0 {
		site = uint32(7 + -n%2)
	}
	{
		defer cg.CodegreenEnter(base + site)()
	}
	if n > -9 {
		turn(n - 1)
	}
}

// long makes n calls that work long, and as many that wait.
func long(n int) {
	for range n {
		func() {
			{
				defer cg.CodegreenEnter(base + 4)()
			}
			burn(2 * time.Millisecond)
		}()
		func() {
			{
				defer cg.CodegreenEnter(base + 5)()
			}
			time.Sleep(2 * time.Millisecond)
		}()
		fib(3)
	}
}

// busy makes n calls that leave their only thread time and again: two kinds that are
// alone, and two that take turns.
func busy(n int) {
	runtime.GOMAXPROCS(1)
	turns := func(site uint32) {
		for range n {
			func() {
				{
					defer cg.CodegreenEnter(base + site)()
				}
				for range 20 {
					burn(time.Millisecond)
					runtime.Gosched()
				}
			}()
		}
	}
	turns(4)
	for range n {
		func() {
			{
				defer cg.CodegreenEnter(base + 5)()
			}
			burn(60 * time.Millisecond)
		}()
	}
	var wg sync.WaitGroup
	wg.Go(func() { turns(6) })
	wg.Go(func() { turns(6) })
	wg.Wait()
}
