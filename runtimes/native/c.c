/*
 * Checkpoints for C and C++: an object that is linked into a program whose
 * functions have them (languages/c).
 *
 * In: the numbers' table of each unit, and calls that begin and end. Out: sums in
 * the channel that CG_CHANNEL names (channel.h). In a program that is run without
 * that variable, or whose channel cannot be opened, all numbers stay 0, and
 * nothing of it is called again.
 *
 * A function that begins gets a token, which is 0 if its call is not recorded:
 *
 *   calls on the thread's stack, this one included << 32 | site
 *
 * The calls that longjmp(3) leaves have no end of their own. The end of a call, or
 * its going on after setjmp(3), ends those above it on the stack first, so the
 * stack is right again however they were left.
 */
#include "channel.h"

#include <stdlib.h>

#define PUBLIC __attribute__((visibility("default")))

/* A signal handler may interrupt an event, and have checkpoints itself: these are
 * not recorded. What is stored is the frame in which the event was. */
CG_TLS char *volatile cg_within;

#define CG_BARRIER __asm__ volatile("" ::: "memory")

static pthread_once_t cg_once = PTHREAD_ONCE_INIT;

static void cg_begin_program(void)
{
	const char *path = secure_getenv("CG_CHANNEL");
	int e = errno;
	if (path && *path && !cg_open(path) && !cg_cost)
		cg_calibrate(cg_event_alone, NULL, 1);
	errno = e;
}

/* __codegreen_unit gives the sites of a unit their numbers. records are texts that
 * end with 0, in pairs: the path of a file and the lines of its sites
 * (instrument.SiteLines). An empty path is behind the last. Where there are no
 * numbers left, they stay 0. */
void PUBLIC __codegreen_unit(uint32_t *numbers, const char *records)
{
	pthread_once(&cg_once, cg_begin_program);
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

/* cg_left ends the calls above so many on the stack: they were left. */
static void __attribute__((noinline, cold)) cg_left(uint32_t calls)
{
	while (cg_calls() > calls)
		cg_event((uint32_t)CG_EXIT << 21 | cg_site());
}

/* cg_interrupts reports whether this event interrupts another one. One that was
 * left by siglongjmp(3) from a handler is over: its frame lies below. */
static int __attribute__((noinline, cold)) cg_interrupts(char *frame)
{
	stack_t on;
	if (frame <= cg_within || (sigaltstack(NULL, &on) == 0 && on.ss_flags & SS_ONSTACK))
		return 1;
	cg_within = NULL;
	return 0;
}

uint64_t PUBLIC __codegreen_enter(uint32_t site)
{
	char *frame = __builtin_frame_address(0);
	if (__builtin_expect(cg_within != NULL, 0) && cg_interrupts(frame))
		return 0;
	cg_within = frame;
	CG_BARRIER;
	cg_event(site & (CG_SITES - 1));
	uint64_t token = (uint64_t)cg_calls() << 32 | site;
	CG_BARRIER;
	cg_within = NULL;
	return token;
}

void PUBLIC __codegreen_exit(uint64_t token)
{
	uint32_t site = (uint32_t)token & (CG_SITES - 1), calls = (uint32_t)(token >> 32);
	char *frame = __builtin_frame_address(0);
	if (__builtin_expect(cg_within != NULL, 0) && cg_interrupts(frame))
		return;
	cg_within = frame;
	CG_BARRIER;
	if (__builtin_expect(calls != cg_calls(), 0) && calls) {
		if (cg_calls() < calls)
			goto gone; /* it was ended with one below it */
		cg_left(calls);
	}
	cg_event((uint32_t)CG_EXIT << 21 | site);
gone:
	CG_BARRIER;
	cg_within = NULL;
}

/* __codegreen_back is what setjmp(3) returns: value. If it returns again, the calls
 * above that of the token were left. */
int PUBLIC __codegreen_back(uint64_t token, int value)
{
	uint32_t calls = (uint32_t)(token >> 32);
	char *frame = __builtin_frame_address(0);
	if (!value || !calls || (cg_within && cg_interrupts(frame)))
		return value;
	cg_within = frame;
	CG_BARRIER;
	cg_left(calls);
	CG_BARRIER;
	cg_within = NULL;
	return value;
}
