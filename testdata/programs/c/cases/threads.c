// unbalanced: a thread that is cancelled runs no cleanups of C
// flags: -pthread
// Threads that return, exit and are cancelled, with data of their own.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int own;
static int total;
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static void *work(void *arg)
{
	own = (int)(long)arg;
	int f = fib(10 + own);
	pthread_mutex_lock(&lock);
	total += f;
	pthread_mutex_unlock(&lock);
	return (void *)(long)own;
}
static void *waits(void *arg) { for (;;) pthread_testcancel(); return arg; }
static void closes(void *p) { printf("closed %d\n", *(int *)p); free(p); }
int main(void)
{
	pthread_t t[8], w;
	pthread_key_t key;
	void *got;
	long sum = 0;
	pthread_key_create(&key, closes);
	for (long i = 0; i < 8; i++) pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 8; i++) { pthread_join(t[i], &got); sum += (long)got; }
	pthread_create(&w, NULL, waits, NULL);
	pthread_cancel(w);
	pthread_join(w, &got);
	printf("%d %ld %d %d\n", total, sum, own, got == PTHREAD_CANCELED);
	return 0;
}
