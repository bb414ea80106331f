/*
 * The clock that stamps events: the processor's counter, or CLOCK_MONOTONIC
 * where the channel says so.
 */
#ifndef CG_CLOCK_H
#define CG_CLOCK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <time.h>

static inline uint64_t cg_monotonic(void)
{
	struct timespec t = {0, 0};
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(CG_VIRTUAL)
/* of a test's program, whose clock is its own */
static uint64_t cg_cycles(void);
#elif defined(__x86_64__)
static inline uint64_t cg_cycles(void)
{
	uint32_t lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}
#elif defined(__aarch64__)
static inline uint64_t cg_cycles(void)
{
	uint64_t v;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
}
#else
#define cg_cycles cg_monotonic
#endif

static int cg_monotonic_clock; /* stamp with CLOCK_MONOTONIC */

static inline uint64_t cg_tick(void)
{
	return __builtin_expect(cg_monotonic_clock, 0) ? cg_monotonic() : cg_cycles();
}

#endif
