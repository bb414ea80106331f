/*
 * Writing events as words (checkpoint/FORMAT.md, Chunk and Word): one aligned
 * 8-byte store an event into the calling thread's own chunk, and what happens
 * where the chunk is full: another chunk, a tree in its place, or a wait for
 * the reader.
 */
#ifndef CG_WORDS_H
#define CG_WORDS_H

#include "sums.h"

#include <errno.h>
#include <signal.h>

#define CG_RETRY 512 /* events that are lost before a chunk is asked for again */
#define CG_PATIENCE 100000000u /* ns that a thread waits for the reader, in all, before it adds up itself */

CG_TLS uint64_t cg_waited; /* ns that this thread has waited for the reader, in all */

/* cg_leave_chunk gives this thread's chunk to the reader, for good. */
static void cg_leave_chunk(void)
{
	if (cg_index) {
		atomic_fetch_add(&cg_head->full, 1);
		atomic_store_explicit(&cg_state[cg_index - 1], CG_FULL, memory_order_release);
	}
	cg_index = 0;
	cg_next = cg_end = cg_fast_end = NULL;
}

/* cg_take_chunk gets the lowest free chunk for this thread: low ones are in the
 * caches. 0 when none is free, or when the reader is behind. */
static int cg_take_chunk(void)
{
	if (atomic_load(&cg_head->full) >= cg_head->limit)
		return 0;
	for (uint32_t i = 0; i < cg_head->nchunks; i++) {
		uint32_t zero = CG_FREE;
		if (atomic_load_explicit(&cg_state[i], memory_order_relaxed) != CG_FREE ||
		    !atomic_compare_exchange_strong(&cg_state[i], &zero, CG_OWNED))
			continue;
		uint64_t s = atomic_fetch_add(&cg_head->head, 1) + 1;
		cg_chunk *c = cg_chunk_at(i);
		cg_fill_header(c);
		atomic_store_explicit(&c->seq, s, memory_order_release);
		cg_started = 1;
		cg_index = i + 1;
		cg_next = (volatile uint64_t *)(c + 1);
		cg_end = (volatile uint64_t *)((char *)c + cg_head->chunk_size);
		cg_fast_end = cg_monotonic_clock ? NULL : cg_end;
		if (CG_SUMS_REPLACE_WORDS && cg_mine.stale)
			cg_leave_tree();
		return 1;
	}
	return 0;
}

/* cg_take_chunk_or_tree gets a chunk for this thread's next words, or a tree in place of
 * them; 0 when there is neither. A thread takes a tree where it is asked to,
 * and when it has waited for the reader for long. Without one it waits as long
 * as the reader lives, ten seconds at the most. When there are more threads
 * than chunks waiting is no use. */
static int cg_take_chunk_or_tree(void)
{
	if (cg_index)
		cg_leave_chunk();
	else if (!cg_started && !cg_next)
		pthread_setspecific(cg_key, (void *)1);
	int adds = cg_mine.stale || atomic_load_explicit(&cg_head->add_up, memory_order_relaxed);
	if (CG_SUMS_REPLACE_WORDS && adds && cg_take_tree(0))
		return 1;
	if (cg_take_chunk())
		return 1;
	if (cg_missed)
		return CG_SUMS_REPLACE_WORDS && cg_take_tree(0);
	if (atomic_load(&cg_head->full) == 0) /* the reader may have been there meanwhile */
		return cg_take_chunk() || (CG_SUMS_REPLACE_WORDS && cg_take_tree(0));
	atomic_fetch_add(&cg_head->waits, 1);
	uint64_t begin = cg_monotonic(), last = begin, nap = 20000;
	while (atomic_load(&cg_head->full) > 0 && cg_monotonic() - begin < 10000000000u) {
		struct timespec t = {0, (long)nap};
		nanosleep(&t, NULL);
		uint64_t now = cg_monotonic();
		cg_waited += now - last;
		last = now;
		if (cg_take_chunk() || (CG_SUMS_REPLACE_WORDS && cg_waited > CG_PATIENCE && cg_take_tree(0)))
			return 1;
		if (nap < 1000000)
			nap *= 2;
		if (cg_head->closed || (kill((pid_t)cg_head->reader_pid, 0) < 0 && errno == ESRCH)) {
			cg_orphan = 1;
			return 0;
		}
	}
	return cg_take_chunk();
}

