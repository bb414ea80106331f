/* Three functions that use 60, 30 and 10 % of half a second of processor time. */
#include <stdint.h>
#include <time.h>

static volatile uint64_t sink;

__attribute__((noinline, noclone)) static void spin(long n) {
	for (long i = 0; i < n; i++)
		sink += i * i;
}
__attribute__((noinline, noclone)) static void a(void) { spin(600000); sink++; }
__attribute__((noinline, noclone)) static void b(void) { spin(300000); sink++; }
__attribute__((noinline, noclone)) static void c(void) { spin(100000); sink++; }

int main(void) {
	while (clock() < CLOCKS_PER_SEC / 2) {
		a();
		b();
		c();
	}
	return 0;
}
