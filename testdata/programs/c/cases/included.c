// flags: -include included.h
// A header that the command line includes.
#include <stdio.h>
int main(void) { printf("%d %d\n", included(5), __LINE__); return 0; }
