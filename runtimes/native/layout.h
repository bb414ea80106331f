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
#define CG_VERSION 4u
#define CG_PAGE 4096u
#define CG_SITES (1u << 21)
#define CG_FILES (1u << 16)
#define CG_NAMES (1u << 25)
#define CG_PROBES 128 /* slots in which a file may be found */

enum { CG_CLOCK_CYCLES = 1, CG_CLOCK_MONOTONIC = 2 };
enum { CG_FREE = 0, CG_OWNED = 1, CG_FULL = 2 };
enum { CG_FIRST = 1, CG_RESYNC = 2, CG_FORKED = 4, CG_WARMS = 256, CG_ADDED = 512, CG_OTHERS = 1024 };
enum { CG_ENTER, CG_EXIT, CG_SUSPEND, CG_RESUME, CG_UNWIND, CG_CLOSE }; /* kinds of events */
#define CG_PLACE 6u /* of events that are no words: the innermost call goes to a place in its code */
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
	uint32_t trees;              /* 320: descriptor of the trees, 0 if there are none */
	uint32_t words;              /* writers that add up write words, too */
	_Atomic uint64_t long_ticks; /* a call of as many is long */
	uint32_t budget; /* 336: thousandths of the program's time that checkpoints may take; 0: each event is timed */
	uint32_t pad5;
} cg_header;

