/*
 * What a program launches on NVIDIA GPUs, in which call path, and when it was over, without CUPTI: cg loads this
 * library into the program before all others (LD_PRELOAD). It stands between the program and the functions of CUDA's
 * driver that launch and wait, however these are found: by linking, by dlsym, or by cuGetProcAddress, as CUDA's
 * runtime does (which is also within programs and libraries that are linked with it statically). Each function calls
 * the driver's with the arguments as they came, and gives its answer. streams.h says when what was launched was
 * over.
 *
 * It tells cg what kernels.c does, by the same datagrams. What it cannot see, such as launches of the driver itself, is
 * not told.
 *
 * A process that never calls one of these functions has only a longer dlsym.
 */
#include "layout.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "activities.h"
#include "streams.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define ABSENT 3 /* CUDA_ERROR_NOT_INITIALIZED: there is no driver */

/* ---- dlsym ---- */

#if defined __GLIBC__ && (defined __x86_64__ || defined __aarch64__)

/* Before glibc 2.34 these are in libdl, which a program that has no use for CUDA may be without. */
#pragma weak dlopen
#pragma weak dlerror
#pragma weak dlvsym

/* A dlsym of this library looks for our functions, and jumps to the true one otherwise: what RTLD_NEXT means depends on
 * who calls. */
void *(*cg_true_dlsym)(void *, const char *) HIDDEN;
void *cg_own_symbol(void *handle, const char *name) __attribute__((visibility("hidden"), used));

#if defined __x86_64__
__asm__(".text\n.p2align 4\n.globl dlsym\n.type dlsym,@function\ndlsym:\n.cfi_startproc\n"
        "push %rdi\n.cfi_adjust_cfa_offset 8\npush %rsi\n.cfi_adjust_cfa_offset 8\n"
        "sub $8,%rsp\n.cfi_adjust_cfa_offset 8\n"
        "call cg_own_symbol\n"
        "add $8,%rsp\n.cfi_adjust_cfa_offset -8\npop %rsi\n.cfi_adjust_cfa_offset -8\n"
        "pop %rdi\n.cfi_adjust_cfa_offset -8\n"
        "test %rax,%rax\njz 1f\nret\n"
        "1: jmp *cg_true_dlsym(%rip)\n.cfi_endproc\n.size dlsym,.-dlsym\n");
#else
__asm__(".text\n.p2align 4\n.globl dlsym\n.type dlsym,%function\ndlsym:\n"
        "stp x29,x30,[sp,#-32]!\nstp x0,x1,[sp,#16]\nbl cg_own_symbol\nldp x29,x30,[sp]\n"
        "cbnz x0,1f\nldp x0,x1,[sp,#16]\nadd sp,sp,#32\n"
        "adrp x16,cg_true_dlsym\nldr x16,[x16,:lo12:cg_true_dlsym]\nbr x16\n"
        "1: add sp,sp,#32\nret\n.size dlsym,.-dlsym\n");
#endif

static void *no_symbol(void *handle, const char *name) { return (void)handle, (void)name, NULL; }

static void *true_symbol(void *handle, const char *name)
{
	if (!cg_true_dlsym) {
		static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
		void *found = NULL;
		for (size_t i = 0; dlvsym && !found && i < sizeof versions / sizeof *versions; i++)
			found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
		if (found)
			*(void **)&cg_true_dlsym = found;
		else
			cg_true_dlsym = no_symbol;
	}
	return cg_true_dlsym(handle, name);
}

static int has_dlopen(void) { return dlopen != NULL; }

#else /* programs that are linked with the driver are seen, and no others */

static void *true_symbol(void *handle, const char *name) { return dlsym(handle, name); }
static int has_dlopen(void) { return 1; }

#endif

static void *cuda(void)
{
	static void *_Atomic library;
	if (!library && has_dlopen())
		library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return library;
}

/* ---- the functions ---- */

/* How a function is called: the place of its stream among its arguments, -1 for the default stream; that of the number
 * of what it moves, with the size of each, -1 for none. */
