/*
 * Adding up inside the program (checkpoint/FORMAT.md, Tree): the time and the
 * calls of each call path between two samples of energy, and the calls that took
 * long.
 *
 * In: events. Out: the calling thread's tree, in memory that is shared with cg.
 */
#ifndef CG_SUMS_H
#define CG_SUMS_H

#include "bursts.h"
#include "times.h"

#define CG_RETRY 512 /* events that are lost before a tree or a chunk is asked for again */

#define CG_FIRST_FRAMES 4096u        /* that the stack has room for at first */
#define CG_MOST_FRAMES ((size_t)1 << 26)

/* cg_touch notes that a node has changed in the open window. */
static inline void cg_touch(uint32_t node) { cg_mine.touched[node / CG_BLOCK] = 1; }

/* cg_deeper makes room for more frames; 0 if it cannot. */
static int __attribute__((noinline, cold)) cg_deeper(void)
{
	cg_adder *t = &cg_mine;
	int e = errno;
	size_t depth = (size_t)(t->frame - t->frames), room = (size_t)(t->frames_end - t->frames);
	void *more = MAP_FAILED;
	if (!t->deep && room < CG_MOST_FRAMES && cg_more_weights(2 * room))
		more = mremap(t->frames, room * sizeof *t->frames, 2 * room * sizeof *t->frames, MREMAP_MAYMOVE);
	errno = e;
	if (more == MAP_FAILED)
		return 0;
	t->frames = more;
	t->frame = t->frames + depth;
	t->frames_end = t->frames + 2 * room;
	return 1;
}

/* cg_push puts a frame on the stack; 0 where there is no room for it. */
static int cg_push(uint32_t site, uint32_t node, uint64_t enter)
{
	cg_adder *t = &cg_mine;
	if (t->deep || (t->frame + 1 == t->frames_end && !cg_deeper())) {
		t->deep++;
		cg_set_quick();
		return 0;
	}
	*++t->frame = (cg_frame){(uint64_t)site << 32 | node, enter};
	if (enter && t->bursts.budget)
		t->weights[t->frame - t->frames] = t->bursts.weight;
	return 1;
}

/* cg_shallow ends calls for which the stack had no room. */
static void cg_shallow(uint32_t calls)
{
	cg_mine.deep -= calls;
	cg_set_quick();
}

/* cg_note_long leaves a record of a call that ends. */
static void __attribute__((noinline)) cg_note_long(const cg_frame *f)
{
	cg_adder *t = &cg_mine;
	uint64_t i = atomic_load_explicit(&t->tree->longs, memory_order_relaxed);
	cg_long *l = &t->tree->long_calls[i % CG_LONGS];
	l->enter = f->enter;
	l->exit = t->last;
	l->node = cg_call_of((uint32_t)f->path);
	atomic_store_explicit(&t->tree->longs, i + 1, memory_order_release);
}

/* cg_pop ends the innermost call. */
static void cg_pop(void)
{
	cg_adder *t = &cg_mine;
	const cg_frame *f = t->frame--;
	if (!f->enter)
		return;
	uint64_t ticks = t->last - f->enter;
	if (t->bursts.budget)
		cg_note_usual(&t->nodes[(uint32_t)f->path], ticks);
	cg_note_time(f, ticks);
	if (ticks >= t->long_ticks)
		cg_note_long(f);
}

/* cg_note_other notes that an event came in a node that ends no call of it, or that a
 * call of it ends without an exit. */
static void cg_note_other(uint32_t node, int32_t n)
{
	cg_mine.nodes[node].others += n;
	cg_touch(node);
}

/* cg_unwind ends the frames above the innermost of a site; 0, and nothing is
 * done, where there is none. */
static int cg_unwind(uint32_t site)
{
	cg_adder *t = &cg_mine;
	const cg_frame *f = t->frame;
	while (f > t->frames && f->path >> 32 != site)
		f--;
	if (f == t->frames)
		return 0;
	t->tree->unwound += (uint64_t)(t->frame - f);
	while (t->frame > f) {
		cg_note_other(cg_top(), -1);
		cg_pop();
	}
	return 1;
}

enum { CG_OUT = 1, CG_BACK = -1 };

