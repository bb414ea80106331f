/* Reads random numbers, which are made in the kernel, in one function, computes in another, and sleeps. It prints the
   processor time in the kernel and outside, in microseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static char buffer[1 << 20];

static double used(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

__attribute__((noinline, noclone)) static void draw(double seconds) {
	for (double end = used() + seconds; used() < end;)
		sink += getrandom(buffer, sizeof buffer, 0);
	__asm__ volatile("");
}

__attribute__((noinline, noclone)) static void compute(double seconds) {
	for (double end = used() + seconds; used() < end;)
		for (int i = 0; i < 1000000; i++)
			sink += i;
	__asm__ volatile("");
}

int main(int argc, char **argv) {
	double seconds = atof(argv[1]);
	for (int i = 0; i < 5; i++) {
		draw(seconds * 0.6 / 5);
		compute(seconds * 0.4 / 5);
		usleep(argc > 2 ? 0 : 50000);
	}
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	printf("%ld %ld\n", r.ru_stime.tv_sec * 1000000L + r.ru_stime.tv_usec,
	       r.ru_utime.tv_sec * 1000000L + r.ru_utime.tv_usec);
	return 0;
}
