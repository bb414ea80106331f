// Functions that end without a return: for, goto, switch, select, panic; labels
// at the start of a body, and gotos over declarations of inner blocks.
package main

import "fmt"

func forever(n int) int { for { if n > 3 { return n }; n++ } }

func switched(n int) string {
	switch { case n > 0: return "+"; case n < 0: return "-"; default: return "0" }
}

func typed(x any) string { switch x := x.(type) { case int, string: return fmt.Sprint(x); default: panic("type") } }

func selected(c chan int) int { select { case n := <-c: return n } }

func jump(n int) int {
start:
	if n < 10 { n *= 2; goto start }
	{ x := n; _ = x }
	goto end
end:
	return n
}

func fall(n int) (s string) {
	switch n { case 1: s += "1"; fallthrough; case 2: s += "2"; break; default: s = "d" }
	return
}

func infinite() { L: for { switch { default: break L } } }

func conditional(b bool) int { if b { return 1 } else { return 2 } }

func main() {
	c := make(chan int, 1)
	c <- 5
	infinite()
	fmt.Println(forever(1), switched(-1), typed(3), selected(c), jump(3), fall(1), fall(2), fall(3), conditional(false))
	defer func() { fmt.Println(recover()) }()
	typed(1.5)
}
