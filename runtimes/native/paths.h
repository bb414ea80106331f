/*
 * The nodes of the calling thread's call paths (checkpoint/FORMAT.md, Tree):
 * which node a call of a site from a node goes to. Where nodes become few, paths
 * are joined.
 *
 * The table of paths is the thread's own, with open addressing. A slot is
 *
 *   joined << 63 | none << 62 | parent << 41 | site << 20 | node
 *
 * The node is a child of parent, or the one that stands for it: that of the same
 * site further up, where recursion is folded; joined: one that is not quite its
 * own; and none: the parent itself, because there are no more nodes.
 */
#ifndef CG_PATHS_H
#define CG_PATHS_H

#include "trees.h"

#define CG_JOINED ((uint64_t)1 << 63)
#define CG_NO_NODE ((uint64_t)1 << 62)
#define CG_NODE (CG_MOST_NODES - 1) /* mask of the node in a slot */
#define CG_KEY (((uint64_t)1 << 62) - 1 - CG_NODE)
#define CG_FEW_SLOTS 512u /* at first: a page */
#define CG_UNFOLDED 64    /* calls of a path whose recursion is folded */
#define CG_UNJOINED 4     /* calls of a path that is joined with another */
#define CG_SEARCHED 16384 /* nodes that are looked at to fold a path, at the most */

static inline uint64_t cg_path_key(uint32_t parent, uint32_t site)
{
	return (uint64_t)parent << 41 | (uint64_t)site << 20;
}

/* cg_path_slot is the number of the slot where the search for a key begins. */
static inline uint64_t cg_path_slot(uint64_t key, uint64_t last) { return (key * 0x9e3779b97f4a7c15u >> 42) & last; }

_Static_assert(4 * CG_MOST_NODES == 1u << (64 - 42), "a number of a slot has as many bits");

static uint64_t cg_slots(void) { return cg_mine.last_path + 1; }

/* cg_path_at is the slot of a key, or the empty one for it. */
static uint64_t *cg_path_at(uint64_t key)
{
	cg_adder *t = &cg_mine;
	uint64_t last = t->last_path, i = cg_path_slot(key, last);
	while (t->paths[i] && (t->paths[i] & CG_KEY) != key)
		i = (i + 1) & last;
	return &t->paths[i];
}

/* cg_new_paths makes the table empty; 0 where there is no memory. */
static int cg_new_paths(void)
{
	cg_adder *t = &cg_mine;
	uint64_t *paths = cg_private(CG_FEW_SLOTS * sizeof *paths);
	if (!paths)
		return 0;
	if (t->paths)
		munmap(t->paths, cg_slots() * sizeof *paths);
	t->paths = paths;
	t->last_path = CG_FEW_SLOTS - 1;
	t->used = 0;
	return 1;
}

/* cg_has_slot reports whether the table has room for another path. It is at most
 * half full while it can grow. */
static int cg_has_slot(void)
{
	cg_adder *t = &cg_mine;
	uint64_t slots = cg_slots(), *old = t->paths;
	if (2 * (t->used + 1) <= slots)
		return 1;
	int e = errno;
	uint64_t *more = slots < 4 * CG_MOST_NODES ? cg_private(2 * slots * sizeof *more) : NULL;
	errno = e;
	if (!more)
		return 4 * (t->used + 1) <= 3 * slots;
	t->paths = more;
	t->last_path = 2 * slots - 1;
	for (uint64_t i = 0; i < slots; i++)
		if (old[i])
			*cg_path_at(old[i] & CG_KEY) = old[i];
	munmap(old, slots * sizeof *old);
	return 1;
}

/* cg_new_node makes a node; 0 where there is none left. */
static uint32_t cg_new_node(uint32_t parent, uint32_t site)
{
	cg_adder *t = &cg_mine;
	uint32_t n = t->count;
	if (n >= t->mapped / 8 * 7 && t->mapped < t->most)
		cg_map_more();
	if (n >= t->most)
		return 0;
	t->nodes[n].site = site;
	t->nodes[n].parent = parent;
	t->nodes[n].born = t->last;
	t->nodes[n].depth = t->nodes[parent].depth + 1;
	atomic_store_explicit(&t->tree->count, t->count = n + 1, memory_order_release);
	return n;
}

/* cg_is_above reports whether a node or one of its callers is of a site. The
 * search goes from *from to the top, and then from node to *from: what calls in a
 * cycle is called by the same, so it is found at once. *from is where it was found.
 * *steps is how many nodes may be looked at still. */
