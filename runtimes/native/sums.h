/*
 * Adding up inside the program (checkpoint/FORMAT.md, Tree): the time and the
 * calls of each call path between two samples of energy, in place of a word
 * for each event.
 *
 * In: events. Out: the calling thread's tree, in memory that is shared with cg.
 */
#ifndef CG_SUMS_H
#define CG_SUMS_H

#include "state.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Whether trees take the place of chunks, or both are written, for tests. */
#ifdef CG_BOTH
#define CG_SUMS_REPLACE_WORDS 0
#else
#define CG_SUMS_REPLACE_WORDS 1
#endif

#define CG_NONE 0xffffffffu /* no node */

enum { CG_QUICKLY = 1, CG_SLOWLY = 2 }; /* how a thread adds up */

/* What a thread has besides its tree: where it is, and its stack, which is no
 * business of the reader's. A frame is its site << 32 | its node. */
typedef struct {
	cg_tree *tree;
	uint64_t *ticks; /* of the open window */
	uint64_t last, epoch, window, seq;
	uint64_t frame; /* the innermost, stored whole; site 0: the thread's own, or unknown */
	uint32_t depth, room;
	uint32_t index, count, states, deep;
	uint32_t floor; /* the node of the outermost frame */
	int unknown;    /* frames below it may be open */
	int adds;       /* not 0: events are added up here, and written nowhere */
	int stale;      /* the tree is that of the process that forked this one */
	uint64_t *stack;
	uint32_t *hash; /* of node numbers, twice as many slots as nodes */
} cg_adder;

CG_TLS cg_adder cg_mine;

static inline uint32_t cg_top(void) { return (uint32_t)cg_mine.frame; }
static inline uint32_t cg_site(void) { return (uint32_t)(cg_mine.frame >> 32); }

static cg_forest *_Atomic cg_trees;
static char cg_trees_path[4096];
static cg_tree *cg_tree_at(cg_forest *f, uint32_t i) { return (cg_tree *)((char *)f + CG_PAGE + (size_t)i * f->size); }

/* cg_forest_map maps the trees; NULL where there are none, or none that this
 * writer knows. They lie outside the channel: a process that needs none has
 * none in its address space. */
static cg_forest *cg_forest_map(void)
{
	cg_forest *f = atomic_load(&cg_trees);
	if (f || !cg_head->trees)
		return f;
	struct stat st;
	int fd = open(cg_trees_path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < CG_PAGE) {
		close(fd);
		return NULL;
	}
	f = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (f == MAP_FAILED)
		return NULL;
	cg_forest *other = NULL;
	if (f->magic != CG_TREE_MAGIC || f->version != CG_TREE_VERSION || f->nodes != CG_NODES ||
	    f->windows != CG_WINDOWS || f->size != sizeof(cg_tree) || 64 + f->trees * 4 > CG_PAGE ||
	    CG_PAGE + (uint64_t)f->trees * f->size != (uint64_t)st.st_size ||
	    !atomic_compare_exchange_strong(&cg_trees, &other, f)) {
		munmap(f, (size_t)st.st_size);
		return other;
	}
	return f;
}

static size_t cg_hash_bytes(void) { return 2 * CG_NODES * sizeof(uint32_t); }

static inline uint32_t cg_home(uint32_t parent, uint32_t event)
{
	return (uint32_t)(((uint64_t)parent << 32 | event) * 0x9e3779b97f4a7c15u >> 49); /* 15 bits */
}

_Static_assert(2 * CG_NODES == 1u << 15, "cg_home gives as many bits");

static uint32_t __attribute__((noinline)) cg_find(uint32_t parent, uint32_t event)
{
	cg_adder *t = &cg_mine;
	cg_node *nodes = t->tree->nodes;
	uint32_t i = cg_home(parent, event), n;
	for (; (n = t->hash[i]) != 0; i = (i + 1) & (2 * CG_NODES - 1))
		if (nodes[n].event == event && nodes[n].parent == parent)
			goto found;
	n = t->count;
	if (n >= CG_PATHS && parent != CG_OTHER && parent != CG_SIDE && event < CG_SITES) {
		n = cg_find(CG_OTHER, event);
		if (n == CG_NONE)
			return n;
		goto found;
	}
	if (n >= CG_NODES)
		return CG_NONE;
	nodes[n].event = event;
	nodes[n].parent = parent;
	nodes[n].born = t->last;
	t->hash[i] = n;
	atomic_store_explicit(&t->tree->count, t->count = n + 1, memory_order_release);
found:
	nodes[parent].child_event = event;
	nodes[parent].child = n;
	return n;
}

