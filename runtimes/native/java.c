/*
 * Checkpoints for Java 17 and later: the natives of class R in package cg$,
 * built without jni.h, so that no JDK is needed to compile them. What is used
 * of JNI is the order of its function table, which is part of its
 * specification (docs.oracle.com/en/java/javase/17/docs/specs/jni).
 *
 * A native is a leaf: it calls nothing of the JVM, which checks before the
 * call that there is stack for it.
 *
 * Those named JavaCritical are what Java 17 calls from compiled code if it is
 * told to (runtimes.JavaFlags). Its thread is then not marked as being outside
 * of Java, which saves a memory barrier behind the clock, half of what an event
 * costs, but while it is there no collection of garbage can begin: these only do
 * what takes no time, and say so where there is no room.
 */
#include "c_host.h"
#include "channel.h"

#include <stdlib.h>

#define NATIVE(name) __attribute__((visibility("default"))) name

enum { ENTER = 0, EXIT = 1, SUSPEND = 2, RESUME = 3 };
enum { GET_BYTES = 200, GET_INTS = 203 /* Get<Type>ArrayRegion */, REGISTER_NATIVES = 215,
       SET_LONGS = 212 /* SetLongArrayRegion */ };

typedef void **const *Env; /* a pointer to the table of functions */
typedef void (*Region)(Env, void *array, int32_t start, int32_t length, void *to);

static void event(uint32_t kind, uint32_t site) { cg_event(kind << 21 | (site & (CG_SITES - 1))); }

/* The frames that the reader has on this thread's stack of a virtual thread:
 * that thread may go on elsewhere before this one can tell. */
typedef struct {
	uint64_t id; /* of the virtual thread, 0 for none */
	uint32_t *sites;
	int32_t depth, room;
} Shown;

CG_TLS Shown shown;
static pthread_key_t shown_key;

static void hide(void)
{
	while (shown.depth > 0)
		event(SUSPEND, shown.sites[--shown.depth]);
	shown.id = 0;
}

/* The threads that count their events in Java (Counts.java), by their number in Java: a
 * thread that finds its number has set it. */
#define KNOWN 4096u

typedef struct {
	_Atomic int64_t thread; /* 0 for none */
	cg_adder *adder;
} Known;

static Known known[KNOWN], nobody;
CG_TLS Known *mine;

/* has reports whether the virtual machine was started with a flag. */
static int has(const char *flag)
{
	char text[4096]; /* cg's flags come first */
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	for (const char *at = text; at < text + n; at += strlen(at) + 1)
		if (!strcmp(at, flag))
			return 1;
	return 0;
}

/* Where a call of a native costs little (runtimes.JavaFlags), this library counts as fast as compiled Java does,
 * and much faster than Java that is not compiled yet. */
static int calls_quickly(void) { return has("-XX:+CriticalJNINatives") || has("-XX:+UseSystemMemoryBarrier"); }

static int laid; /* Counts knows where it finds what */

/* The virtual machine's own way to open a package to unnamed modules (OpenJDK, jvm.h). */
extern void JVM_AddModuleExportsToAllUnnamed(Env, void *module, void *name) __attribute__((weak));

/* lay(base, name, at): open a package to Counts, and say where it finds what. False
 * where it cannot, or nothing is counted, or not in Java. */
uint8_t NATIVE(Java_cg_00024_R_lay)(Env env, void *class, void *base, void *name, void *at)
{
	(void)class;
	if (!cg_head->budget || !cg_sums || cg_words || !JVM_AddModuleExportsToAllUnnamed || calls_quickly())
		return 0;
	const int64_t places[] = {
		(int64_t)(uintptr_t)known, (int64_t)(uintptr_t)&cg_head->epoch,
		offsetof(cg_adder, left), offsetof(cg_adder, sure), offsetof(cg_adder, frame),
		offsetof(cg_adder, frames_end), offsetof(cg_adder, nodes), offsetof(cg_adder, counted),
		offsetof(cg_adder, touched), offsetof(cg_adder, open), offsetof(cg_adder, tree),
		offsetof(cg_adder, epoch), offsetof(cg_adder, last),
	};
	JVM_AddModuleExportsToAllUnnamed(env, base, name);
	typedef void (*Set)(Env, void *array, int32_t start, int32_t length, const int64_t *from);
	((Set)(*env)[SET_LONGS])(env, at, 0, sizeof places / sizeof places[0], places);
	laid = 1;
	return 1;
}

