/*
 * NVTX: the ranges that a program names (nvtxRangePushA and its like; torch.profiler's emit_nvtx, record_function under
 * it). The program's first call of NVTX loads the library that NVTX_INJECTION64_PATH names, and asks it for its
 * functions (nvtxTypes.h and nvtxInit.h of NVTX 3: "NvtxExportTableCallbacks"). kernels.c includes this file.
 *
 * A thread's ranges are in each other: a range has a number that stands for its name and for the range around it. One
 * of nvtxRangeStart is in none.
 */
#ifndef CG_NVTX_H
#define CG_NVTX_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "datagrams.h"
#include "names.h"

enum { NVTX_CALLBACKS = 1, NVTX_CORE = 1, NVTX_CORE2 = 5 };

struct nvtx_callbacks {
	size_t size;
	int (*table)(int module, void ****functions, unsigned *n);
};

/* nvtxEventAttributes_t */
struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type; /* 1 ASCII, 3 registered */
	const char *message;
};

#define RANGES (1u << 12)
#define DEEPEST_RANGE 64
#define LONGEST_RANGE 255 /* bytes of its name */
#define RANGE_ROOM (DEEPEST_RANGE * (12 + LONGEST_RANGE + 20)) /* what define_range sends at most */
#define STARTED 1024

/* The ranges that have numbers: a name in a range. What was sent is under the lock. */
static struct {
	uint32_t name, around;
	uint32_t sent; /* the generation */
} ranges[RANGES];
static uint32_t ranged;

static __thread struct {
	uint32_t number[DEEPEST_RANGE];
	uint64_t since[DEEPEST_RANGE];
	int depth;
} inside;

static struct {
	uint64_t since;
	uint32_t number;
} started[STARTED]; /* by nvtxRangeStart, under the lock */
static uint64_t last_started;

/* current is the number of the innermost range with one in which the calling thread is, 0 for none. */
static uint32_t current(void)
{
	int top = inside.depth < DEEPEST_RANGE ? inside.depth : DEEPEST_RANGE;
	while (top && !inside.number[top - 1])
		top--;
	return top ? inside.number[top - 1] : 0;
}

/* counter is the length of ", seq = N" or ", op_id = N", which emit_nvtx of torch writes behind the name of an
 * operation; 0 where the text does not begin with one. */
static size_t counter(const char *text)
{
	static const char *const all[] = {", seq = ", ", op_id = "};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		size_t n = strlen(all[i]), digits;
		if (!strncmp(text, all[i], n) && (digits = strspn(text + n, "0123456789")))
			return n + digits;
	}
	return 0;
}

/* plain is a range's name without counters, cut where it is long, under the lock. */
static const char *plain(const char *text)
{
	static char name[LONGEST_RANGE + 1];
	size_t n = 0, skip;
	for (; *text && n < LONGEST_RANGE; text += skip ? skip : 1)
		if (!(skip = counter(text)))
			name[n++] = *text;
	if (*text && ((unsigned char)*text & 0xc0) == 0x80) { /* no part of a character stays */
		while (n && ((unsigned char)name[n - 1] & 0xc0) == 0x80)
			n--;
		n -= n > 0;
	}
	name[n] = 0;
	return n ? name : "?";
}

/* range_number gives a name in a range a number, from 1, under the lock; 0 where there are too many. There are fewer
 * ranges than names, so kernels have some left. */
static uint32_t range_number(const char *text, uint32_t around)
{
	uint32_t name = name_number(plain(text ? text : ""), ranged < RANGES ? MOST_NAMES : 0);
	if (!name)
		return 0;
	for (uint32_t i = 0; i < ranged; i++)
		if (ranges[i].name == name && ranges[i].around == around)
			return i + 1;
	if (ranged == RANGES)
		return 0;
	ranges[ranged].name = name;
	ranges[ranged].around = around;
	return ++ranged;
}

/* range_room is how many bytes define_range will send, under the lock. */
static size_t range_room(uint32_t number)
{
	size_t n = 0;
	for (; number && ranges[number - 1].sent != generation; number = ranges[number - 1].around)
		n += 12 + LONGEST_RANGE + 20;
	return n;
}

/* define_range sends what a number means, and the ranges around it first, under the lock. */
static void define_range(uint32_t number)
{
	if (!number || ranges[number - 1].sent == generation)
		return;
	uint32_t name = ranges[number - 1].name, all[3] = {number, ranges[number - 1].around, name};
	define_range(all[1]);
	if (names[name - 1].sent < generation) {
		put(3, &name, sizeof name, names[name - 1].text, strnlen(names[name - 1].text, LONGEST_NAME));
		names[name - 1].sent = generation;
	}
	put(7, all, sizeof all, "", 0);
	ranges[number - 1].sent = generation;
}

/* tell_range sends a range that has ended, under the lock. */
static void tell_range(uint32_t number, uint64_t since)
{
	struct {
		uint64_t from, to;
		uint32_t number, thread;
	} r = {since, now(), number, (uint32_t)syscall(SYS_gettid)};
	if (to < 0 || !number)
		return;
	if (used + range_room(number) + 8 + sizeof r > DATAGRAM)
		flush_locked(); /* where that fails all is older, and the datagram empty */
	define_range(number);
	put(8, &r, sizeof r, "", 0);
}

