// unbalanced: a signal ends it
// A fault, far down.
#include <stdio.h>

static int fault(int n, volatile int *where) { return n == 0 ? *where : fault(n - 1, where) + 1; }
int main(void) { puts("begin"); fflush(stdout); return fault(5, (volatile int *)8); }
