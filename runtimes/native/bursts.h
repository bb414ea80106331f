/*
 * Which events are timed where checkpoints may take only a part of the program's time
 * (checkpoint/FORMAT.md, Counted events): bursts, in which each is, by turns with
 * pauses, in which those of short calls are counted.
 *
 * Both have a random number of events, whatever comes. So what the bursts show is a
 * sample of all. Its share is decided anew with each window and holds for all of it,
 * as a share that followed the program within a window would favour a part of it.
 */
#ifndef CG_BURSTS_H
#define CG_BURSTS_H

#include "paths.h"

#define CG_ALL 65536u        /* a share: of all events */
#define CG_LEAST_SHARE 1024u /* that bursts have */
#define CG_BURST 64u         /* events of one, in the mean */
#define CG_LEARNT 2048u      /* events that are timed first */
#define CG_DECIDED 256u      /* events by which a share is decided */
#define CG_MOST_COUNTED ((uint64_t)1 << 31) /* events of a window */
#define CG_LEAST_PAIRS 16u   /* of clock readings, that a call takes which is timed in a pause, too: at least, */
#define CG_MOST_PAIRS 1024u  /* and at most */
#define CG_USUAL_WEIGHT 8    /* of the mean of a node's calls */
#define CG_MOST_USUAL 4u     /* times what is timed in a pause, that a call is in that mean at most */
#define CG_ALONE (UINT32_MAX / 2) /* usual, of calls that call nothing and are timed in a pause */

#ifndef CG_SEED /* tests have their own */
#define CG_SEED ((now ^ (uintptr_t)t) | 1)
#endif

/* cg_least_sure is what a call takes at least that is timed in a pause, too. */
static inline uint32_t cg_least_sure(void) { return CG_LEAST_PAIRS * (cg_cost / 8 + 1); }

/* cg_note_usual notes how long a call of a node took. One that called nothing is timed
 * from less on: then it is all of an interval. A single slow call changes nothing: where
 * one in four is slow, all are timed. */
static inline void cg_note_usual(cg_node *n, uint64_t ticks)
{
	cg_adder *t = &cg_mine;
	int alone = t->last - ticks == t->bursts.before;
	uint64_t most = CG_MOST_USUAL * (uint64_t)(alone ? cg_least_sure() : t->sure);
	int64_t took = (int64_t)(ticks < most ? ticks : most), mean = n->mean;
	mean = mean ? mean + (took - mean) / CG_USUAL_WEIGHT : took;
	n->mean = mean <= 0 ? 1 : mean < CG_ALONE ? (uint32_t)mean : CG_ALONE;
	n->usual = alone && n->mean >= cg_least_sure() ? CG_ALONE : n->mean;
}

/* cg_random is a random number below another. */
static uint32_t cg_random(uint64_t below)
{
	uint64_t *r = &cg_mine.bursts.random; /* xorshift64, Marsaglia, Journal of Statistical Software 8 (14), 2003 */
	*r ^= *r << 13;
	*r ^= *r >> 7;
	*r ^= *r << 17;
	return (uint32_t)((*r >> 33) % below);
}

/* cg_draw is a random number from half of the mean to one and a half of it. */
static uint32_t cg_draw(uint64_t mean) { return (uint32_t)(mean / 2) + cg_random(mean + 1); }

/* cg_draw_rest is what is left of a burst or a pause at an event of it that is drawn, which counts:
 * a long one has more events that could be drawn. */
static uint32_t cg_draw_rest(uint64_t mean)
{
	for (;;) {
		uint32_t length = cg_draw(mean), rest = cg_random(mean / 2 + mean) + 1;
		if (rest <= length)
			return rest;
	}
}

/* cg_set_sure sets what a call usually takes at least that is timed in a pause, too. */
static void cg_set_sure(uint32_t ticks) { cg_mine.sure = cg_mine.tree->lasting = ticks; }

/* cg_begin_bursts begins with a long burst. */
static void cg_begin_bursts(uint64_t now)
{
	cg_adder *t = &cg_mine;
	t->left = 0;
	cg_set_sure(4 * cg_least_sure());
	t->bursts = (cg_bursts){
		.budget = cg_words ? 0 : cg_head->budget,
		.share = CG_ALL,
		.burst = CG_LEARNT,
		.was_sure = 1,
		.random = CG_SEED,
		.began = now,
		.events_began = t->tree->events,
	};
}

/* cg_mean_pause is how many events a pause has, in the mean, where bursts have a share. */
static uint64_t cg_mean_pause(uint32_t share) { return (uint64_t)CG_BURST * (CG_ALL - share) / share; }

/* cg_begin_burst begins a burst of so many events. */
static void cg_begin_burst(uint32_t events)
{
	cg_bursts *b = &cg_mine.bursts;
	b->paused = 0;
	cg_mine.left = 0;
	b->burst = events;
	b->number = b->number % UINT16_MAX + 1;
}

/* cg_begin_pause begins a pause of so many events, unless too many would be counted. The
 * last of them is timed, and ends the stretch. */
static int cg_begin_pause(uint32_t events)
{
	cg_adder *t = &cg_mine;
	cg_bursts *b = &t->bursts;
	if (b->counted + events > CG_MOST_COUNTED || !t->tree || t->deep)
		return 0;
	b->counted += events;
	b->paused = 1;
	t->left = events - 1;
	return 1;
}