/* know(thread): this thread has that number in Java. */
void NATIVE(Java_cg_00024_R_know)(Env env, void *class, int64_t thread)
{
	(void)env, (void)class;
	Known *k = &known[thread & (KNOWN - 1)];
	int64_t none = 0;
	if (mine)
		return;
	if (!atomic_compare_exchange_strong(&k->thread, &none, -1)) {
		mine = &nobody; /* two threads of one place: this one calls the library */
		return;
	}
	k->adder = &cg_mine;
	mine = k;
	pthread_setspecific(shown_key, (void *)1);
	atomic_store(&k->thread, thread);
}

static void carrier_end(void *unused)
{
	(void)unused;
	if (mine)
		atomic_store(&mine->thread, 0);
	mine = NULL;
	hide();
	free(shown.sites);
	shown.sites = NULL;
	shown.room = 0;
}

static int has_room(int32_t n)
{
	if (n <= shown.room)
		return 1;
	uint32_t *more = realloc(shown.sites, ((size_t)n + 64) * 2 * sizeof *more);
	if (!more)
		return 0;
	if (!shown.sites)
		pthread_setspecific(shown_key, (void *)1);
	shown.sites = more;
	shown.room = (n + 64) * 2;
	return 1;
}

/* asks is what enter gives of an event that is recorded: 2 where the thread is in a pause and has not told Counts its
 * number, else 0. */
static inline int32_t asks(uint32_t kind) { return kind == ENTER && laid && cg_mine.left && !mine ? 2 : 0; }

/* The natives that may be critical give 1 where event(kind, site) is to be called, else what asks says. What counts
 * an event by itself calls nothing, and so has no registers to save. */
