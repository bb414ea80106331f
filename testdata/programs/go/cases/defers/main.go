// More deferred calls than the compiler keeps open, many returns, defer in
// loops, and arguments that are evaluated at once.
package main

import "fmt"

type log []string

func (l *log) add(s string) { *l = append(*l, s) }

func many(l *log) {
	defer l.add("1"); defer l.add("2"); defer l.add("3"); defer l.add("4")
	defer l.add("5"); defer l.add("6"); defer l.add("7"); defer l.add("8")
	defer l.add("9")
}

func loops(n int) (l log) {
	for i := 0; i < n; i++ { defer l.add(fmt.Sprint(i)) }
	for range 2 { defer func() { l.add("f") }() }
	return
}

func returns(n int) string {
	defer func() {}()
	if n == 0 { return "0" }
	if n == 1 { return "1" }
	if n == 2 { return "2" }
	if n == 3 { return "3" }
	if n == 4 { return "4" }
	if n == 5 { return "5" }
	if n == 6 { return "6" }
	if n == 7 { return "7" }
	if n == 8 { return "8" }
	if n == 9 { return "9" }
	if n == 10 { return "10" }
	if n == 11 { return "11" }
	if n == 12 { return "12" }
	if n == 13 { return "13" }
	if n == 14 { return "14" }
	if n == 15 { return "15" }
	if n == 16 { return "16" }
	return "more"
}

func order(s string) string { fmt.Println("evaluated", s); return s }

func arguments() (out string) {
	x := 1
	defer fmt.Println("x was", x)
	x = 2
	defer fmt.Println(order("a"), order("b"))
	f := fmt.Sprint
	defer func(s string) { out = f(s, x) }(order("c"))
	return "lost"
}

func conditional(b bool) (n int) {
	if b { defer func() { n++ }() }
	return 1
}

func main() {
	var l log
	many(&l)
	fmt.Println(l)
	fmt.Println(len(loops(4)), returns(3), returns(16), returns(99), arguments(), conditional(true), conditional(false))
	var nilFunc func()
	defer func() { fmt.Println(recover() != nil) }()
	defer nilFunc()
}
