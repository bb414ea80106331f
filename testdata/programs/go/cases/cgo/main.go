// cgo: a preamble, calls of C, a Go function that C calls, from a thread of C's
// own, too, and a panic that passes through C.
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*callback)(int);
extern int goDouble(int);
extern void goPanic(void);

static int twice(int n) { return goDouble(goDouble(n)); }
static void *run(void *p) { *(int *)p = goDouble(*(int *)p); return NULL; }
static int onThread(int n) { pthread_t t; pthread_create(&t, NULL, run, &n); pthread_join(t, NULL); return n; }
static void through(void) { goPanic(); }
struct pair { int a, b; };
*/
import "C"

import "fmt"

//export goDouble
func goDouble(n C.int) C.int { return 2 * n }

//export goPanic
func goPanic() { panic("through C") }

func call(n int) int { return int(C.twice(C.int(n))) }

func guarded() (r any) { defer func() { r = recover() }(); C.through(); return nil }

func main() {
	p := C.struct_pair{1, 2}
	fmt.Println(call(3), C.onThread(4), p.a+p.b, guarded())
	s := C.CString("text")
	defer C.free(unsafePointer(s))
	fmt.Println(C.GoString(s))
}
