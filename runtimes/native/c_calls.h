/*
 * Checkpoints of functions of C and C++ (languages/c): the numbers of a unit's
 * sites, and calls that begin and end.
 *
 * In: the numbers' table of each unit, and calls. Out: events in the channel
 * (channel.h). Where no channel is open, all numbers stay 0, and nothing of it is
 * called again.
 *
 * They are in a program of C itself (c.c), and in the libraries of other
 * languages, which hand theirs out (c_host.h). A program of C defines
 * CG_C_FUNCTION before it includes this, how its functions are declared, and
 * cg_begin_units, which opens the channel unless it is open.
 *
 * A function that begins gets a token, which is 0 if its call is not recorded:
 *
 *   calls on the thread's stack, this one included << 32 | site
 *
 * The calls that longjmp(3) leaves have no end of their own. The end of a call, or
 * its going on after setjmp(3), ends those above it on the stack first, so the
 * stack is right again however they were left.
 */
#ifndef CG_C_CALLS_H
#define CG_C_CALLS_H

#include "channel.h"

#include <stdlib.h>

#ifndef CG_C_FUNCTION
#define CG_C_FUNCTION static
static void cg_begin_units(void) {} /* the host has opened the channel, or there is none */
#endif

/* A signal handler may interrupt an event, and have checkpoints itself: these are
 * not recorded. What is stored is where the event's caller has its stack. */
CG_TLS char *volatile cg_within;

#ifndef CG_ARRIVING /* what the host does before a function of C has an event */
#define CG_ARRIVING
#endif

#define CG_CALLER ((char *)__builtin_dwarf_cfa())
#define CG_BARRIER __asm__ volatile("" ::: "memory")

static inline void __attribute__((always_inline)) cg_begin_event(char *caller)
{
	cg_within = caller;
	CG_BARRIER;
	CG_ARRIVING;
}

static inline void __attribute__((always_inline)) cg_end_event(void)
{
	CG_BARRIER;
	cg_within = NULL;
}

/* __codegreen_unit gives the sites of a unit their numbers. records are texts that
 * end with 0, in pairs: the path of a file and the lines of its sites
 * (instrument.SiteLines). An empty path is behind the last. Where there are no
 * numbers left, they stay 0. */
CG_C_FUNCTION void __codegreen_unit(uint32_t *numbers, const char *records)
{
	cg_begin_units();
	if (!cg_head)
		return;
	while (*records) {
		cg_part names[3] = {{"", 0}, {records, strlen(records)}, {NULL, 0}};
		const char *lines = records + names[1].size + 1;
		names[2] = (cg_part){lines, strlen(lines)};
		uint32_t count = 0;
		for (const char *line = lines; *line; line++)
			count += *line == 'S' && (line == lines || line[-1] == '\n');
		int64_t base = cg_number(names, count);
		for (uint32_t i = 0; i < count; i++, numbers++)
			if (base >= 0)
				*numbers = (uint32_t)base + 1 + i;
		records = lines + names[2].size + 1;
	}
}

/* cg_calls is how many calls are on the thread's stack. 0 also where nothing is
 * added up. */
static inline uint32_t cg_calls(void) { return (uint32_t)(cg_mine.frame - cg_mine.frames) + cg_mine.deep; }

/* cg_token is the token of the innermost call, of a site, where each call has a frame. */
static inline uint64_t __attribute__((always_inline)) cg_token(uint32_t site)
{
	_Static_assert(sizeof(cg_frame) == 16, "calls << 32 is the place of the frame in bytes << 28");
	return (uint64_t)((char *)cg_mine.frame - (char *)cg_mine.frames) << 28 | site;
}

/* cg_is_innermost reports whether a token is that of the innermost call. */
static inline int __attribute__((always_inline)) cg_is_innermost(uint64_t token)
{
	return cg_token(cg_site()) == token;
}

/* cg_left ends the calls above so many on the stack: they were left. */
static void __attribute__((noinline, cold)) cg_left(uint32_t calls)
{
	while (cg_calls() > calls)
		cg_event((uint32_t)CG_EXIT << 21 | cg_site());
}

/* cg_interrupts reports whether this event interrupts another one. One that was
 * left by siglongjmp(3) from a handler is over: its caller is not above this one's. */
static int __attribute__((noinline, cold)) cg_interrupts(char *caller)
{
	stack_t on;
	if (caller < cg_within || (sigaltstack(NULL, &on) == 0 && on.ss_flags & SS_ONSTACK))
		return 1;
	cg_within = NULL;
	return 0;
}

