// The program itself uses the package of the checkpoints, and names that are like
// theirs, in every scope.
package main

import (
	"container/ring"
	"fmt"
	cg "strings"
)

var cg_b0 = 5

type CodegreenEnter struct{ cg int }

func cg1(cg int) (cg_b1 int) { cg_b1 = cg + cg_b0; return }

func (cg CodegreenEnter) CodegreenExit(CodegreenFile string) string {
	ring := CodegreenFile
	return cg.String() + ring
}

func (c CodegreenEnter) String() string { return cg.Repeat("=", c.cg) }

func shadow(panic, recover, make func() int) (len int) {
	defer func() { len += recover() }()
	return panic() + make()
}

func main() {
	r := ring.New(3)
	for i := range 3 { r.Value = i; r = r.Next() }
	r.Do(func(x any) { fmt.Println(x) })
	fmt.Println(cg1(1), CodegreenEnter{2}.CodegreenExit("x"), cg.ToUpper("y"))
	one := func() int { return 1 }
	fmt.Println(shadow(one, one, one))
	type ring struct{ int }
	fmt.Println(ring{4})
}
