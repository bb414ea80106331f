// An uncaught panic, three calls deep and from a method of a generic type: the
// trace names the user's files and lines, and the status is 2.
package main

import "fmt"

type stack[T any] struct{ items []T }

func (s *stack[T]) pop() T { // one too many
	defer fmt.Println("popped")
	last := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return last
}

//go:noinline
func drain(s *stack[string], n int) {
	for range n { fmt.Println(s.pop()) }
}

func main() {
	s := &stack[string]{[]string{"a"}}
	func() {
		drain(s, 2)
	}()
}