struct shape {
	int stream, count, each, kind; /* kind as in an activity */
	const char *label;
	int waits; /* all is over when it returns */
};

/* The default stream is that of the context, or of the thread. The driver may have a function twice, as dlsym and as
 * cuGetProcAddress give it. */
enum { PLAIN, OWN_DEFAULT, OTHER_PLAIN, OTHER_OWN_DEFAULT, WAYS };

struct function {
	const char *name;
	void *own[WAYS];
	void *_Atomic real[WAYS];
	struct shape shape;
};

typedef int (*six)(long, long, long, long, long, long);

static __thread int within; /* a function of these: what the driver calls meanwhile is not the program's */

static int launch(struct function *f, int way, const long *v);
static six real_of(struct function *f, int way);
static struct function functions[];

#define WAY(visible, name, place, way)                              \
	int visible name(long a, long b, long c, long d, long e, long f) \
	{                                                                \
		const long v[6] = {a, b, c, d, e, f};                        \
		return launch(&functions[place], way, v);                    \
	}

/* Each function that has six arguments at most, none of them a floating-point number, and whose stream is one of them:
 * its name, that with a default stream of the thread's own, and its shape. */
#define LAUNCHES(X)                                                                                            \
	X(cuLaunchKernelEx, cuLaunchKernelEx_ptsz, -2, -1, 0, 0, "?", 0)                                           \
	X(cuGraphLaunch, cuGraphLaunch_ptsz, 1, -1, 0, 0, "CUDA graph", 0)                                         \
	X(cuMemcpyAsync, cuMemcpyAsync_ptsz, 3, 2, 1, 1, "copy", 0)                                                \
	X(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, 3, 2, 1, 1, "copy from host to device", 0)              \
	X(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, 3, 2, 1, 1, "copy from device to host", 0)              \
	X(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, 3, 2, 1, 1, "copy within device", 0)                    \
	X(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, 5, 4, 1, 1, "copy between devices", 0)                        \
	X(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz, 1, -1, 0, 1, "copy", 0)                                     \
	X(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz, 1, -1, 0, 1, "copy", 0)                                     \
	X(cuMemsetD8Async, cuMemsetD8Async_ptsz, 3, 2, 1, 2, "fill", 0)                                            \
	X(cuMemsetD16Async, cuMemsetD16Async_ptsz, 3, 2, 2, 2, "fill", 0)                                          \
	X(cuMemsetD32Async, cuMemsetD32Async_ptsz, 3, 2, 4, 2, "fill", 0)                                          \
	X(cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz, 5, -1, 0, 2, "fill", 0)                                       \
	X(cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz, 5, -1, 0, 2, "fill", 0)                                     \
	X(cuMemcpy, cuMemcpy_ptds, -1, 2, 1, 1, "copy", 0)                                                         \
	X(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, -1, 2, 1, 1, "copy from host to device", 1)                       \
	X(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, -1, 2, 1, 1, "copy from device to host", 1)                       \
	X(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, -1, 2, 1, 1, "copy within device", 0)                             \
	X(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, -1, -1, 0, 1, "copy", 0)                                              \
	X(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, -1, -1, 0, 1, "copy", 0)                            \
	X(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, -1, -1, 0, 1, "copy", 0)                                              \
	X(cuMemsetD8_v2, cuMemsetD8_v2_ptds, -1, 2, 1, 2, "fill", 0)                                               \
	X(cuMemsetD16_v2, cuMemsetD16_v2_ptds, -1, 2, 2, 2, "fill", 0)                                             \
	X(cuMemsetD32_v2, cuMemsetD32_v2_ptds, -1, 2, 4, 2, "fill", 0)

#define PLACE(name, own, ...) AT_##name,
enum { LAUNCHES(PLACE) AT_cuLaunchKernel, AT_cuLaunchCooperativeKernel, WAITS };

