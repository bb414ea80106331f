/*
 * Events of a pause (checkpoint/FORMAT.md, Counted events) that JavaScript counts itself, as quick.h
 * does: a call into the addon would take longer than all else (runtimes/node/counting.cjs).
 *
 * In a pause the addon hands the thread over to JavaScript when it returns to it, with the innermost
 * calls of its stack. It takes it back when JavaScript calls it, when a function of C is called, or when
 * the thread ends. In between JavaScript adds to the calls of nodes and to the place of the tree, which
 * hold whatever happens, and counts intervals in its box. So a process that is killed lacks intervals
 * of its last pause, and no calls.
 */
#ifndef CG_NODE_COUNTING_H
#define CG_NODE_COUNTING_H

#include "channel.h"
#include "node_api.h"

enum { MOST_TASKS = 64, DEEPEST = 1024, HANDED = 64, COUNTED_NODES = 16384 };

/* The memory that a thread shares with its JavaScript. */
typedef struct {
	uint32_t event;     /* the bits of an event (kind << 21 | site), or the site of a call that is looked for */
	uint32_t open;      /* how many tasks are open */
	uint32_t node;      /* where a call is looked for, and what it is then; none: UINT32_MAX */
	uint32_t left;      /* events of the pause that JavaScript may count; 0: it counts none */
	uint32_t handed;    /* left, when the thread was handed over */
	uint32_t epoch;     /* of the open window, its low half */
	uint32_t sure;      /* as in cg_adder */
	uint32_t last;      /* what the place has besides its node */
	uint32_t depth;     /* calls on the stack here */
	uint32_t listed;    /* nodes in the list */
	uint32_t tasks[MOST_TASKS];        /* sites of the tasks that are open, the outermost first */
	uint32_t stack[DEEPEST];           /* nodes: the first is that below the calls */
	uint32_t list[COUNTED_NODES];      /* nodes in which intervals were counted */
	uint32_t counted[COUNTED_NODES];   /* these intervals, by node */
} Box;

CG_TLS Box *box;      /* of this thread */
CG_TLS cg_tree *seen; /* the tree that its JavaScript sees, NULL where it counts nothing */

/* take_back takes the thread back from JavaScript. */
static inline void take_back(void)
{
	cg_adder *t = &cg_mine;
	if (!box || !box->handed)
		return;
	for (uint32_t i = 1; i <= box->depth; i++)
		*++t->frame = (cg_frame){(uint64_t)t->nodes[box->stack[i]].site << 32 | box->stack[i], 0};
	t->tree->events += box->handed - box->left;
	t->left = box->left;
	for (uint32_t i = 0; i < box->listed; i++) {
		uint32_t node = box->list[i];
		t->counted[(size_t)node * 2 * CG_NODE_WORDS] += box->counted[node];
		t->touched[node / CG_BLOCK] = 1;
		box->counted[node] = 0;
	}
	if (box->listed)
		t->open->counting = 1;
	box->left = box->handed = box->depth = box->listed = 0;
}

/* is_counted reports whether a frame can end in a pause without the addon. */
static inline int is_counted(const cg_frame *f)
{
	uint32_t node = (uint32_t)f->path;
	return !f->enter && node < COUNTED_NODES && f->path >> 32 == cg_mine.nodes[node].site;
}

/* hand_over hands the thread over to JavaScript, in a pause. */
static inline void hand_over(void)
{
	cg_adder *t = &cg_mine;
	if (!t->left || !seen || seen != t->tree || t->frames_end - t->frame <= DEEPEST)
		return;
	cg_frame *below = t->frame;
	while (t->frame - below < HANDED && below > t->frames && is_counted(below))
		below--;
	if ((uint32_t)below->path >= COUNTED_NODES)
		return;
	box->depth = (uint32_t)(t->frame - below);
	for (uint32_t i = 0; i <= box->depth; i++)
		box->stack[i] = (uint32_t)below[i].path;
	t->frame = below;
	box->epoch = (uint32_t)t->epoch;
	box->sure = t->sure;
	box->last = (uint32_t)(t->last << 24);
	box->left = box->handed = t->left;
}

/* share gives an object a view of some memory by a name; 0 where Node refuses. */
static int share(Env env, Value object, const char *name, void *memory, size_t bytes)
{
	Value v = NULL;
	return !napi_create_external_arraybuffer(env, memory, bytes, NULL, NULL, &v) &&
	       !napi_set_named_property(env, object, name, v);
}

/* map_all maps as many nodes as the thread may come to use, so that none move. Only addresses are used up. */
static void map_all(void)
{
	cg_adder *t = &cg_mine;
	for (uint32_t most = t->most; t->mapped < most && t->most == most;)
		cg_map_more();
}

/* counting(): the views of what JavaScript counts in, or undefined where there are no pauses, and it is
 * not to count. */
static Value counting(Env env, Info info)
{
	cg_adder *t = &cg_mine;
	Value views = NULL;
	(void)info;
	if (!cg_sums || cg_words || !cg_head->budget || !cg_has_tree())
		return NULL;
	map_all();
	if (t->mapped < COUNTED_NODES || napi_create_object(env, &views) || !share(env, views, "head", cg_head, CG_PAGE) ||
	    !share(env, views, "tree", t->tree, cg_nodes_at(t->width) + COUNTED_NODES * sizeof *t->nodes) ||
	    napi_set_named_property(env, views, "nodes", number(env, (uint32_t)cg_nodes_at(t->width))))
		return NULL;
	seen = t->tree;
	return views;
}

/* known(): the node of the call that is in the box, if the thread knows it as that call's own. */
static Value known(Env env, Info info)
{
	uint64_t path;
	(void)env, (void)info;
	box->node = cg_is_known(box->node, box->event, &path) ? (uint32_t)path : UINT32_MAX;
	return NULL;
}

#endif