/* cg_child is the node of an event behind that of another, CG_NONE where there
 * is no room for it. */
static inline uint32_t cg_child(uint32_t parent, uint32_t event)
{
	cg_node *p = &cg_mine.tree->nodes[parent];
	return __builtin_expect(p->child_event == event, 1) ? p->child : cg_find(parent, event);
}

/* cg_deeper makes room for another frame. */
static int __attribute__((noinline, cold)) cg_deeper(void)
{
	cg_adder *t = &cg_mine;
	size_t had = (size_t)t->room * sizeof *t->stack;
	void *more = t->room >= 1u << 28 ? MAP_FAILED : mremap(t->stack, had, 2 * had, MREMAP_MAYMOVE);
	if (more == MAP_FAILED)
		return 0;
	t->stack = more;
	t->room *= 2;
	return 1;
}

/* cg_push puts a frame on the stack. A path that there is no node for is its
 * caller's. 0 where there is no room for the frame. */
static inline int cg_push(uint32_t site, uint32_t node)
{
	cg_adder *t = &cg_mine;
	if (__builtin_expect(t->depth >= t->room, 0) && (t->deep || !cg_deeper())) {
		t->deep++;
		return 0;
	}
	t->stack[t->depth++] = t->frame;
	t->frame = (uint64_t)site << 32 | (node != CG_NONE ? node : cg_top());
	return 1;
}

static inline void cg_pop(void)
{
	cg_adder *t = &cg_mine;
	t->frame = t->stack[--t->depth];
}

/* cg_unwind ends the frames above the innermost of a site; 0, and nothing is
 * done, where none is known. */
static int cg_unwind(uint32_t site)
{
	cg_adder *t = &cg_mine;
	if (cg_site() == site)
		return 1;
	for (uint32_t i = t->depth; i-- > 0;)
		if (t->stack[i] >> 32 == site) {
			t->tree->unwound += t->depth - i;
			t->depth = i + 1;
			cg_pop();
			return 1;
		}
	return 0;
}

enum { CG_OUT, CG_BACK };

