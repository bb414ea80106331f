/*
 * Programs whose clock is their own, for tests of what is counted and not timed: each
 * knows what its functions took to the tick.
 *
 *   budget CHANNEL PROGRAM SEED    prints "site ticks calls" for each site, and then
 *                                  "events clock mark 0"
 *
 * The clock stands but for the work of functions and what checkpoints cost. A sample is
 * taken each PERIOD ticks: the program asks for it in the header, at 264, and waits until
 * it is taken.
 */
#define CG_VIRTUAL
static unsigned long long seed;
#define CG_SEED seed
#include "channel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 5000000, TIMED = 110, COUNTED = 10, MOST = 16 };

static uint64_t clock_now, next_sample, truth[MOST], calls[MOST], events;
static uint32_t inside[4096], depth;
static int sampled; /* samples are taken */
static uint64_t idle_ticks; /* without a processor */
static uint64_t mark; /* what a program says of itself besides */

static void pass(uint64_t ticks)
{
	while (sampled && clock_now + ticks >= next_sample) {
		ticks -= next_sample - clock_now;
		clock_now = next_sample;
		next_sample += PERIOD;
		_Atomic uint64_t *asked = (_Atomic uint64_t *)&cg_head->pad4[0];
		atomic_store(&cg_head->epoch, clock_now);
		atomic_store(asked, clock_now);
		while (atomic_load(asked)) {
			struct timespec t = {0, 10000};
			nanosleep(&t, NULL);
		}
	}
	clock_now += ticks;
}

/* Reading the clock takes a half of the time before, and the other after. */
static uint64_t cg_cycles(void)
{
	pass(TIMED / 2);
	uint64_t now = clock_now;
	pass(TIMED - TIMED / 2);
	return now;
}

static uint64_t cg_passed(void) { return clock_now; }
static uint64_t cg_ran(void) { return clock_now - idle_ticks; }

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

static uint64_t dice; /* the program's own */

static uint32_t below(uint32_t n)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((dice >> 33) % n);
}

static void call(uint32_t site, uint64_t ticks)
{
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
static void waiting(void)
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

static const struct {
	const char *name;
	void (*run)(void);
} programs[] = {{"even", even}, {"uneven", uneven}, {"callers", callers}, {"slower", slower}, {"phases", phases},
	{"periodic", periodic}, {"recursive", recursive}, {"nested", nested}, {"waiting", waiting}, {"tailed", tailed},
	{"once", once}, {"many", many}, {"sparse", sparse}, {"sparse_first", sparse_first}, {"calming", calming},
	{"hiccups", hiccups}, {"crossing", crossing}, {"stopped", stopped}};

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
			leave();
		}
	for (uint32_t i = 0; i < MOST; i++)
		printf("%u %llu %llu\n", i, (unsigned long long)truth[i], (unsigned long long)calls[i]);
	printf("%llu %llu %llu 0\n", (unsigned long long)events, (unsigned long long)clock_now,
	       (unsigned long long)mark);
	return 0;
}
