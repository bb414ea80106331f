// Package last has the functions of package log that end the program, behind the
// block of package codegreen.
package last

import (
	"fmt"
	"log"

	"codegreen"
)

const caller = 2 // the frame that log tells: the one that calls these functions

// CodegreenFatal is log.Fatal.
func CodegreenFatal(v ...any) {
	log.Output(caller, fmt.Sprint(v...))
	codegreen.CodegreenOSExit(1)
}

// CodegreenFatalf is log.Fatalf.
func CodegreenFatalf(format string, v ...any) {
	log.Output(caller, fmt.Sprintf(format, v...))
	codegreen.CodegreenOSExit(1)
}

// CodegreenFatalln is log.Fatalln.
func CodegreenFatalln(v ...any) {
	log.Output(caller, fmt.Sprintln(v...))
	codegreen.CodegreenOSExit(1)
}
