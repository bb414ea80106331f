// A program that has its own source embedded prints it as the user wrote it.
// unmeasured: its files stay as they are
package main

import (
	"embed"
	"fmt"
)

//go:embed *.go
var source embed.FS

func main() {
	b, err := source.ReadFile("main.go")
	fmt.Println(string(b), err)
	list, _ := source.ReadDir(".")
	for _, f := range list { fmt.Println(f.Name()) }
}
