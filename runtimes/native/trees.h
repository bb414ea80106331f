/*
 * The file of trees (checkpoint/FORMAT.md, Tree). A process maps the header, and
 * each thread its tree, as much of it as the thread uses.
 *
 * In: the path of the file. Out: the calling thread's tree in its address space.
 */
#ifndef CG_TREES_H
#define CG_TREES_H

#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define CG_FIRST_NODES 16384u /* that are mapped at first */
#define CG_NODE_WORDS 24

/* A frame of the thread's stack: its site << 32 | its node, and the tick of its
 * enter. That is 0 for a frame that was suspended or that the thread had before
 * fork(2). */
typedef struct {
	uint64_t path, enter;
} cg_frame;

/* What a thread knows of the bursts in which it times each event, and of the pauses
 * between them (bursts.h). */
typedef struct {
	uint32_t budget;  /* thousandths of the program's time; 0: there are no pauses */
	uint32_t share;   /* of the events, that bursts have: of CG_ALL */
	uint32_t burst;   /* events until the burst ends */
	int paused;       /* events are counted */
	int was_sure;     /* the latest event would have been timed in a pause, too */
	uint32_t number;  /* of the burst, 16 bits, not 0 where there are pauses */
	uint32_t weight;  /* of a call that begins with the event, see times.h */
	uint64_t random;
	uint64_t before; /* tick of the timed event before the latest */
	/* since the share was decided */
	uint64_t began, events_began; /* tick, and events of the tree */
	uint64_t timed, sure;         /* events that were timed, and those that had to be */
	uint64_t counted;             /* events of the open window that were not */
} cg_bursts;

/* Where a thread notes how long the calls of functions took (times.h). */
typedef struct {
	cg_times *times;
	uint32_t *row_of;             /* by site: 1 + the number of its times, 0 for none */
	uint32_t sites;               /* that row_of has */
	uint32_t count, mapped, most; /* times: in use, in the address space, at most */
	char *map;
	size_t map_bytes;
} cg_functions;

/* What a thread has besides its tree: where it is, and its stack, which is no
 * business of the reader's. The fast path uses the first lines. */
typedef struct {
	/* An event that comes fewer ticks after the last is added up at once. 0
	 * where it is not: without a tree, where words are written, too, or where
	 * a call reads the clock. */
	uint64_t quick;
	uint64_t last, epoch, long_ticks;
	cg_frame *frame, *frames_end; /* the innermost */
	cg_node *nodes;
	uint64_t *ticks;  /* of node n in the open window: at n * CG_NODE_WORDS */
	uint8_t *touched; /* in the open window */
	uint32_t *counted; /* of node n in the open window: at n * 2 * CG_NODE_WORDS */
	uint32_t left;     /* events of the pause; 0: each is timed */
	uint32_t sure;     /* a call that usually takes so many ticks, less 1, is timed in a pause, too */
	cg_window *open;   /* the open window */
	uint64_t *paths;  /* see paths.h */
	uint64_t last_path; /* the number of its last slot */

	uint32_t index; /* of the tree */
	cg_tree *tree;
	cg_frame *frames; /* the first has no site: what is outside of all calls */
	uint64_t window;
	uint64_t used;                /* slots of paths */
	uint32_t width;               /* how many nodes the file has for the tree */
	uint32_t count, mapped, most; /* nodes: in use, in the address space, at most */
	uint32_t deep;                /* calls for which the stack had no room */
	cg_bursts bursts;
	uint32_t *weights;            /* by frame, of those that have an enter: see times.h */
	size_t weights_room;
	cg_functions functions;       /* the times of their calls */
	int stale;                    /* the tree is that of the process that forked this one */
	int unnamed;                  /* in how many events the language is asked for the name of the thread; 0: it is not */
	int asked;                    /* how often it had none since the thread took the tree */
	uint64_t forked;              /* tick of that fork, until this thread has a tree; else 0 */
	uint64_t forking;             /* tick of the latest fork of this process in this thread */
	char *map;
	size_t map_bytes;
} cg_adder;

CG_TLS cg_adder cg_mine;

#define CG_OUTSIDE ((uint64_t)0xffffffff << 32) /* the frame outside of all calls: no site is like it */

static inline uint32_t cg_top(void) { return (uint32_t)cg_mine.frame->path; }
static inline uint32_t cg_site(void) { return (uint32_t)(cg_mine.frame->path >> 32); }

/* cg_set_quick decides whether the fast path is open to the thread. */
static void cg_set_quick(void)
{
	cg_adder *t = &cg_mine;
	int is = t->tree && !t->stale && !t->deep && !cg_words;
	t->quick = is && !cg_monotonic_clock ? (uint64_t)1 << 63 : 0;
	if (!is)
		t->left = 0;
}

static cg_forest *cg_trees; /* the header */
static char cg_trees_path[4096];
static dev_t cg_trees_dev; /* of the file */
static ino_t cg_trees_ino;

static size_t cg_whole(size_t n) { return (n + CG_PAGE - 1) & ~(size_t)(CG_PAGE - 1); }

/* cg_nodes_at is where the nodes begin in a tree of so many. */
static size_t cg_nodes_at(size_t nodes) { return CG_PAGE + CG_WINDOWS * nodes / CG_BLOCK; }

/* cg_times_at is where the times of functions begin in a tree of so many nodes. */
static size_t cg_times_at(size_t nodes) { return cg_whole(cg_nodes_at(nodes)) + cg_whole(nodes * sizeof(cg_node)); }

static size_t cg_first_tree(uint32_t trees) { return cg_whole(sizeof(cg_forest) + (size_t)trees * 4); }

