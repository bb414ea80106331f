/*
 * The record of a program that runs without cg (codegreen_alone.h). When it ends by
 * exit(3), or by a return from main, it prints one block on standard output:
 *
 *   --- CODEGREEN_RESULT_START ---
 *   {"measurements": [{"checkpoint_id": ..., "timestamp": ..., "joules": ..., "watts": ...}]}
 *   --- CODEGREEN_RESULT_END ---
 *
 * timestamp is CLOCK_MONOTONIC in nanoseconds; joules is the energy that the processor
 * packages used since the start of the program, watts their power between the last two
 * readings, both null where /sys/class/powercap cannot be read (kernel documentation:
 * power/powercap/powercap.rst). Of several processes the first one prints.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "codegreen_alone.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LIMIT 1000000u /* events that are kept; later ones are counted as dropped */
#define PERIOD 1000000 /* ns between two readings of the counters */
#define MOST 5000.0    /* watts that no package draws: a counter that wraps says less */
#define ZONES 64

typedef struct {
	int64_t at;
	int32_t site; /* less than 0 for an exit */
	uint32_t call;
	long thread;
	double joules, watts;
} event;

typedef struct {
	const char *name; /* of a place, such as a line: that of its function, a tab, and what the block says of it */
	uint64_t calls;   /* or how often a call came there */
	int64_t time;     /* of a place: ns */
} place;

typedef struct {
	uint32_t site, place; /* 0 for none */
} frame;

static event *events;
static place *places;
static unsigned count, room, dropped, known, placed;
static int finished;
static char busy;       /* lock over all above */
static __thread int in; /* this thread is in an event: a signal handler's are not recorded */
static __thread frame *stack;
static __thread unsigned depth;
static __thread int64_t since; /* the innermost call is in its place */

