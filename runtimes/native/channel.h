/*
 * The writing side of the checkpoint channel (checkpoint/FORMAT.md).
 *
 * In: a path to the channel and events. Out: sums in the calling thread's tree
 * (sums.h), and words in its chunk where the channel asks for them, or has no
 * trees (words.h). Needs libc only. A process whose channel cannot be opened, or
 * whose reader is gone, records nothing.
 *
 * This file opens the channel and follows the process through fork and exit.
 * Each header includes what it uses, downwards:
 *
 *   channel.h > words.h > quick.h > sums.h > times.h > bursts.h > paths.h > trees.h > state.h > clock.h, layout.h
 *             > sites.h                                       > state.h
 */
#ifndef CG_CHANNEL_H
#define CG_CHANNEL_H

#include "sites.h"
#include "words.h"

#include <stdio.h>

/* cg_thread_end gives what the ending thread has to the reader. */
static void cg_thread_end(void *unused)
{
	(void)unused;
	cg_leave_chunk();
	cg_leave_tree();
	cg_started = 0;
}

/* cg_before_fork writes the fork word, by which the reader knows the stack that
 * the words of the child begin with. What it adds up begins with the stack that
 * the child has with the memory. */
static void cg_before_fork(void)
{
	cg_mine.forking = cg_mine.frames ? cg_tick() : 0;
	if (!cg_words || cg_orphan)
		return;
	/* A forked child that has written nothing yet needs a chunk for the fork
	 * word, or its own child could not tell the stack they share. */
	if ((cg_index ? cg_next >= cg_end : cg_parent_pid != 0) && (!cg_sums || cg_has_tree()))
		cg_wait_for_chunk();
	cg_parent_pid = cg_parent_tid = 0;
	if (!cg_index)
		return;
	cg_fork_tick = cg_mine.forking ? cg_mine.forking : cg_tick();
	*cg_next++ = cg_fork_tick << 24 | CG_FORK_WORD;
	cg_parent_pid = (uint32_t)getpid();
	cg_parent_tid = (uint32_t)syscall(SYS_gettid);
}

/* The thread that forked keeps what the child needs to itself, and forgets it:
 * no thread that begins later is the child. */
static void cg_in_parent(void)
{
	cg_parent_pid = 0;
}

/* In the child nothing of the parent's is this thread's. */
static void cg_in_child(void)
{
	cg_index = cg_started = 0;
	cg_missed = cg_unwritten = 0;
	cg_mine.stale = cg_mine.tree != NULL;
	cg_mine.forked = cg_mine.forking;
	cg_next = cg_end = NULL;
	cg_set_quick();
}

__attribute__((destructor)) static void cg_at_exit(void)
{
	if (cg_index || cg_mine.tree)
		cg_thread_end(NULL);
}

/* cg_open maps the channel. 0, or the errno of what failed; EPROTO for a file
 * that is no channel of this version. */
static int cg_open(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (fstat(fd, &st) < 0 || st.st_size < CG_PAGE) {
		close(fd);
		return EPROTO;
	}
	char *m = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int e = errno;
	close(fd);
	if (m == MAP_FAILED)
		return e;
	cg_header *h = (cg_header *)m;
	size_t states = ((size_t)h->nchunks * 4 + CG_PAGE - 1) & ~(size_t)(CG_PAGE - 1);
	size_t tables = CG_PAGE + states + (size_t)h->nchunks * h->chunk_size;
	if (h->magic != CG_MAGIC || h->version != CG_VERSION || h->closed ||
	    h->nchunks == 0 || h->chunk_size < 128 ||
	    tables + CG_SITES * sizeof(uint64_t) + CG_FILES * sizeof *cg_files + CG_NAMES != (size_t)st.st_size) {
		munmap(m, (size_t)st.st_size);
		return EPROTO;
	}
	if (cg_head) { /* a second interpreter of this process */
		munmap(m, (size_t)st.st_size);
		return 0;
	}
	madvise(m, (size_t)st.st_size, MADV_DONTDUMP);
	cg_monotonic_clock = h->clock == CG_CLOCK_MONOTONIC;
	cg_pid_space = stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
	cg_state = (_Atomic uint32_t *)(m + CG_PAGE);
	cg_chunks = m + CG_PAGE + states;
	cg_files = (cg_file *)(m + tables + CG_SITES * sizeof(uint64_t));
	cg_names = (char *)(cg_files + CG_FILES);
	const char *name = strrchr(path, '/');
	int n = -1;
	if (h->trees && name)
		n = snprintf(cg_trees_path, sizeof cg_trees_path, "%.*s/%u", (int)(name - path), path, h->trees);
	if (n < 0 || n >= (int)sizeof cg_trees_path)
		cg_trees_path[0] = 0;
	cg_sums = cg_trees_path[0] && cg_open_trees();
	cg_words = !cg_sums || h->words;
	pthread_key_create(&cg_key, cg_thread_end);
	pthread_atfork(cg_before_fork, cg_in_parent, cg_in_child);
	cg_head = h;
	return 0;
}

