// The body of a loop over a function is compiled as a function, and is none:
// break, return, goto, continue of an outer loop, defer and recover in it are
// the surrounding function's.
package main

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

func count(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		defer fmt.Println("end of", n)
		for i := range n { if !yield(i) { return } }
	}
}

func pairs(s ...string) iter.Seq2[int, string] { return func(yield func(int, string) bool) { for i, x := range s { if !yield(i, x) { break } } } }

func find(n int) (at int) {
	defer func() { at *= 10 }()
	for i := range count(5) {
		defer fmt.Println("deferred in the loop", i)
		if i == n { return i }
	}
	return -1
}

func nested() string {
outer:
	for i := range count(3) {
		for j, s := range pairs("a", "b", "c") {
			if j == 1 && i == 0 { continue outer }
			if i == 2 { break outer }
			if i == 1 && j == 2 { return fmt.Sprint(i, j, s) }
		}
	}
	return "none"
}

func broken() (r any) {
	defer func() { r = recover() }()
	for i := range count(3) { if i == 1 { panic("in the loop") } }
	return "no panic"
}

func main() {
	fmt.Println(find(2), find(9))
	fmt.Println(nested())
	fmt.Println(broken())
	next, stop := iter.Pull(count(3))
	fmt.Println(next())
	fmt.Println(next())
	stop()
	fmt.Println(slices.Sorted(maps.Keys(map[string]int{"x": 1, "y": 2})))
	for range func(yield func() bool) { yield() } { fmt.Println("once") }
}
