// Package crash gives a failure of cg itself the status 125.
//
// The Go runtime ends a program that panics, runs out of memory or finds its own
// state broken with status 2, which of cg means that the command line is not
// understood. Nothing can be recovered there, and the runtime calls the kernel
// itself, so that no atexit function runs. It does raise SIGABRT if it is asked
// to (runtime/debug.SetTraceback, "crash"), and hands a signal on to the handler
// that was there before its own (os/signal, "Go programs that use cgo or SWIG").
// That handler is in crash.c: it says what happened and exits with 125. So does
// a fault in C code, which Go hands on in the same way. A program that cg starts
// has none of this: exec(2) takes handlers away.
//
// To be of use it has to be imported, and nothing more.
package crash

// #include <stdint.h>
import "C"

import "runtime/debug"

// Status is what cg ends with when it fails itself (docs/messages.md).
const Status = 125

func init() { debug.SetTraceback("crash") }