static int cg_is_above(uint32_t node, uint32_t site, uint32_t *from, uint32_t *steps)
{
	const cg_node *nodes = cg_mine.nodes;
	uint32_t p = *from, until = CG_SIDE;
	for (int round = 0; round < 2; round++) {
		for (; p > CG_SIDE && p != until && *steps > 0; p = nodes[p].parent, --*steps)
			if (nodes[p].site == site) {
				*from = nodes[p].parent;
				return 1;
			}
		until = *from;
		p = node;
	}
	return 0;
}

/* cg_fold is the node to which a recursive call goes: the innermost of its site,
 * where all between the two is above that, too. 0 where there is none, or where
 * the search takes too long. */
static uint32_t cg_fold(uint32_t parent, uint32_t site)
{
	cg_adder *t = &cg_mine;
	const cg_node *nodes = t->nodes;
	if (nodes[parent].depth < CG_UNFOLDED && t->count < t->most / 4)
		return 0;
	uint32_t steps = CG_SEARCHED, same = parent;
	for (; same > CG_SIDE && nodes[same].site != site; same = nodes[same].parent)
		if (--steps == 0)
			return 0;
	if (same <= CG_SIDE)
		return 0;
	uint32_t from = same;
	for (uint32_t p = parent; p != same; p = nodes[p].parent)
		if (!cg_is_above(same, nodes[p].site, &from, &steps))
			return 0;
	return same;
}

/* cg_join is the node of a path that has no node of its own: of the same site at
 * the nearest caller that has one, else below the path's outermost call. slot is
 * not 0 where the table has room for it. */
static uint64_t cg_join(uint32_t parent, uint32_t site, int slot)
{
	cg_adder *t = &cg_mine;
	uint32_t outermost = parent;
	while (t->nodes[outermost].depth > 1) {
		outermost = t->nodes[outermost].parent;
		uint64_t found = *cg_path_at(cg_path_key(outermost, site));
		if (found && !(found & CG_NO_NODE))
			return CG_JOINED | (found & CG_NODE);
	}
	uint32_t n = slot && outermost != parent ? cg_new_node(outermost, site) : 0;
	if (!n)
		return CG_JOINED | CG_NO_NODE | parent;
	*cg_path_at(cg_path_key(outermost, site)) = cg_path_key(outermost, site) | n;
	t->used++;
	return CG_JOINED | n;
}

/* cg_make_path finds or makes the node for a path that is not in the table. */
static uint64_t cg_make_path(uint32_t parent, uint32_t site, int slot)
{
	cg_adder *t = &cg_mine;
	uint32_t n = cg_fold(parent, site);
	if (!n && slot && (t->count < t->most / 8 * 7 || t->nodes[parent].depth < CG_UNJOINED))
		n = cg_new_node(parent, site);
	return n ? n : cg_join(parent, site, slot);
}

/* cg_call_of is the node of the call of which a node is a place, or the node itself. */
static inline uint32_t cg_call_of(uint32_t node)
{
	const cg_node *n = &cg_mine.nodes[node];
	return n->site & CG_PLACE_NODE ? n->parent : node;
}

/* cg_find is the slot of the call of a site from a node. What is called from a place of a call is called from the call:
 * else each recursion from two lines would double the nodes. */
static uint64_t __attribute__((noinline)) cg_find(uint32_t from, uint32_t site)
{
	cg_adder *t = &cg_mine;
	uint32_t parent = cg_call_of(from);
	uint64_t key = cg_path_key(parent, site);
	uint64_t path = *cg_path_at(key);
	if (!path) {
		int slot = cg_has_slot();
		path = key | cg_make_path(parent, site, slot);
		if (cg_has_slot()) {
			*cg_path_at(key) = path;
			t->used++;
		}
	}
	if (!(path & (CG_JOINED | CG_NO_NODE)))
		t->nodes[parent].child = (uint64_t)site << 32 | (path & CG_NODE);
	return path;
}

/* cg_find_place is the node of a place of a call; that of the call where there is none left, which is counted. */
static uint32_t cg_find_place(uint32_t call, uint32_t place)
{
	cg_adder *t = &cg_mine;
	uint64_t key = cg_path_key(call, place), path = *cg_path_at(key);
	if (path)
		return path & CG_NODE;
	uint32_t n = cg_has_slot() && t->count < t->most / 8 * 7 ? cg_new_node(call, place | CG_PLACE_NODE) : 0;
	if (!n) {
		t->tree->joined++;
		return call;
	}
	*cg_path_at(key) = key | n;
	t->used++;
	return n;
}

#endif