/* cg_note_away notes that a frame left the thread in a node, or came back. */
static void cg_note_away(uint32_t node, int way)
{
	cg_adder *t = &cg_mine;
	cg_tree *tree = t->tree;
	cg_node *n = &t->nodes[node];
	uint64_t lock = atomic_load_explicit(&tree->aways, memory_order_relaxed);
	atomic_store_explicit(&tree->aways, lock + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	n->away += way;
	n->away_ticks -= way == CG_OUT ? t->last : -t->last;
	cg_touch(node);
	atomic_store_explicit(&tree->aways, lock + 2, memory_order_release);
}

/* cg_note_beside is the same for a frame that is on no stack. */
static void cg_note_beside(uint32_t site, int way)
{
	uint64_t path = cg_find(CG_SIDE, site);
	if (!(path & CG_NO_NODE))
		cg_note_away(path & CG_NODE, way);
}

/* cg_enter begins a call. */
static void cg_enter(uint32_t site)
{
	cg_adder *t = &cg_mine;
	uint64_t path = cg_find(cg_top(), site);
	uint32_t n = path & CG_NODE;
	if (path & CG_JOINED)
		t->tree->joined++;
	/* What counts as its caller's is no call of that one. */
	int own = !(path & CG_NO_NODE);
	if (cg_push(site, n, own ? t->last : 0) && own)
		t->nodes[n].calls++;
}

/* cg_resume puts a frame that was away onto the stack. */
static void cg_resume(uint32_t site)
{
	uint32_t n = cg_find(cg_top(), site) & CG_NODE;
	cg_note_away(n, CG_BACK);
	cg_push(site, n, 0);
}

/* cg_add_other does what is no enter, and no exit of the innermost frame. */
static void __attribute__((noinline)) cg_add_other(uint32_t event)
{
	cg_adder *t = &cg_mine;
	uint32_t site = event & (CG_SITES - 1);
	cg_note_other(cg_top(), 1);
	switch (event >> 21) {
	case CG_EXIT:
		if (t->deep) {
			cg_shallow(1);
			return;
		}
		if (cg_unwind(site)) {
			cg_note_other(cg_top(), -1);
			cg_pop();
			return;
		}
		if (t->tree->head.flags & CG_RESYNC)
			return; /* its enter is among what was lost */
		/* a suspended frame ends */
		/* fall through */
	case CG_CLOSE:
		t->tree->closed++;
		cg_note_beside(site, CG_BACK);
		return;
	case CG_SUSPEND:
		if (cg_unwind(site)) {
			cg_note_away(cg_call_of(cg_top()), CG_OUT);
			t->frame--;
		} else
			cg_note_beside(site, CG_OUT);
		return;
	case CG_RESUME:
		cg_resume(site);
		return;
	case CG_UNWIND:
		cg_shallow(t->deep);
		if (cg_unwind(site))
			return;
		cg_push(site, cg_find(cg_top(), site) & CG_NODE, 0);
		if (!(t->tree->head.flags & CG_RESYNC))
			cg_note_beside(site, CG_BACK);
	}
}

/* cg_go takes the innermost call to a place in its code. */
static void cg_go(uint32_t place)
{
	cg_adder *t = &cg_mine;
	cg_frame *f = t->frame;
	if (t->deep || f == t->frames)
		return;
	uint32_t call = cg_call_of((uint32_t)f->path), n = cg_find_place(call, place);
	f->path = f->path >> 32 << 32 | n;
	if (n != call)
		t->nodes[n].calls++;
}

/* cg_go_on takes the innermost call, which was away, back to the place in its code in which it was, at the latest
 * event. The call has come there before. */
static inline void cg_go_on(uint32_t place)
{
	cg_adder *t = &cg_mine;
	if (!t->tree || t->stale || t->deep || t->frame == t->frames)
		return;
	cg_frame *f = t->frame;
	f->path = f->path >> 32 << 32 | cg_find_place(cg_call_of((uint32_t)f->path), place);
	atomic_store_explicit(&t->tree->place, t->last << 24 | cg_top(), memory_order_release);
}

/* cg_next_window ends the open window: a sample was taken. The time since the
 * last event is neither its nor the next one's: the reader knows where the
 * thread was. While the reader has not taken the oldest window, there is no
 * room for another, and the open one goes on: 0. */
static int __attribute__((noinline)) cg_next_window(uint64_t now, uint64_t epoch)
{
	cg_adder *t = &cg_mine;
	cg_tree *tree = t->tree;
	t->long_ticks = atomic_load_explicit(&cg_head->long_ticks, memory_order_relaxed);
	if (now < epoch) /* the thread was stopped since it read the clock */
		return 0;
	if (t->window + 1 - atomic_load_explicit(&tree->taken, memory_order_acquire) >= CG_WINDOWS)
		return 0; /* the next event asks again */
	t->epoch = epoch;
	t->open->last = t->last;
	t->open->top = cg_top();
	t->window++;
	cg_set_window();
	t->open->epoch = epoch;
	t->open->begin = now;
	t->open->counting = 0;
	if (t->bursts.budget)
		cg_decide(now);
	atomic_store_explicit(&tree->window, t->window, memory_order_release);
	return 1;
}

_Static_assert(sizeof(cg_node) == CG_NODE_WORDS * sizeof(uint64_t), "ticks of a node are at so many times its number");

/* cg_move moves the thread along an event, up to which its time is added. */
static void __attribute__((noinline)) cg_move(uint32_t event)
{
	cg_adder *t = &cg_mine;
	if (event < CG_SITES)
		cg_enter(event);
	else if (event == ((uint32_t)CG_EXIT << 21 | cg_site()) && !t->deep)
		cg_pop();
	else if (event >> 21 == CG_PLACE)
		cg_go(event & (CG_SITES - 1));
	else
		cg_add_other(event);
	atomic_store_explicit(&t->tree->place, t->last << 24 | cg_top(), memory_order_release);
}

/* cg_add_time adds the time up to an event to the node in which the thread was. */
static inline void cg_add_time(uint64_t now, uint32_t top)
{
	cg_adder *t = &cg_mine;
	t->ticks[(size_t)top * CG_NODE_WORDS] += now - t->last;
	t->touched[top / CG_BLOCK] = 1;
	t->last = now;
	t->tree->events++;
}

/* cg_ends_window ends the open window where there is a newer sample. */
static inline int cg_ends_window(uint64_t now)
{
	uint64_t epoch = atomic_load_explicit(&cg_head->epoch, memory_order_relaxed);
	return epoch != cg_mine.epoch && cg_next_window(now, epoch);
}

/* cg_add adds up to an event that is timed. */
static void __attribute__((noinline)) cg_add(uint64_t now, uint32_t event)
{
	cg_adder *t = &cg_mine;
	uint32_t top = cg_top(), counting = t->open->counting;
	int between = cg_ends_window(now); /* the time is in no window */
	if (!t->bursts.budget) {
		if (between)
			t->last = now;
		cg_add_time(now, top);
		cg_move(event);
		return;
	}
	uint64_t ticks = now - t->last;
	t->bursts.before = counting ? 0 : t->last;
	t->last = now;
	t->touched[top / CG_BLOCK] = 1;
	t->tree->events++;
	int sure = cg_is_sure(event);
	if (!between)
		cg_book(ticks, top, sure);
	t->bursts.weight = cg_weight(sure);
	cg_move(event);
	cg_turn(sure);
}

/* cg_close_stretch ends the stretch that is open when a thread ends. */
static void cg_close_stretch(void)
{
	cg_adder *t = &cg_mine;
	if (!t->tree || t->stale || !t->open->counting)
		return;
	uint64_t now = cg_tick();
	if ((int64_t)(now - t->last) < 0)
		now = t->last;
	uint32_t top = cg_top();
	if (!cg_ends_window(now))
		cg_book(now - t->last, top, 0);
	t->last = now;
	t->touched[top / CG_BLOCK] = 1;
	atomic_store_explicit(&t->tree->place, now << 24 | top, memory_order_release);
}

/* cg_map_adder gets a thread the memory that is its own. What it had before
 * fork(2) stays. */
static int cg_map_adder(void)
{
	cg_adder *t = &cg_mine;
	if (!t->frames) {
		if (!(t->frames = cg_private(CG_FIRST_FRAMES * sizeof *t->frames)))
			return 0;
		if (!cg_more_weights(CG_FIRST_FRAMES)) {
			munmap(t->frames, CG_FIRST_FRAMES * sizeof *t->frames);
			t->frames = NULL;
			return 0;
		}
		t->frame = t->frames;
		t->frame->path = CG_OUTSIDE;
		t->frames_end = t->frames + CG_FIRST_FRAMES;
	}
	return cg_new_paths();
}

/* cg_begin_adding begins to add up in the tree of this thread. */
static void cg_begin_adding(uint64_t now)
{
	cg_adder *t = &cg_mine;
	cg_tree *tree = t->tree;
	t->last = now;
	t->epoch = atomic_load(&cg_head->epoch);
	if (t->epoch > now)
		t->epoch = 0; /* a sample came between */
	t->long_ticks = atomic_load(&cg_head->long_ticks);
	t->window = 0;
	t->count = CG_BEGIN;
	t->stale = 0;
	cg_begin_times();
	cg_set_window();
	t->open->epoch = t->epoch;
	t->open->begin = now;
	tree->counted_cost = cg_counted_cost;
	cg_begin_bursts(now);
	atomic_store(&tree->count, t->count);
	cg_set_quick();
}

/* cg_begin_tree begins a tree that this thread has just taken. In a process that
 * was forked the frames that its parent had are in the new tree, too. */
static void cg_begin_tree(void)
{
	cg_adder *t = &cg_mine;
	const cg_frame *innermost = t->frame;
	if (cg_missed) { /* what is open is not known */
		innermost = t->frames;
		t->deep = 0;
	}
	cg_chunk *c = &t->tree->head;
	cg_fill_header(c, CG_FIRST | CG_OTHERS, cg_missed);
	t->tree->used = 0;
	atomic_store(&t->tree->named, 0);
	if (t->forked) { /* the time from there is that of the frame in which the process was forked */
		struct timespec used;
		c->tick = t->forked;
		if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0)
			t->tree->used = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
	}
	t->forked = 0;
	cg_missed = 0;
	uint64_t s = atomic_fetch_add(&cg_head->head, 1) + 1;
	cg_begin_adding(c->tick);
	for (t->frame = t->frames; t->frame < innermost; t->frame++) {
		uint32_t site = (uint32_t)(t->frame[1].path >> 32);
		t->frame[1] = (cg_frame){(uint64_t)site << 32 | (cg_find(cg_top(), site) & CG_NODE), 0};
	}
	atomic_store(&t->tree->place, t->last << 24 | cg_top());
	atomic_store_explicit(&c->seq, s, memory_order_release);
}