/* cg_make_room finds room for the next word. Without a chunk each event is counted
 * as lost before it goes to the scratch buffer, so that the count is whole
 * however the process ends, and whole stretches of the thread's events are
 * lost, never single ones unseen. */
static void __attribute__((noinline, cold)) cg_make_room(void)
{
	int e = errno;
	if (cg_head && !cg_orphan) {
		if (cg_missed % CG_RETRY == 0 && cg_take_chunk_or_tree()) {
			errno = e;
			return; /* with a chunk, or with a tree and without one */
		}
		if (!cg_orphan) {
			cg_missed++;
			atomic_fetch_add(&cg_head->lost, 1);
			cg_index = 0;
			cg_next = cg_scratch;
			cg_end = cg_scratch + 1;
			cg_fast_end = NULL;
			errno = e;
			return;
		}
	}
	cg_index = 0;
	cg_next = cg_scratch;
	cg_end = cg_scratch + sizeof cg_scratch / sizeof *cg_scratch;
	cg_fast_end = NULL;
	errno = e;
}

/* cg_event_slowly is cg_event where there is no room, or where the clock is
 * read by a call. */
static void __attribute__((noinline, cold)) cg_event_slowly(uint64_t bits)
{
	if (!cg_mine.adds && cg_next >= cg_end)
		cg_make_room();
	uint64_t now = cg_tick();
	if (cg_mine.adds) {
		cg_add(now, (uint32_t)bits);
		return;
	}
	*cg_next = now << 24 | bits;
	cg_next++;
}

/* cg_event_added adds up, where this thread does and the clock is read without a
 * call; else 0. */
static inline int cg_event_added(uint64_t bits)
{
	if (__builtin_expect(cg_mine.adds != CG_QUICKLY, 0))
		return 0;
	cg_add_quickly(cg_cycles(), (uint32_t)bits);
	return 1;
}

/* cg_event_elsewhere is cg_event behind the fast path. */
static void __attribute__((noinline)) cg_event_elsewhere(uint64_t bits)
{
	if (!cg_event_added(bits))
		cg_event_slowly(bits);
}

#ifdef CG_BOTH
/* Built for tests: each event is written and added up, at the same tick. */
static void __attribute__((noinline)) cg_event_both(uint64_t bits)
{
	/* The reader sees both or none: it holds the lock while it samples. */
	_Atomic uint64_t *lock = cg_head ? (_Atomic uint64_t *)&cg_head->pad4[0] : NULL;
	for (uint64_t zero = 0; lock && !atomic_compare_exchange_weak(lock, &zero, 1); zero = 0)
		;
	if (cg_next >= cg_end)
		cg_make_room();
	if (cg_index && (!cg_mine.tree || cg_mine.stale))
		cg_take_tree(CG_BOTH_WAYS);
	uint64_t now = cg_tick();
	*cg_next = now << 24 | bits;
	cg_next++;
	if (cg_mine.tree && !cg_mine.stale)
		cg_add_quickly(now, (uint32_t)bits);
	if (lock)
		atomic_store(lock, 0);
}
#endif

/* cg_event records kind << 21 | site, now. The fast path calls nothing, so that
 * it has nothing to save. */
static inline void cg_event(uint64_t bits)
{
#ifdef CG_BOTH
	cg_event_both(bits);
	return;
#endif
	volatile uint64_t *p = cg_next;
	if (__builtin_expect(p >= cg_fast_end, 0)) {
		cg_event_elsewhere(bits);
		return;
	}
	*p = cg_cycles() << 24 | bits;
	cg_next = p + 1;
}
#endif
