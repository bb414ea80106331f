// A thread that reads counters on time. See sampler.go.
#ifndef CG_NEMB_SAMPLER_H
#define CG_NEMB_SAMPLER_H

#include <stdint.h>

#include "../counter/counter.h"

struct cg_sampler;

// A sample is CG_WORDS + n words of 64 bits:
//
//	0  tick    channel clock, halfway through the reading
//	1  mono    CLOCK_MONOTONIC in ns, the same moment
//	2  lost    samples dropped since the one before, the ring being full
//	3  width   ns from the stamp before the reading to the one after it
//	4  raw[n]  microjoules as read, CG_FAILED where the reading failed, CG_AWAY
//	           where the thread does not read the counter
enum { CG_WORDS = 4, CG_SLOTS = 4096 };

// How the thread is scheduled: as any other, in the shortest slices, before
// all others.
enum { CG_OTHER, CG_SLICE, CG_FIFO };

struct cg_stats {
	uint64_t samples, missed, slow, dropped;
	int64_t cpu; // of the thread, ns
	int32_t scheduling;
};

// cg_sampler_start copies counters and starts the thread. With ordinary set it does
// not ask for CG_FIFO. Where epoch is not NULL the tick of each sample is stored
// there once it has been taken. 0 or an errno.
int cg_sampler_start(struct cg_sampler **out, const struct cg_counter *counters, int n,
		int64_t interval, int clock, int ordinary, uint64_t *epoch);

// cg_sampler_begun waits for the first sample, and cg_sampler_ended for the thread
// to end after cg_sampler_stop, for so many ns. Both tell whether it came.
int cg_sampler_begun(struct cg_sampler *s, int64_t ns);
int cg_sampler_ended(struct cg_sampler *s, int64_t ns);

// cg_sampler_reading is since when on CLOCK_MONOTONIC the thread is at a reading,
// 0 while it is at none.
int64_t cg_sampler_reading(struct cg_sampler *s);

// cg_sampler_give_up gives the thread up if the reading that it is at has taken so
// many ns: at is then the counter that it waits for, and s must not be used any
// more. The thread ends when the reading comes back, and frees s. Else it is 0.
int cg_sampler_give_up(struct cg_sampler *s, int64_t ns, int *at);

// cg_sampler_take moves up to max samples, oldest first, to dst.
int cg_sampler_take(struct cg_sampler *s, uint64_t *dst, int max);

// cg_sampler_deadline is a CLOCK_MONOTONIC instant before which no sample
// that is not in the ring yet will be stamped, unless the thread is stopped.
int64_t cg_sampler_deadline(struct cg_sampler *s);

void cg_sampler_stats(struct cg_sampler *s, struct cg_stats *out);

// cg_sampler_stop has a last sample taken at once, after which the thread ends.
void cg_sampler_stop(struct cg_sampler *s);

// cg_sampler_free frees a sampler whose thread has ended.
void cg_sampler_free(struct cg_sampler *s);

// For the benchmarks: n readings of the counters, and n readings of the clock.
uint64_t cg_bench_tick(const struct cg_counter *counters, int ncounters, int clock, int n);
uint64_t cg_bench_clock(int clock, int n);

#endif