/* Where the name of a thread can be had at any event: gives this thread's to cg_name_thread. It is called when the
 * thread has taken a tree. Where it cannot, "unnamed" asks for it. */
static void (*cg_name_of_thread)(void);

/* cg_name_thread tells what the program calls this thread, as UTF-8. A long name is cut. */
static inline void cg_name_thread(const char *name, size_t n)
{
	cg_tree *tree = cg_mine.tree;
	if (!tree || cg_mine.stale)
		return;
	if (n > sizeof tree->name)
		for (n = sizeof tree->name; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80; n--)
			;
	atomic_store(&tree->named, 0);
	memcpy(tree->name, name, n);
	atomic_store_explicit(&tree->named, (uint32_t)n, memory_order_release);
}

/* cg_take_tree takes the lowest free tree for this thread; 0 where there is
 * none. */
static int cg_take_tree(void)
{
	if (!cg_map_adder())
		return 0;
	for (uint32_t i = 0; i < cg_trees->trees; i++) {
		uint32_t zero = CG_FREE;
		if (atomic_load_explicit(&cg_trees->state[i], memory_order_relaxed) != CG_FREE ||
		    !atomic_compare_exchange_strong(&cg_trees->state[i], &zero, CG_OWNED))
			continue;
		if (!cg_map_tree(i)) {
			atomic_store(&cg_trees->state[i], CG_FREE);
			return 0;
		}
		cg_begin_tree();
		pthread_setspecific(cg_key, (void *)1);
		cg_mine.unnamed = 1;
		cg_mine.asked = 0;
		if (cg_name_of_thread)
			cg_name_of_thread();
		return 1;
	}
	return 0;
}

