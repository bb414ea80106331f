/*
 * A program of random events, the same for the same seed, for the tests of the
 * two ways in which a program tells what it does.
 *
 *   random CHANNEL THREADS EVENTS SEED DEPTH WIDTH FORKS
 *   random CHANNEL publish FILE     calls until killed, saying in FILE how often
 *   random CHANNEL cost SITES       prints ns of an event, and of its clock: the
 *                                   least of many short runs
 *   random CHANNEL pace MILLIONS MS tells so many million events a second
 *
 * Each thread has EVENTS events, at most DEPTH calls deep; each site calls
 * WIDTH others. The first forks FORKS times: the child has a tenth as many
 * events and then leaves, in whatever it is. It computes before its first.
 */
#include "channel.h"
#include <stdlib.h>
#include <sys/wait.h>

enum { ENTER, EXIT, SUSPEND, RESUME, UNWIND, CLOSE, SITES = 40 };

typedef struct {
	uint64_t seed, events;
	int forks;
} work;

static uint64_t depth_most, width;

static uint32_t chance(uint64_t *seed, uint32_t n)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (uint32_t)(*seed >> 33) % n;
}

static void spin(uint32_t n)
{
	for (volatile uint32_t i = 0; i < n; i++)
		;
}

static void event(uint32_t kind, uint32_t site) { cg_event(kind << 21 | site); }

static void *run(void *arg)
{
	work w = *(work *)arg;
	uint64_t s = w.seed;
	uint32_t stack[256], away[64];
	uint32_t depth = 0, n_away = 0;
	for (uint64_t i = 0; i < w.events; i++) {
		uint32_t r = chance(&s, 100), k;
		if (depth == 0 || (r < 42 && depth < depth_most)) {
			uint32_t caller = depth ? stack[depth - 1] : 0;
			uint32_t site = (caller * 7 + chance(&s, (uint32_t)width)) % SITES + 1;
			stack[depth++] = site;
			event(ENTER, site);
		} else if (r < 82 || depth < 3) {
			event(EXIT, stack[--depth]);
		} else if (r < 85) { /* an exception goes through frames */
			k = 1 + chance(&s, depth - 1);
			/* the innermost of that site is what ends */
			for (uint32_t j = depth; j-- > k;)
				if (stack[j] == stack[k])
					k = j;
			event(EXIT, stack[k]);
			depth = k;
		} else if (r < 90 && n_away < 64) {
			away[n_away++] = stack[--depth];
			event(SUSPEND, away[n_away - 1]);
		} else if (r < 94 && n_away && depth < 200) {
			k = chance(&s, n_away);
			event(RESUME, away[k]);
			stack[depth++] = away[k];
			away[k] = away[--n_away];
		} else if (r < 96) {
			k = chance(&s, depth);
			for (uint32_t j = depth; j-- > k;)
				if (stack[j] == stack[k])
					k = j;
			event(UNWIND, stack[k]);
			depth = k + 1;
		} else if (n_away) {
			event(CLOSE, away[--n_away]);
		}
		spin(chance(&s, 100) < 2 ? 20000 : chance(&s, 300));
		if (w.forks && i % (w.events / (uint64_t)(w.forks + 1) + 1) == w.events / (uint64_t)(w.forks + 1)) {
			pid_t child = fork();
			if (child == 0) {
				w.events = i + w.events / 10;
				w.forks = 0;
				s += 12345;
				n_away = 0;
				spin(20000000);
				continue;
			}
			waitpid(child, NULL, 0);
		}
	}
	if (w.forks == 0 && ((work *)arg)->forks)
		_exit(0);
	return NULL;
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* cost calls random sites of so many, two calls deep. */
static double burst(const uint32_t *of, int calls)
{
	uint64_t begin = now();
	for (int i = 0; i + 1 < calls; i += 2) {
		event(ENTER, of[i]);
		event(ENTER, of[i + 1]);
		event(EXIT, of[i + 1]);
		event(EXIT, of[i]);
	}
	return (double)(now() - begin) / (2 * calls);
}

static void cost(uint32_t sites)
{
	enum { CALLS = 4096, RUNS = 1500 };
	static uint32_t of[CALLS];
	uint64_t seed = 7;
	for (int i = 0; i < CALLS; i++)
		of[i] = 1 + chance(&seed, sites);
	double least = 1e9, clock = 1e9;
	for (int r = 0; r < RUNS; r++) {
		double ns = burst(of, CALLS);
		least = ns < least ? ns : least;
		uint64_t begin = now();
		for (int i = 0; i < 2 * CALLS; i++)
			cg_tick();
		ns = (double)(now() - begin) / (2 * CALLS);
		clock = ns < clock ? ns : clock;
	}
	printf("%f %f\n", least, clock);
}

static void pace(double rate, double ms)
{
	uint64_t begin = now(), seed = 3, n = 0;
	double end = ms * 1e6;
	for (double t = 0; t < end; t = (double)(now() - begin)) {
		if ((double)n > rate * t)
			continue;
		for (int i = 0; i < 50; i++, n += 4) {
			uint32_t a = 1 + chance(&seed, 100);
			event(ENTER, a);
			event(ENTER, 101 + a % 7);
			event(EXIT, 101 + a % 7);
			event(EXIT, a);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc < 4 || cg_open(argv[1]))
		return 1;
	if (!strcmp(argv[2], "publish")) {
		int fd = open(argv[3], O_RDWR);
		volatile uint64_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		for (uint64_t n = 1;; n++) {
			event(ENTER, 1 + n % 5);
			event(ENTER, 7);
			event(EXIT, 7);
			event(EXIT, 1 + n % 5);
			*p = n;
		}
	}
	if (!strcmp(argv[2], "cost")) {
		cost((uint32_t)atoi(argv[3]));
		return 0;
	}
	if (!strcmp(argv[2], "pace")) {
		pace(atof(argv[3]) * 1e-3, atof(argv[4]));
		return 0;
	}
	int threads = atoi(argv[2]);
	depth_most = strtoull(argv[5], NULL, 10);
	width = strtoull(argv[6], NULL, 10);
	work all[64];
	pthread_t t[64];
	for (int i = 0; i < threads; i++) {
		all[i] = (work){strtoull(argv[4], NULL, 10) * 1000003 + (uint64_t)i * 7919 + 1, strtoull(argv[3], NULL, 10), 0};
		if (i)
			pthread_create(&t[i], NULL, run, &all[i]);
	}
	all[0].forks = atoi(argv[7]);
	run(&all[0]);
	for (int i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	return 0;
}
