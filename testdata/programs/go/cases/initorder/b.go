// Package variables in the order of their dependencies, over several files, with
// initialisers that call functions; then the functions named init.
package main

import "fmt"

var second = say("second", first)

var plain, _ = 1, say("blank", 0)

var first = say("first", func() int { return late }())

func init() { say("init of b", 0) }

func init() { say("second init of b", 0); main0() }

func say(what string, n int) int { fmt.Println(what, n, plain); return n + 1 }
