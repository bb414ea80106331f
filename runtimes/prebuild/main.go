// Command prebuild compiles what cg otherwise compiles on the user's machine at first use, for
// a build that brings it along:
//
//	CGO_ENABLED=0 CC='COMMAND' go run ./runtimes/prebuild [-arch GOARCH] [-javac PATH] [-o DIR]
//	go build -tags prebuilt .
//
// It takes a C compiler for the architecture in CC (else cc), the go command, and a javac, without which the Java
// runtime is left out. It writes into runtimes/prebuilt, which git ignores.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"cg/runtimes"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "prebuild:", err)
		os.Exit(1)
	}
}

func run() error {
	goarch := flag.String("arch", runtime.GOARCH, "architecture, as GOARCH has it")
	javac := flag.String("javac", "", "javac for the Java runtime")
	out := flag.String("o", "runtimes/prebuilt", "folder")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is no flag: see -help", flag.Arg(0))
	}
	command := strings.Fields(os.Getenv("CC"))
	if len(command) == 0 {
		command = []string{"cc"}
	}
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	names, err := runtimes.Prebuild(context.Background(), *out, *goarch, command, *javac)
	slices.Sort(names)
	for _, name := range names {
		fmt.Println(name)
	}
	return err
}