#define TWICE(name, kind)                                                                                   \
	static int32_t __attribute__((noinline)) at_once_##name(int32_t site)                                 \
	{                                                                                                   \
		return cg_event_at_once(kind << 21 | ((uint32_t)site & (CG_SITES - 1))) ? asks(kind) : 1;   \
	}                                                                                                   \
	int32_t NATIVE(JavaCritical_cg_00024_R_##name)(int32_t site)                                        \
	{                                                                                                   \
		return !laid && cg_mine.left && cg_count_##name((uint32_t)site) ? 0 : at_once_##name(site);   \
	}                                                                                                   \
	static int32_t __attribute__((noinline)) any_##name(int32_t site)                                   \
	{                                                                                                   \
		event(kind, (uint32_t)site);                                                                \
		return asks(kind);                                                                          \
	}                                                                                                   \
	int32_t NATIVE(Java_cg_00024_R_##name)(Env env, void *class, int32_t site)                          \
	{                                                                                                   \
		(void)env, (void)class;                                                                     \
		return !laid && cg_mine.left && cg_count_##name((uint32_t)site) ? 0 : any_##name(site);     \
	}

TWICE(enter, ENTER)
TWICE(exit, EXIT)

/* place(place): the innermost call goes to a place in its code. Such an event is never counted alone. */
int32_t NATIVE(JavaCritical_cg_00024_R_place)(int32_t place)
{
	return !cg_event_at_once(CG_PLACE << 21 | ((uint32_t)place & (CG_SITES - 1)));
}

int32_t NATIVE(Java_cg_00024_R_place)(Env env, void *class, int32_t place)
{
	(void)env, (void)class;
	event(CG_PLACE, (uint32_t)place);
	return 0;
}

void NATIVE(Java_cg_00024_R_event)(Env env, void *class, int32_t kind, int32_t site)
{
	(void)env, (void)class;
	event((uint32_t)kind, (uint32_t)site);
}

/* on(id, kind, site): an event of the virtual thread id. False, and nothing
 * done, if this thread does not show its frames. */
uint8_t NATIVE(Java_cg_00024_R_on)(Env env, void *class, int64_t id, int32_t kind, int32_t site)
{
	(void)env, (void)class;
	if (shown.id != (uint64_t)id)
		return 0;
	if (kind == ENTER && has_room(shown.depth + 1))
		shown.sites[shown.depth++] = (uint32_t)site;
	for (int32_t i = shown.depth; kind == EXIT && i-- > 0;)
		if (shown.sites[i] == (uint32_t)site) {
			shown.depth = i; /* frames above it end with it */
			break;
		}
	event((uint32_t)kind, (uint32_t)site);
	return 1;
}

/* show(id, sites, places, depth): the frames of the virtual thread id take the place of
 * those that this thread shows. Each goes on in the place of its code in which it was, 0 for none. */
void NATIVE(Java_cg_00024_R_show)(Env env, void *class, int64_t id, void *sites, void *places, int32_t depth)
{
	(void)class;
	hide();
	shown.id = (uint64_t)id;
	if (depth == 0 || !has_room(depth))
		return;
	((Region)(*env)[GET_INTS])(env, sites, 0, depth, shown.sites);
	for (; shown.depth < depth; shown.depth++) {
		int32_t place = 0;
		((Region)(*env)[GET_INTS])(env, places, shown.depth, 1, &place);
		event(RESUME, shown.sites[shown.depth]);
		if (place)
			cg_go_on((uint32_t)place & (CG_SITES - 1));
	}
}

typedef struct {
	const char *name, *signature;
	void *function;
} Method; /* JNINativeMethod */

/* Without it the first call of each looks for its symbol, in Java: at the end of the
 * stack that is too much. */
static void link_natives(Env env, void *class)
{
	static const Method methods[] = {
		{"enter", "(I)I", (void *)Java_cg_00024_R_enter},
		{"exit", "(I)I", (void *)Java_cg_00024_R_exit},
		{"place", "(I)I", (void *)Java_cg_00024_R_place},
		{"event", "(II)V", (void *)Java_cg_00024_R_event},
		{"on", "(JII)Z", (void *)Java_cg_00024_R_on},
		{"know", "(J)V", (void *)Java_cg_00024_R_know},
		{"show", "(J[I[II)V", (void *)Java_cg_00024_R_show},
	};
	typedef int32_t (*Register)(Env, void *class, const Method *methods, int32_t count);
	((Register)(*env)[REGISTER_NATIVES])(env, class, methods, sizeof methods / sizeof methods[0]);
}

/* What an event costs more than the library takes for it, in nanoseconds: the virtual machine's call of
 * a native, and what compiled Java counts slower than C. Only
 * code that is compiled could measure them; the first calls of a program are not. */
enum { CALL_NANOS = 3, COUNT_NANOS = 1 };

static uint64_t nanos(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* calibrate measures what events cost, and adds what they cost in Java. */
static void calibrate(void)
{
	uint64_t tick = cg_tick(), from = nanos();
	cg_calibrate(cg_event_alone, NULL, 1);
	double took = (double)(nanos() - from), sixteenths = took > 0 ? (double)(cg_tick() - tick) * 16 / took : 0;
	if (cg_cost)
		cg_cost += (uint32_t)(CALL_NANOS * sixteenths);
	if (cg_counted_cost)
		cg_counted_cost += (uint32_t)((calls_quickly() ? CALL_NANOS : COUNT_NANOS) * sixteenths);
}

/* open(path): map the channel at a path that ends with 0. 0, or an errno. */
int32_t NATIVE(Java_cg_00024_R_open)(Env env, void *class, void *path, int32_t length)
{
	char name[4097];
	if (length <= 0 || length > (int32_t)sizeof name)
		return ENAMETOOLONG;
	((Region)(*env)[GET_BYTES])(env, path, 0, length, name);
	name[length - 1] = 0;
	/* Keys end in the order of their making, mostly: the frames first. */
	pthread_key_create(&shown_key, carrier_end);
	link_natives(env, class);
	cg_kind = CG_WARMS;
	int32_t e = cg_open(name);
	if (!e && !cg_cost)
		calibrate();
	if (!e)
		cg_host_units();
	return e;
}
