/*
 * Programs whose clock is their own, for tests of what is counted and not timed: each
 * knows what its functions took to the tick.
 *
 *   budget CHANNEL PROGRAM SEED    prints "site ticks calls" for each site, and then
 *                                  "events clock mark 0", and "times site least median
 *                                  p95 most" of sites that call nothing
 *
 * The clock stands but for the work of functions and what checkpoints cost. Each thread
 * has its own. A sample is taken each PERIOD ticks, when all threads have come to it: the
 * last of them asks for it in the header, at 264, and waits until it is taken.
 */
#define CG_VIRTUAL
static __thread unsigned long long seed;
#define CG_SEED seed
#include "channel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 5000000, TIMED = 110, COUNTED = 10, MOST = 16 };

static __thread uint64_t clock_now, next_sample, idle_ticks /* without a processor */;
static __thread uint32_t inside[4096], depth;
static _Atomic uint64_t truth[MOST], calls[MOST], events, last_end;
static int sampled; /* samples are taken */
static uint64_t mark; /* what a program says of itself besides */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sample_taken = PTHREAD_COND_INITIALIZER;
static int threads = 1, waiting;
static uint64_t samples, sample_at;

/* take_sample lets the reader take the sample to which all threads have come. */
static void take_sample(void)
{
	_Atomic uint64_t *asked = (_Atomic uint64_t *)&cg_head->pad4[0];
	atomic_store(&cg_head->epoch, sample_at);
	atomic_store(asked, sample_at);
	while (atomic_load(asked)) {
		struct timespec t = {0, 10000};
		nanosleep(&t, NULL);
	}
	waiting = 0;
	samples++;
	pthread_cond_broadcast(&sample_taken);
}

static void pass(uint64_t ticks)
{
	while (sampled && clock_now + ticks >= next_sample) {
		ticks -= next_sample - clock_now;
		clock_now = next_sample;
		next_sample += PERIOD;
		pthread_mutex_lock(&lock);
		uint64_t now = samples;
		sample_at = clock_now;
		if (++waiting == threads)
			take_sample();
		while (samples == now)
			pthread_cond_wait(&sample_taken, &lock);
		pthread_mutex_unlock(&lock);
	}
	clock_now += ticks;
}

/* end_thread is the end of a thread: the others wait for it no longer. */
static void end_thread(void)
{
	cg_thread_end(NULL);
	pthread_mutex_lock(&lock);
	if (last_end < clock_now)
		last_end = clock_now;
	if (--threads > 0 && waiting == threads)
		take_sample();
	pthread_mutex_unlock(&lock);
}

/* Reading the clock takes a half of the time before, and the other after. */
static uint64_t cg_cycles(void)
{
	pass(TIMED / 2);
	uint64_t now = clock_now;
	pass(TIMED - TIMED / 2);
	return now;
}

static __thread uint64_t asked_at, idle_then;

static double cg_busy(void)
{
	uint64_t passed = clock_now - asked_at, idle = idle_ticks - idle_then;
	asked_at = clock_now;
	idle_then = idle_ticks;
	return passed ? (double)(passed - idle) / (double)passed : 1;
}

static void event(uint32_t bits)
{
	pass(COUNTED / 2);
	cg_event(bits);
	pass(COUNTED - COUNTED / 2);
	events++;
}

static void work(uint64_t ticks)
{
	truth[depth ? inside[depth - 1] : 0] += ticks;
	pass(ticks);
}

/* The thread has no processor. */
static void stop(uint64_t ticks)
{
	work(ticks);
	idle_ticks += ticks;
	mark += ticks;
}

static void enter(uint32_t site)
{
	calls[site]++;
	event((uint32_t)CG_ENTER << 21 | site);
	inside[depth++] = site;
}

static void leave(void) { event((uint32_t)CG_EXIT << 21 | inside[--depth]); }

static __thread uint64_t dice; /* the program's own */