/* cg_begin_share begins with a share that was decided: in a pause or a burst, as likely as
 * either is with it, whatever there was before. So it is from the first event on that each is as
 * likely as the share says to be timed. */
static void cg_begin_share(void)
{
	cg_bursts *b = &cg_mine.bursts;
	uint64_t pause = cg_mean_pause(b->share);
	if (cg_random(pause + CG_BURST) >= pause || !cg_begin_pause(cg_draw_rest(pause)))
		cg_begin_burst(b->share == CG_ALL ? CG_BURST : cg_draw_rest(CG_BURST));
}

#if defined(CG_VIRTUAL)
static double cg_busy(void); /* of a test's program */
#else
/* cg_busy is for which part of the time the thread had a processor lately, as the reader tells it:
 * all of it where that is not known. Asking the kernel would be a system call, and a program may have
 * forbidden these (seccomp(2)). */
static double cg_busy(void)
{
	uint32_t busy = atomic_load_explicit(&cg_mine.tree->busy, memory_order_relaxed);
	return busy ? (busy - 1) / (double)CG_BUSY : 1;
}
#endif

/* cg_decide decides which share of the events bursts have from here on, so that what
 * events cost stays within the budget: a part of the processor time that is left of
 * all if that is taken off. Where calls that are timed always cost much of it, fewer are. */
static void __attribute__((noinline)) cg_decide(uint64_t now)
{
	cg_adder *t = &cg_mine;
	cg_bursts *b = &t->bursts;
	double events = (double)(t->tree->events - b->events_began), timed = (double)b->timed, sure = (double)b->sure;
	b->counted = 0;
	if (events < CG_DECIDED)
		return;
	double cost = cg_cost / 16.0, counted_cost = cg_counted_cost / 16.0, more = cost - counted_cost;
	double plain = (double)(now - b->began) * cg_busy() - timed * cost - (events - timed) * counted_cost;
	double allowed = (plain > 0 ? plain : 0) * b->budget / 1000; /* ticks */
	double most = (allowed - events * counted_cost) / (more > 0 ? more : 1);
	double share = sure < events ? (most - sure) / (events - sure) : 1;
	b->share = share * CG_ALL > CG_LEAST_SHARE ? (uint32_t)(share < 1 ? share * CG_ALL : CG_ALL) : CG_LEAST_SHARE;
	if (share >= 0.75 || more <= 0)
		b->share = CG_ALL;
	if (2 * sure * cost > allowed && t->sure < CG_MOST_PAIRS * (cg_cost / 8 + 1))
		cg_set_sure(t->sure * 2);
	else if (8 * sure * cost < allowed && t->sure > cg_least_sure())
		cg_set_sure(t->sure / 2);
	b->began = now;
	b->events_began = t->tree->events;
	b->timed = b->sure = 0;
	cg_begin_share();
}

/* cg_is_sure reports whether an event is timed in a pause, too: of a call that usually
 * takes long, or of which that is not known, and whatever is no call. */
static int cg_is_sure(uint32_t event)
{
	cg_adder *t = &cg_mine;
	uint64_t path = t->frame->path;
	if (event < CG_SITES) {
		path = t->nodes[(uint32_t)path].child;
		if (path >> 32 != event) {
			path = cg_find(cg_top(), event);
			if (path & (CG_NO_NODE | CG_JOINED))
				return 1;
			path &= CG_NODE;
		}
	} else if (event != ((uint32_t)CG_EXIT << 21 | (uint32_t)(path >> 32)))
		return 1;
	return t->nodes[(uint32_t)path].usual - 1 >= t->sure;
}

/* cg_book books the ticks up to an event that is timed. */
static void cg_book(uint64_t ticks, uint32_t top, int sure)
{
	cg_adder *t = &cg_mine;
	cg_bursts *b = &t->bursts;
	int always = sure && b->was_sure;
	if (t->open->counting || (b->paused && !always)) {
		t->counted[(size_t)top * 2 * CG_NODE_WORDS]++;
		t->tree->stretches[t->window % CG_WINDOWS] += ticks;
		t->open->counting = 0;
		return;
	}
	t->ticks[(size_t)top * CG_NODE_WORDS] += ticks;
	if (always || b->share == CG_ALL) /* it stands for none that is counted */
		return;
	int lasted = ticks >= t->sure;
	t->nodes[top].drawn[lasted]++;
	t->nodes[top].drawn_ticks[lasted] += ticks;
}

/* cg_turn goes from a burst to a pause, or from a pause to a burst, where an event was
 * the last of it. */
static void cg_turn(int sure)
{
	cg_adder *t = &cg_mine;
	cg_bursts *b = &t->bursts;
	b->was_sure = sure;
	b->timed++;
	b->sure += (uint64_t)sure;
	if (b->paused) {
		if (t->left)
			t->left--;
		else
			cg_begin_burst(cg_draw(CG_BURST));
		return;
	}
	if (--b->burst)
		return;
	b->burst = CG_BURST;
	/* the first window is long where samples are rare */
	if (b->share != CG_ALL)
		cg_begin_pause(cg_draw(cg_mean_pause(b->share)));
	else if (t->tree->events - b->events_began >= CG_LEARNT)
		cg_decide(t->last);
}

#endif
