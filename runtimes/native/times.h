/*
 * How long the calls of each function took (checkpoint/FORMAT.md, Times of calls): the
 * least, the most, and how many took how long, in bins of a quarter of an octave.
 *
 * In: calls that end, whose enter was timed. Out: the times of their functions in the
 * calling thread's tree. A function beyond the room for them has none.
 */
#ifndef CG_TIMES_H
#define CG_TIMES_H

#include "bursts.h"

#define CG_FIRST_TIMES 256u  /* functions whose times are mapped at first */
#define CG_FIRST_SITES 4096u /* numbers of sites that are looked up at first */
#define CG_OWN_SITE (CG_SITES - 1) /* is no function */

/* The weight of a call is for how many calls it stands, in 1/CG_WHOLE, and above 16 bits
 * the number of its burst, 0 where it stands for itself. */
#define CG_WEIGHT_BITS 16

/* cg_weight is the weight of a call that begins with an event that is timed. In a
 * pause another event may be timed because a sample came: that is no draw. */
static uint32_t cg_weight(int sure)
{
	const cg_bursts *b = &cg_mine.bursts;
	if (sure || b->share == CG_ALL)
		return CG_WHOLE;
	if (b->paused)
		return 0;
	return b->number << CG_WEIGHT_BITS | (CG_WHOLE * CG_ALL + b->share / 2) / b->share;
}

/* cg_more_weights makes room for the weights of so many frames; 0 if it cannot. */
static int cg_more_weights(size_t frames)
{
	cg_adder *t = &cg_mine;
	size_t room = t->weights_room;
	int e = errno;
	void *m = room ? mremap(t->weights, room * sizeof *t->weights, frames * sizeof *t->weights, MREMAP_MAYMOVE)
		       : cg_private(frames * sizeof *t->weights);
	errno = e;
	if (!m || m == MAP_FAILED)
		return 0;
	t->weights = m;
	t->weights_room = frames;
	return 1;
}

/* cg_more_sites makes room for the number of a site; 0 if it cannot. */
static int cg_more_sites(uint32_t site)
{
	cg_functions *f = &cg_mine.functions;
	uint32_t sites = f->sites ? f->sites : CG_FIRST_SITES;
	while (sites <= site)
		sites *= 2;
	uint32_t *rows = f->row_of;
	rows = rows ? mremap(rows, f->sites * sizeof *rows, sites * sizeof *rows, MREMAP_MAYMOVE)
		    : cg_private(sites * sizeof *rows);
	if (!rows || rows == MAP_FAILED)
		return 0;
	f->row_of = rows;
	f->sites = sites;
	return 1;
}

/* cg_map_times maps the times of the first functions, or of four times as many; 0 if it
 * cannot. The pages of a system may be larger than those of the file. */
static int cg_map_times(void)
{
	cg_adder *t = &cg_mine;
	cg_functions *f = &t->functions;
	uint32_t n = f->mapped ? f->mapped * 4 : CG_FIRST_TIMES;
	if (n > f->most)
		n = f->most;
	size_t at = cg_first_tree(cg_trees->trees) + t->index * (size_t)cg_trees->tree_bytes + cg_times_at(t->width);
	size_t before = at & ((size_t)sysconf(_SC_PAGESIZE) - 1), bytes = before + n * sizeof(cg_times);
	char *m = f->map ? mremap(f->map, f->map_bytes, bytes, MREMAP_MAYMOVE) : cg_map_file(at - before, bytes);
	if (!m || m == MAP_FAILED)
		return 0;
	madvise(m, bytes, MADV_DONTDUMP);
	f->map = m;
	f->map_bytes = bytes;
	f->times = (cg_times *)(m + before);
	f->mapped = n;
	return 1;
}

