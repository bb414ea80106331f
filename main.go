// Command cg shows how much energy a program and its functions use, in joules.
package main

import (
	"os"

	"cg/cli"
	_ "cg/crash" // a failure of cg itself is status 125
)

func main() { os.Exit(cli.Main(os.Args)) }
