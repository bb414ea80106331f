// A byte order mark, lines that end with a carriage return, and letters that are
// none of ASCII.
package main

import "fmt"

type größe int

func (g größe) verdoppeln() größe { s := "ü{"; return 2 * g + größe(len(s)) - 3 }

func 世界(ñ string) string {
	return `raw
` + ñ
}

func main() {
	fmt.Printf("%q %d\n", 世界("é"), größe(2).verdoppeln())
	panic("ö")
}
