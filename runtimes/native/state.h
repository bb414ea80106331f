/*
 * What the process knows of its channel, and what each thread knows of its
 * chunk.
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

CG_TLS volatile uint64_t *cg_next; /* where the next word goes */
CG_TLS volatile uint64_t *cg_end;
CG_TLS uint32_t cg_index;       /* of the owned chunk, plus 1 */
CG_TLS uint32_t cg_started;     /* this thread has had a chunk */
CG_TLS uint64_t cg_unwritten;   /* words for which there was no room since the last chunk */
CG_TLS uint64_t cg_missed;      /* events for which there was no tree */

static cg_header *cg_head;
static int cg_sums;  /* events are added up */
static int cg_words; /* events are written as words */
static _Atomic uint32_t *cg_state;
static char *cg_chunks;
static cg_file *cg_files;
static char *cg_names;
static pthread_key_t cg_key;
static int cg_orphan; /* the reader is gone */
/* of the thread that forked this process, until this thread has a chunk */
CG_TLS uint32_t cg_parent_pid, cg_parent_tid;
CG_TLS uint64_t cg_fork_tick;
static uint64_t cg_pid_space;
static uint32_t cg_cost;         /* of an event that is timed, see cg_calibrate */
static uint32_t cg_counted_cost; /* of one that is not */
static uint32_t cg_kind;         /* flags of all chunks and trees of this process */

static inline cg_chunk *cg_chunk_at(uint32_t i)
{
	return (cg_chunk *)(cg_chunks + (size_t)i * cg_head->chunk_size);
}

/* cg_fill_header fills in the header of a chunk or tree; its seq is stored
 * behind. lost is how many events it lacks. */
static void cg_fill_header(cg_chunk *c, uint32_t flags, uint64_t lost)
{
	c->tick = cg_tick();
	c->pid = (uint32_t)getpid();
	c->tid = (uint32_t)syscall(SYS_gettid);
	c->pid_space = cg_pid_space;
	c->cost = cg_cost;
	c->flags = flags | cg_kind | (lost ? CG_RESYNC : 0);
	c->lost = lost;
}

#endif