static uint32_t below(uint32_t n)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((dice >> 33) % n);
}

static void suspend(void) { event((uint32_t)CG_SUSPEND << 21 | inside[--depth]); }

static void resume(uint32_t site)
{
	event((uint32_t)CG_RESUME << 21 | site);
	inside[depth++] = site;
}

/* What each call took of a function that calls nothing, while there is one thread. */
static uint64_t *took[MOST], told[MOST];

static void tell(uint32_t site, uint64_t ticks)
{
	if (threads > 1)
		return;
	if (!took[site] && !(took[site] = calloc(1 << 20, sizeof **took)))
		exit(3);
	took[site][told[site]++] = ticks;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void print_times(void)
{
	for (uint32_t i = 0; i < MOST; i++) {
		uint64_t n = told[i], *t = took[i];
		if (!n || n != calls[i])
			continue;
		qsort(t, n, sizeof *t, compare);
		printf("times %u %llu %llu %llu %llu\n", i, (unsigned long long)t[0], (unsigned long long)t[n / 2],
		       (unsigned long long)t[n * 95 / 100], (unsigned long long)t[n - 1]);
	}
}

static void call(uint32_t site, uint64_t ticks)
{
	tell(site, ticks);
	enter(site);
	work(ticks);
	leave();
}

/* Functions of which each call takes the same. */
static void even(void)
{
	for (int i = 0; i < 100000; i++) {
		call(2, 100);
		call(3, 300);
		work(40);
	}
}

/* What a call takes is different from call to call. */
static void uneven(void)
{
	for (int i = 0; i < 100000; i++) {
		call(2, 20 + below(400));
		call(3, below(8) ? 60 : 900);
		work(below(60));
	}
}

/* What a call takes depends on its caller. */
static void callers(void)
{
	for (int i = 0; i < 60000; i++) {
		enter(2);
		call(4, 80);
		leave();
		enter(3);
		call(4, 900);
		call(4, 900);
		leave();
	}
}

/* And on when it is: at the end it takes ten times what it took at the beginning. */
static void slower(void)
{
	for (int i = 0; i < 120000; i++) {
		call(2, 100 + (uint64_t)i / 133);
		call(3, 200);
	}
}

/* Few calls, and then no processor: there are pauses while the thread learns. */
static void seldom(void)
{
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < (i ? 90 : 300); k++)
			call(2, i ? 900 : 100);
		stop(PERIOD);
	}
}

/* Calls that come densely, so that few are drawn, and then as many of which half are
 * drawn. Those that follow each other take the same. */
static void thinner(void)
{
	uint32_t ticks = 0;
	for (int i = 0; i < 60000; i++) {
		if (i % 400 == 0)
			ticks = (12 + below(12)) << below(8);
		call(2, ticks);
		if (i >= 30000)
			work(4640);
	}
}

/* The share that bursts have follows one window behind: there is a high one where calls come
 * densely, and a low one where they do not. Then the thread has no processor until the next sample. */
static void lagging(void)
{
	for (int i = 0; i < 1000; i++) {
		for (int k = 0; k < 300; k++)
			call(2, 60);
		stop(next_sample - clock_now);
		for (int k = 0; k < 150; k++) {
			call(3, 800);
			work(60);
		}
		stop(next_sample - clock_now);
	}
}

/* Bursts that stand for more than the sum of their squares has room for. */
static void heavy(void)
{
	even();
	cg_mine.functions.times[cg_mine.functions.row_of[2] - 1].squares = UINT64_MAX - 1;
	even();
}

/* Parts of the program by turns, in which the same function takes other times. */
static void phases(void)
{
	for (int i = 0; i < 200; i++)
		for (int k = 0; k < 600; k++) {
			call(2, i % 2 ? 600 : 60);
			call(3, 150);
			if (i % 3 == 0)
				call(4, 90);
		}
}

