// Package onpurpose fails in C, for the tests of package crash. A test file cannot contain C.
package onpurpose

// #include <stdlib.h>
// static void fault(void) { *(volatile int *)8 = 1; }
import "C"

// Abort calls abort(3).
func Abort() { C.abort() }

// Fault writes where nothing is.
func Fault() { C.fault() }
