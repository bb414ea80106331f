/*
 * What is under way on the streams of CUDA, as launches and synchronisations show it. launches.c includes this file.
 *
 * A stream runs what was launched on it in order. A mark says that all up to some launch was over at a moment: a
 * synchronisation gives one, and so does an event of CUDA's that is recorded behind a launch, with the GPU's own time.
 * Between two marks each launch has run, one after the other; how long each took is a guess, the same for all.
 *
 * Events cost the program time. They are recorded while that, queries included, is less than 5 ms and a 50th of the
 * time since the first launch.
 */
#ifndef CG_STREAMS_H
#define CG_STREAMS_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "activities.h"

#define STREAMS 256
#define CONTEXTS 16
#define ITEMS 4096 /* of a stream between two marks */
#define MARKS 64
#define NOT_READY 600

/* What of the driver is called here. */
static struct {
	int (*event_create)(void **, unsigned), (*event_record)(void *, void *), (*event_record_own)(void *, void *);
	int (*event_query)(void *), (*event_elapsed)(float *, void *, void *);
	int (*context)(void **), (*device)(int *), (*primary)(int, unsigned *, int *);
} driver;

static _Atomic int captures; /* captures of streams into graphs that are under way: events are left alone meanwhile */
static int without_events;   /* the driver has none, or they failed */

/* item is launches in a row that are alike. */
struct item {
	uint32_t path, name, range, kind, count;
	uint64_t since, bytes;
};

static struct stream {
	void *context, *handle; /* NULL: the entry is free */
	uint64_t serial;        /* of the stream: an entry may be used again */
	uint32_t thread;        /* of its own default stream; else 0 */
	uint32_t device;
	int gone;          /* it was destroyed */
	uint64_t launched; /* items since the beginning */
	uint64_t over;     /* of these, those that were told */
	uint64_t marked;   /* of these, those with an event behind them */
	uint64_t known;    /* when those that were told were over */
	uint64_t looked;   /* for events that are over */
	uint32_t room, first;
	struct item *items; /* a ring from over to launched */
	struct {
		void *event;
		uint64_t upto, recorded;
	} marks[MARKS];
	uint32_t oldest, waiting; /* of marks */
} *streams;

/* A context's clock: an event, and between which moments of CLOCK_MONOTONIC it was. */
static struct {
	void *context, *event;
	uint64_t least, most;
} clocks[CONTEXTS];

static void *spare[STREAMS]; /* events */
static void *spare_of[STREAMS];
static pthread_mutex_t streaming = PTHREAD_MUTEX_INITIALIZER; /* all of the above; before the lock of datagrams.h */

static uint64_t begun, spent; /* ns: the first launch; what events and queries of them took */
static uint64_t serials;

static struct item *item_at(const struct stream *s, uint64_t n) { return &s->items[n % s->room]; }

/* forget counts all that is not told as lost. */
static void forget(struct stream *s)
{
	uint64_t n = 0;
	for (uint64_t i = s->over; i < s->launched; i++)
		n += item_at(s, i)->count;
	pthread_mutex_lock(&lock);
	lost += n;
	pthread_mutex_unlock(&lock);
	s->over = s->marked = s->launched;
}

/* done tells the items up to one, which were over at a moment. Each launch is said to have taken the same: as long as
 * it can be with all in order, none before it was launched, and the last over then. */
static void done(struct stream *s, uint64_t upto, uint64_t at)
{
	double each = 0, of = 0;
	if (upto <= s->over)
		return;
	at = at > s->known ? at : s->known;
	for (uint64_t i = upto; i-- > s->over;) {
		const struct item *one = item_at(s, i);
		uint64_t since = one->since > s->known ? one->since : s->known;
		of += one->count;
		double most = at > since ? (double)(at - since) / of : 0;
		each = i + 1 == upto || most < each ? most : each;
	}
	uint64_t from = s->known;
	pthread_mutex_lock(&lock);
	for (uint64_t i = s->over; i < upto; i++) {
		const struct item *one = item_at(s, i);
		uint64_t since = one->since > s->known ? one->since : s->known;
		from = one->since > from ? one->since : from;
		since = since < at ? since : at;
		from = from < at ? from : at;
		uint64_t until = from + (uint64_t)(each * one->count);
		until = until < at && i + 1 < upto ? until : at;
		struct activity guess = {from,      until,      one->path,  one->name, s->device,
		                         one->kind, one->bytes, one->range, one->count};
		struct flight f = {guess, since, at};
		tell(9, &f.guess, sizeof f);
		from = until;
	}
	pthread_mutex_unlock(&lock);
	s->over = upto;
	s->marked = s->marked > upto ? s->marked : upto;
	s->known = at;
}

