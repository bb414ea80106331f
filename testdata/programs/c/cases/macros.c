// unbalanced: abort ends it
// Functions that macros make, and lines that the program tells. It ends by a failed assertion.
#include <assert.h>
#include <stdio.h>

#define FUNCTION(name, of) static int name(int n) { \
	printf("%s %d %s\n", __func__, __LINE__, __FILE__ + sizeof __FILE__ - 9); \
	return of; \
}
FUNCTION(plus, n + 1)
FUNCTION(
	minus,
	n - 1
)
#define BEGIN {
#define END }
#define IF(x) if (x) BEGIN
static int odd(int n)
BEGIN
	IF(n % 2) printf("odd at %d\n", __LINE__); return 1; END
	return printf("even at %d\n", __LINE__), 0;
END
#line 1000
static int numbered(int n) { printf("line %d\n", __LINE__); return n; }
int main(void) { int all = plus(1) + minus(1) + odd(3) + odd(4) + numbered(0);
	fflush(stdout);
	assert(all == -1 && "this fails"); return 0; }