/* A period like that of bursts. */
static void periodic(void)
{
	for (int i = 0; i < 150000; i++) {
		call(2, i % 32 == 0 ? 2500 : 50);
		call(3, 120);
	}
}

static uint32_t fib(uint32_t n)
{
	enter(2);
	work(30 + n);
	uint32_t r = n < 2 ? n : fib(n - 1) + fib(n - 2);
	leave();
	return r;
}

static void recursive(void)
{
	fib(23);
	for (int i = 0; i < 200; i++)
		call(3, 20000);
}

/* Long functions with short ones below them. */
static void nested(void)
{
	for (int i = 0; i < 300; i++) {
		enter(2);
		work(200000);
		for (int k = 0; k < 300; k++)
			call(4, 70);
		leave();
		enter(3);
		work(100000);
		for (int k = 0; k < 200; k++)
			call(4, 200);
		leave();
	}
}

/* A function that waits now and then. */
static void waiting_now_and_then(void)
{
	for (int i = 0; i < 120000; i++) {
		call(2, 100);
		enter(3);
		work(120);
		if (below(3000) == 0)
			work(12000000);
		leave();
	}
}

/* A heavy tail. */
static void tailed(void)
{
	for (int i = 0; i < 150000; i++) {
		uint32_t d = below(1 << 20) + 1;
		call(2, 60 + (1u << 20) / d);
		call(3, 100);
	}
}

/* A computation without a call, once. */
static void once(void)
{
	for (int i = 0; i < 150000; i++) {
		call(2, 90);
		call(3, 110);
		if (i == 77777)
			work(900000000);
	}
}

/* Many functions, of which some are rare. */
static void many(void)
{
	for (int i = 0; i < 120000; i++) {
		uint32_t site = 2 + below(below(14) + 1);
		call(site, 40 * site);
	}
}

/* Few events, so that each is timed, and at times a long call of a short function. */
static void sparse(void)
{
	for (int i = 0; i < 3000; i++) {
		call(2, i % 16 == 0 ? 60000 : 60);
		work(4000);
	}
}

/* The same, and then many calls, of which those of the other function are long at times. */
static void sparse_first(void)
{
	sparse();
	for (int i = 0; i < 100000; i++) {
		call(2, 60);
		call(3, i % 500 == 0 ? 60000 : 60);
	}
}

/* Many events, and then few: the mark is when. */
static void calming(void)
{
	for (int i = 0; i < 100000; i++)
		call(2, 60);
	mark = clock_now;
	for (int i = 0; i < 5000; i++) {
		call(2, 60);
		work(60000);
	}
}

/* A call that calls nothing is slow now and then. */
static void hiccups(void)
{
	for (int i = 0; i < 150000; i++) {
		call(2, i % 60 == 0 ? 20000 : 60);
		call(3, 100);
	}
}

/* Calls that begin with the last event of a burst, and end behind a sample. The mark is
 * how often one of them passed for a call that calls nothing. */
static void crossing(void)
{
	for (int i = 0; i < 300; i++) {
		for (int k = 0; k < 300 || cg_mine.bursts.paused; k++)
			call(3, 100);
		cg_mine.bursts.burst = 1;
		enter(2);
		for (int k = 0; k < 20; k++)
			call(3, 300);
		next_sample = clock_now + 1;
		leave();
		mark += cg_mine.nodes[cg_find(cg_top(), 2) & CG_NODE].usual > 1000000;
	}
}

/* A thread that has a processor for a small part of the time. */
static void stopped(void)
{
	for (int i = 0; i < 100000; i++) {
		call(2, 300);
		call(3, 400);
		if (i % 1000 == 0)
			stop(2000000);
	}
}

/* A generator that calls, and its caller. */
static void generators(void)
{
	for (int i = 0; i < 400; i++) {
		enter(2);
		for (int k = 0; k < 100; k++) {
			work(70);
			call(3, 200 + below(100));
			suspend();
			call(4, 150);
			resume(2);
		}
		leave();
	}
}

