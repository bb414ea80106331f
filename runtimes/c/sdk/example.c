/* Measures parts of a program: inside each other, and in threads side by side. */
#include "codegreen.h"

static long squares(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += i * i % 7;
	return sum;
}

struct half {
	codegreen_task all;
	const char *name;
	long sum;
};

static void *work(void *given)
{
	struct half *half = given;
	codegreen_task task = codegreen_begin_in(half->all, half->name); /* inside all, in its own thread */
	half->sum = squares(40000000);
	codegreen_end(task);
	return NULL;
}

int main(void)
{
	codegreen_start("example", NULL);
	codegreen_task all = codegreen_begin("all");
	codegreen_task load = codegreen_begin("load"); /* inside all */
	printf("load %ld\n", squares(80000000));
	codegreen_end(load);

	struct half halves[2] = {{all, "left", 0}, {all, "right", 0}};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &halves[i]);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		printf("%s %ld\n", halves[i].name, halves[i].sum);
	}
	codegreen_end(all);
	printf("all: %.3f J\n", codegreen_energy_of(all).energy_j);
	if (codegreen_stop() == 0)
		printf("written to %s\n", codegreen_file());
	return 0;
}
