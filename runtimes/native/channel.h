/*
 * The writing side of the checkpoint channel (checkpoint/FORMAT.md).
 *
 * In: a path to the channel and events. Out: one aligned 8-byte store an event
 * into the calling thread's own chunk. Needs libc only. A process whose channel
 * cannot be opened, or whose reader is gone, writes into a scratch buffer.
 */
#ifndef CG_CHANNEL_H
#define CG_CHANNEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CG_MAGIC 0x48434743u /* "CGCH" */
#define CG_VERSION 3u
#define CG_PAGE 4096u
#define CG_SITES (1u << 21)
#define CG_FILES (1u << 16)
#define CG_NAMES (1u << 25)
#define CG_PROBES 128 /* slots in which a file may be found */
#define CG_DEMOTED ((uint64_t)1 << 63)
#define CG_RETRY 512 /* events that are lost before a chunk is asked for again */
#define CG_PATIENCE 100000000u /* ns that a thread waits for the reader, in all, before it adds up itself */

enum { CG_CLOCK_CYCLES = 1, CG_CLOCK_MONOTONIC = 2 };
enum { CG_FREE = 0, CG_OWNED = 1, CG_FULL = 2 };
enum { CG_FIRST = 1, CG_RESYNC = 2, CG_FORKED = 4 };
#define CG_FORK_WORD ((uint64_t)7 << 21) /* kind 7, site 0 */

typedef struct {
	uint32_t magic, version, nchunks, chunk_size;
	uint32_t clock, reader_pid;
	uint64_t closed;
	uint64_t pad0[4];
	_Atomic uint64_t head; /* 64: its own cache line: next sequence number */
	uint64_t pad1[7];
	_Atomic uint64_t lost, waits; /* 128 */
	_Atomic uint64_t full;        /* chunks that wait for the reader */
	uint64_t limit;               /* of full: writers wait from there on */
	uint64_t pad2[4];
	_Atomic uint64_t given, named; /* 192: numbers of sites, bytes of names */
	uint64_t pad3[6];
	_Atomic uint64_t epoch; /* 256: its own cache line: tick of the newest sample of energy */
	uint64_t pad4[7];
	uint32_t trees;           /* 320: descriptor of the trees, 0 if there are none */
	_Atomic uint32_t add_up;  /* threads are to add up from their next chunk on */
} cg_header;

_Static_assert(offsetof(cg_header, epoch) == 256 && offsetof(cg_header, add_up) == 324, "the header is laid out as FORMAT.md says");

/* a slot of the table of files */
typedef struct {
	_Atomic uint64_t key;
	_Atomic uint64_t value; /* offset / 8 << 42 | base << 21 | count */
} cg_file;

typedef struct {
	_Atomic uint64_t seq;
	uint64_t tick;
	uint32_t pid, tid;
	uint32_t flags, cost; /* cost: of an event, in sixteenths of a tick */
	uint32_t parent_pid, parent_tid;
	uint64_t fork_tick;
	uint64_t lost;
	uint64_t pid_space; /* inode of the writer's pid namespace, 0 unknown */
} cg_chunk;

_Static_assert(sizeof(cg_chunk) == 64, "the chunk header is one cache line");

/* musl refuses initial-exec TLS in a library that is loaded late */
#if defined(__GLIBC__)
#define CG_TLS static __thread __attribute__((tls_model("initial-exec")))
#else
#define CG_TLS static __thread
#endif

CG_TLS volatile uint64_t *cg_next;
CG_TLS volatile uint64_t *cg_end;
CG_TLS volatile uint64_t *cg_fast_end; /* the same, NULL where a call reads the clock */
CG_TLS uint32_t cg_index;   /* of the owned chunk, plus 1 */
CG_TLS uint32_t cg_started; /* this thread has had a chunk */
CG_TLS uint64_t cg_missed;  /* events in the scratch buffer since the last chunk */