/* Coroutines that wait for each other, each two frames deep. */
static void coroutines(void)
{
	enum { ROUTINES = 8 };
	int left[ROUTINES] = {0};
	for (int i = 0; i < 40000; i++) {
		int k = (int)below(ROUTINES);
		if (left[k]-- > 0) {
			resume(2);
			resume(3);
		} else {
			enter(2);
			call(5, 90);
			enter(3);
			left[k] = 20;
		}
		work(60);
		call(4, k < 4 ? 80 : 700);
		call(4, k < 4 ? 80 : 700);
		if (left[k] > 0) {
			suspend();
			suspend();
		} else {
			leave();
			call(5, 300);
			leave();
		}
	}
}

typedef struct {
	uint64_t clock, sample, seed;
	void (*run)(void);
} thread;

static void *run_thread(void *arg)
{
	thread *of = arg;
	clock_now = of->clock;
	next_sample = of->sample;
	dice = seed = of->seed;
	enter(1);
	of->run();
	leave();
	end_thread();
	return NULL;
}

/* side_by_side runs four functions in threads of their own. */
static void side_by_side(void (*const run[4])(void))
{
	pthread_t all[4];
	thread of[4];
	pthread_mutex_lock(&lock);
	threads += 4;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 4; i++) {
		of[i] = (thread){clock_now, next_sample, seed + 2 * (uint64_t)i, run[i]};
		if (pthread_create(&all[i], NULL, run_thread, &of[i]))
			exit(3);
	}
	for (int i = 0; i < 20000; i++)
		call(2, 130);
	leave(); /* this thread is in no function while it waits */
	end_thread();
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	threads = 1;
	clock_now = last_end;
	sampled = 0;
}

/* Threads that run the same functions, in which they take other times. */
static void threads_alike(void)
{
	side_by_side((void (*const[4])(void)){uneven, even, many, uneven});
}

/* Threads of which some wait, become slower, or have frames that leave them. */
static void threads_unlike(void)
{
	side_by_side((void (*const[4])(void)){waiting_now_and_then, slower, generators, coroutines});
}

static const struct {
	const char *name;
	void (*run)(void);
} programs[] = {{"even", even}, {"uneven", uneven}, {"callers", callers}, {"slower", slower}, {"phases", phases},
	{"periodic", periodic}, {"recursive", recursive}, {"nested", nested}, {"waiting", waiting_now_and_then}, {"tailed", tailed},
	{"once", once}, {"many", many}, {"sparse", sparse}, {"sparse_first", sparse_first}, {"calming", calming},
	{"hiccups", hiccups}, {"crossing", crossing}, {"stopped", stopped}, {"seldom", seldom}, {"thinner", thinner},
	{"heavy", heavy}, {"lagging", lagging},
	{"generators", generators}, {"coroutines", coroutines}, {"threads_alike", threads_alike},
	{"threads_unlike", threads_unlike}};

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	/* near to the reader's clock, which is the processor's */
	clock_now = strtoull(getenv("CG_BEGIN"), NULL, 10);
	seed = strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
	dice = seed;
	if (cg_open(argv[1]))
		return 1;
	cg_monotonic_clock = 0;
	cg_calibrate(cg_event_alone, NULL, 1);
	cg_cost += COUNTED * 16; /* which event adds */
	cg_counted_cost += COUNTED * 16;
	next_sample = clock_now + PERIOD;
	sampled = 1;
	events = 0;
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (strcmp(programs[i].name, argv[2]) == 0) {
			enter(1);
			programs[i].run();
			if (depth > 0)
				leave();
		}
	for (uint32_t i = 0; i < MOST; i++)
		printf("%u %llu %llu\n", i, (unsigned long long)truth[i], (unsigned long long)calls[i]);
	printf("%llu %llu %llu 0\n", (unsigned long long)events, (unsigned long long)clock_now,
	       (unsigned long long)mark);
	print_times();
	return 0;
}
