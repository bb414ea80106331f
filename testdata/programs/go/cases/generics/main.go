// Type parameters on functions, types, methods and aliases; literals inside;
// instances with the same and with other shapes; constraints with methods.
package main

import (
	"cmp"
	"fmt"
	"strings"
)

type number interface{ ~int | ~float64 }

func Map[A, B any](in []A, f func(A) B) (out []B) {
	for _, a := range in {
		out = append(out, f(a))
	}
	return
}

func Sum[T number](xs ...T) (s T) { for _, x := range xs { s += x }; return }

type List[T any] struct {
	head *node[T]
	size int
}

type node[T any] struct {
	value T
	next  *node[T]
}

func (l *List[T]) Push(v T) *List[T] { l.head = &node[T]{v, l.head}; l.size++; return l }

func (l List[_]) Len() int { return l.size }

func (l *List[T]) Each(f func(int, T)) {
	i := 0
	for n := l.head; n != nil; n = n.next {
		func() { f(i, n.value) }()
		i++
	}
}

type Pair[K cmp.Ordered, V fmt.Stringer] struct { k K; v V }

func (p Pair[K, V]) String() string { return fmt.Sprint(p.k, "=", p.v.String()) }

type name string

func (n name) String() string { return strings.ToUpper(string(n)) }

type Alias[T any] = List[T]

func Max[T cmp.Ordered](a T, rest ...T) T {
	best := a
	for _, r := range rest { if cmp.Compare(r, best) > 0 { best = r } }
	return best
}

func Apply[T any, PT interface { *T; set(int) }](n int) T { var t T; PT(&t).set(n); return t }

type cell struct{ n int }

func (c *cell) set(n int) { c.n = n }

func main() {
	fmt.Println(Map([]int{1, 2}, func(i int) string { return fmt.Sprint(i * 2) }), Map([]string{"x"}, func(s string) int { return len(s) }))
	fmt.Println(Sum(1, 2, 3), Sum(1.5, 2))
	var l List[string]
	l.Push("a").Push("b").Each(func(i int, s string) { fmt.Println(i, s) })
	fmt.Println(l.Len(), Pair[int, name]{1, "one"}, Max("a", "c", "b"), Max(3), Apply[cell](4))
	var a Alias[int]
	fmt.Println(a.Push(1).Len(), (&Alias[bool]{}).Len())
	f := Sum[int]
	fmt.Println(f(4, 5), (*List[string]).Push(&l, "c").Len())
}
