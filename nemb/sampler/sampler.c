#define _GNU_SOURCE
#include "sampler.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CLOCK_CYCLES = 1 };  // checkpoint.CycleCounter
enum { SLOW_NS = 50000 };   // a reading that took longer is counted
enum { SLICE_NS = 100000 }; // shortest that EEVDF grants (sched_setattr(2))
enum { GIVEN_UP = -1 };     // a thread that nobody waits for any more
enum { PRIORITY = 50 };     // below the kernel's own threads of 50 and above

struct cg_sampler {
	int64_t interval;
	int clock, ordinary, n, stride;
	struct cg_counter *counters;
	uint64_t *slots;
	_Atomic uint64_t *epoch; // of the newest sample, may be NULL
	uint64_t tightest; // ticks, the narrowest bracket that stamp saw, 0 for none yet
	pthread_t thread;
	_Atomic uint32_t begun, ended; // futexes: the first sample is there, the thread has done its last
	_Atomic int64_t reading;       // since when the counters are being read, 0 for not, GIVEN_UP
	int32_t at;                    // the one that is being read

	_Alignas(64) _Atomic uint64_t head; // written by the thread
	_Atomic int64_t deadline;
	_Atomic uint64_t samples, missed, slow, dropped;
	_Atomic int64_t cpu; // set when the thread ends
	_Atomic int scheduling;

	_Alignas(64) _Atomic uint64_t tail; // written by the reader
	_Atomic uint32_t stop;
};

static int64_t monotonic(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// ticks reads the channel's clock after all loads before it are done.
static uint64_t ticks(int clock) {
	if (clock == CLOCK_CYCLES) {
#if defined(__x86_64__)
		uint32_t lo, hi;
		__asm__ volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi)::"memory");
		return (uint64_t)hi << 32 | lo;
#elif defined(__aarch64__)
		uint64_t t;
		__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(t)::"memory");
		return t;
#endif
	}
	return monotonic();
}

struct stamp {
	uint64_t tick;
	int64_t mono;
};

// stamp reads both clocks at one moment. When the thread was interrupted in
// between it tries again, so that the two belong together.
static struct stamp stamp(struct cg_sampler *s) {
	struct stamp best = {0};
	uint64_t width = UINT64_MAX;
	for (int i = 0; i < 4; i++) {
		uint64_t a = ticks(s->clock);
		int64_t m = monotonic();
		uint64_t b = ticks(s->clock);
		if (b - a < width) {
			width = b - a;
			best = (struct stamp){a + width / 2, m};
		}
		if (s->tightest && width <= 3 * s->tightest)
			break;
	}
	if (!s->tightest || width < s->tightest)
		s->tightest = width ? width : 1;
	return best;
}

// read_counters is cg_read, and ends when the thread is given up meanwhile: what
// its descriptors mean then nobody knows.
static void read_counters(const struct cg_counter *c, int n, uint64_t *dst, int32_t *at, _Atomic int64_t *reading) {
	struct cg_group group = {0};
	for (int i = 0; i < n; i++) {
		__atomic_store_n(at, i, __ATOMIC_RELAXED);
		cg_read_counter(c + i, i, dst + i, &group);
		if (reading && atomic_load_explicit(reading, memory_order_acquire) == GIVEN_UP)
			return;
	}
}

// take_sample tells whether the thread is still wanted.
static int take_sample(struct cg_sampler *s, uint64_t *slot) {
	struct stamp a = stamp(s), b = a;
	if (s->n) {
		atomic_store_explicit(&s->reading, a.mono, memory_order_release);
		read_counters(s->counters, s->n, slot + CG_WORDS, &s->at, &s->reading);
		if (atomic_exchange(&s->reading, 0) == GIVEN_UP)
			return 0;
		b = stamp(s);
	}
	slot[0] = a.tick + (b.tick - a.tick) / 2;
	slot[1] = a.mono + (b.mono - a.mono) / 2;
	slot[3] = b.mono - a.mono;
	if (b.mono - a.mono > SLOW_NS)
		atomic_fetch_add_explicit(&s->slow, 1, memory_order_relaxed);
	return 1;
}