#define ALL_WAYS(name, own, ...)                            \
	WAY(PUBLIC, name, AT_##name, PLAIN)                     \
	WAY(PUBLIC, own, AT_##name, OWN_DEFAULT)                \
	WAY(HIDDEN, name##_other, AT_##name, OTHER_PLAIN)       \
	WAY(HIDDEN, own##_other, AT_##name, OTHER_OWN_DEFAULT)
LAUNCHES(ALL_WAYS)

/* ---- launches ---- */

/* The names of functions that run on the GPU, by their handles; under streaming. */
#define HANDLES (1u << 14)
static struct {
	const void *handle;
	uint32_t name;
} handles[HANDLES];

static void name_handle(const void *handle, const char *name)
{
	int e = errno;
	pthread_mutex_lock(&lock);
	uint32_t number = name_number(name ? name : "?", MOST_NAMES);
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&streaming);
	for (uint32_t i = (uint32_t)((uintptr_t)handle >> 4) * 2654435761u, k = 0; number && k < 64; k++, i++)
		if (!handles[i % HANDLES].handle || handles[i % HANDLES].handle == handle) {
			handles[i % HANDLES].handle = handle;
			handles[i % HANDLES].name = number;
			break;
		}
	pthread_mutex_unlock(&streaming);
	errno = e;
}

/* named is the number of a function's name, under streaming; 0 where it is not known. */
static uint32_t named_handle(const void *handle)
{
	for (uint32_t i = (uint32_t)((uintptr_t)handle >> 4) * 2654435761u, k = 0; k < 64; k++, i++)
		if (handles[i % HANDLES].handle == handle)
			return handles[i % HANDLES].name;
		else if (!handles[i % HANDLES].handle)
			break;
	return 0;
}

/* asked is the name that the driver tells of a function (CUDA 12.3 and later) that was found in a way that is not seen
 * here; NULL where it does not. */
static const char *asked(const void *handle)
{
	static int (*_Atomic function)(const char **, const void *), (*_Atomic kernel)(const char **, const void *);
	const char *name = NULL;
	if (!function && !kernel && cuda()) {
		function = (int (*)(const char **, const void *))true_symbol(cuda(), "cuFuncGetName");
		kernel = (int (*)(const char **, const void *))true_symbol(cuda(), "cuKernelGetName");
	}
	if (function && !function(&name, handle) && name)
		return name;
	return kernel && !kernel(&name, handle) ? name : NULL;
}

static pid_t owner; /* the process that may launch, 0 for none: CUDA does not work in the child of a fork */

/* find_driver finds what streams.h calls. */
static void find_driver(void)
{
	static const struct {
		const char *name;
		void *at;
	} all[] = {{"cuEventCreate", &driver.event_create},        {"cuEventRecord", &driver.event_record},
	           {"cuEventRecord_ptsz", &driver.event_record_own}, {"cuEventQuery", &driver.event_query},
	           {"cuEventElapsedTime_v2", &driver.event_elapsed}, {"cuEventElapsedTime", &driver.event_elapsed},
	           {"cuCtxGetCurrent", &driver.context},           {"cuCtxGetDevice", &driver.device},
	           {"cuDevicePrimaryCtxGetState", &driver.primary}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!*(void **)all[i].at)
			*(void **)all[i].at = true_symbol(cuda(), all[i].name);
	if (!driver.event_record_own)
		driver.event_record_own = driver.event_record;
	without_events |= !driver.event_create || !driver.event_record || !driver.event_query || !driver.event_elapsed;
	const char *wish = getenv("CG_KERNELS_EVENTS");
	without_events |= wish && !strcmp(wish, "no");
}

/* tell_lost sends how many launches are not told. */
static void tell_lost(void)
{
	pthread_mutex_lock(&lock);
	if (lost) {
		if (used + 16 > DATAGRAM)
			flush_locked();
		put(6, &lost, sizeof lost, "", 0);
		telling += lost;
		lost = 0;
	}
	pthread_mutex_unlock(&lock);
}

/* rest tells at the program's end what is over, and what is not as if it were. */
static void rest(void)
{
	if (!owner)
		return;
	within = 1;
	pthread_mutex_lock(&streaming);
	for (int i = 0; streams && i < STREAMS; i++)
		if (streams[i].context) {
			harvest(&streams[i]);
			done(&streams[i], streams[i].launched, now());
		}
	pthread_mutex_unlock(&streaming);
	tell_lost();
	send_rest();
	within = 0;
}

static void forked(void)
{
	owner = 0;
	pthread_mutex_init(&streaming, NULL); /* which another thread may have held */
}

static void start(void)
{
	open_socket();
	if (to < 0 || !cuda())
		return;
	find_driver();
	if (!driver.context || !driver.device) {
		say("the driver of CUDA has no contexts");
		return;
	}
	open_trees();
	begun = now();
	pthread_atfork(NULL, NULL, forked);
	atexit(rest);
	owner = getpid();
	say("%s", "");
}

/* ours tells whether what the calling thread does with CUDA is to be told. */
static int ours(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (within)
		return 0;
	int e = errno;
	pthread_once(&once, start);
	int is = owner && to >= 0;
	errno = e;
	return is;
}

/* thread_of is the thread whose default stream is meant; 0 for that of the context, or another stream. */
static uint32_t thread_of(void **stream, int way)
{
	int own = *stream == (void *)2 || (!*stream && way & OWN_DEFAULT);
	if (*stream == (void *)1 || *stream == (void *)2)
		*stream = NULL;
	return own ? (uint32_t)syscall(SYS_gettid) : 0;
}

/* captured tells whether what is launched on a stream becomes a part of a graph, in place of being run. */
static int captured(void *stream, int way)
{
	int status = 0;
	if (!captures)
		return 0;
	int (*asks)(void *, int *) = (int (*)(void *, int *))true_symbol(cuda(), way & OWN_DEFAULT
	                                                                     ? "cuStreamIsCapturing_ptsz"
	                                                                     : "cuStreamIsCapturing");
	return asks && (asks(stream, &status) || status);
}

/* before_launch notes what is about to be launched, on the stream that it gives; NULL where it is not to be told. */
static struct stream *before_launch(const struct shape *shape, int way, void *handle, const void *kernel,
                                    uint64_t bytes)
{
	void *context = NULL, *stream = handle;
	if (!ours() || captured(handle, way) || driver.context(&context) || !context)
		return NULL;
	int e = errno;
	struct item one = {.path = place(), .range = current(), .kind = (uint32_t)shape->kind, .count = 1, .bytes = bytes};
	pthread_mutex_lock(&streaming);
	one.name = kernel ? named_handle(kernel) : 0;
	pthread_mutex_unlock(&streaming);
	if (!one.name) {
		const char *label = kernel ? asked(kernel) : shape->label;
		pthread_mutex_lock(&lock);
		one.name = name_number(label ? label : "?", MOST_NAMES);
		pthread_mutex_unlock(&lock);
		if (kernel && label)
			name_handle(kernel, label);
	}
	uint32_t thread = thread_of(&stream, way);
	begin_clock(context, stream, thread != 0);
	pthread_mutex_lock(&streaming);
	struct stream *s = stream_of(context, stream, thread, 1);
	if (s) {
		one.since = now();
		if (one.since - s->looked > 200000 || s->waiting > MARKS / 2) { /* a query costs, too */
			s->looked = one.since;
			harvest(s);
		}
		begin_item(s, &one);
	} else {
		pthread_mutex_lock(&lock);
		lost++;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&streaming);
	errno = e;
	return s;
}

/* flush_sometimes sends what there is, four times a second. */
static void flush_sometimes(void)
{
	static _Atomic uint64_t last;
	uint64_t t = now();
	if (t - last < 250000000)
		return;
	last = t;
	tell_lost();
	send_rest();
}

/* after_launch marks the stream after a launch, which has failed where code is not 0. */
static void after_launch(struct stream *s, int waited, int code)
{
	if (!s)
		return;
	int e = errno;
	if (code)
		unlaunched(s);
	else if (waited) {
		pthread_mutex_lock(&streaming);
		harvest(s);
		if (!s->gone)
			done(s, s->launched, now());
		pthread_mutex_unlock(&streaming);
	} else
		mark(s, s->thread != 0);
	flush_sometimes();
	errno = e;
}

/* The first fields of CUlaunchConfig. */
struct launch_config {
	unsigned grid[3], block[3], shared;
	void *stream;
};

static int launch(struct function *f, int way, const long *v)
{
	six real = real_of(f, way);
	if (!real)
		return ABSENT;
	const struct shape *shape = &f->shape;
	void *stream = shape->stream >= 0 ? (void *)v[shape->stream] : NULL;
	const void *kernel = NULL;
	if (shape->stream == -2 && v[0]) {
		stream = ((const struct launch_config *)v[0])->stream;
		kernel = (const void *)v[1];
	}
	uint64_t bytes = shape->count >= 0 ? (uint64_t)v[shape->count] * (uint64_t)shape->each : 0;
	struct stream *s = before_launch(shape, way, stream, kernel, bytes);
	within++;
	int code = real(v[0], v[1], v[2], v[3], v[4], v[5]);
	within--;
	after_launch(s, shape->waits, code);
	return code;
}

typedef int (*eleven)(const void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                      void **, void **);

static int launch_kernel(int place, int way, const void *f, const unsigned *d, void *stream, void **parameters,
                         void **extra)
{
	six found = real_of(&functions[place], way);
	if (!found)
		return ABSENT;
	struct stream *s = before_launch(&functions[place].shape, way, stream, f, 0);
	within++; /* the cooperative one has no last argument, and does not look for it */
	int code = ((eleven)(void *)found)(f, d[0], d[1], d[2], d[3], d[4], d[5], d[6], stream, parameters, extra);
	within--;
	after_launch(s, 0, code);
	return code;
}

#define KERNEL(visible, name, place, way)                                                                        \
	int visible name(const void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
	                 unsigned shared, void *stream, void **parameters, void **extra)                              \
	{                                                                                                             \
		const unsigned d[7] = {gx, gy, gz, bx, by, bz, shared};                                                   \
		return launch_kernel(place, way, f, d, stream, parameters, extra);                                        \
	}
#define KERNEL_WAYS(name)                                           \
	KERNEL(PUBLIC, name, AT_##name, PLAIN)                          \
	KERNEL(PUBLIC, name##_ptsz, AT_##name, OWN_DEFAULT)             \
	KERNEL(HIDDEN, name##_other, AT_##name, OTHER_PLAIN)            \
	KERNEL(HIDDEN, name##_ptsz_other, AT_##name, OTHER_OWN_DEFAULT)
KERNEL_WAYS(cuLaunchKernel)
KERNEL_WAYS(cuLaunchCooperativeKernel)

#include "waits.inc"

/* ---- finding them ---- */

#define OWN(name, own) {(void *)name, (void *)own, (void *)name##_other, (void *)own##_other}
#define ROW(name, own, ...) {#name, OWN(name, own), {NULL}, {__VA_ARGS__}},
#define KERNEL_ROW(name) {#name, OWN(name, name##_ptsz), {NULL}, {8, -1, 0, 0, "?", 0}},
static struct function functions[] = {LAUNCHES(ROW) KERNEL_ROW(cuLaunchKernel) KERNEL_ROW(cuLaunchCooperativeKernel)
                                          WAITING(WAIT_ROW)};
#define FUNCTIONS (sizeof functions / sizeof *functions)

/* suffix is what the name of a function has where its default stream is the thread's. */
static const char *suffix(const struct function *f)
{
	return f->shape.stream == -1 ? "_ptds" : "_ptsz";
}

static six real_of(struct function *f, int way)
{
	void *real = f->real[way];
	if (!real && cuda()) {
		char name[64];
		snprintf(name, sizeof name, "%s%s", f->name, way & OWN_DEFAULT ? suffix(f) : "");
		real = true_symbol(cuda(), name);
		f->real[way] = real;
	}
	return (six)real;
}

/* ours_for is the function that stands before one of the driver's; NULL for none, or where there are more of the same
 * name than ways. Of what waits and of what ends something the driver keeps the first version beside the second, whose
 * name ends in _v2: both take the same handle first. */
static void *ours_for(const char *name, int own_default, int any_version, void *real)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		struct function *f = &functions[i];
		size_t n = strlen(f->name), base = n > 3 && !strcmp(f->name + n - 3, "_v2") ? n - 3 : n;
		int way = own_default ? OWN_DEFAULT : PLAIN;
		int first = base < n && f->shape.stream == -3 && !strncmp(name, f->name, base) && !name[base];
		if (any_version ? strncmp(name, f->name, base) || name[base] : !first && strncmp(name, f->name, n))
			continue;
		if (!any_version && first)
			way = OTHER_PLAIN;
		else if (!any_version && name[n]) {
			if (strcmp(name + n, suffix(f)))
				continue;
			way = OWN_DEFAULT;
		}
		if (real == f->own[PLAIN] || real == f->own[OWN_DEFAULT])
			return NULL;
		for (; way < WAYS; way += OTHER_PLAIN) {
			void *before = NULL;
			if (atomic_compare_exchange_strong(&f->real[way], &before, real) || before == real)
				return f->own[way];
		}
		return NULL;
	}
	return NULL;
}

/* cuGetProcAddress has got an argument more with CUDA 12. */
static int (*_Atomic get_address)(const char *, void **, int, uint64_t);
static int (*_Atomic get_address_v2)(const char *, void **, int, uint64_t, int *);

static void address(const char *name, void **at, int version, uint64_t flags);

int PUBLIC cuGetProcAddress(const char *name, void **at, int version, uint64_t flags)
{
	if (!get_address)
		get_address = (int (*)(const char *, void **, int, uint64_t))true_symbol(cuda(), "cuGetProcAddress");
	int code = get_address ? get_address(name, at, version, flags) : ABSENT;
	if (!code && name && at && *at)
		address(name, at, version, flags);
	return code;
}

int PUBLIC cuGetProcAddress_v2(const char *name, void **at, int version, uint64_t flags, int *status)
{
	if (!get_address_v2)
		get_address_v2 =
		    (int (*)(const char *, void **, int, uint64_t, int *))true_symbol(cuda(), "cuGetProcAddress_v2");
	int code = get_address_v2 ? get_address_v2(name, at, version, flags, status) : ABSENT;
	if (!code && name && at && *at)
		address(name, at, version, flags);
	return code;
}

/* address puts our function in the place of one that the driver gave. */
static void address(const char *name, void **at, int version, uint64_t flags)
{
	void *mine = NULL;
	if (!strcmp(name, "cuGetProcAddress")) {
		if (*at == (void *)cuGetProcAddress || *at == (void *)cuGetProcAddress_v2)
			return;
		if (version >= 12000) {
			get_address_v2 = (int (*)(const char *, void **, int, uint64_t, int *))*at;
			mine = (void *)cuGetProcAddress_v2;
		} else {
			get_address = (int (*)(const char *, void **, int, uint64_t))*at;
			mine = (void *)cuGetProcAddress;
		}
	} else
		mine = ours_for(name, (flags & 2) != 0, 1, *at);
	if (mine)
		*at = mine;
}

#if defined __GLIBC__ && (defined __x86_64__ || defined __aarch64__)

void *cg_own_symbol(void *handle, const char *name)
{
	if (!cg_true_dlsym)
		true_symbol(RTLD_DEFAULT, "dlsym");
	if (!name || name[0] != 'c' || name[1] != 'u' || handle == RTLD_NEXT)
		return NULL;
	void *real = true_symbol(handle, name);
	if (!real)
		return NULL;
	if (!strcmp(name, "cuGetProcAddress") && real != (void *)cuGetProcAddress) {
		get_address = (int (*)(const char *, void **, int, uint64_t))real;
		return (void *)cuGetProcAddress;
	}
	if (!strcmp(name, "cuGetProcAddress_v2") && real != (void *)cuGetProcAddress_v2) {
		get_address_v2 = (int (*)(const char *, void **, int, uint64_t, int *))real;
		return (void *)cuGetProcAddress_v2;
	}
	return ours_for(name, 0, 0, real);
}

#endif