static int nvtx_push(const char *name)
{
	int e = errno, depth = inside.depth++;
	if (depth < DEEPEST_RANGE) {
		uint32_t around;
		inside.number[depth] = 0;
		around = current();
		if (to >= 0) {
			pthread_mutex_lock(&lock);
			inside.number[depth] = range_number(name, around);
			pthread_mutex_unlock(&lock);
		}
		inside.since[depth] = now();
	}
	errno = e;
	return depth;
}

static int nvtx_pop(void)
{
	int e = errno;
	if (!inside.depth)
		return -2; /* NVTX_NO_PUSH_POP_TRACKING */
	int depth = --inside.depth;
	if (depth < DEEPEST_RANGE && to >= 0) {
		pthread_mutex_lock(&lock);
		tell_range(inside.number[depth], inside.since[depth]);
		pthread_mutex_unlock(&lock);
	}
	errno = e;
	return depth;
}

static uint64_t nvtx_start(const char *name)
{
	int e = errno;
	pthread_mutex_lock(&lock);
	uint64_t id = ++last_started;
	started[id % STARTED].number = range_number(name, 0);
	started[id % STARTED].since = now();
	pthread_mutex_unlock(&lock);
	errno = e;
	return id;
}

static void nvtx_end(uint64_t id)
{
	int e = errno;
	pthread_mutex_lock(&lock);
	if (id && id <= last_started && last_started - id < STARTED) {
		tell_range(started[id % STARTED].number, started[id % STARTED].since);
		started[id % STARTED].number = 0;
	}
	pthread_mutex_unlock(&lock);
	errno = e;
}

/* wide is a text of wchar_t, as far as it is ASCII. */
static const char *wide(const int32_t *text, char *to, size_t n)
{
	size_t i = 0;
	for (; text && text[i] && i + 1 < n; i++)
		to[i] = text[i] < 128 ? (char)text[i] : '?';
	to[i] = 0;
	return to;
}

static const char *message(const struct nvtx_attributes *a)
{
	static __thread char text[256];
	if (!a || a->size < sizeof *a || !a->message)
		return "?";
	if (a->message_type == 2)
		return wide((const void *)a->message, text, sizeof text);
	return a->message_type == 1 || a->message_type == 3 ? a->message : "?";
}

static int push_ex(const struct nvtx_attributes *a) { return nvtx_push(message(a)); }
static uint64_t start_ex(const struct nvtx_attributes *a) { return nvtx_start(message(a)); }

static int push_wide(const int32_t *w)
{
	char text[256];
	return nvtx_push(wide(w, text, sizeof text));
}

static uint64_t start_wide(const int32_t *w)
{
	char text[256];
	return nvtx_start(wide(w, text, sizeof text));
}

static int domain_push(void *d, const struct nvtx_attributes *a) { return (void)d, push_ex(a); }
static int domain_pop(void *d) { return (void)d, nvtx_pop(); }
static uint64_t domain_start(void *d, const struct nvtx_attributes *a) { return (void)d, start_ex(a); }
static void domain_end(void *d, uint64_t id) { (void)d, nvtx_end(id); }
static void *domain_register(void *d, const char *text) { return (void)d, strdup(text ? text : "?"); }

static void *domain_register_wide(void *d, const int32_t *w)
{
	char text[256];
	return domain_register(d, wide(w, text, sizeof text));
}

static void *domain_create(const void *name) { return (void *)name; /* not NULL, which is the default domain */ }

/* NVTX calls it, with a function that gives its tables. 1: it is taken. */
int PUBLIC InitializeInjectionNvtx2(const void *(*export_table)(uint32_t))
{
	static const struct {
		int module;
		unsigned at; /* NvtxCallbackIdCore, NvtxCallbackIdCore2 */
		void *function;
	} all[] = {{NVTX_CORE, 4, start_ex},          {NVTX_CORE, 5, nvtx_start},       {NVTX_CORE, 6, start_wide},
	           {NVTX_CORE, 7, nvtx_end},          {NVTX_CORE, 8, push_ex},          {NVTX_CORE, 9, nvtx_push},
	           {NVTX_CORE, 10, push_wide},        {NVTX_CORE, 11, nvtx_pop},        {NVTX_CORE2, 2, domain_start},
	           {NVTX_CORE2, 3, domain_end},       {NVTX_CORE2, 4, domain_push},     {NVTX_CORE2, 5, domain_pop},
	           {NVTX_CORE2, 10, domain_register}, {NVTX_CORE2, 11, domain_register_wide},
	           {NVTX_CORE2, 12, domain_create},   {NVTX_CORE2, 13, domain_create}};
	const struct nvtx_callbacks *c = export_table ? export_table(NVTX_CALLBACKS) : NULL;
	if (!c || c->size < sizeof *c || !c->table)
		return 0;
	open_socket();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		void ***functions = NULL;
		unsigned n = 0;
		if (c->table(all[i].module, &functions, &n) && functions && all[i].at < n && functions[all[i].at])
			*functions[all[i].at] = all[i].function;
	}
	return 1;
}

#endif
