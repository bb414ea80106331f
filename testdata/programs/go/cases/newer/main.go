//go:build go1.26

// What tree-sitter's grammar does not place: new with a value, which came with Go
// 1.26, calls of names that hide a builtin function, methods of types that have no name,
// empty statements before a condition, labels called _.
package main

import "fmt"

type point struct{ x, y int }

type set[T comparable] = map[T]struct{}

func ptr(n int) *int { return new(n + 1) }

func shadow(make func(int) int, n int) int { return make(n - 1) }

func empty(b bool) string {
	if ; b {
		return "yes"
	}
	switch ; {
	case true:
	}
	return "no"
}

const ( F = 1 )

func label() {
_:
	for { break }
}

func main() {
	fmt.Println(*ptr(1), *new(point{1, 2}), shadow(func(n int) int { return n }, 3), empty(true), empty(false), F)
	s := set[string]{"a": {}}
	label()
	fmt.Println(len(s), interface{ Error() string }.Error(fmt.Errorf("e")))
}