/* cg_note_span notes that a frame of a node left the thread, or came back. */
static void cg_note_span(uint32_t node, int way)
{
	cg_adder *t = &cg_mine;
	if (node == CG_NONE)
		return;
	cg_tree *tree = t->tree;
	cg_span *s = &tree->span[node];
	uint64_t n = atomic_load_explicit(&tree->spans, memory_order_relaxed);
	atomic_store_explicit(&tree->spans, n + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	if (way == CG_OUT)
		s->outs++, s->out_ticks += t->last;
	else
		s->backs++, s->back_ticks += t->last;
	atomic_store_explicit(&tree->spans, n + 2, memory_order_release);
}

/* cg_add_unknown_frame records an event of a frame that may have been open before the tree
 * began: the reader knows, and where the thread is now is what it makes of the
 * event. 0 where nothing can have been open. */
static int cg_add_unknown_frame(uint32_t event)
{
	cg_adder *t = &cg_mine;
	if (!t->unknown)
		return 0;
	uint32_t n = t->states < CG_STATES ? cg_find(cg_top(), event) : CG_NONE;
	if (n == CG_NONE) {
		t->unknown = 0;
		return 0;
	}
	t->states++;
	t->depth = 0;
	t->floor = n;
	t->frame = n;
	if (event >> 21 == CG_SUSPEND)
		cg_note_span(n, CG_OUT);
	return 1;
}

/* cg_add_other does what is no enter, and no exit of the innermost frame. */
static void __attribute__((noinline)) cg_add_other(uint32_t event)
{
	cg_adder *t = &cg_mine;
	uint32_t site = event & (CG_SITES - 1), n;
	switch (event >> 21) {
	case CG_EXIT:
		if (t->deep) {
			t->deep--;
			return;
		}
		if (cg_unwind(site)) {
			cg_pop();
			return;
		}
		if (cg_add_unknown_frame(event))
			return;
		/* a suspended frame ends */
		/* fall through */
	case CG_CLOSE:
		t->tree->closed++;
		cg_note_span(cg_child(CG_SIDE, site), CG_BACK);
		return;
	case CG_SUSPEND:
		if (cg_unwind(site)) {
			cg_note_span(cg_top(), CG_OUT);
			cg_pop();
		} else if (!cg_add_unknown_frame(event))
			cg_note_span(cg_child(CG_SIDE, site), CG_OUT);
		return;
	case CG_RESUME:
		n = cg_child(cg_top(), site);
		cg_note_span(n, CG_BACK);
		cg_push(site, n);
		return;
	case CG_UNWIND:
		t->deep = 0;
		if (cg_unwind(site) || cg_add_unknown_frame(event))
			return;
		cg_push(site, cg_child(cg_top(), site));
		cg_note_span(cg_child(CG_SIDE, site), CG_BACK);
	}
}

/* cg_next_window ends the open window: a sample was taken. The time since the
 * last event is neither its nor the next one's: the reader knows where the
 * thread was. While the reader has not taken the oldest window, there is no
 * room for another, and the open one goes on. */
static void __attribute__((noinline)) cg_next_window(uint64_t now, uint64_t epoch)
{
	cg_adder *t = &cg_mine;
	cg_tree *tree = t->tree;
	if (now < epoch) { /* the thread was stopped since it read the clock */
		t->ticks[cg_top()] += now - t->last;
		return;
	}
	t->epoch = epoch;
	if (t->window + 1 - atomic_load_explicit(&tree->taken, memory_order_acquire) >= CG_WINDOWS) {
		t->ticks[cg_top()] += now - t->last;
		return;
	}
	cg_window *w = &tree->windows[t->window % CG_WINDOWS];
	w->last = t->last;
	w->top = cg_top();
	w = &tree->windows[++t->window % CG_WINDOWS];
	w->epoch = epoch;
	w->begin = now;
	t->ticks = tree->ticks[t->window % CG_WINDOWS];
	atomic_store_explicit(&tree->window, t->window, memory_order_release);
}

/* cg_add adds up to an event. */
static void __attribute__((noinline)) cg_add(uint64_t now, uint32_t event)
{
	cg_adder *t = &cg_mine;
	cg_tree *tree = t->tree;
	if ((int64_t)(now - t->last) < 0)
		now = t->last;
	uint64_t epoch = atomic_load_explicit(&cg_head->epoch, memory_order_relaxed);
	if (epoch != t->epoch)
		cg_next_window(now, epoch);
	else
		t->ticks[cg_top()] += now - t->last;
	t->last = now;
	tree->events++;
	if (event < CG_SITES) {
		uint32_t n = cg_child(cg_top(), event);
		if (cg_push(event, n) && n != CG_NONE)
			tree->nodes[n].calls++;
	} else if (event == ((uint32_t)CG_EXIT << 21 | cg_site()) && !t->deep)
		cg_pop();
	else
		cg_add_other(event);
	atomic_store_explicit(&tree->place, now << 24 | cg_top(), memory_order_release);
}

/* cg_add_quickly is cg_add, and calls it where there is more to do than to move
 * along a path that is known: it has nothing to save. */
static inline void cg_add_quickly(uint64_t now, uint32_t event)
{
	cg_adder *t = &cg_mine;
	uint64_t last = t->last, frame = t->frame;
	uint32_t top = (uint32_t)frame, depth = t->depth;
	cg_tree *tree = t->tree;
	uint64_t epoch = atomic_load_explicit(&cg_head->epoch, memory_order_relaxed);
	if (__builtin_expect((now < last) | (epoch != t->epoch), 0))
		goto slowly;
	if (event < CG_SITES) {
		uint32_t n = tree->nodes[top].child;
		if (tree->nodes[top].child_event != event) {
			n = t->hash[cg_home(top, event)];
			if (__builtin_expect((tree->nodes[n].event != event) | (tree->nodes[n].parent != top), 0))
				goto slowly;
		}
		if (__builtin_expect(depth >= t->room, 0))
			goto slowly;
		t->stack[depth] = frame;
		t->depth = depth + 1;
		t->frame = frame = (uint64_t)event << 32 | n;
		tree->nodes[n].calls++;
	} else {
		uint32_t innermost = (uint32_t)CG_EXIT << 21 | (uint32_t)(frame >> 32);
		if (__builtin_expect((event != innermost) | (t->deep != 0), 0))
			goto slowly;
		t->frame = frame = t->stack[depth - 1];
		t->depth = depth - 1;
	}
	t->ticks[top] += now - last;
	t->last = now;
	tree->events++;
	atomic_store_explicit(&tree->place, now << 24 | (uint32_t)frame, memory_order_release);
	return;
slowly:
	cg_add(now, event);
}

/* cg_map_adder gets a thread the memory that is its own. */
static int cg_map_adder(void)
{
	cg_adder *t = &cg_mine;
	if (t->stack) {
		memset(t->hash, 0, cg_hash_bytes());
		return 1;
	}
	const size_t first = 64 << 10;
	void *hash = mmap(NULL, cg_hash_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *stack = mmap(NULL, first, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (hash == MAP_FAILED || stack == MAP_FAILED) {
		if (hash != MAP_FAILED)
			munmap(hash, cg_hash_bytes());
		if (stack != MAP_FAILED)
			munmap(stack, first);
		return 0;
	}
	t->hash = hash;
	t->stack = stack;
	t->room = (uint32_t)(first / sizeof *t->stack);
	return 1;
}

/* cg_begin_tree begins a tree that this thread has just taken. flags are
 * CG_BOTH_WAYS or 0. In a process that was forked the frames that its parent had
 * reported are in the new tree, too. */
static void cg_begin_tree(cg_tree *tree, uint32_t index, uint32_t flags)
{
	cg_adder *t = &cg_mine;
	int unknown = 0;
	if (!flags)
		unknown = t->stale ? t->unknown : (cg_started && !cg_missed) || (!cg_started && cg_parent_pid);
	uint64_t base = t->seq;
	uint32_t node = t->floor, depth = t->stale ? t->depth : 0, site = cg_site();
	cg_chunk *c = &tree->head;
	uint32_t started = cg_started;
	if (flags) {
		cg_started = 0;
		/* no fault comes between the word and the sum */
		memset(tree->ticks, 0, sizeof *tree - offsetof(cg_tree, ticks));
		memset(tree->nodes, 0, sizeof tree->nodes);
	}
	cg_fill_header(c);
	if (flags) /* both begin at once */
		c->tick = cg_chunk_at(cg_index - 1)->tick;
	uint64_t s = t->seq = atomic_fetch_add(&cg_head->head, 1) + 1;
	t->tree = tree;
	t->index = index + 1;
	t->last = c->tick;
	t->epoch = atomic_load(&cg_head->epoch);
	if (t->epoch > c->tick)
		t->epoch = 0; /* a sample came between */
	t->window = 0;
	t->ticks = tree->ticks[0];
	t->count = CG_BEGIN;
	t->floor = t->states = t->deep = 0;
	t->frame = 0;
	t->unknown = unknown;
	c->flags |= flags | (unknown ? CG_UNKNOWN : 0);
	if (t->stale && unknown) {
		tree->base_tree = base;
		tree->base_node = node;
	}
	t->stale = 0;
	tree->windows[0].epoch = t->epoch;
	tree->windows[0].begin = c->tick;
	/* The outermost frame stays; above it each is found by its site. */
	t->depth = 0;
	for (uint32_t k = 1; k <= depth; k++) {
		uint32_t next = k < depth ? (uint32_t)(t->stack[k] >> 32) : site;
		cg_push(next, cg_child(cg_top(), next));
	}
	atomic_store(&tree->count, t->count);
	atomic_store(&tree->place, t->last << 24 | cg_top());
	atomic_store_explicit(&c->seq, s, memory_order_release);
	cg_started = started | !flags;
}

/* cg_take_tree takes the lowest free tree for this thread; 0 where there is
 * none. flags are as for cg_begin_tree. */
static int __attribute__((noinline, cold)) cg_take_tree(uint32_t flags)
{
	cg_forest *f = cg_forest_map();
	if (!f || !cg_map_adder())
		return 0;
	for (uint32_t i = 0; i < f->trees; i++) {
		uint32_t zero = CG_FREE;
		if (atomic_load_explicit(&f->state[i], memory_order_relaxed) != CG_FREE ||
		    !atomic_compare_exchange_strong(&f->state[i], &zero, CG_OWNED))
			continue;
		cg_begin_tree(cg_tree_at(f, i), i, flags);
		if (!flags) {
			cg_next = cg_end = cg_fast_end = NULL;
			cg_mine.adds = cg_monotonic_clock ? CG_SLOWLY : CG_QUICKLY;
		}
		pthread_setspecific(cg_key, (void *)1);
		return 1;
	}
	return 0;
}

/* cg_leave_tree gives this thread's tree to the reader, for good. */
static void cg_leave_tree(void)
{
	cg_adder *t = &cg_mine;
	if (t->tree && !t->stale)
		atomic_store_explicit(&atomic_load(&cg_trees)->state[t->index - 1], CG_FULL, memory_order_release);
	if (t->stack) {
		munmap(t->stack, (size_t)t->room * sizeof *t->stack);
		munmap(t->hash, cg_hash_bytes());
	}
	memset(t, 0, sizeof *t);
}

#endif
