// What has no name: functions, methods, parameters, results, variables and
// imports called _, and a type that is declared in a function.
package main

import (
	_ "embed"
	"fmt"
)

func _() { fmt.Println("never"); func() { panic("never") }() }
func _(int) int { return 1 }

type t struct{ _ int; n int }

func (t) _() {}
func (_ t) used(_ int, _, _ string) (_ int, err error) { return 3, nil }

var _ = func() int { fmt.Println("runs"); return 0 }()
var _, second = func() (int, int) { return 1, 2 }()

func main() {
	type local struct{ f func() string }
	l := local{func() string { return "local" }}
	n, err := t{n: 1}.used(1, "", "")
	fmt.Println(l.f(), n, err, second)
}
