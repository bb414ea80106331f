package main

import "fmt"

var late = say("late", simple)

var list = []int{say("list", 1), say("list", 2)}

var other = struct{ f func() int }{func() int { return say("other", list[1]) }}.f()

func println2(s string) { fmt.Println(s) }

func main0() { fmt.Println("main0", other) }

func main() { say("main", second) }
