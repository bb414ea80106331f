// unbalanced: threads that call pthread_exit run no cleanups of C
// flags: -pthread
// Threads that leave by pthread_exit: far down, with handlers, the first thread before the others.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t all_here;
static void handler(void *p) { printf("handler %s\n", (const char *)p); fflush(stdout); }
static void leave(int n, void *with) { if (n == 0) pthread_exit(with); leave(n - 1, with); }
static void *deep(void *arg)
{
	pthread_cleanup_push(handler, arg);
	leave(5, (char *)arg + 1);
	pthread_cleanup_pop(0);
	return NULL;
}
static void *returns(void *arg) { for (;;) return arg; }
static void *last(void *arg)
{
	void *got;
	pthread_t first = *(pthread_t *)arg;
	pthread_barrier_wait(&all_here);
	int why = pthread_join(first, &got);
	printf("joined the first: %d %s\n", why, (char *)got);
	exit(6);
}
int main(void)
{
	static pthread_t first;
	pthread_t t;
	void *got;
	first = pthread_self();
	for (int i = 0; i < 3; i++) {
		pthread_create(&t, NULL, deep, "text");
		pthread_join(t, &got);
		printf("left with %s\n", (char *)got);
	}
	pthread_create(&t, NULL, returns, "more");
	pthread_join(t, &got);
	printf("returned %s\n", (char *)got);
	pthread_barrier_init(&all_here, NULL, 2);
	pthread_create(&t, NULL, last, &first);
	pthread_barrier_wait(&all_here);
	leave(3, "main");
}