/* A checkpoint that is not done at once goes on in another function. The call is the last thing that
 * the first one does, so the compiler makes a jump of it, and the first has no registers to save. A clock that
 * was read is passed on: what a call takes at least must not depend on who records it. */

/* cg_entered ends the event that has begun a call: its token. */
static uint64_t cg_entered(uint32_t site)
{
	uint64_t token = (uint64_t)cg_calls() << 32 | site;
	cg_end_event();
	return token;
}

/* cg_entered_quickly is the same where each call has a frame. */
static inline uint64_t __attribute__((always_inline)) cg_entered_quickly(uint32_t site)
{
	uint64_t token = cg_token(site);
	cg_end_event();
	return token;
}

/* cg_enter_counted begins a call in a pause. */
static uint64_t __attribute__((noinline)) cg_enter_counted(uint32_t site)
{
	if (!cg_add_counted(site))
		cg_event_elsewhere(site);
	return cg_entered(site);
}

/* cg_enter_slowly begins a call at a time. */
static uint64_t __attribute__((noinline)) cg_enter_slowly(uint64_t now, uint32_t site)
{
	if (!cg_add_timed(now, site))
		cg_event_elsewhere(site);
	return cg_entered(site);
}

/* cg_enter_timed begins a call in a burst, or where there are no pauses. */
static uint64_t __attribute__((noinline)) cg_enter_timed(uint32_t site)
{
	uint64_t now = cg_cycles();
	if (!cg_time_enter(now, site))
		return cg_enter_slowly(now, site);
	return cg_entered_quickly(site);
}

/* cg_enter_within begins a call where another event has begun on this thread. */
static uint64_t __attribute__((noinline, cold)) cg_enter_within(uint32_t site)
{
	char *caller = CG_CALLER;
	if (cg_interrupts(caller))
		return 0;
	cg_begin_event(caller);
	return cg_mine.left ? cg_enter_counted(site) : cg_enter_timed(site);
}

CG_C_FUNCTION uint64_t __codegreen_enter(uint32_t site)
{
	if (__builtin_expect(cg_within != NULL, 0))
		return cg_enter_within(site);
	cg_begin_event(CG_CALLER);
	if (!cg_mine.left)
		return cg_enter_timed(site);
	if (!cg_count_enter(site))
		return cg_enter_counted(site);
	return cg_entered_quickly(site);
}

/* cg_exit_slowly ends a call, and those above it, which were left. */
static void __attribute__((noinline)) cg_exit_slowly(uint64_t token)
{
	uint32_t site = (uint32_t)token, calls = (uint32_t)(token >> 32);
	if (calls != cg_calls() && calls) {
		if (cg_calls() < calls)
			goto gone; /* it was ended with one below it */
		cg_left(calls);
	}
	cg_event((uint32_t)CG_EXIT << 21 | site);
gone:
	cg_end_event();
}

/* cg_exit_at ends the innermost call at a time. */
static void __attribute__((noinline)) cg_exit_at(uint64_t now, uint32_t site)
{
	uint32_t event = (uint32_t)CG_EXIT << 21 | site;
	if (!cg_add_timed(now, event))
		cg_event_elsewhere(event);
	cg_end_event();
}

/* cg_exit_timed ends a call in a burst, or where there are no pauses. */
static void __attribute__((noinline)) cg_exit_timed(uint64_t token)
{
	uint32_t site = (uint32_t)token;
	if (!cg_mine.quick || !cg_is_innermost(token)) {
		cg_exit_slowly(token);
		return;
	}
	uint64_t now = cg_cycles();
	if (cg_time_exit(now, site))
		cg_end_event();
	else
		cg_exit_at(now, site);
}

/* cg_exit_within ends a call where another event has begun on this thread. */
static void __attribute__((noinline, cold)) cg_exit_within(uint64_t token)
{
	char *caller = CG_CALLER;
	if (cg_interrupts(caller))
		return;
	cg_begin_event(caller);
	cg_exit_slowly(token);
}

CG_C_FUNCTION void __codegreen_exit(uint64_t token)
{
	if (__builtin_expect(cg_within != NULL, 0)) {
		cg_exit_within(token);
		return;
	}
	cg_begin_event(CG_CALLER);
	if (!cg_mine.left)
		cg_exit_timed(token);
	else if (cg_is_innermost(token) && cg_count_exit(cg_site()))
		cg_end_event();
	else
		cg_exit_slowly(token);
}

