/*
 * The way of most events (checkpoint/FORMAT.md, Tree, Counted events): a call along a
 * path that is known, or its end, counted or timed.
 *
 * In: events. Out: the calling thread's tree, and 0 where the event is for others.
 */
#ifndef CG_QUICK_H
#define CG_QUICK_H

#include "sums.h"

/* What memory has is read again, so that the fast path has registers enough. */
#define CG_RELOAD __asm__ volatile("" ::: "memory")

/* cg_count counts an event of a pause that leads from a node to a frame. */
static inline void __attribute__((always_inline)) cg_count(uint32_t top, cg_frame *f)
{
	cg_adder *t = &cg_mine;
	t->left--;
	t->counted[(size_t)top * 2 * CG_NODE_WORDS]++;
	t->touched[top / CG_BLOCK] = 1;
	t->open->counting = 1;
	t->frame = f;
	cg_tree *tree = t->tree;
	tree->events++;
	atomic_store_explicit(&tree->place, t->last << 24 | (uint32_t)f->path, memory_order_release);
}

/* cg_count_behind begins a call in a pause, wherever its path is: it counts the event, or
 * times it. */
static int cg_count_behind(uint32_t event)
{
	cg_adder *t = &cg_mine;
	uint32_t top = cg_top();
	uint64_t path = *cg_path_at(cg_path_key(cg_call_of(top), event));
	cg_node *callee = &t->nodes[path & CG_NODE];
	if (!path || path & (CG_JOINED | CG_NO_NODE) || callee->usual - 1 >= t->sure || t->frame + 1 == t->frames_end) {
		uint64_t now = cg_tick();
		cg_add((int64_t)(now - t->last) < 0 ? t->last : now, event);
		return 1;
	}
	callee->calls++;
	t->frame[1] = (cg_frame){(uint64_t)event << 32 | (path & CG_NODE), 0};
	cg_count(top, t->frame + 1);
	return 1;
}

/* cg_is_known finds site << 32 | node of a call from a node, if it is the latest from there or in
 * the first slot of its search. */
static inline int __attribute__((always_inline)) cg_is_known(uint32_t top, uint32_t site, uint64_t *found)
{
	cg_adder *t = &cg_mine;
	uint64_t path = t->nodes[top].child;
	if (path >> 32 != site) {
		uint64_t key = cg_path_key(cg_call_of(top), site);
		path = t->paths[cg_path_slot(key, t->last_path)] ^ key;
		if (__builtin_expect(path > CG_NODE, 0))
			return 0;
		path |= (uint64_t)site << 32;
	}
	*found = path;
	return 1;
}

/* cg_is_new reports whether there is a newer sample than that of the open window. */
static inline int __attribute__((always_inline)) cg_is_new(void)
{
	return __builtin_expect(atomic_load_explicit(&cg_head->epoch, memory_order_relaxed) != cg_mine.epoch, 0);
}

/* Each of the next four functions does all that an event takes, or it does nothing and gives 0. They call
 * nothing, so one that uses them and ends with a call has no registers to save. */

/* cg_count_enter counts the enter of a call in a pause. */
static inline int __attribute__((always_inline)) cg_count_enter(uint32_t site)
{
	cg_adder *t = &cg_mine;
	cg_frame *f = t->frame;
	uint32_t top = (uint32_t)f->path;
	uint64_t path;
	if (cg_is_new() || !cg_is_known(top, site, &path))
		return 0;
	cg_node *callee = &t->nodes[(uint32_t)path];
	if (callee->usual - 1 >= t->sure || ++f == t->frames_end)
		return 0;
	CG_RELOAD;
	callee->calls++;
	*f = (cg_frame){path, 0};
	cg_count(top, f);
	return 1;
}

/* cg_count_exit counts the exit of a call of a site in a pause. */
static inline int __attribute__((always_inline)) cg_count_exit(uint32_t site)
{
	cg_adder *t = &cg_mine;
	cg_frame *f = t->frame;
	uint32_t top = (uint32_t)f->path;
	if (cg_is_new() || f->path >> 32 != site || f->enter || t->nodes[top].usual - 1 >= t->sure)
		return 0;
	cg_count(top, f - 1);
	return 1;
}

