/*
 * The memory that the program shares with cg, as checkpoint/FORMAT.md lays it
 * out: the channel with its chunks of words, and the trees of sums.
 *
 * Types and constants only. Numbers are in the byte order of the machine.
 */
#ifndef CG_LAYOUT_H
#define CG_LAYOUT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CG_MAGIC 0x48434743u /* "CGCH" */
#define CG_VERSION 3u
#define CG_PAGE 4096u
#define CG_SITES (1u << 21)
#define CG_FILES (1u << 16)
#define CG_NAMES (1u << 25)
#define CG_PROBES 128 /* slots in which a file may be found */
#define CG_DEMOTED ((uint64_t)1 << 63)

enum { CG_CLOCK_CYCLES = 1, CG_CLOCK_MONOTONIC = 2 };
enum { CG_FREE = 0, CG_OWNED = 1, CG_FULL = 2 };
enum { CG_FIRST = 1, CG_RESYNC = 2, CG_FORKED = 4 };
enum { CG_ENTER, CG_EXIT, CG_SUSPEND, CG_RESUME, CG_UNWIND, CG_CLOSE }; /* kinds of events */
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

_Static_assert(offsetof(cg_header, epoch) == 256 && offsetof(cg_header, add_up) == 324,
	       "the header is laid out as FORMAT.md says");

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

#define CG_TREE_MAGIC 0x52544743u /* "CGTR" */
#define CG_TREE_VERSION 1u
#define CG_WINDOWS 8u
#define CG_NODES 16384u
#define CG_PATHS (CG_NODES / 4 * 3) /* further ones differ by their site alone */
#define CG_STATES 1024u             /* that begin with what was open before the tree */

enum { CG_ROOT, CG_SIDE, CG_OTHER, CG_BEGIN }; /* the nodes that each tree has */
/* flags of a tree */
enum {
	CG_UNKNOWN = 256,   /* frames may be open that are not in it */
	CG_BOTH_WAYS = 512, /* for tests: its events are written as words, too */
};

typedef struct {
	uint32_t magic, version, trees, nodes, windows, size;
	uint32_t pad[10];
	_Atomic uint32_t state[]; /* 64 */
} cg_forest;

typedef struct {
	uint32_t event, parent;      /* kind << 21 | site */
	uint32_t child_event, child; /* the writer's: the child that was entered last */
	uint64_t calls, born;
} cg_node;

typedef struct {
	uint64_t outs, out_ticks, backs, back_ticks;
} cg_span;

typedef struct {
	uint64_t epoch, begin, last;
	uint32_t top, pad;
} cg_window;

typedef struct {
	cg_chunk head;
	uint64_t base_tree; /* 64 */
	uint32_t base_node, pad0;
	uint64_t pad1[6];
	_Atomic uint64_t place; /* 128: tick << 24 | node */
	uint64_t events, unwound, closed;
	_Atomic uint64_t spans; /* sequence lock over span: odd while it changes */
	_Atomic uint64_t window; /* 168 */
	_Atomic uint32_t count;  /* 176 */
	uint32_t pad2[3];
	_Atomic uint64_t taken; /* 192: the reader's */
	uint64_t pad3[7];
	cg_window windows[CG_WINDOWS]; /* 256 */
	uint64_t pad4[(4096 - 512) / 8];
	cg_node nodes[CG_NODES]; /* 4096 */
	uint64_t ticks[CG_WINDOWS][CG_NODES];
	cg_span span[CG_NODES];
} cg_tree;

_Static_assert(offsetof(cg_tree, place) == 128 && offsetof(cg_tree, window) == 168 &&
		       offsetof(cg_tree, count) == 176 && offsetof(cg_tree, taken) == 192 &&
		       offsetof(cg_tree, windows) == 256 && offsetof(cg_tree, nodes) == 4096,
	       "a tree is laid out as FORMAT.md says");

#endif