static cg_header *cg_head;
static _Atomic uint32_t *cg_state;
static char *cg_chunks;
static _Atomic uint64_t *cg_table; /* a slot for each site */
static cg_file *cg_files;
static char *cg_names;
static pthread_key_t cg_key;
static int cg_orphan; /* the reader is gone */
/* of the thread that forked this process, until this thread has told */
CG_TLS uint32_t cg_parent_pid, cg_parent_tid;
CG_TLS uint64_t cg_fork_tick;
static uint64_t cg_pid_space;
static uint32_t cg_cost; /* of an event, see cg_calibrate */
static volatile uint64_t cg_scratch[512];

static inline uint64_t cg_monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
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

/* Whether trees take the place of chunks, or stand beside them for tests. */
#ifdef CG_BOTH
#define CG_ADDS 0
#else
#define CG_ADDS 1
#endif

#include "aggregate.h"

static void cg_release(void)
{
	if (cg_index) {
		atomic_fetch_add(&cg_head->full, 1);
		atomic_store_explicit(&cg_state[cg_index - 1], CG_FULL, memory_order_release);
	}
	cg_index = 0;
	cg_next = cg_end = cg_fast_end = NULL;
}

static void cg_thread_end(void *unused)
{
	(void)unused;
	cg_release();
	cg_fell();
	cg_started = 0;
}

static int cg_room(void);

