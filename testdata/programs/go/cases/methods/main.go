// Methods by value and by pointer, promoted, through interfaces, as values and
// expressions, on functions, maps and aliases; receivers without names.
package main

import (
	"errors"
	"fmt"
	"reflect"
	"sort"
)

type shape interface{ area() float64 }

type square float64

func (s square) area() float64 { return float64(s * s) }

type base struct{ n int }

func (b *base) inc()     { b.n++ }
func (base) kind() string { return "base" }

type derived struct {
	base
	shape
}

func (d derived) kind() string { return "derived of " + d.base.kind() }

type fn func(int) int

func (f fn) twice(n int) int { return f(f(n)) }

type dict map[string]int

func (d dict) set(k string, v int) dict { d[k] = v; return d }

type byLen []string

func (b byLen) Len() int           { return len(b) }
func (b byLen) Less(i, j int) bool { return len(b[i]) < len(b[j]) }
func (b byLen) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

type fault struct{ error }

func (f fault) Unwrap() error { return f.error }
func (*fault) Exported(_ int, _ ...string) (a, b int) { return 1, 2 }

func main() {
	d := derived{base{1}, square(3)}
	d.inc()
	inc := d.inc
	inc()
	fmt.Println(d.n, d.kind(), d.area(), square.area(2), (*base).kind(&d.base), shape.area(square(1)))
	fmt.Println(fn(func(n int) int { return n + 1 }).twice(1), dict{}.set("a", 1))
	words := byLen{"ccc", "a", "bb"}
	sort.Sort(sort.Reverse(words))
	fmt.Println(words, errors.Is(fault{errors.ErrUnsupported}, errors.ErrUnsupported))
	out := reflect.ValueOf(&fault{}).MethodByName("Exported").Call([]reflect.Value{reflect.ValueOf(1)})
	fmt.Println(out[0], out[1])
}
