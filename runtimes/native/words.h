/*
 * Writing events as words (checkpoint/FORMAT.md, Chunk and Word): one aligned
 * 8-byte store an event into the calling thread's own chunk, and what happens
 * where the chunk is full: another chunk, or a wait for the reader. That is what
 * a writer does where there are no trees, and besides where the channel asks
 * for it.
 */
#ifndef CG_WORDS_H
#define CG_WORDS_H

#include "quick.h"

#include <errno.h>
#include <signal.h>

/* cg_leave_chunk gives this thread's chunk to the reader, for good. */
static void cg_leave_chunk(void)
{
	if (cg_index) {
		atomic_fetch_add(&cg_head->full, 1);
		atomic_store_explicit(&cg_state[cg_index - 1], CG_FULL, memory_order_release);
	}
	cg_index = 0;
	cg_next = cg_end = NULL;
}

/* cg_begin_chunk begins a chunk that this thread has just taken. */
static void cg_begin_chunk(cg_chunk *c)
{
	uint64_t s = atomic_fetch_add(&cg_head->head, 1) + 1;
	cg_fill_header(c, (cg_sums ? CG_ADDED : 0) | (cg_started ? 0 : CG_FIRST), cg_unwritten);
	cg_unwritten = 0;
	if (!cg_started && cg_sums && cg_mine.tree)
		c->tick = cg_mine.tree->head.tick; /* both begin at once */
	if (!cg_started && cg_parent_pid) {
		c->flags |= CG_FORKED;
		c->parent_pid = cg_parent_pid;
		c->parent_tid = cg_parent_tid;
		c->fork_tick = cg_fork_tick;
		cg_parent_pid = 0;
	}
	atomic_store_explicit(&c->seq, s, memory_order_release);
	cg_started = 1;
	cg_next = (volatile uint64_t *)(c + 1);
	cg_end = (volatile uint64_t *)((char *)c + cg_head->chunk_size);
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
		cg_begin_chunk(cg_chunk_at(i));
		cg_index = i + 1;
		return 1;
	}
	return 0;
}

/* cg_take_late_chunk is cg_take_chunk where none is full: the reader may be about
 * to free one. */
static int cg_take_late_chunk(void)
{
	for (int i = 0; i < 3; i++) {
		if (cg_take_chunk())
			return 1;
		struct timespec t = {0, 20000 << i};
		nanosleep(&t, NULL);
	}
	return cg_take_chunk();
}

/* cg_wait_for_chunk gets a chunk for this thread's next words; 0 when there is
 * none. It waits as long as the reader lives, ten seconds at the most. When
 * there are more threads than chunks waiting is no use. */
static int cg_wait_for_chunk(void)
{
	if (cg_index)
		cg_leave_chunk();
	else if (!cg_started)
		pthread_setspecific(cg_key, (void *)1);
	if (cg_take_chunk())
		return 1;
	if (cg_unwritten)
		return 0;
	if (atomic_load(&cg_head->full) == 0)
		return cg_take_late_chunk();
	atomic_fetch_add(&cg_head->waits, 1);
	uint64_t begin = cg_monotonic(), nap = 20000;
	while (atomic_load(&cg_head->full) > 0 && cg_monotonic() - begin < 10000000000u) {
		struct timespec t = {0, (long)nap};
		nanosleep(&t, NULL);
		if (cg_take_chunk())
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

/* cg_has_room reports whether there is room for a word. One for which there is
 * none is counted at once, so that the count is whole however the process ends,
 * and whole stretches of the thread's words are lost, never single ones unseen. */
static int __attribute__((noinline, cold)) cg_has_room(void)
{
	if (cg_orphan)
		return 0;
	int e = errno, has = cg_unwritten % CG_RETRY == 0 && cg_wait_for_chunk();
	errno = e;
	if (!has && !cg_orphan) {
		cg_unwritten++;
		atomic_fetch_add(&cg_head->lost, 1);
	}
	return has;
}

/* For tests the reader can keep the threads between two events: it sees both the
 * word and the sum of an event, or none. */
static inline void cg_between_events(uint64_t from, uint64_t to)
{
#ifdef CG_BOTH
	_Atomic uint64_t *lock = cg_head ? (_Atomic uint64_t *)&cg_head->pad4[0] : NULL;
	for (uint64_t was = from; lock && !atomic_compare_exchange_weak(lock, &was, to); was = from)
		;
#endif
	(void)from, (void)to;
}

/* cg_event_elsewhere is cg_event where the fast path is not open. */
static void __attribute__((noinline)) cg_event_elsewhere(uint32_t bits)
{
	cg_adder *t = &cg_mine;
	cg_between_events(0, 1);
	if (cg_sums && (!t->tree || t->stale) && !cg_has_tree()) {
		cg_between_events(1, 0);
		return;
	}
	int writes = cg_words && bits >> 21 != CG_PLACE && (cg_next < cg_end || cg_has_room());
	uint64_t now = cg_tick();
	if (cg_sums && (int64_t)(now - t->last) < 0)
		now = t->last;
	if (writes)
		*cg_next++ = now << 24 | bits;
	if (cg_sums)
		cg_add(now, bits);
	cg_between_events(1, 0);
}

/* cg_event_written records an event, where there is room for its word and the
 * clock is read without a call; else 0, and nothing is done. */
static int __attribute__((noinline)) cg_event_written(uint32_t bits)
{
	if (cg_next >= cg_end || cg_monotonic_clock || bits >> 21 == CG_PLACE)
		return 0;
	cg_event_elsewhere(bits);
	return 1;
}

/* cg_event_at_once records an event if that takes no time; else 0, and nothing
 * is done. */
static inline int __attribute__((always_inline)) cg_event_at_once(uint32_t bits)
{
	return cg_add_quickly(bits) || cg_event_written(bits);
}

/* cg_event records kind << 21 | site, now. */
static inline void __attribute__((always_inline)) cg_event(uint32_t bits)
{
	if (!cg_add_quickly(bits))
		cg_event_elsewhere(bits);
}

#endif
