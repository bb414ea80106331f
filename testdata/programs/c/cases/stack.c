// Memory of a call's own: alloca, arrays of variable length, deep recursion, large frames.
#include <alloca.h>
#include <complex.h>
#include <stdio.h>
#include <string.h>

static int length(const char *s) { char *copy = alloca(strlen(s) + 1); strcpy(copy, s); return (int)strlen(copy); }
static int variable(int n) { int a[n], sum = 0; for (int i = 0; i < n; i++) a[i] = i; for (int i = 0; i < n; i++) { int b[a[i] + 1]; b[a[i]] = i; sum += b[a[i]]; } return sum; }
static int deep(int n) { char fill[64]; memset(fill, n, sizeof fill); return n == 0 ? fill[5] : deep(n - 1) + (fill[n % 64] != (char)n); }
static double complex turn(double complex z, int n) { while (n--) z *= I; return z; }
static long double wide(long double x, float y, __int128 z) { for (int i = 0; i < 3; i++) x *= y; return x + (long double)z; }
int main(void)
{
	double complex z = turn(1 + 2 * I, 3);
	printf("%d %d %d\n", length("eleven char"), variable(40), deep(20000));
	printf("%.1f %.1f %.3Lf\n", creal(z), cimag(z), wide(1.5L, 2.0f, 7));
	return 0;
}
