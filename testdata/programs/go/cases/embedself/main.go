// A program that has its own source embedded, and that of its package part, prints them as
// the user wrote them.
// untold: what is saved has these files as they are
package main

import (
	"embed"
	"fmt"

	"cases/embedself/part"
)

//go:embed *.go part
var source embed.FS

func main() {
	for _, name := range []string{"main.go", "part/part.go"} {
		b, err := source.ReadFile(name)
		fmt.Println(string(b), err)
	}
	list, _ := source.ReadDir(".")
	for _, f := range list { fmt.Println(f.Name(), part.Double(21)) }
}
