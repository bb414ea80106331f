/*
 * In which call path a thread is when it launches something on a GPU (the thread's place in its tree of sums,
 * checkpoint/FORMAT.md; CG_KERNELS_CHANNEL names the channel), and the record of what ran, with what it needs defined.
 * kernels.c, which describes the records, and launches.c include this file.
 */
#ifndef CG_ACTIVITIES_H
#define CG_ACTIVITIES_H

#include "layout.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "datagrams.h"
#include "names.h"
#include "nvtx.h"

#define PATHS (1u << 15) /* a number has 16 bits */
#define DEVICES 64
#define DEEPEST 512

/* ---- call paths ---- */

static const cg_header *channel;
static const char *forest; /* the trees, NULL where there are none */
static size_t tree_bytes, first_tree;
static uint32_t trees, nodes_each;

static void open_trees(void)
{
	const char *path = getenv("CG_KERNELS_CHANNEL");
	char name[4096];
	int fd;
	if (!path || !*path || (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return;
	void *m = mmap(NULL, CG_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return;
	const cg_header *h = m;
	const char *slash = strrchr(path, '/');
	if (h->magic != CG_MAGIC || h->version != CG_VERSION || !h->trees || !slash ||
	    snprintf(name, sizeof name, "%.*s/%u", (int)(slash - path), path, h->trees) >= (int)sizeof name ||
	    (fd = open(name, O_RDONLY | O_CLOEXEC)) < 0)
		return;
	struct stat st;
	if (!fstat(fd, &st) && (size_t)st.st_size > sizeof(cg_forest) &&
	    (m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0)) != MAP_FAILED) {
		const cg_forest *f = m;
		first_tree = (sizeof *f + 4 * (size_t)f->trees + CG_PAGE - 1) / CG_PAGE * CG_PAGE;
		if (f->magic == CG_TREE_MAGIC && f->version == CG_TREE_VERSION && f->windows == CG_WINDOWS &&
		    first_tree + f->trees * f->tree_bytes <= (size_t)st.st_size) {
			trees = f->trees, nodes_each = f->nodes, tree_bytes = f->tree_bytes;
			channel = h;
			forest = m;
		} else
			munmap(m, (size_t)st.st_size);
	}
	close(fd);
}

static const cg_tree *tree_at(uint32_t i) { return (const cg_tree *)(forest + first_tree + i * tree_bytes); }

static const cg_node *nodes_of(const cg_tree *t)
{
	return (const cg_node *)((const char *)t + CG_PAGE + (size_t)CG_WINDOWS * (nodes_each / CG_BLOCK));
}

/* What a thread knows of its tree, and of the path in which it launched last. */
static __thread struct {
	const cg_tree *tree;
	uint64_t seq, looked; /* when: the next number of the channel then */
	uint64_t of;          /* the number of the tree with the path */
	uint32_t node, path;
} own;

/* own_tree finds the tree of the calling thread; NULL where it has none. */
static const cg_tree *own_tree(void)
{
	if (own.tree && atomic_load_explicit(&own.tree->head.seq, memory_order_acquire) == own.seq)
		return own.tree;
	uint64_t now = atomic_load(&channel->head);
	if (own.looked == now + 1)
		return NULL;
	own.looked = now + 1;
	own.tree = NULL;
	uint32_t pid = (uint32_t)getpid(), tid = (uint32_t)syscall(SYS_gettid);
	const cg_forest *f = (const void *)forest;
	for (uint32_t i = 0; i < trees; i++) {
		if (atomic_load(&f->state[i]) != CG_OWNED)
			continue;
		const cg_tree *t = tree_at(i);
		uint64_t seq = atomic_load_explicit(&t->head.seq, memory_order_acquire);
		if (seq && t->head.pid == pid && t->head.tid == tid && seq > own.seq) {
			own.tree = t;
			own.seq = seq;
		}
	}
	return own.tree;
}

/* The paths that have numbers. A slot is filled before its number is stored; what was sent is under the lock. */
static struct path {
	uint64_t seq;
	uint32_t node, n;
	uint32_t *sites;
	uint32_t sent; /* the generation */
	_Atomic uint32_t number;
} paths[PATHS];
static uint32_t numbered;

/* define gives a path a number: that of its slot, from 1. */
static uint32_t define(const cg_tree *of, uint64_t seq, uint32_t node)
{
	uint32_t i = (uint32_t)((seq * 0x9e3779b97f4a7c15u ^ node * 0x85ebca6bu) >> 7) % PATHS, number = 0;
	for (uint32_t k = 0; k < 64; k++, i = (i + 1) % PATHS) {
		number = atomic_load_explicit(&paths[i].number, memory_order_acquire);
		if (!number)
			break;
		if (paths[i].seq == seq && paths[i].node == node)
			return number;
	}
	pthread_mutex_lock(&lock);
	uint32_t sites[DEEPEST], n = 0, *kept;
	if (!number && numbered < PATHS / 4 * 3 && !atomic_load(&paths[i].number)) {
		const cg_node *all = nodes_of(of);
		for (uint32_t at = node; at >= CG_BEGIN && at < nodes_each && n < DEEPEST; at = all[at].parent)
			sites[n++] = all[at].site;
		if ((kept = malloc(n * sizeof *sites + 1))) {
			memcpy(kept, sites, n * sizeof *sites);
			paths[i].sites = kept;
			paths[i].n = n;
			paths[i].seq = seq;
			paths[i].node = node;
			numbered++;
			number = i + 1;
			atomic_store_explicit(&paths[i].number, number, memory_order_release);
		}
	} else
		number = 0; /* another thread took the slot, or there are no more: no function */
	pthread_mutex_unlock(&lock);
	return number;
}

/* place is the number of the path in which the calling thread is, 0 for none. */
static uint32_t place(void)
{
	const cg_tree *t = forest ? own_tree() : NULL, *of = t;
	if (!t)
		return 0;
	uint32_t node = (uint32_t)(atomic_load_explicit(&t->place, memory_order_acquire) & 0xffffff);
	if (node < CG_BEGIN || node >= nodes_each)
		return 0;
	if (t->paths && t->paths <= trees)
		of = tree_at(t->paths - 1);
	uint64_t seq = atomic_load(&of->head.seq);
	if (own.of != seq || own.node != node || !own.path) {
		own.path = define(of, seq, node);
		own.of = seq;
		own.node = node;
	}
	return own.path;
}

/* ---- activities ---- */

static uint32_t devices[DEVICES]; /* the generation in which they were sent */

static void tell_device(uint32_t device)
{
	uint8_t uuid[16] = {0};
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*of)(uint8_t *, int) = cuda ? (int (*)(uint8_t *, int))dlsym(cuda, "cuDeviceGetUuid_v2") : NULL;
	if (cuda && !of)
		of = (int (*)(uint8_t *, int))dlsym(cuda, "cuDeviceGetUuid");
	if (of && of(uuid, (int)device))
		memset(uuid, 0, sizeof uuid);
	put(2, &device, sizeof device, uuid, sizeof uuid);
}

struct activity {
	uint64_t start, end;
	uint32_t path, name, device, kind;
	uint64_t bytes;
	uint32_t range, count; /* 0: one */
};

/* flight is what is known of launches in a row without CUPTI. */
struct flight {
	struct activity guess;
	uint64_t since, done;
};

/* ONE has room for an activity, DEFINED for one with what it needs defined but its range. */
#define ONE (8 + sizeof(struct flight))
#define DEFINED (ONE + 12 + LONGEST_NAME + 12 + DEEPEST * sizeof(uint32_t) + 28)
_Static_assert(DEFINED + RANGE_ROOM <= DATAGRAM, "an activity and what it needs are in one datagram");

/* tell sends a record that begins with an activity, in one datagram with what it needs defined, under the lock. */
static void tell(uint32_t kind, const struct activity *a, size_t bytes)
{
	int device = a->device < DEVICES, old = device && devices[a->device] < generation;
	old |= (a->name && names[a->name - 1].sent < generation) || (a->path && paths[a->path - 1].sent < generation);
	if (used + (old ? DEFINED : ONE) + range_room(a->range) > DATAGRAM)
		flush_locked(); /* where that fails all is older, and the datagram empty */
	if (device && devices[a->device] < generation) {
		tell_device(a->device);
		devices[a->device] = generation;
	}
	if (a->name && names[a->name - 1].sent < generation) {
		const char *name = names[a->name - 1].text;
		put(3, &a->name, sizeof a->name, name, strnlen(name, LONGEST_NAME));
		names[a->name - 1].sent = generation;
	}
	if (a->path && paths[a->path - 1].sent < generation) {
		struct path *p = &paths[a->path - 1];
		put(4, &a->path, sizeof a->path, p->sites, p->n * sizeof *p->sites);
		p->sent = generation;
	}
	define_range(a->range);
	put(kind, a, bytes, "", 0);
}

#endif