static int sample(struct cg_sampler *s, uint64_t *scratch, uint64_t *lost) {
	uint64_t head = atomic_load_explicit(&s->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&s->tail, memory_order_acquire);
	if (!take_sample(s, scratch))
		return 0;
	if (head - tail >= CG_SLOTS) {
		++*lost;
		atomic_fetch_add_explicit(&s->dropped, 1, memory_order_relaxed);
		return 1;
	}
	scratch[2] = *lost;
	*lost = 0;
	memcpy(s->slots + head % CG_SLOTS * s->stride, scratch, s->stride * sizeof *scratch);
	atomic_fetch_add_explicit(&s->samples, 1, memory_order_relaxed);
	if (s->epoch) // before the sample can be read: threads end their windows for it
		atomic_store_explicit(s->epoch, scratch[0], memory_order_release);
	atomic_store_explicit(&s->head, head + 1, memory_order_release);
	return 1;
}

// sched_attr of linux/sched/types.h, which clashes with sched.h in old glibc.
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

// hurry asks for the best scheduling that is permitted. What the thread forks,
// which is nothing, would not have it.
static int hurry(int ordinary) {
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	struct sched_param p = {.sched_priority = PRIORITY};
	if (!ordinary && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) == 0)
		return CG_FIFO;
	struct attributes a = {
		.size = sizeof a,
		.flags = 1, // SCHED_FLAG_RESET_ON_FORK
		.nice = getpriority(PRIO_PROCESS, 0),
		.runtime = SLICE_NS,
	};
	// Before 6.12 the kernel takes the call and has no slices to set.
	if (syscall(SYS_sched_setattr, 0, &a, 0) != 0)
		return CG_OTHER;
	struct attributes got = {.size = sizeof got};
	if (syscall(SYS_sched_getattr, 0, &got, sizeof got, 0) != 0 || got.runtime != SLICE_NS)
		return CG_OTHER;
	return CG_SLICE;
}