static void cg_before_fork(void)
{
	if (cg_orphan)
		return;
	if (cg_mine.adds || (cg_mine.stale && CG_ADDS)) { /* the child has the stack with the memory */
		cg_parent_pid = cg_parent_tid = 0;
		return;
	}
	/* A forked child that has written nothing yet needs a chunk for the fork
	 * word, or its own child could not tell the stack they share. */
	if (cg_index ? cg_next >= cg_end : cg_parent_pid != 0)
		cg_room();
	cg_parent_pid = cg_parent_tid = 0;
	if (!cg_index)
		return;
	cg_fork_tick = cg_tick();
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

static void cg_in_child(void)
{
	cg_index = cg_started = 0;
	cg_missed = 0;
	cg_waited = 0;
	cg_mine.stale = cg_mine.tree != NULL;
	cg_mine.adds = 0;
	cg_next = cg_end = cg_fast_end = NULL;
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
	if (h->magic != CG_MAGIC || h->version != CG_VERSION || h->closed ||
	    h->nchunks == 0 || h->chunk_size < 128 ||
	    CG_PAGE + states + (size_t)h->nchunks * h->chunk_size + CG_SITES * sizeof *cg_table + CG_FILES * sizeof *cg_files + CG_NAMES !=
		(size_t)st.st_size) {
		munmap(m, (size_t)st.st_size);
		return EPROTO;
	}
	if (cg_head)
		return 0; /* a second interpreter of this process */
	cg_monotonic_clock = h->clock == CG_CLOCK_MONOTONIC;
	cg_pid_space = stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
	cg_state = (_Atomic uint32_t *)(m + CG_PAGE);
	cg_chunks = m + CG_PAGE + states;
	cg_table = (_Atomic uint64_t *)(cg_chunks + (size_t)h->nchunks * h->chunk_size);
	cg_files = (cg_file *)(cg_table + CG_SITES);
	cg_names = (char *)(cg_files + CG_FILES);
	const char *name = strrchr(path, '/');
	if (!h->trees || !name ||
	    snprintf(cg_trees_path, sizeof cg_trees_path, "%.*s/%u", (int)(name - path), path, h->trees) >= (int)sizeof cg_trees_path)
		cg_trees_path[0] = 0;
	pthread_key_create(&cg_key, cg_thread_end);
	pthread_atfork(cg_before_fork, cg_in_parent, cg_in_child);
	cg_head = h;
	return 0;
}

/* cg_take gets the lowest free chunk for this thread: low ones are in the
 * caches. 0 when none is free, or when the reader is behind. */
static int cg_take(void)
{
	if (atomic_load(&cg_head->full) >= cg_head->limit)
		return 0;
	for (uint32_t i = 0; i < cg_head->nchunks; i++) {
		uint32_t zero = CG_FREE;
		if (atomic_load_explicit(&cg_state[i], memory_order_relaxed) != CG_FREE ||
		    !atomic_compare_exchange_strong(&cg_state[i], &zero, CG_OWNED))
			continue;
		uint64_t s = atomic_fetch_add(&cg_head->head, 1) + 1;
		cg_chunk *c = (cg_chunk *)(cg_chunks + (size_t)i * cg_head->chunk_size);
		cg_sign(c);
		atomic_store_explicit(&c->seq, s, memory_order_release);
		cg_started = 1;
		cg_index = i + 1;
		cg_next = (volatile uint64_t *)(c + 1);
		cg_end = (volatile uint64_t *)((char *)c + cg_head->chunk_size);
		cg_fast_end = cg_monotonic_clock ? NULL : cg_end;
		if (CG_ADDS && cg_mine.stale)
			cg_fell();
		return 1;
	}
	return 0;
}

/* cg_room gets a chunk for this thread's next words, or a tree in place of
 * them; 0 when there is neither. A thread takes a tree where it is asked to,
 * and when it has waited for the reader for long. Without one it waits as long
 * as the reader lives, ten seconds at the most. When there are more threads
 * than chunks waiting is no use. */
static int cg_room(void)
{
	if (cg_index)
		cg_release();
	else if (!cg_started && !cg_next)
		pthread_setspecific(cg_key, (void *)1);
	if (CG_ADDS && (cg_mine.stale || atomic_load_explicit(&cg_head->add_up, memory_order_relaxed)) && cg_grow(0))
		return 1;
	if (cg_take())
		return 1;
	if (cg_missed)
		return CG_ADDS && cg_grow(0);
	if (atomic_load(&cg_head->full) == 0) /* the reader may have been there meanwhile */
		return cg_take() || (CG_ADDS && cg_grow(0));
	atomic_fetch_add(&cg_head->waits, 1);
	uint64_t begin = cg_monotonic(), last = begin, nap = 20000;
	while (atomic_load(&cg_head->full) > 0 && cg_monotonic() - begin < 10000000000u) {
		struct timespec t = {0, (long)nap};
		nanosleep(&t, NULL);
		uint64_t now = cg_monotonic();
		cg_waited += now - last;
		last = now;
		if (cg_take() || (CG_ADDS && cg_waited > CG_PATIENCE && cg_grow(0)))
			return 1;
		if (nap < 1000000)
			nap *= 2;
		if (cg_head->closed || (kill((pid_t)cg_head->reader_pid, 0) < 0 && errno == ESRCH)) {
			cg_orphan = 1;
			return 0;
		}
	}
	return cg_take();
}

/* cg_more finds room for the next word. Without a chunk each event is counted
 * as lost before it goes to the scratch buffer, so that the count is whole
 * however the process ends, and whole stretches of the thread's events are
 * lost, never single ones unseen. */
static void __attribute__((noinline, cold)) cg_more(void)
{
	int e = errno;
	if (cg_head && !cg_orphan) {
		if (cg_missed % CG_RETRY == 0 && cg_room()) {
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
		cg_more();
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
		cg_more();
	if (cg_index && (!cg_mine.tree || cg_mine.stale))
		cg_grow(CG_BESIDE);
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

#define CG_BATCHES 16 /* of that many events: a tenth of a millisecond */
#define CG_BATCH 256

static inline void cg_event_alone(void *unused)
{
	(void)unused;
	cg_event(1);
}

/* cg_calibrate measures what an event costs, by calls of one that each record
 * one, in a buffer: the least of some batches, since whatever comes between
 * makes a batch longer. */
static inline void cg_calibrate(void (*one)(void *), void *arg)
{
	volatile uint64_t buffer[CG_BATCH];
	volatile uint64_t *next = cg_next, *end = cg_end, *fast_end = cg_fast_end;
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < CG_BATCHES; i++) {
		cg_next = buffer;
		cg_end = buffer + CG_BATCH;
		cg_fast_end = cg_monotonic_clock ? NULL : cg_end;
		uint64_t begin = cg_tick();
		for (int k = 0; k < CG_BATCH; k++)
			one(arg);
		uint64_t took = cg_tick() - begin;
		if (took < least)
			least = took;
	}
	cg_next = next;
	cg_end = end;
	cg_fast_end = fast_end;
	least = least * 16 / CG_BATCH;
	cg_cost = least < 1 << 28 ? (uint32_t)least : 0;
}

/* cg_counted reports whether a site is demoted: its calls are counted, here if
 * enter is set, and not timed. Without a channel no site is. */
static inline int cg_counted(uint32_t site, int enter)
{
	if (__builtin_expect(!cg_table, 0))
		return 0;
	_Atomic uint64_t *slot = &cg_table[site & (CG_SITES - 1)];
	if (__builtin_expect(!(atomic_load_explicit(slot, memory_order_relaxed) & CG_DEMOTED), 1))
		return 0;
	if (enter)
		atomic_fetch_add_explicit(slot, 1, memory_order_relaxed);
	return 1;
}

/* cg_digest continues a digest with n bytes. */
static uint64_t cg_digest(uint64_t h, const void *part, size_t n)
{
	const uint64_t k = 0x9e3779b97f4a7c15u;
	const char *p = part;
	h = (h ^ n) * k;
	h ^= h >> 32;
	while (n) {
		uint64_t w = 0;
		size_t m = n < 8 ? n : 8;
		if (m == 8)
			memcpy(&w, p, 8);
		else
			memcpy(&w, p, m);
		h = (h ^ w) * k;
		h ^= h >> 32;
		p += m;
		n -= m;
	}
	return h;
}

typedef struct {
	const char *text;
	size_t size;
} cg_part;

/* cg_give gives a file numbers that no other process has given it meanwhile.
 * Its names stand there before its numbers can be used. */
static int64_t cg_give(cg_file *f, const cg_part *names, size_t size, uint32_t count)
{
	uint64_t at = atomic_fetch_add(&cg_head->named, size);
	if (at + size > CG_NAMES)
		return -1;
	uint64_t base = atomic_fetch_add(&cg_head->given, count);
	if (base + count >= CG_SITES - 1)
		return -1;
	char *p = cg_names + at;
	uint64_t length = names[0].size + 1 + names[1].size + 1 + names[2].size;
	memcpy(p, &length, 8);
	p += 8;
	for (int i = 0; i < 3; i++) {
		memcpy(p, names[i].text, names[i].size);
		p += names[i].size + 1;
	}
	uint64_t value = 0;
	if (!atomic_compare_exchange_strong(&f->value, &value, at / 8 << 42 | base << 21 | count))
		base = value >> 21 & (CG_SITES - 1);
	return (int64_t)base;
}

/* cg_number gives the number before that of a file's first site: the one it
 * has, if a process of the program has loaded it. names are module, path and
 * the lines of the sites. -1 when cg has to be asked. */
static inline int64_t cg_number(const cg_part *names, uint32_t count)
{
	uint64_t key = 0;
	for (int i = 0; i < 3; i++)
		key = cg_digest(key, names[i].text, names[i].size);
	if (!key)
		key = 1;
	size_t size = (8 + names[0].size + 1 + names[1].size + 1 + names[2].size + 7) & ~(size_t)7;
	for (uint32_t i = 0; i < CG_PROBES; i++) {
		/* few files lie in few pages */
		cg_file *f = &cg_files[(key + i) & (i < 32 ? (256u << i / 8 * 2) - 1 : CG_FILES - 1)];
		uint64_t found = atomic_load(&f->key);
		if (!found) {
			if (atomic_load(&cg_head->named) + size > CG_NAMES || atomic_load(&cg_head->given) + count >= CG_SITES - 1)
				return -1;
			if (atomic_compare_exchange_strong(&f->key, &found, key))
				return cg_give(f, names, size, count);
		}
		if (found != key)
			continue;
		/* Another process is about to give the numbers, or was killed. */
		uint64_t value = atomic_load(&f->value);
		for (int k = 0; !value && k < 200; k++) {
			struct timespec t = {0, 50000};
			nanosleep(&t, NULL);
			value = atomic_load(&f->value);
		}
		return value ? (int64_t)(value >> 21 & (CG_SITES - 1)) : cg_give(f, names, size, count);
	}
	return -1;
}

#endif
