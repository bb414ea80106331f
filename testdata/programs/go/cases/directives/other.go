//go:build ignore

package main

func main() { not compiled }