/* cg_is_quick reports whether an event at a time can be added up at once. */
static inline int __attribute__((always_inline)) cg_is_quick(uint64_t now)
{
	cg_adder *t = &cg_mine;
	return now - t->last < t->quick && !t->bursts.budget && !cg_is_new();
}

/* cg_time_enter adds up to the enter of a call, where there are no pauses. */
static inline int __attribute__((always_inline)) cg_time_enter(uint64_t now, uint32_t site)
{
	cg_adder *t = &cg_mine;
	uint64_t path;
	if (!cg_is_quick(now))
		return 0;
	cg_frame *f = t->frame;
	uint32_t top = (uint32_t)f->path;
	if (!cg_is_known(top, site, &path) || __builtin_expect(++f == t->frames_end, 0))
		return 0;
	CG_RELOAD;
	cg_add_time(now, top);
	t->nodes[(uint32_t)path].calls++;
	*f = (cg_frame){path, now};
	t->frame = f;
	atomic_store_explicit(&t->tree->place, now << 24 | (uint32_t)path, memory_order_release);
	return 1;
}

/* cg_time_exit adds up to the exit of a call of a site, where there are no pauses. */
static inline int __attribute__((always_inline)) cg_time_exit(uint64_t now, uint32_t site)
{
	cg_adder *t = &cg_mine;
	if (!cg_is_quick(now))
		return 0;
	cg_frame *f = t->frame;
	uint64_t ticks = now - f->enter;
	uint32_t top = (uint32_t)f->path;
	if (f->path >> 32 != site || ticks >= t->long_ticks || !f->enter || !cg_time_quickly(site, ticks))
		return 0;
	CG_RELOAD;
	cg_add_time(now, top);
	t->frame = --f;
	atomic_store_explicit(&t->tree->place, now << 24 | (uint32_t)f->path, memory_order_release);
	return 1;
}

/* cg_time_place adds up to the moment at which the innermost call goes to a place in its code, where there are no
 * pauses. */
static inline int __attribute__((always_inline)) cg_time_place(uint64_t now, uint32_t place)
{
	cg_adder *t = &cg_mine;
	if (!cg_is_quick(now))
		return 0;
	cg_frame *f = t->frame;
	uint32_t top = (uint32_t)f->path;
	uint64_t key = cg_path_key(cg_call_of(top), place);
	uint64_t node = t->paths[cg_path_slot(key, t->last_path)] ^ key;
	if (__builtin_expect(node > CG_NODE, 0))
		return 0;
	CG_RELOAD;
	cg_add_time(now, top);
	t->nodes[node].calls++;
	f->path = f->path >> 32 << 32 | node;
	atomic_store_explicit(&t->tree->place, now << 24 | node, memory_order_release);
	return 1;
}

/* cg_add_counted counts or times an event of a pause. */
static int __attribute__((noinline)) cg_add_counted(uint32_t event)
{
	if (event < CG_SITES && !cg_is_new())
		return cg_count_behind(event);
	uint64_t now = cg_cycles();
	if (__builtin_expect(now - cg_mine.last >= cg_mine.quick, 0))
		return 0;
	cg_add(now, event);
	return 1;
}

/* cg_add_timed adds up to an event that is timed. 0, and nothing is done, where the thread is
 * not quick. */
static int __attribute__((noinline)) cg_add_timed(uint64_t now, uint32_t event)
{
	if (__builtin_expect(now - cg_mine.last >= cg_mine.quick, 0))
		return 0;
	cg_add(now, event);
	return 1;
}

/* cg_add_quickly counts an event, or reads the clock and adds up to it. 0, and nothing is
 * done, where the thread is not quick. */
static inline int __attribute__((always_inline)) cg_add_quickly(uint32_t event)
{
	int enters = event < CG_SITES;
	uint32_t site = event & (CG_SITES - 1), exits = event >> 21 == CG_EXIT;
	if (cg_mine.left)
		return (enters ? cg_count_enter(site) : exits && cg_count_exit(site)) || cg_add_counted(event);
	uint64_t now = cg_cycles();
	return (enters ? cg_time_enter(now, site)
		: exits ? cg_time_exit(now, site)
			: event >> 21 == CG_PLACE && cg_time_place(now, site)) ||
	       cg_add_timed(now, event);
}

#endif