#define CG_BATCHES 16 /* of that many events: a tenth of a millisecond */
#define CG_BATCH 256

/* cg_event_alone calls a site, and ends the call the next time. */
static inline void cg_event_alone(void *unused)
{
	static uint64_t bits = (uint64_t)CG_EXIT << 21 | 1;
	(void)unused;
	bits ^= (uint64_t)CG_EXIT << 21;
	cg_event(bits);
}

/* cg_least gives the ticks of the shortest of some batches, since whatever comes
 * between makes a batch longer. each is how many events a call has. */
static inline uint64_t cg_least(void (*events)(void *), void *arg, int each)
{
	volatile uint64_t words[CG_BATCH];
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < CG_BATCHES; i++) {
		if (cg_words) {
			cg_next = words;
			cg_end = words + CG_BATCH;
		}
		uint64_t begin = cg_tick();
		for (int k = 0; k < CG_BATCH; k += each)
			events(arg);
		uint64_t took = cg_tick() - begin;
		if (took < least)
			least = took;
	}
	cg_next = cg_end = NULL;
	return least;
}

/* cg_cost_of is what an event costs of which a batch took so long, in sixteenths of
 * a tick. */
static uint32_t cg_cost_of(uint64_t batch)
{
	uint64_t cost = batch * 16 / CG_BATCH;
	return cost < 1 << 28 ? (uint32_t)cost : 0;
}

/* cg_calibrate measures what an event costs, by calls of events that each record some
 * (a part of CG_BATCH): an enter and an exit by turns. They go into a tree of this
 * process's own, before the thread has one that is shared. */
static inline void cg_calibrate(void (*events)(void *), void *arg, int each)
{
	enum { NODES = 1024 };
	cg_adder *t = &cg_mine;
	uint64_t bytes = cg_nodes_at(NODES) + 2 * CG_PAGE;
	int e = errno;
	if (!cg_head || t->frames || cg_index || !cg_map_adder() || !(t->map = cg_private(bytes))) {
		errno = e;
		return;
	}
	t->map_bytes = bytes;
	t->tree = (cg_tree *)t->map;
	t->width = NODES;
	t->mapped = t->most = CG_PAGE / sizeof(cg_node);
	cg_begin_adding(cg_tick());
	t->functions.times = (cg_times *)(t->map + bytes - CG_PAGE);
	t->functions.mapped = t->functions.most = CG_PAGE / sizeof(cg_times);
	t->bursts.burst = UINT32_MAX; /* each is timed */
	cg_cost = cg_cost_of(cg_least(events, arg, each));
	uint64_t epoch = t->epoch + 1;
	for (int i = 0; t->bursts.budget && t->epoch != epoch && i < 3; i++) { /* a sample may end the pause */
		epoch = t->epoch;
		t->sure = UINT32_MAX - 1;
		t->bursts.paused = 1;
		t->left = UINT32_MAX; /* none is */
		cg_counted_cost = cg_cost_of(cg_least(events, arg, each));
	}
	cg_forget_adder();
}

#endif