static struct {
	char energy[128];
	uint64_t last, range; /* microjoules */
} zones[ZONES];
static int zone_count;
static int64_t read_at;
static double total, power;

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void lock(void)
{
	while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(void) { __atomic_clear(&busy, __ATOMIC_RELEASE); }

static int number(const char *path, uint64_t *to)
{
	FILE *f = fopen(path, "re");
	unsigned long long n;
	if (!f)
		return 0;
	int is = fscanf(f, "%llu", &n) == 1;
	fclose(f);
	if (is)
		*to = n;
	return is;
}

/* add_zone adds a counter of a package or of memory, if it can be read. */
static void add_zone(const char *name)
{
	char path[sizeof zones[0].energy], text[32] = "";
	snprintf(path, sizeof path, "/sys/class/powercap/%.64s/name", name);
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	int is = fgets(text, sizeof text, f) && (!strncmp(text, "package", 7) || !strncmp(text, "dram", 4));
	fclose(f);
	snprintf(path, sizeof path, "/sys/class/powercap/%.64s/max_energy_range_uj", name);
	if (!is || zone_count == ZONES || !number(path, &zones[zone_count].range))
		return;
	snprintf(zones[zone_count].energy, sizeof path, "/sys/class/powercap/%.64s/energy_uj", name);
	if (number(zones[zone_count].energy, &zones[zone_count].last))
		zone_count++;
}

__attribute__((constructor(101))) static void begin(void)
{
	char pid[24];
	int e = errno;
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	const char *reporter = getenv("CODEGREEN_REPORTER");
	finished = reporter && strcmp(reporter, pid);
	if (!finished)
		setenv("CODEGREEN_REPORTER", pid, 1);
	DIR *d = opendir("/sys/class/powercap");
	for (struct dirent *entry; d && (entry = readdir(d));)
		if (!strncmp(entry->d_name, "intel-rapl:", 11))
			add_zone(entry->d_name);
	if (d)
		closedir(d);
	read_at = now();
	errno = e;
}

/* read_counters brings total and power up to a moment, once in a period. */
static void read_counters(int64_t at)
{
	int64_t past = at - read_at;
	double used = 0;
	if (!zone_count || past < PERIOD)
		return;
	for (int i = 0; i < zone_count; i++) {
		uint64_t value, last = zones[i].last;
		if (!number(zones[i].energy, &value))
			continue; /* the next reading has it */
		uint64_t more = value >= last ? value - last : value + zones[i].range + 1 - last;
		if (value >= last || (double)more * 1e3 <= MOST * (double)past) /* else it was reset */
			used += (double)more;
		zones[i].last = value;
	}
	power = used * 1e3 / (double)past;
	total += used * 1e-6;
	read_at = at;
}

/* spend gives the place of the innermost call its time until a moment. */
static void spend(int64_t at)
{
	if (depth && stack[depth - 1].place)
		places[stack[depth - 1].place].time += at - since;
	since = at;
}

static void note(int64_t at, int32_t site)
{
	if (count == room) {
		unsigned more = room ? 2 * room : 4096;
		void *bigger = count < LIMIT ? realloc(events, (more > LIMIT ? LIMIT : more) * sizeof *events) : NULL;
		if (!bigger) {
			dropped++;
			return;
		}
		events = (event *)bigger;
		room = more > LIMIT ? LIMIT : more;
	}
	read_counters(at);
	event e = {at, site, (uint32_t)places[site < 0 ? -site : site].calls, syscall(SYS_gettid), total, power};
	events[count++] = e;
}

/* know makes room for a site; 0 where there is no memory. */
static int know(uint32_t site, const char *name)
{
	if (site >= known) {
		unsigned more = site + 256;
		place *bigger = (place *)realloc((void *)places, more * sizeof *places);
		if (!bigger)
			return 0;
		memset((void *)(bigger + known), 0, (more - known) * sizeof *bigger);
		places = bigger;
		known = more;
	}
	places[site].name = name;
	return 1;
}

enum { FRAMES = 1 << 16 }; /* of a thread; what is deeper is not recorded */

unsigned codegreen_alone_enter(unsigned site, const char *name)
{
	if (in || finished)
		return 0;
	int e = errno;
	unsigned is = 0;
	in = 1;
	lock();
	if (!stack)
		stack = (frame *)malloc(FRAMES * sizeof *stack);
	if (stack && depth < FRAMES && know(site, name)) {
		frame of = {site, 0};
		int64_t at = now();
		spend(at);
		places[site].calls++;
		stack[depth++] = of;
		note(at, (int32_t)site);
		is = depth;
	}
	unlock();
	in = 0;
	errno = e;
	return is;
}

/* left ends the calls above so many: longjmp(3) may have left them. */
static void left(unsigned calls)
{
	while (depth > calls) {
		int64_t at = now();
		spend(at);
		note(at, -(int32_t)stack[--depth].site);
	}
}

void codegreen_alone_exit(const unsigned *calls)
{
	if (!*calls || in || finished || *calls > depth)
		return;
	int e = errno;
	in = 1;
	lock();
	left(*calls - 1);
	unlock();
	in = 0;
	errno = e;
}

void codegreen_alone_places(unsigned first, const char *const *names)
{
	in = 1;
	lock();
	for (; *names; names++, first++)
		if (know(first, *names) && strchr(*names, '\t'))
			placed = 1;
	unlock();
	in = 0;
}

void codegreen_alone_place(const unsigned *call, unsigned to)
{
	if (!*call || in || finished || *call > depth || to >= known)
		return;
	int e = errno;
	in = 1;
	lock();
	left(*call); /* what it called by longjmp(3) is over */
	spend(now());
	places[to].calls++;
	stack[depth - 1].place = to;
	unlock();
	in = 0;
	errno = e;
}

/* quote writes a name as it stands in a string of JSON. */
static void quote(const char *s)
{
	for (; *s && *s != '\t'; s++)
		if ((unsigned char)*s >= ' ' && *s != '"' && *s != '\\')
			putchar(*s);
		else
			printf("\\u%04x", (unsigned char)*s);
}

static void print(const event *e)
{
	int32_t site = e->site < 0 ? -e->site : e->site;
	printf("{\"checkpoint_id\": \"%s:", e->site < 0 ? "exit" : "enter");
	quote(places[site].name);
	printf(":%d#inv_%u_t%lx\", \"timestamp\": %lld, ", site, e->call, e->thread, (long long)e->at);
	if (zone_count)
		printf("\"joules\": %.6f, \"watts\": %.3f}", e->joules, e->watts);
	else
		printf("\"joules\": null, \"watts\": null}");
}

static void print_places(void)
{
	const char *comma = "";
	printf(", \"places\": [");
	for (unsigned i = 0; i < known; i++) {
		const char *told = places[i].name ? strchr(places[i].name, '\t') : NULL;
		if (!told)
			continue;
		printf("%s{\"function\": \"", comma);
		quote(places[i].name);
		printf("\", %s, \"count\": %llu, \"time_ns\": %lld}", told + 1, (unsigned long long)places[i].calls,
			(long long)places[i].time);
		comma = ", ";
	}
	printf("]");
}

__attribute__((destructor(101))) static void finish(void)
{
	char pid[24];
	const char *reporter = getenv("CODEGREEN_REPORTER");
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	if (finished || !reporter || strcmp(reporter, pid)) /* a process that was forked */
		return;
	lock();
	left(0);
	finished = 1;
	if (count) {
		printf("--- CODEGREEN_RESULT_START ---\n{\"measurements\": [");
		for (unsigned i = 0; i < count; i++) {
			if (i)
				printf(", ");
			print(&events[i]);
		}
		printf("]");
		if (dropped)
			printf(", \"dropped\": %u", dropped);
		if (placed)
			print_places();
		printf("}\n--- CODEGREEN_RESULT_END ---\n");
		fflush(stdout);
	}
	unlock();
}