/* cg_new_times begins the times of a function. NULL where there is no room for them. */
static cg_times *__attribute__((noinline, cold)) cg_new_times(uint32_t site)
{
	cg_functions *f = &cg_mine.functions;
	if (f->count == f->most || site == CG_OWN_SITE)
		return NULL;
	int e = errno;
	int room = (site < f->sites || cg_more_sites(site)) && (f->count < f->mapped || cg_map_times());
	errno = e;
	if (!room) {
		f->most = f->count;
		return NULL;
	}
	cg_times *c = &f->times[f->count++];
	c->site = site;
	c->least = UINT64_MAX;
	f->row_of[site] = f->count;
	atomic_store_explicit(&cg_mine.tree->timed, f->count, memory_order_release);
	return c;
}

/* cg_time_bin is the bin of a time: each octave has four. */
static inline uint32_t cg_time_bin(uint64_t ticks)
{
	if (ticks < 4)
		return (uint32_t)ticks;
	uint32_t octave = 63 - (uint32_t)__builtin_clzll(ticks);
	uint32_t bin = (octave - 1) * 4 + (ticks >> (octave - 2) & 3);
	return bin < CG_TIME_BINS ? bin : CG_TIME_BINS - 1;
}

/* cg_time_quickly notes the time of a call that stands for itself. 0, and nothing is
 * done, where its function has no times, or none as short or as long. */
static inline int cg_time_quickly(uint32_t site, uint64_t ticks)
{
	const cg_functions *f = &cg_mine.functions;
	if (__builtin_expect(site >= f->sites, 0))
		return 0;
	uint32_t row = f->row_of[site];
	if (__builtin_expect(!row, 0))
		return 0;
	cg_times *c = &f->times[row - 1];
	if (__builtin_expect(ticks < c->least || ticks > c->most, 0))
		return 0;
	c->bins[cg_time_bin(ticks)] += CG_WHOLE;
	return 1;
}

/* cg_note_drawn notes a call that stands for others, too: its burst's weight grows, and
 * with it the square of that. */
static void cg_note_drawn(cg_times *c, uint32_t burst, uint64_t weight)
{
	if (c->burst != burst) {
		c->burst = burst;
		c->part = 0;
	}
	uint64_t more = weight * (2 * c->part + weight);
	c->drawn++;
	c->part += weight;
	c->squares = more < UINT64_MAX - c->squares ? c->squares + more : UINT64_MAX;
}

/* cg_note_time notes the time of a call that ends. */
static void cg_note_time(const cg_frame *frame, uint64_t ticks)
{
	const cg_adder *t = &cg_mine;
	const cg_functions *f = &t->functions;
	uint32_t site = (uint32_t)(frame->path >> 32), row = site < f->sites ? f->row_of[site] : 0;
	cg_times *c = row ? &f->times[row - 1] : cg_new_times(site);
	if (!c)
		return;
	uint32_t weight = t->bursts.budget ? t->weights[frame - t->frames] : CG_WHOLE;
	uint32_t burst = weight >> CG_WEIGHT_BITS;
	weight &= (1u << CG_WEIGHT_BITS) - 1;
	if (!burst)
		c->exact += weight != 0;
	else
		cg_note_drawn(c, burst, weight);
	c->bins[cg_time_bin(ticks)] += weight;
	if (ticks < c->least)
		c->least = ticks;
	if (ticks > c->most)
		c->most = ticks;
}

/* cg_forget_times gives the memory for times back. */
static void cg_forget_times(void)
{
	cg_functions *f = &cg_mine.functions;
	if (f->row_of)
		munmap(f->row_of, f->sites * sizeof *f->row_of);
	if (f->map)
		munmap(f->map, f->map_bytes);
	*f = (cg_functions){0};
}

/* cg_begin_times begins with no function, and with room for the first: a program may forbid system
 * calls before it calls one. */
static void cg_begin_times(void)
{
	cg_functions *f = &cg_mine.functions;
	cg_forget_times();
	f->most = cg_trees ? cg_trees->functions : 0;
	if (f->most && !(cg_more_sites(0) && cg_map_times()))
		f->most = 0;
}

#endif
