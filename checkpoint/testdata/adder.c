/*
 * Programs that add up, for the tests of the trees, on the native runtime's
 * channel.h.
 *
 *   adder CHANNEL wide N         site 1 calls sites 2 to N + 1, each once
 *   adder CHANNEL recursion N    sites 2 and 3 call each other, N deep; half way
 *                                down site 4 is between
 *   adder CHANNEL few N          sites 1, 2, 3 and 4 call each other, and the last calls
 *                                sites 5 to 12, which call each other at random, N
 *                                times; prints how often each was called
 *   adder CHANNEL long N         site 1 calls site 2 N times
 *   adder CHANNEL others         site 1 calls site 2, which is suspended and comes back, and
 *                                then site 3, from whose call of site 4 an error comes back
 *   adder CHANNEL threads N M    N threads call site 7 M times each, and then end
 *   adder CHANNEL late           a thread begins while another has the only tree, and
 *                                goes on when it has ended; prints the events of both
 *   adder CHANNEL fork N M       sites 1 to N call each other, and the last forks; both
 *                                processes return, the child after M ticks, and call site 7
 *   adder CHANNEL forks N M      the same, and the child forks before its first event
 *   adder CHANNEL pathless N     N threads call site 7 one after the other, with the
 *                                path of the trees gone after the first
 *   adder CHANNEL limited N      the same with N threads that live, and the path there,
 *                                but few addresses
 */
#include "channel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void enter(uint32_t site) { cg_event((uint32_t)CG_ENTER << 21 | site); }
static void leave(uint32_t site) { cg_event((uint32_t)CG_EXIT << 21 | site); }

static void call(uint32_t site)
{
	enter(site);
	leave(site);
}

static void wide(uint64_t n, uint64_t m)
{
	enter(1);
	for (uint32_t site = 2; site < n + 2; site++)
		call(site);
	leave(1);
	(void)m;
}

static void recursion(uint64_t n, uint64_t m)
{
	enter(1);
	for (uint64_t i = 0; i < n; i++) {
		if (i == n / 2)
			enter(4);
		enter(2 + (uint32_t)(i % 2));
	}
	for (uint64_t i = n; i-- > 0;) {
		leave(2 + (uint32_t)(i % 2));
		if (i == n / 2)
			leave(4);
	}
	leave(1);
	(void)m;
}

enum { CHAIN = 4, OTHERS = 8, DEEP = 12 };

static void few(uint64_t n, uint64_t m)
{
	uint32_t stack[DEEP], depth = 0;
	uint64_t calls[CHAIN + OTHERS + 1] = {0}, random = 1;
	for (uint32_t site = 1; site <= CHAIN; site++) {
		calls[site]++;
		enter(site);
	}
	for (uint64_t i = 0; i < n; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint32_t site = CHAIN + 1 + (uint32_t)(random >> 33) % OTHERS;
		if (depth == DEEP || (depth > 0 && random >> 62 == 0)) {
			leave(stack[--depth]);
			continue;
		}
		calls[site]++;
		enter(stack[depth++] = site);
	}
	while (depth > 0)
		leave(stack[--depth]);
	for (uint32_t site = CHAIN; site > 0; site--)
		leave(site);
	for (uint32_t site = 1; site <= CHAIN + OTHERS; site++)
		printf("%d %d\n", (int)site, (int)calls[site]);
	(void)m;
}

static void longs(uint64_t n, uint64_t m)
{
	enter(1);
	for (uint64_t i = 0; i < n; i++)
		call(2);
	leave(1);
	(void)m;
}

static void others(uint64_t n, uint64_t m)
{
	enter(1);
	enter(2);
	cg_event((uint32_t)CG_SUSPEND << 21 | 2);
	cg_event((uint32_t)CG_RESUME << 21 | 2);
	leave(2);
	enter(3);
	enter(4);
	cg_event((uint32_t)CG_UNWIND << 21 | 1);
	leave(1);
	(void)n, (void)m;
}

static pthread_barrier_t barrier;

static void *calling(void *arg)
{
	for (uint64_t i = *(uint64_t *)arg; i > 0; i--)
		call(7);
	return NULL;
}

static void *calling_together(void *arg)
{
	calling(arg);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void threads(uint64_t n, uint64_t m)
{
	pthread_t *t = calloc(n, sizeof *t);
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	for (uint64_t i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, calling_together, &m))
			exit(1);
	for (uint64_t i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
}

static void *holding(void *arg)
{
	call(7);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

/* What is retried after 512 events is an exit: the first enter has none. */
static void late(uint64_t n, uint64_t m)
{
	pthread_t t;
	uint64_t events = 3;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, holding, NULL);
	pthread_barrier_wait(&barrier);
	enter(5);
	for (int i = 0; i < 700; i++, events += 2)
		call(6);
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
	for (; !cg_mine.tree; events += 2)
		call(6);
	for (int i = 0; i < 10; i++, events += 2)
		call(8);
	printf("%d\n", (int)events);
	(void)n, (void)m;
}

static int forks_again;

static void fork_deep(uint64_t n, uint64_t m)
{
	for (uint32_t site = 1; site <= n; site++)
		enter(site);
	pid_t child = fork();
	if (!child) /* it works before its first event */
		for (uint64_t begin = cg_tick(); cg_tick() - begin < m;)
			;
	if (!child && forks_again) {
		if (!fork())
			_exit(0);
		wait(NULL);
	}
	for (uint32_t site = (uint32_t)n; site > 0; site--)
		leave(site);
	call(7);
	if (child)
		wait(NULL);
}

static void fork_twice(uint64_t n, uint64_t m)
{
	forks_again = 1;
	fork_deep(n, m);
}

static void pathless(uint64_t n, uint64_t m)
{
	m = 3;
	for (uint64_t i = 0; i < n; i++) {
		pthread_t t;
		pthread_create(&t, NULL, calling, &m);
		pthread_join(t, NULL);
		strcpy(cg_trees_path, "/dev/null/none");
	}
}

static void limited(uint64_t n, uint64_t m)
{
	struct rlimit l;
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%lu", &pages) != 1)
		exit(1);
	fclose(f);
	getrlimit(RLIMIT_AS, &l);
	l.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + ((size_t)256 << 20);
	setrlimit(RLIMIT_AS, &l);
	m = 3;
	threads(n, m);
}

static const struct {
	const char *name;
	void (*run)(uint64_t n, uint64_t m);
} modes[] = {
	{"wide", wide},	    {"recursion", recursion}, {"few", few},	      {"long", longs},	    {"threads", threads},
	{"others", others}, {"late", late},	    {"fork", fork_deep},      {"pathless", pathless}, {"limited", limited},
	{"forks", fork_twice},
};

int main(int argc, char **argv)
{
	int error = cg_open(argv[1]);
	if (error) {
		fprintf(stderr, "open: %s\n", strerror(error));
		return 1;
	}
	cg_calibrate(cg_event_alone, NULL, 1);
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 0, m = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(argv[2], modes[i].name)) {
			modes[i].run(n, m);
			return 0;
		}
	return 2;
}
