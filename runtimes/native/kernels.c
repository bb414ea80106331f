/*
 * What runs on NVIDIA GPUs, and which call path launched it: the driver loads this library into the program when CUDA
 * starts (CUDA_INJECTION64_PATH), before any kernel runs. It asks CUPTI (CG_KERNELS_CUPTI names the file) for a record
 * of each kernel, copy and fill, and to be called where the program launches one. The thread's place in its tree of
 * sums (checkpoint/FORMAT.md; CG_KERNELS_CHANNEL names the channel) says then in which call it is.
 *
 * Out: datagrams to the socket that CG_KERNELS names, which kernels/reader.go reads. A datagram begins with "CGK1"
 * and the number of the process, u32 each. Then come records: kind and length of what follows, u32 each, and
 *
 *   1 text       the library's state, for people: why there are no records; empty: there will be
 *   2 device     u32 number in CUDA; u8[16] its UUID
 *   3 name       u32 number; text
 *   4 path       u32 number; u32 sites, the innermost first
 *   5 activity   u64 start, end (ns of CLOCK_MONOTONIC); u32 path (0: no function), name, device, kind (0 kernel,
 *                1 copy, 2 fill); u64 bytes; u32 range (0: none) in which it was launched, 0
 *   6 lost       u64 activities of which there is no record
 *   7 range      u32 number; u32 range around it (0: none), name
 *   8 ranged     u64 start, end; u32 range, thread
 *   9 launches   as 5, of launches in a row that are alike (launches.c): start and end are a guess, 0 is their number;
 *                u64 since when the first could run; u64 when all were over
 *
 * Numbers are those of the process, and are defined before they are used, again where a datagram did not come. Nothing
 * here waits for cg longer than a second, and whatever fails leaves the program as it is without.
 */
#include "layout.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "activities.h"
#include "cupti_activity.h"

#define LAUNCHES (1u << 18) /* of which the path is kept until their activity is told */

/* ---- CUPTI ---- */

static struct {
	int (*subscribe)(void **, void (*)(void *, int, uint32_t, const void *), void *);
	int (*enable_callback)(uint32_t, void *, int, uint32_t);
	int (*callback_name)(int, uint32_t, const char **);
	int (*register_callbacks)(void (*)(uint8_t **, size_t *, size_t *),
	                          void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
	int (*enable)(int);
	int (*next)(uint8_t *, size_t, void **);
	int (*dropped)(void *, uint32_t, size_t *);
	int (*flush)(uint32_t);
	int (*timestamps)(uint64_t (*)(void));
} cupti;

/* ---- launches ---- */

/* The paths and ranges of launches by their correlation ids: id << 32 | range << 16 | path. */
static _Atomic uint64_t launches[LAUNCHES];

static void called(void *user, int domain, uint32_t function, const void *data)
{
	(void)user, (void)domain, (void)function;
	const struct cg_callback *c = data;
	if (c->site != 0) /* the call ends */
		return;
	int e = errno;
	uint64_t of = (uint64_t)c->correlation << 32 | current() << 16 | place();
	atomic_store_explicit(&launches[c->correlation % LAUNCHES], of, memory_order_release);
	errno = e;
}

/* launch_of is the range and the path of a launch, 0 where they are not known. */
static uint32_t launch_of(uint32_t correlation)
{
	uint64_t of = atomic_load_explicit(&launches[correlation % LAUNCHES], memory_order_acquire);
	return of >> 32 == correlation ? (uint32_t)of : 0;
}

/* call_me asks to be called by each function that launches something, by its name: CUPTI numbers them. */
static int call_me(void *subscriber)
{
	int asked = 0;
	for (int domain = 1; domain <= 2; domain++)
		for (uint32_t function = 1; function < 4096; function++) {
			const char *name;
			if (cupti.callback_name(domain, function, &name) || !name)
				continue;
			if ((strstr(name, "Launch") || strstr(name, "Memcpy") || strstr(name, "Memset")) &&
			    !cupti.enable_callback(1, subscriber, domain, function))
				asked++;
		}
	return asked;
}

/* ---- activities ---- */

static const char *copies[] = {"copy",
                               "copy from host to device",
                               "copy from device to host",
                               "copy from host to array",
                               "copy from array to host",
                               "copy from array to array",
                               "copy from array to device",
                               "copy from device to array",
                               "copy within device",
                               "copy within host",
                               "copy between devices"};

/* take reads one record of CUPTI's, under the lock. */
static void take(const void *record)
{
	struct activity a = {0};
	uint32_t launch = 0;
	const struct cg_activity_kernel *k = record;
	const struct cg_activity_memcpy *c = record;
	const struct cg_activity_memset *s = record;
	switch (k->kind) {
	case CG_KIND_KERNEL:
	case CG_KIND_CONCURRENT_KERNEL:
		a.start = k->start, a.end = k->end, launch = launch_of(k->correlation), a.device = k->device;
		a.name = name_number(k->name ? k->name : "?", MOST_NAMES);
		break;
	case CG_KIND_MEMCPY:
		a.start = c->start, a.end = c->end, launch = launch_of(c->correlation), a.device = c->device, a.kind = 1;
		if (!launch)
			launch = launch_of(c->runtime_correlation);
		a.name = name_number(copies[c->copy < sizeof copies / sizeof *copies ? c->copy : 0], MOST_NAMES);
		a.bytes = c->bytes;
		break;
	case CG_KIND_MEMSET:
		a.start = s->start, a.end = s->end, launch = launch_of(s->correlation), a.device = s->device, a.kind = 2;
		a.name = name_number("fill", MOST_NAMES);
		a.bytes = s->bytes;
		break;
	default:
		return;
	}
	a.path = launch & 0xffff;
	a.range = launch >> 16;
	if (!a.start || a.end < a.start) { /* CUPTI does not know when it ran */
		lost++;
		return;
	}
	tell(5, &a, sizeof a);
}

static void wanted(uint8_t **buffer, size_t *size, size_t *records)
{
	*size = 1 << 20;
	*records = 0;
	if (posix_memalign((void **)buffer, 8, *size))
		*buffer = NULL, *size = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)size;
	void *record = NULL;
	size_t n = 0;
	pthread_mutex_lock(&lock);
	while (valid && !cupti.next(buffer, valid, &record))
		take(record);
	if (!cupti.dropped(context, stream, &n))
		lost += n;
	if (lost) {
		if (used + 16 > DATAGRAM)
			flush_locked();
		put(6, &lost, sizeof lost, "", 0);
		telling = lost;
		lost = 0;
	}
	flush_locked();
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static pthread_mutex_t flushes = PTHREAD_MUTEX_INITIALIZER; /* held by each flush */
static int ended;                                           /* under it: no flush follows */

/* flushing asks for what is complete, four times a second: CUPTI itself tells only buffers that are full. */
static void *flushing(void *arg)
{
	for (int stop = 0; !stop;) {
		usleep(250000);
		pthread_mutex_lock(&flushes);
		stop = ended;
		if (!stop)
			cupti.flush(0);
		pthread_mutex_unlock(&flushes);
	}
	return arg;
}

/* at_end asks for the last. After it CUPTI and CUDA may be taken down. */
static void at_end(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (to < 0 || pthread_mutex_timedlock(&flushes, &until))
		return;
	if (!ended)
		cupti.flush(1);
	ended = 1;
	pthread_mutex_unlock(&flushes);
}

/* start_flushing makes the thread for it, which takes no signal of the program's. */
static void start_flushing(void)
{
	pthread_t thread;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&thread, NULL, flushing, NULL))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the beginning ---- */

