/* Three functions that use 60, 30 and 10 % of half a second of processor time, and a thread that wakes now and then. */
#include <pthread.h>
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

static void *wakes(void *unused) {
	for (;;) {
		struct timespec pause = {0, 7000000};
		nanosleep(&pause, NULL);
		for (long i = 0; i < 1000000; i++)
			__asm__ volatile("");
	}
	return unused;
}

int main(void) {
	pthread_t other;
	if (pthread_create(&other, NULL, wakes, NULL) != 0)
		return 1;
	while (clock() < CLOCKS_PER_SEC / 2) {
		a();
		b();
		c();
	}
	return 0;
}