/* cg_open_trees maps the header of the trees. 0 where there are none, or none
 * that this writer knows. */
static int cg_open_trees(void)
{
	struct stat st;
	cg_forest f;
	int fd = open(cg_trees_path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 0;
	void *m = MAP_FAILED;
	if (fstat(fd, &st) == 0 && pread(fd, &f, sizeof f, 0) == (ssize_t)sizeof f && f.magic == CG_TREE_MAGIC &&
	    f.version == CG_TREE_VERSION && f.windows == CG_WINDOWS && f.trees > 0 && f.nodes >= 64 &&
	    f.nodes % CG_BLOCK == 0 && f.nodes < 1u << 24 &&
	    f.functions < 1u << 20 &&
	    f.tree_bytes == cg_times_at(f.nodes) + cg_whole(f.functions * sizeof(cg_times)) &&
	    (uint64_t)st.st_size == cg_first_tree(f.trees) + f.trees * f.tree_bytes)
		m = mmap(NULL, cg_first_tree(f.trees), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return 0;
	madvise(m, cg_first_tree(f.trees), MADV_DONTDUMP);
	cg_trees = m;
	cg_trees_dev = st.st_dev;
	cg_trees_ino = st.st_ino;
	return 1;
}

/* cg_map_path maps what begins at a page of the file, by its path. NULL if it
 * cannot: the path may be another's in another namespace. */
static char *cg_map_path(size_t at, size_t bytes)
{
	struct stat st;
	int fd = open(cg_trees_path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	char *m = MAP_FAILED;
	if (fstat(fd, &st) == 0 && st.st_dev == cg_trees_dev && st.st_ino == cg_trees_ino)
		m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
	close(fd);
	return m == MAP_FAILED ? NULL : m;
}

/* cg_limited tells whether the program's addresses are limited. */
static int cg_limited(void)
{
	struct rlimit l;
	return getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_cur != RLIM_INFINITY;
}

/* cg_map_file maps what begins at a page of the file. It does not use the path,
 * which is out of reach for a program that has changed its user or its root, nor a
 * descriptor, which programs close: mremap(2) with an old size of 0 maps the file of
 * the header once more, and what is before the page is given back. Where addresses are
 * limited the path comes first: what is mapped for a moment may be what another thread
 * needs then. NULL if it cannot. */
static char *cg_map_file(size_t at, size_t bytes)
{
	char *m = cg_limited() ? cg_map_path(at, bytes) : NULL;
	if (m)
		return m;
	munlock(cg_trees, cg_first_tree(cg_trees->trees)); /* or all of it would get memory */
	m = mremap(cg_trees, 0, at + bytes, MREMAP_MAYMOVE);
	if (m == MAP_FAILED)
		return cg_map_path(at, bytes);
	munmap(m, at);
	return m + at;
}

/* cg_set_window makes the open window that to which the fast path adds. */
static void cg_set_window(void)
{
	cg_adder *t = &cg_mine;
	char *m = (char *)t->tree;
	uint64_t slot = t->window % CG_WINDOWS;
	t->touched = (uint8_t *)m + CG_PAGE + slot * (t->width / CG_BLOCK);
	t->nodes = (cg_node *)(m + cg_nodes_at(t->width));
	t->ticks = t->nodes->ticks + slot;
	t->counted = t->nodes->counted + slot;
	t->open = &t->tree->windows[slot];
}

/* cg_map_tree maps the first nodes of a tree. The pages of a system may be larger
 * than those of the file. 0 if it cannot. */
static int cg_map_tree(uint32_t index)
{
	cg_adder *t = &cg_mine;
	uint32_t nodes = cg_trees->nodes;
	uint32_t most = nodes < CG_MOST_NODES ? nodes : CG_MOST_NODES;
	uint32_t mapped = most < CG_FIRST_NODES ? most : CG_FIRST_NODES;
	size_t at = cg_first_tree(cg_trees->trees) + index * (size_t)cg_trees->tree_bytes;
	size_t before = at & ((size_t)sysconf(_SC_PAGESIZE) - 1);
	size_t bytes = before + cg_nodes_at(nodes) + mapped * sizeof(cg_node);
	char *m = cg_map_file(at - before, bytes);
	if (!m)
		return 0;
	madvise(m, bytes, MADV_DONTDUMP);
	if (t->stale)
		munmap(t->map, t->map_bytes);
	t->map = m;
	t->map_bytes = bytes;
	t->tree = (cg_tree *)(m + before);
	t->index = index;
	t->width = nodes;
	t->most = most;
	t->mapped = mapped;
	return 1;
}

/* cg_map_more maps four times as many nodes. If it cannot, there are no more
 * than those that are mapped. */
static void __attribute__((noinline, cold)) cg_map_more(void)
{
	cg_adder *t = &cg_mine;
	int e = errno;
	uint32_t nodes = t->mapped < t->most / 4 ? t->mapped * 4 : t->most;
	size_t bytes = t->map_bytes + (size_t)(nodes - t->mapped) * sizeof(cg_node);
	char *m = mremap(t->map, t->map_bytes, bytes, MREMAP_MAYMOVE);
	errno = e;
	if (m == MAP_FAILED) {
		t->most = t->mapped;
		return;
	}
	t->tree = (cg_tree *)(m + ((char *)t->tree - t->map));
	t->map = m;
	t->map_bytes = bytes;
	t->mapped = nodes;
	cg_set_window();
}

/* cg_private gets memory for this thread alone; NULL where there is none. */
static void *cg_private(size_t bytes)
{
	void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return m == MAP_FAILED ? NULL : m;
}

#endif
