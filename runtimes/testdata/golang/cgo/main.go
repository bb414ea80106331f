// C threads that call Go, again and again, and end.
package main

/*
#include <pthread.h>

extern void called(int);

static void *run(void *n) {
	for (int i = 0; i < 100; i++)
		called(i);
	return n;
}

static void threads(int n) {
	for (int k = 0; k < n; k++) {
		pthread_t t[4];
		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, run, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
}
*/
import "C"

import (
	cg "container/ring"
	"os"
	"strconv"
)

var key, _ = strconv.ParseUint(os.Getenv("KEY"), 10, 64)
var base = cg.CodegreenFile(key)

//export called
func called(n C.int) {
	{
		defer cg.CodegreenEnter(base + 4)()
	}
	if n%10 == 0 {
		inner(int(n))
	}
}

//go:noinline
func inner(n int) {
	{
		defer cg.CodegreenEnter(base + 5)()
	}
	done := make(chan bool)
	go func() { done <- n > 0 }()
	<-done
}

func main() {
	{
		defer cg.CodegreenEnter(base + 1)()
	}
	C.threads(20)
}
