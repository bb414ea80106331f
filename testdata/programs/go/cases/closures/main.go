// Function literals wherever one may stand: in variables, arguments, composite
// literals, returns, other literals, deferred and started as goroutines; some
// are called where they stand.
package main

import (
	"fmt"
	"runtime"
	"slices"
)

var table = map[string]func(int) int{
	"double": func(n int) int { return 2 * n },
	"square": func(n int) int {
		return n * n
	},
}

type op struct {
	name string
	f    func(...int) int
}

func counter() func() int {
	n := 0
	return func() int { n++; return n }
}

func compose(f, g func(int) int) func(int) int { return func(n int) int { return g(f(n)) } }

func main() {
	c := counter()
	c()
	fmt.Println(c(), table["double"](4), compose(table["double"], table["square"])(3))
	ops := []op{{"sum", func(a ...int) int {
		s := 0
		for _, x := range a {
			s += x
		}
		return s
	}}, {name: "len", f: func(a ...int) int { return len(a) }}}
	for _, o := range ops {
		fmt.Println(o.name, o.f(1, 2, 3))
	}
	var fib func(int) int
	fib = func(n int) int {
		if n < 2 {
			return n
		}
		return fib(n-1) + fib(n-2)
	}
	fmt.Println(fib(15), func() string { return func() string { return "nested" }() }())
	words := []string{"b", "c", "a"}
	slices.SortFunc(words, func(a, b string) int {
		if a < b {
			return -1
		}
		return 1
	})
	done := make(chan []string)
	go func() { defer close(done); done <- words }()
	fmt.Println(<-done)
	for runtime.NumGoroutine() > 1 { // it goes on behind what it told
		runtime.Gosched()
	}
	for i := range 3 {
		defer func() { fmt.Println("deferred", i) }()
	}
	if f := func() bool { return true }; f() {
		func() {}()
	}
}
