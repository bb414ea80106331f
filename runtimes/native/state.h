/*
 * What the process knows of its channel, and what each thread knows of its own
 * place in it. The thread's part is thread-local: an event reads and writes
 * nothing else.
 */
#ifndef CG_STATE_H
#define CG_STATE_H

#include "clock.h"
#include "layout.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

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
/* of the thread that forked this process, until this thread has reported it */
CG_TLS uint32_t cg_parent_pid, cg_parent_tid;
CG_TLS uint64_t cg_fork_tick;
static uint64_t cg_pid_space;
static uint32_t cg_cost; /* of an event, see cg_calibrate */
static volatile uint64_t cg_scratch[512];

static inline cg_chunk *cg_chunk_at(uint32_t i)
{
	return (cg_chunk *)(cg_chunks + (size_t)i * cg_head->chunk_size);
}

/* cg_fill_header fills in the header of a chunk or tree; its seq is stored behind. */
static void cg_fill_header(cg_chunk *c)
{
	c->tick = cg_tick();
	c->pid = (uint32_t)getpid();
	c->tid = (uint32_t)syscall(SYS_gettid);
	c->pid_space = cg_pid_space;
	c->cost = cg_cost;
	c->flags = cg_started ? 0 : CG_FIRST;
	if (!cg_started && cg_parent_pid) {
		c->flags |= CG_FORKED;
		c->parent_pid = cg_parent_pid;
		c->parent_tid = cg_parent_tid;
		c->fork_tick = cg_fork_tick;
		cg_parent_pid = 0;
	}
	if (cg_missed) {
		c->flags |= CG_RESYNC;
		c->lost = cg_missed;
		cg_missed = 0;
	}
}

#endif
