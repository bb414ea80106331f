// Functions that other code calls: sorting, tables, resolvers.
#include <stdio.h>
#include <stdlib.h>

static int calls;
static int ascending(const void *a, const void *b) { calls++; const int *x = a, *y = b; for (;;) return (*x > *y) - (*x < *y); }
static int descending(const void *a, const void *b) { return ascending(b, a); }
typedef struct { const char *name; int (*order)(const void *, const void *); } sort;
static const sort sorts[] = {{"ascending", ascending}, {"descending", descending}};
#if defined(__x86_64__) && defined(__GLIBC__)
static int generic(int n) { while (n > 7) n -= 7; return n; }
static int (*resolve(void))(int) { return generic; }
int resolved(int n) __attribute__((ifunc("resolve")));
#else
int resolved(int n) { while (n > 7) n -= 7; return n; }
#endif
int main(void)
{
	for (int k = 0; k < 2; k++) {
		int all[] = {5, 3, 9, 1, 7};
		qsort(all, 5, sizeof *all, sorts[k].order);
		printf("%s %d %d %d\n", sorts[k].name, all[0], all[4], *(int *)bsearch(&all[2], all, 5, sizeof *all, sorts[k].order));
	}
	printf("%d %d\n", calls > 0, resolved(20));
	return 0;
}