static void give_back(void *context, void *event)
{
	for (int i = 0; i < STREAMS; i++)
		if (!spare[i]) {
			spare[i] = event;
			spare_of[i] = context;
			return;
		}
}

static void *take_event(void *context)
{
	for (int i = 0; i < STREAMS; i++)
		if (spare[i] && spare_of[i] == context) {
			void *event = spare[i];
			spare[i] = NULL;
			return event;
		}
	return NULL;
}

#define UNSURE 50000 /* ns by which the clocks may move apart before that shows */

/* clock_of is the place of a context's clock, or of a free one; the last where there are too many. */
static int clock_of(void *context)
{
	int i = 0;
	while (i < CONTEXTS - 1 && clocks[i].context != context)
		i++;
	if (clocks[i].context != context)
		for (i = 0; i < CONTEXTS - 1 && clocks[i].context;)
			i++;
	return i;
}

/* forget_context leaves alone what goes with a context: its events. Another may get the same handle. */
static void forget_context(void *context)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (clocks[i].context == context)
			clocks[i].context = clocks[i].event = NULL;
	for (int i = 0; i < STREAMS; i++)
		if (spare[i] && spare_of[i] == context)
			spare[i] = NULL;
	for (int i = 0; streams && i < STREAMS; i++)
		if (streams[i].context == context) {
			forget(&streams[i]);
			streams[i].waiting = 0;
			streams[i].gone = 1;
		}
}

/* when is the moment of an event that is over, by its context's clock. It was not before it was recorded, and is over
 * now: so the clock becomes exact. *own is set where the event is the clock's from now on. */
static uint64_t when(void *context, void *event, uint64_t recorded, int *own)
{
	uint64_t t = now();
	float ms = 0;
	int i = clock_of(context);
	*own = 0;
	if (clocks[i].context != context || driver.event_elapsed(&ms, clocks[i].event, event) || ms < 0) {
		if (clocks[i].context)
			give_back(clocks[i].context, clocks[i].event);
		clocks[i].context = context, clocks[i].event = event, clocks[i].least = recorded, clocks[i].most = t;
		*own = 1;
		return t;
	}
	uint64_t ns = (uint64_t)((double)ms * 1e6);
	uint64_t least = recorded > ns ? recorded - ns : 0, most = t > ns ? t - ns : 0;
	if (least > clocks[i].most)
		clocks[i].least = least, clocks[i].most = least + UNSURE;
	else if (most < clocks[i].least)
		clocks[i].least = most - UNSURE, clocks[i].most = most;
	else {
		clocks[i].least = least > clocks[i].least ? least : clocks[i].least;
		clocks[i].most = most < clocks[i].most ? most : clocks[i].most;
	}
	uint64_t wide = clocks[i].most - clocks[i].least;
	uint64_t at = (wide > 20 * UNSURE ? clocks[i].most : clocks[i].least + wide / 2) + ns;
	if (ns > 10000000000u) { /* a float of ms is exact to 1 us up to here */
		give_back(context, clocks[i].event);
		clocks[i].event = event, clocks[i].least += ns, clocks[i].most += ns;
		*own = 1;
	}
	return at < recorded ? recorded : at > t ? t : at;
}

/* begin_clock gives a context its clock before the first launch in it: an event on a stream without work is over at
 * once. It waits for that a tenth of a millisecond at most, without locks. */
static void begin_clock(void *context, void *handle, int own_default)
{
	void *event = NULL;
	uint64_t from = now();
	pthread_mutex_lock(&streaming);
	int needed = !without_events && !captures && clocks[clock_of(context)].context != context;
	pthread_mutex_unlock(&streaming);
	if (!needed || driver.event_create(&event, 0) ||
	    (own_default ? driver.event_record_own : driver.event_record)(event, handle))
		return;
	int code;
	while ((code = driver.event_query(event)) == NOT_READY && now() < from + 100000)
		;
	uint64_t until = now();
	pthread_mutex_lock(&streaming);
	int i = clock_of(context);
	spent += until - from;
	if (!code && !clocks[i].context)
		clocks[i].context = context, clocks[i].event = event, clocks[i].least = from, clocks[i].most = until;
	else
		give_back(context, event);
	pthread_mutex_unlock(&streaming);
}