static const char *find_functions(void)
{
	const char *path = getenv("CG_KERNELS_CUPTI");
	void *lib = dlopen(path && *path ? path : "libcupti.so", RTLD_NOW);
	if (!lib)
		return dlerror();
	static const struct {
		const char *name;
		void *at;
	} all[] = {{"cuptiSubscribe", &cupti.subscribe}, {"cuptiEnableCallback", &cupti.enable_callback},
	           {"cuptiGetCallbackName", &cupti.callback_name},
	           {"cuptiActivityRegisterCallbacks", &cupti.register_callbacks}, {"cuptiActivityEnable", &cupti.enable},
	           {"cuptiActivityGetNextRecord", &cupti.next}, {"cuptiActivityGetNumDroppedRecords", &cupti.dropped},
	           {"cuptiActivityFlushAll", &cupti.flush},
	           {"cuptiActivityRegisterTimestampCallback", &cupti.timestamps}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!(*(void **)all[i].at = dlsym(lib, all[i].name)))
			return all[i].name;
	return NULL;
}

static void forked(void)
{
	forest = NULL; /* CUDA does not work in the child of a fork */
}

static void begin(void)
{
	open_socket();
	if (to < 0)
		return;
	const char *missing = find_functions();
	if (missing) {
		say("CUPTI cannot be used: %s", missing);
		return;
	}
	open_trees();
	void *subscriber;
	int code = cupti.subscribe(&subscriber, called, NULL);
	if (code) {
		say(code == 39 ? "another tool in the program uses CUPTI already (CUPTI %d)"
		               : "cuptiSubscribe failed (CUPTI %d)",
		    code);
		return;
	}
	if ((code = cupti.timestamps(now)) || (code = cupti.register_callbacks(wanted, completed)) ||
	    (code = cupti.enable(CG_KIND_CONCURRENT_KERNEL)) || (code = cupti.enable(CG_KIND_MEMCPY)) ||
	    (code = cupti.enable(CG_KIND_MEMSET))) {
		say("CUPTI records no activities (CUPTI %d)", code);
		return;
	}
	if (!call_me(subscriber)) {
		say("CUPTI names no function that launches kernels");
		return;
	}
	pthread_atfork(NULL, NULL, forked);
	start_flushing();
	atexit(at_end);
	say("%s", "");
}

/* The driver calls it (CUPTI's documentation, "CUDA injection"). */
int PUBLIC InitializeInjection(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, begin);
	return 1;
}
