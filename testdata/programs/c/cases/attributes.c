// Functions for other processors and for interrupts, clones that the loader chooses among, weak ones and aliases.
#include <stdio.h>

#if defined(__x86_64__)
#define TARGET(t) __attribute__((target(t)))
struct frame;
__attribute__((interrupt, target("general-regs-only"))) void on_interrupt(struct frame *f) { while (f == (void *)1) ; }
#else
#define TARGET(t)
#endif
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif
TARGET("avx2") static int wide(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
TARGET("no-avx,no-sse4.1") static int narrow(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s -= a[i]; return s; }
TARGET("arch=x86-64") static int plain(int n) { while (n > 3) n -= 3; return n; }
TARGET("general-regs-only") static int general(int n) { while (n > 4) n -= 3; return n; }
CLONES int cloned(const int *a, int n) { int s = 1; for (int i = 0; i < n; i++) s *= a[i]; return s; }
__attribute__((weak)) int replaced(int n) { while (n > 1) n--; return n; }
static int real(int n) { while (n > 2) n--; return n; }
int other(int n) __attribute__((alias("real")));
__attribute__((optimize("O3"))) static int quick(int n) { while (n > 5) n--; return n; }
__attribute__((pure)) static int pure(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
__attribute__((returns_nonnull, malloc)) static void *same(void *p) { for (;;) return p; }
int main(void)
{
	int a[] = {1, 2, 3, 4};
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2")) printf("wide %d\n", wide(a, 4)); else
#endif
	printf("wide %d\n", 10);
	printf("%d %d %d %d %d\n", narrow(a, 4), plain(8), general(9), cloned(a, 4), replaced(3));
	printf("%d %d %d %d %d\n", other(5), real(7), quick(9), pure(4), *(int *)same(a));
	return 0;
}