static int64_t thread_cpu(clockid_t clock) {
	struct timespec t = {0};
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// rest sleeps until the deadline, or until the thread is to stop. A futex
// sleeps on the timer that clock_nanosleep uses, and can be woken.
static int rest(struct cg_sampler *s, int64_t deadline) {
	struct timespec until = {deadline / 1000000000, deadline % 1000000000};
	while (!atomic_load_explicit(&s->stop, memory_order_acquire)) {
		if (monotonic() >= deadline)
			return 0;
		syscall(SYS_futex, &s->stop, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY);
	}
	return 1;
}

// wake sets a futex and wakes who waits for it.
static void wake(_Atomic uint32_t *word) {
	atomic_store_explicit(word, 1, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

// await waits for a futex to be set, for so many ns.
static int await(_Atomic uint32_t *word, int64_t ns) {
	int64_t deadline = monotonic() + ns;
	struct timespec until = {deadline / 1000000000, deadline % 1000000000};
	while (!atomic_load_explicit(word, memory_order_acquire)) {
		if (monotonic() >= deadline)
			return 0;
		syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY);
	}
	return 1;
}

static void *run(void *arg) {
	struct cg_sampler *s = arg;
	uint64_t *scratch = s->slots + (size_t)CG_SLOTS * s->stride;
	uint64_t lost = 0;
	prctl(PR_SET_NAME, "cg-sampler", 0, 0, 0);
	atomic_store(&s->scheduling, hurry(s->ordinary));
	int64_t deadline = monotonic();
	int wanted = sample(s, scratch, &lost);
	for (int first = 1, stopping = 0; wanted && !stopping; first = 0) {
		int64_t now = monotonic();
		deadline += s->interval;
		if (deadline <= now) {
			int64_t late = (now - deadline) / s->interval + 1;
			deadline += late * s->interval;
			atomic_fetch_add_explicit(&s->missed, late, memory_order_relaxed);
		}
		// After the head: who sees this deadline sees the samples before it.
		atomic_store_explicit(&s->deadline, deadline, memory_order_release);
		if (first)
			wake(&s->begun);
		stopping = rest(s, deadline);
		wanted = sample(s, scratch, &lost);
	}
	if (!wanted) {
		cg_sampler_free(s);
		return NULL;
	}
	atomic_store(&s->cpu, thread_cpu(CLOCK_THREAD_CPUTIME_ID));
	wake(&s->ended);
	return NULL;
}

int cg_sampler_start(struct cg_sampler **out, const struct cg_counter *counters, int n,
		int64_t interval, int clock, int ordinary, uint64_t *epoch) {
	struct cg_sampler *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
	if (!s)
		return ENOMEM;
	memset(s, 0, sizeof *s);
	s->interval = interval;
	s->clock = clock;
	s->ordinary = ordinary;
	s->epoch = (_Atomic uint64_t *)epoch;
	s->n = n;
	s->stride = CG_WORDS + n;
	s->counters = malloc((n + 1) * sizeof *s->counters);
	s->slots = calloc((size_t)(CG_SLOTS + 1) * s->stride, sizeof *s->slots);
	if (!s->counters || !s->slots) {
		cg_sampler_free(s);
		return ENOMEM;
	}
	if (n)
		memcpy(s->counters, counters, n * sizeof *counters);

	// Signals are the business of Go's threads.
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&s->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		cg_sampler_free(s);
		return err;
	}
	*out = s;
	return 0;
}

int cg_sampler_begun(struct cg_sampler *s, int64_t ns) { return await(&s->begun, ns); }

int cg_sampler_ended(struct cg_sampler *s, int64_t ns) {
	if (!await(&s->ended, ns))
		return 0;
	pthread_join(s->thread, NULL);
	return 1;
}

int64_t cg_sampler_reading(struct cg_sampler *s) { return atomic_load_explicit(&s->reading, memory_order_acquire); }

int cg_sampler_give_up(struct cg_sampler *s, int64_t ns, int *at) {
	int64_t since = atomic_load_explicit(&s->reading, memory_order_acquire);
	if (since <= 0 || monotonic() - since < ns)
		return 0;
	*at = __atomic_load_n(&s->at, __ATOMIC_RELAXED);
	pthread_t thread = s->thread;
	// From here on the thread may free s. The instant tells this reading from others.
	if (!atomic_compare_exchange_strong(&s->reading, &since, GIVEN_UP))
		return 0;
	pthread_detach(thread);
	return 1;
}

int cg_sampler_take(struct cg_sampler *s, uint64_t *dst, int max) {
	uint64_t tail = atomic_load_explicit(&s->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&s->head, memory_order_acquire);
	int n = 0;
	for (; n < max && tail < head; n++, tail++)
		memcpy(dst + (size_t)n * s->stride, s->slots + tail % CG_SLOTS * s->stride, s->stride * sizeof *dst);
	atomic_store_explicit(&s->tail, tail, memory_order_release);
	return n;
}

int64_t cg_sampler_deadline(struct cg_sampler *s) {
	return atomic_load_explicit(&s->deadline, memory_order_acquire);
}

void cg_sampler_stats(struct cg_sampler *s, struct cg_stats *out) {
	out->samples = atomic_load(&s->samples);
	out->missed = atomic_load(&s->missed);
	out->slow = atomic_load(&s->slow);
	out->dropped = atomic_load(&s->dropped);
	out->scheduling = atomic_load(&s->scheduling);
	out->cpu = atomic_load(&s->cpu);
	clockid_t clock;
	if (out->cpu == 0 && pthread_getcpuclockid(s->thread, &clock) == 0)
		out->cpu = thread_cpu(clock);
}

void cg_sampler_stop(struct cg_sampler *s) {
	wake(&s->stop);
}

void cg_sampler_free(struct cg_sampler *s) {
	free(s->counters);
	free(s->slots);
	free(s);
}

uint64_t cg_bench_tick(const struct cg_counter *counters, int ncounters, int clock, int n) {
	uint64_t slot[CG_WORDS + 16], sum = 0;
	struct cg_sampler s = {.clock = clock, .n = ncounters < 16 ? ncounters : 16};
	s.counters = (struct cg_counter *)counters;
	for (int i = 0; i < n; i++) {
		take_sample(&s, slot);
		sum += slot[CG_WORDS];
	}
	return sum;
}

uint64_t cg_bench_clock(int clock, int n) {
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += ticks(clock);
	return sum;
}
