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
 *
 * Numbers are those of the process, and are defined before they are used, again where a datagram did not come. Nothing
 * here waits for cg longer than a second, and whatever fails leaves the program as it is without.
 */
#include "layout.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cupti_activity.h"
#include "datagrams.h"
#include "names.h"
#include "nvtx.h"

#define PATHS (1u << 15) /* a number has 16 bits */
#define DEVICES 64
#define LAUNCHES (1u << 18) /* of which the path is kept until their activity is told */
#define DEEPEST 512

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
	uint32_t range, zero;
};

/* ONE has room for an activity, DEFINED for one with what it needs defined but its range. */
#define ONE (8 + sizeof(struct activity))
#define DEFINED (ONE + 12 + LONGEST_NAME + 12 + DEEPEST * sizeof(uint32_t) + 28)
_Static_assert(DEFINED + RANGE_ROOM <= DATAGRAM, "an activity and what it needs are in one datagram");

/* tell sends an activity, in one datagram with what it needs defined, under the lock. */
static void tell(const struct activity *a)
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
	put(5, a, sizeof *a, "", 0);
}

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
	tell(&a);
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
