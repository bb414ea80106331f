// Package crash makes cg exit with status 125 when cg itself fails.
//
// The Go runtime ends a program that panics, runs out of memory or finds its own state
// broken with status 2. For cg that status means a wrong command line. Nothing can be
// recovered there, and the runtime calls the kernel itself, so no atexit function runs.
// But the runtime raises SIGABRT if it is asked to (runtime/debug.SetTraceback,
// "crash"), and it calls the handler that was installed before its own (os/signal, "Go
// programs that use cgo or SWIG"). That handler is in crash.c: it prints what happened
// and exits with 125. A fault in C code takes the same way. A program that cg starts has
// no such handler, since exec(2) removes handlers.
//
// Importing the package is enough; it has no functions to call.
package crash

// #include <stdint.h>
import "C"

import "runtime/debug"

// Status is what cg ends with when it fails itself (docs/messages.md).
const Status = 125

func init() { debug.SetTraceback("crash") }