/* cg_has_tree reports whether this thread has a tree, or can take one. An event
 * that goes into none is counted at once, so that the count is whole however the
 * process ends. */
static int __attribute__((noinline, cold)) cg_has_tree(void)
{
	cg_adder *t = &cg_mine;
	if (t->tree && !t->stale)
		return 1;
	if (cg_orphan || cg_head->closed)
		return 0;
	int e = errno, has = cg_missed % CG_RETRY == 0 && cg_take_tree();
	errno = e;
	if (!has) {
		cg_missed++;
		atomic_fetch_add(&cg_head->lost, 1);
	}
	return has;
}

/* cg_forget_adder gives a thread's memory back. */
static void cg_forget_adder(void)
{
	cg_adder *t = &cg_mine;
	if (t->map)
		munmap(t->map, t->map_bytes);
	if (t->paths)
		munmap(t->paths, cg_slots() * sizeof *t->paths);
	if (t->frames)
		munmap(t->frames, (size_t)(t->frames_end - t->frames) * sizeof *t->frames);
	if (t->weights)
		munmap(t->weights, t->weights_room * sizeof *t->weights);
	cg_forget_times();
	memset(t, 0, sizeof *t);
}

#ifndef CG_LEAVING /* what a runtime does before a thread gives its tree away */
#define CG_LEAVING
#endif

/* cg_leave_tree gives this thread's tree to the reader, for good. */
static void cg_leave_tree(void)
{
	cg_adder *t = &cg_mine;
	CG_LEAVING;
	cg_close_stretch();
	if (t->tree && !t->stale)
		atomic_store_explicit(&cg_trees->state[t->index], CG_FULL, memory_order_release);
	cg_forget_adder();
}

#endif