/* __codegreen_back is what setjmp(3) returns: value. If it returns again, the calls
 * above that of the token were left. */
CG_C_FUNCTION int __codegreen_back(uint64_t token, int value)
{
	uint32_t calls = (uint32_t)(token >> 32);
	char *caller = CG_CALLER;
	if (!value || !calls || (cg_within && cg_interrupts(caller)))
		return value;
	cg_begin_event(caller);
	cg_left(calls);
	cg_end_event();
	return value;
}

/* __codegreen_suspend takes the call of a coroutine off the thread's stack. 0 if it is not recorded, or is not on
 * it: then there is nothing to resume. */
CG_C_FUNCTION int __codegreen_suspend(uint64_t token)
{
	uint32_t calls = (uint32_t)(token >> 32);
	char *caller = CG_CALLER;
	if (cg_within && cg_interrupts(caller))
		return 0;
	if (calls && cg_calls() < calls)
		return 0;
	cg_begin_event(caller);
	if (calls)
		cg_left(calls);
	cg_event((uint32_t)CG_SUSPEND << 21 | (uint32_t)token);
	cg_end_event();
	return 1;
}

/* __codegreen_resume puts the call of a coroutine onto the stack of the thread that runs it: its new token. */
CG_C_FUNCTION uint64_t __codegreen_resume(uint32_t site)
{
	char *caller = CG_CALLER;
	if (cg_within && cg_interrupts(caller))
		return 0;
	cg_begin_event(caller);
	cg_event((uint32_t)CG_RESUME << 21 | site);
	return cg_entered(site);
}

/* __codegreen_place says that the call of a token goes to a place in its code. It is not recorded where that call is
 * not the innermost that has a frame: in a stack that is too deep, and on a thread that has only a part of the call's
 * code (OpenMP). */
CG_C_FUNCTION void __codegreen_place(uint64_t token, uint32_t place)
{
	char *caller = CG_CALLER;
	if (__builtin_expect(cg_within != NULL, 0) && cg_interrupts(caller))
		return;
	cg_begin_event(caller);
	if (place && cg_mine.frame && cg_is_innermost(token))
		cg_event((uint32_t)CG_PLACE << 21 | place);
	cg_end_event();
}

/* __codegreen_instance gives an instance of a template a number: record is the path of its file and, behind a 0,
 * the line of the template's site (instrument.SiteLines). The compiler's name of the function, such as
 * "T most(T) [with T = int]", tells what it is an instance of. Where it tells nothing, or there is no number
 * left, it has that of the template. */
CG_C_FUNCTION uint32_t __codegreen_instance(uint32_t *number, uint32_t site, const char *record, const char *name)
{
	const char *line = record + strlen(record) + 1, *with = strstr(name, " [with "), *of = with ? with + 7 : NULL;
	for (const char *p = name; !of && (p = strstr(p, " [")); p += 2)
		if (p[2 + strcspn(p + 2, " :<>()[]*&")] == ' ' && strstr(p, " = "))
			of = p + 2;
	char *text = of ? malloc(strlen(line) + strlen(of) + 3) : NULL;
	uint32_t got = site;
	if (text) {
		stpcpy(stpcpy(stpcpy(text, line), " ["), of);
		cg_part names[3] = {{"", 0}, {record, strlen(record)}, {text, strlen(text)}};
		int64_t base = cg_number(names, 1);
		if (base >= 0)
			got = (uint32_t)base + 1;
		free(text);
	}
	__atomic_store_n(number, got, __ATOMIC_RELAXED);
	return got;
}

/* The functions, as units ask for them. */
typedef struct {
	uint64_t (*enter)(uint32_t site);
	void (*exit)(uint64_t token);
	int (*back)(uint64_t token, int value);
	void (*unit)(uint32_t *numbers, const char *records);
	int (*suspend)(uint64_t token);
	uint64_t (*resume)(uint32_t site);
	uint32_t (*instance)(uint32_t *number, uint32_t site, const char *record, const char *name);
	void (*place)(uint64_t token, uint32_t place);
} cg_c_functions;

static const cg_c_functions cg_c_own = {__codegreen_enter, __codegreen_exit, __codegreen_back, __codegreen_unit,
	__codegreen_suspend, __codegreen_resume, __codegreen_instance, __codegreen_place};

#endif
