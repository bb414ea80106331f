// unbalanced: exit is called in a function
// exit in a call, and what runs before main and after it.
#include <stdio.h>
#include <stdlib.h>

static void first(void) { puts("first"); for (int i = 0; i < 2; i++) puts("loop"); }
static void second(void) { puts("second"); }
__attribute__((constructor)) static void before(void) { puts("before"); fflush(stdout); }
__attribute__((constructor(200))) static void earlier(void) { puts("earlier"); }
__attribute__((destructor)) static void behind(void) { puts("behind"); }
__attribute__((destructor(101))) static void last(void) { puts("last"); fflush(stdout); }
static void leave(int n) { if (n == 0) exit(42); leave(n - 1); }
int main(void)
{
	atexit(first);
	atexit(second);
	leave(3);
}
