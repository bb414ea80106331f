//go:build !go1.26

package main

func main() { println("older") }