_Static_assert(offsetof(cg_header, lost) == 128 && offsetof(cg_header, given) == 192 &&
		       offsetof(cg_header, epoch) == 256 && offsetof(cg_header, words) == 324 &&
		       offsetof(cg_header, long_ticks) == 328 && offsetof(cg_header, budget) == 336,
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
#define CG_TREE_VERSION 4u
#define CG_WINDOWS 8u
#define CG_BLOCK 16u /* nodes that share a byte of touched */
#define CG_LONGS 64u
#define CG_BUSY 65536u /* busy, less 1, of a thread that always had a processor */
#define CG_TIME_BINS 176u
#define CG_WHOLE 64u /* what a call adds to a bin that stands for itself */
#define CG_THREAD_NAME 60u /* bytes of a thread's name */
#define CG_PLACE_NODE (1u << 31) /* in the site of a node that is a place of the call above it */
#define CG_MOST_NODES (1u << 20) /* of a tree, whatever the file has room for */

enum { CG_ROOT, CG_SIDE, CG_UNUSED, CG_BEGIN }; /* the nodes that each tree has; the first of the others */

typedef struct {
	uint32_t magic, version, trees, nodes, windows;
	uint32_t functions; /* of each tree: whose times it has room for */
	uint64_t tree_bytes;
	uint32_t pad1[8];
	_Atomic uint32_t state[]; /* 64 */
} cg_forest;

_Static_assert(sizeof(cg_forest) == 64, "the states begin behind one cache line");

/* A call path. Some fields are the writer's: child, site << 32 | node of the call
 * that was seen there last; mean, what its calls took lately, in ticks, 0 where that is
 * not known; usual, the same, but more where they are timed from less on; and depth,
 * the calls of the path. others is of the events that are no enter, and no exit of the
 * innermost call. What an event changes comes first, then what it adds to. */
typedef struct {
	uint32_t site, parent;
	uint64_t child;
	uint64_t calls, born;
	int64_t away;
	uint64_t away_ticks;
	uint32_t usual, mean;
	uint32_t depth;
	int32_t others;
	uint64_t ticks[CG_WINDOWS];   /* 64 */
	uint32_t counted[CG_WINDOWS]; /* 128: intervals that were not timed */
	uint64_t drawn[2];            /* 160: intervals that were timed because a burst was open; of */
	uint64_t drawn_ticks[2];      /* them, those that lasted long are the second */
} cg_node;

_Static_assert(sizeof(cg_node) == 192 && offsetof(cg_node, counted) == 128 && offsetof(cg_node, drawn) == 160 &&
		       offsetof(cg_node, calls) == 16 && offsetof(cg_node, away) == 32 &&
		       offsetof(cg_node, usual) == 48 && offsetof(cg_node, ticks) == 64,
	       "a node is laid out as FORMAT.md says");

/* How long calls of a function took that were timed. The writer's are burst, the latest
 * in which one was drawn, and part, what those that were drawn in it added to bins. */
typedef struct {
	uint32_t site, burst;
	uint64_t exact, drawn;       /* calls that stand for themselves, and for others, too */
	uint64_t squares;            /* of what each burst added to bins, UINT64_MAX at most */
	uint64_t least, most;        /* ticks */
	uint64_t part, pad;
	uint64_t bins[CG_TIME_BINS]; /* 64 */
} cg_times;

_Static_assert(sizeof(cg_times) == 1472 && offsetof(cg_times, squares) == 24 && offsetof(cg_times, least) == 32 &&
		       offsetof(cg_times, bins) == 64,
	       "the times of a function are laid out as FORMAT.md says");

typedef struct {
	uint64_t epoch, begin, last;
	uint32_t top, counting; /* counting: events came since last that were not timed */
} cg_window;

typedef struct {
	uint64_t enter, exit;
	uint32_t node, pad[3];
} cg_long;

/* The first page of a tree. Behind it are the bytes of touched, a row for each
 * window, behind these the nodes, and behind these the times of functions. */
typedef struct {
	cg_chunk head;
	uint32_t paths;        /* 64 */
	uint32_t counted_cost; /* of an event that is not timed, in sixteenths of a tick */
	uint32_t lasting;      /* 72: ticks from which on an interval that is drawn is a long one */
	uint32_t pad0;
	uint64_t used; /* 80: ns of processor time from the fork of the process to the first event, else 0 */
	uint32_t pad1[10];
	_Atomic uint64_t place; /* 128: tick << 24 | node */
	uint64_t events, unwound, closed;
	_Atomic uint64_t aways;  /* 160: sequence lock over away of the nodes: odd while one changes */
	_Atomic uint64_t window; /* 168 */
	_Atomic uint32_t count;  /* 176 */
	_Atomic uint32_t timed;  /* functions that have times */
	_Atomic uint64_t longs; /* 184 */
	_Atomic uint64_t taken; /* 192: the reader's */
	_Atomic uint32_t busy;  /* the reader's: for which part of the time the thread had a processor lately */
	uint32_t pad2[13];
	cg_window windows[CG_WINDOWS]; /* 256 */
	uint64_t joined;               /* 512 */
	uint64_t pad3[7];
	cg_long long_calls[CG_LONGS]; /* 576 */
	uint64_t stretches[CG_WINDOWS];  /* 2624: ticks of intervals that were not timed */
	_Atomic uint32_t named;           /* 2688: bytes of name, with release; 0: not told */
	char name[CG_THREAD_NAME];
	uint64_t pad4[(CG_PAGE - 2752) / 8];
} cg_tree;

_Static_assert(offsetof(cg_tree, paths) == 64 && offsetof(cg_tree, used) == 80 && offsetof(cg_tree, place) == 128 &&
		       offsetof(cg_tree, aways) == 160 && offsetof(cg_tree, window) == 168 &&
		       offsetof(cg_tree, count) == 176 && offsetof(cg_tree, timed) == 180 && offsetof(cg_tree, longs) == 184 &&
		       offsetof(cg_tree, taken) == 192 && offsetof(cg_tree, busy) == 200 &&
		       offsetof(cg_tree, windows) == 256 &&
		       offsetof(cg_tree, joined) == 512 && offsetof(cg_tree, long_calls) == 576 &&
		       offsetof(cg_tree, counted_cost) == 68 && offsetof(cg_tree, lasting) == 72 &&
		       offsetof(cg_tree, stretches) == 2624 && offsetof(cg_tree, named) == 2688 &&
		       sizeof(cg_tree) == CG_PAGE,
	       "a tree is laid out as FORMAT.md says");

#endif
