// Command cg tells what programs cost in joules.
package main

import (
	"os"

	"cg/cli"
)

func main() { os.Exit(cli.Main(os.Args)) }
