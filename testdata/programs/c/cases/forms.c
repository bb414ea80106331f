// unbalanced: exit is called in a function
// Forms of definitions: K&R, attributes, pointers to functions, names in parentheses.
#include <stdarg.h>
#include <stdio.h>

int old(a, b, p) int a, b; const char *p; { printf("%s", p); return a - b; }
static const char *
lines(a, text, f)
	register int a;
	const char *text;
	int (*f)();
{
	while (a-- > 0) f("%s", text);
	return text;
}
untyped(n) { while (n > 3) n--; return n; }
static int twice(int n) { return printf("twice ") ? 2 * n : 0; }
static int (*chosen(int which))(int) { puts("chosen"); return which ? twice : NULL; }
int (parenthesised)(int n) { puts("parenthesised"); return n; }
__attribute__((noinline)) static int before(int n) { puts("before"); return n + 1; }
static int __attribute__((noinline, cold)) between(int n) { puts("between"); return n + 2; }
static int after(int n) __attribute__((noinline));
static int after(int n) { puts("after"); return n + 3; }
static inline __attribute__((always_inline)) int always(int n) { puts("always"); return n + 4; }
extern inline int exported(int n) { puts("exported"); return n + 5; }
_Noreturn static void never(int n);
static const char *const *pointers(void) { static const char *const all[] = {"p", "q"}; puts("pointers"); return all; }
static unsigned long long int specifiers(void) { puts("specifiers"); return 1ull << 40; }
static int sum(int n, ...)
{
	va_list all;
	int total = 0;
	va_start(all, n);
	while (n--) total += va_arg(all, int);
	va_end(all);
	return total;
}
static double sizes(int n, int m, double a[n][m]) { double s = 0; for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) s += a[i][k]; return s; }
#include <stdlib.h>
static void never(int n) { puts("never"); exit(n); }
int main(void) {
	double a[2][2] = {{1, 2}, {3, 4}};
	printf("%d %d %d\n", old(5, 2, "old "), chosen(1)(4), (parenthesised)(3));
	printf("%d %d %d %d %d\n", before(1), between(1), after(1), always(1), exported(1));
	printf("%s %llu %d %.1f\n", pointers()[1], specifiers(), sum(3, 1, 2, 3), sizes(2, 2, a));
	printf("%s %d\n", lines(2, "lines ", printf), untyped(5));
	never(0);
}
