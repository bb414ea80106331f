// flags: -fopenmp
// gcc: the OpenMP of clang is a package of its own
#include <stdio.h>

/* Pragmas of macros, which the preprocessor puts between markers, and pragmas on lines of their own. What a directive
   rules must stay behind it: the sums say how many threads have run it. */
#define MASTER _Pragma("omp master")
#define CRITICAL _Pragma("omp critical")
#define SINGLE _Pragma("omp single")
#define ATOMIC _Pragma("omp atomic")
#define TASK _Pragma("omp task")
#define WAIT _Pragma("omp taskwait")
#define BARRIER _Pragma("omp barrier")
#define ORDERED _Pragma("omp ordered")
#define UNROLL _Pragma("GCC unroll 4")
#define TWICE(x) _Pragma("omp critical") x += 1; _Pragma("omp critical") x += 2;

static long master, critical, single, atomic, task, both, mixed, order[64];
static int next;

static void step(int n)
{
	if (n)
		n = 1;
	MASTER master += 10;
	CRITICAL critical++;
	SINGLE single += 100;
	ATOMIC atomic += n;
	TWICE(both)
	if (n) {
		BARRIER MASTER /* the first */ for (int i = 0; i < 3; i++) {
			mixed += i;
		}
		BARRIER
	}
	for (int i = 0; i < 2; i++)
		MASTER master++;
#pragma omp barrier
#pragma omp master
	mixed += 1000;
#pragma omp critical
	{
		n += 2;
		critical += n;
	}
}

static void tasks(int n)
{
	for (int i = 0; i < n; i++) {
		TASK {
			ATOMIC task += i;
		}
	}
	WAIT
	n += 1;
	ATOMIC task += n;
}

static void ordered(int n)
{
#pragma omp parallel for ordered num_threads(4)
	for (int i = 0; i < n; i++) {
		ORDERED order[next++] = i;
	}
	n = 0;
#pragma omp parallel num_threads(3)
	step(n);
}

static long unrolled(int n)
{
	long sum = 0;
	UNROLL for (int i = 0; i < n; i++)
		sum += i;
	if (n)
#pragma GCC unroll 2
		for (int i = 0; i < n; i++)
			sum += i;
	else
		UNROLL while (n < 3)
			n++;
	switch (n) {
	case 9:
		UNROLL do {
			sum++;
		} while (sum % 7);
	}
	return sum;
}

int main(void)
{
#pragma omp parallel num_threads(4)
	for (int i = 0; i < 200; i++)
		step(i);
#pragma omp parallel num_threads(4)
	{
		SINGLE tasks(50);
	}
	ordered(64);
	for (int i = 0; i < 64; i++)
		if (order[i] != i)
			printf("%d at %d\n", (int)order[i], i);
	printf("%ld %ld %ld %ld %ld %ld %ld %ld\n", master, critical, single, atomic, task, both, mixed, unrolled(9));
	return 0;
}