/* harvest takes the marks of events that are over. */
static void harvest(struct stream *s)
{
	while (s->waiting && !captures) {
		void *event = s->marks[s->oldest].event;
		uint64_t t = now();
		int code = without_events ? 1 : driver.event_query(event), own = 0;
		spent += now() - t;
		if (code == NOT_READY)
			return;
		uint64_t upto = s->marks[s->oldest].upto, recorded = s->marks[s->oldest].recorded;
		s->oldest = (s->oldest + 1) % MARKS;
		s->waiting--;
		if (code) {
			without_events = 1; /* what went wrong does so for all: the context is lost */
			continue;
		}
		done(s, upto, when(s->context, event, recorded, &own));
		if (!own)
			give_back(s->context, event);
	}
}

/* gone_stream is the entry of a stream that was destroyed, after all that is over was told; NULL where there is none.
 * What no event will tell is lost. */
static struct stream *gone_stream(void)
{
	struct stream *unmarked = NULL;
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &streams[i];
		if (!s->gone)
			continue;
		harvest(s);
		if (s->over == s->launched && !s->waiting)
			return s;
		if (!unmarked && !s->waiting)
			unmarked = s;
	}
	if (unmarked)
		forget(unmarked);
	return unmarked;
}

/* stream_of is the entry of a stream; NULL where there are too many. */
static struct stream *stream_of(void *context, void *handle, uint32_t thread, int make)
{
	struct stream *unused = NULL;
	if (!streams && !(streams = calloc(STREAMS, sizeof *streams)))
		return NULL;
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &streams[i];
		if (s->context == context && s->handle == handle && s->thread == thread && !s->gone && context)
			return s;
		if (!unused && (!s->context || (s->gone && s->over == s->launched && !s->waiting)))
			unused = s;
	}
	int device = 0;
	if (!make || driver.device(&device) || !(unused || (unused = gone_stream())))
		return NULL;
	struct item *items = unused->items;
	uint32_t room = unused->room;
	memset(unused, 0, sizeof *unused);
	unused->items = items, unused->room = room, unused->serial = ++serials;
	if (!items && (unused->items = malloc(64 * sizeof *items)))
		unused->room = 64;
	unused->context = context, unused->handle = handle, unused->thread = thread, unused->device = (uint32_t)device;
	return unused->items ? unused : NULL;
}

/* grow makes room for an item. */
static int grow(struct stream *s)
{
	if (s->launched - s->over < s->room)
		return 1;
	struct item *more = s->room < ITEMS ? malloc(2 * s->room * sizeof *more) : NULL;
	if (!more) {
		forget(s);
		return s->room > 0;
	}
	for (uint64_t i = s->over; i < s->launched; i++)
		more[i % (2 * s->room)] = *item_at(s, i);
	free(s->items);
	s->items = more;
	s->room *= 2;
	return 1;
}

/* begin_item adds a launch to a stream. Those that are alike are one, unless an event stands between them. */
static void begin_item(struct stream *s, const struct item *one)
{
	struct item *last = s->launched > s->over && s->launched > s->marked ? item_at(s, s->launched - 1) : NULL;
	if (last && last->path == one->path && last->name == one->name && last->range == one->range &&
	    last->kind == one->kind) {
		last->count++;
		last->bytes += one->bytes;
	} else if (grow(s))
		*item_at(s, s->launched++) = *one;
}

/* unlaunched takes the last launch back. */
static void unlaunched(struct stream *s)
{
	pthread_mutex_lock(&streaming);
	if (s->launched > s->over && s->launched > s->marked && !--item_at(s, s->launched - 1)->count)
		s->launched--;
	pthread_mutex_unlock(&streaming);
}

/* mark records an event behind what was launched, where that does not cost too much. It is called without locks, as
 * CUDA may wait in it. */
static void mark(struct stream *s, int own_default)
{
	pthread_mutex_lock(&streaming);
	uint64_t t = now(), upto = s->launched, serial = s->serial;
	void *event = NULL, *context = s->context, *handle = s->handle;
	int may = !without_events && !captures && !s->gone && s->marked < upto && s->waiting < MARKS &&
	          spent < 5000000 + (t - begun) / 50;
	if (may && !(event = take_event(context)) && driver.event_create(&event, 0))
		event = NULL, without_events = 1;
	if (event)
		s->marked = upto; /* nothing more is added to the last item */
	pthread_mutex_unlock(&streaming);
	if (!event)
		return;
	int code = (own_default ? driver.event_record_own : driver.event_record)(event, handle);
	pthread_mutex_lock(&streaming);
	spent += now() - t;
	if (!code && s->waiting < MARKS && s->serial == serial && s->over <= upto) {
		uint32_t i = (s->oldest + s->waiting++) % MARKS;
		s->marks[i].event = event, s->marks[i].upto = upto, s->marks[i].recorded = t;
	} else
		give_back(context, event);
	pthread_mutex_unlock(&streaming);
}

#endif
