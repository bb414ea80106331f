// A CUDA driver (libcuda.so.1) of a GPU that does not exist, with streams, contexts, events and graphs, for what is
// seen of a program without CUPTI. cuda.c has the one with CUPTI. The file cuda.conf beside it is read once; a line is
// one of
//
//	kernel NAME MS WATTS    kernels of that name take MS ms and draw WATTS while they run; so do "copy" and "fill"
//	nvml FILE               what runs is written to that file of the stand-in of NVML (nemb/simulate/nvml)
//	twice                   cuGetProcAddress gives other functions than dlsym does
//	nameless                functions have no names (before CUDA 12.3)
//	eventless               events cannot be made
//	again                   handles of what was destroyed are given out again, as NVIDIA's driver does
//
// A stream runs one after the other what is launched on it; streams run beside each other. It is as strict as NVIDIA's:
// a handle that is not one ends the program, an event that is asked during a capture breaks the capture, and what is
// recorded on a stream that is captured becomes a part of the graph. It shows nothing of a GPU.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <libgen.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, NOT_INITIALIZED = 3, NOT_FOUND = 500, NOT_READY = 600,
       CAPTURE_UNSUPPORTED = 900, INVALIDATED = 901 };

struct context { int magic, device; };
struct stream { int magic; struct context *context; double free_at; int capturing, broken; struct graph *graph; };
struct event { int magic; struct context *context; double at; struct event *next; };
struct function { int magic; char name[64]; };
struct graph { int magic, n; struct function *all[256]; int events; };

enum { CONTEXT = 0x11, STREAM, EVENT, FUNCTION, GRAPH };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { char name[64]; double ms, watts; } kernels[64];
static int known, twice, nameless, eventless, again, captures;
static char nvml[4096];
static pid_t owner;
static struct context primary = {CONTEXT, 0};
static int retained; // how often the primary context is
static struct event *events; // all

static struct stream legacy = {STREAM, &primary, 0, 0, 0, NULL};
static __thread struct stream own = {STREAM, &primary, 0, 0, 0, NULL};
static __thread struct context *current;
static int graph_events; // that were recorded in graphs

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void is(const void *handle, int magic) {
	if (!handle || *(const int *)handle != magic) {
		fprintf(stderr, "stand-in of CUDA: a handle is not one of kind %#x\n", magic);
		abort();
	}
}

static void ready(void) {
	if (owner && owner != getpid()) { // CUDA does not work in the child of a fork
		fprintf(stderr, "stand-in of CUDA: called in the child of a fork\n");
		abort();
	}
}

static void read_conf(void) {
	Dl_info info;
	char path[4200], line[512];
	dladdr((void *)read_conf, &info);
	snprintf(line, sizeof line, "%s", info.dli_fname);
	snprintf(path, sizeof path, "%s/cuda.conf", dirname(line));
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		if (known < 64 && sscanf(line, "kernel %63s %lf %lf", kernels[known].name, &kernels[known].ms,
		                         &kernels[known].watts) == 3)
			known++;
		sscanf(line, "nvml %4095s", nvml);
		twice |= !strncmp(line, "twice", 5);
		nameless |= !strncmp(line, "nameless", 8);
		eventless |= !strncmp(line, "eventless", 9);
		again |= !strncmp(line, "again", 5);
	}
	if (f)
		fclose(f);
}

int cuInit(unsigned flags) {
	(void)flags;
	if (!owner) {
		read_conf();
		owner = getpid();
	}
	return OK;
}

int cuDeviceGetCount(int *n) { return *n = 1, OK; }
int cuDeviceGet(int *device, int index) { return *device = index, index ? 101 : OK; }
int cuDeviceGetUuid_v2(uint8_t *uuid, int device) { return memset(uuid, 0x10 + device, 16), OK; }

// fresh is memory for something; with again that of the last thing of its kind that was destroyed.
static void *destroyed[8];
static void *fresh(int kind, size_t bytes) {
	void *old = again ? destroyed[kind & 7] : NULL;
	destroyed[kind & 7] = NULL;
	return old ? memset(old, 0, bytes) : calloc(1, bytes);
}
static void destroy(void *handle, int kind) {
	is(handle, kind);
	*(int *)handle = 0; // and its memory stays: a later use is seen
	destroyed[kind & 7] = handle;
}
// end_events ends the events of a context: these handles are not given out again.
static void end_events(struct context *c) {
	for (struct event *e = events; e; e = e->next)
		if (e->context == c)
			e->magic = 0, e->context = NULL;
}

int cuCtxCreate_v2(struct context **c, unsigned flags, int device) {
	(void)flags;
	*c = fresh(CONTEXT, sizeof **c);
	(*c)->magic = CONTEXT, (*c)->device = device;
	current = *c;
	return OK;
}
int cuCtxDestroy_v2(struct context *c) {
	destroy(c, CONTEXT);
	end_events(c);
	current = current == c ? NULL : current;
	return OK;
}
int cuDevicePrimaryCtxRetain(struct context **c, int device) {
	return (void)device, retained++, *c = &primary, OK;
}
int cuDevicePrimaryCtxReset_v2(int device) { return (void)device, end_events(&primary), OK; }
int cuDevicePrimaryCtxRelease_v2(int device) {
	if (retained && !--retained)
		cuDevicePrimaryCtxReset_v2(device);
	return OK;
}
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
	return (void)device, *flags = 0, *active = retained > 0, OK;
}
int cuCtxSetCurrent(struct context *c) { return current = c, OK; }
int cuCtxGetCurrent(struct context **c) { return ready(), *c = current, OK; }
int cuCtxGetDevice(int *device) { return ready(), *device = current ? current->device : -1, current ? OK : 201; }

static struct stream *stream_of(void *s, int per_thread) {
	if (s == (void *)1 || (!s && !per_thread))
		return &legacy;
	if (s == (void *)2 || !s)
		return &own;
	is(s, STREAM);
	return s;
}

int cuStreamCreate(struct stream **s, unsigned flags) {
	(void)flags;
	ready();
	*s = fresh(STREAM, sizeof **s);
	(*s)->magic = STREAM, (*s)->context = current;
	return OK;
}
int cuStreamDestroy_v2(struct stream *s) {
	destroy(s, STREAM);
	return OK;
}

static void sleep_until(double t) {
	while (now() < t)
		usleep(200);
}

static int synchronize(struct stream *s) {
	ready();
	if (s->capturing)
		return s->broken = 1, CAPTURE_UNSUPPORTED;
	sleep_until(s->free_at);
	return OK;
}
int cuStreamSynchronize(void *s) { return synchronize(stream_of(s, 0)); }
int cuStreamSynchronize_ptsz(void *s) { return synchronize(stream_of(s, 1)); }
int cuStreamQuery(void *s) { return ready(), stream_of(s, 0)->free_at <= now() ? OK : NOT_READY; }

static double last; // when all is over
int cuCtxSynchronize(void) {
	ready();
	sleep_until(last);
	return OK;
}

// enqueue puts something onto a stream, or into the graph of which it becomes a part.
static int enqueue(struct stream *s, struct function *f, const char *name) {
	ready();
	if (!owner || !current)
		return NOT_INITIALIZED;
	pthread_mutex_lock(&lock);
	if (s->capturing) {
		if (f && s->graph->n < 256)
			s->graph->all[s->graph->n++] = f;
		pthread_mutex_unlock(&lock);
		return OK;
	}
	double ms = 0.01, watts = 0;
	for (int i = 0; i < known; i++)
		if (!strcmp(kernels[i].name, name))
			ms = kernels[i].ms, watts = kernels[i].watts;
	double from = now(), to;
	if (from < s->free_at)
		from = s->free_at;
	s->free_at = to = from + ms * 1e-3;
	if (last < to)
		last = to;
	if (*nvml) {
		FILE *out = fopen(nvml, "ae");
		if (out) {
			fprintf(out, "process 0 %d 100 100 %.9f %.9f %f\n", getpid(), from, to, watts);
			fclose(out);
		}
	}
	pthread_mutex_unlock(&lock);
	return OK;
}

int cuModuleGetFunction(struct function **f, void *module, const char *name) {
	(void)module;
	*f = calloc(1, sizeof **f);
	(*f)->magic = FUNCTION;
	snprintf((*f)->name, sizeof (*f)->name, "%s", name);
	return OK;
}
int cuFuncGetName(const char **name, struct function *f) {
	if (nameless)
		return 801;
	is(f, FUNCTION);
	return *name = f->name, OK;
}
// Of a function that the tool does not see being found.
struct function *standin_function(const char *name) {
	struct function *f;
	cuModuleGetFunction(&f, NULL, name);
	return f;
}

int cuLaunchKernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
	(void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
	is(f, FUNCTION);
	if (!gx || parameters != (void **)7 || extra != (void **)8) // as the test's program passes them
		return INVALID;
	return enqueue(stream_of(stream, 0), f, f->name);
}
int cuLaunchKernel_ptsz(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)parameters, (void)extra;
	is(f, FUNCTION);
	return enqueue(stream_of(stream, 1), f, f->name);
}
static int launch_twice(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
	return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
struct config { unsigned grid[3], block[3], shared; void *stream; void *attributes; unsigned n; };
int cuLaunchKernelEx(const struct config *c, struct function *f, void **parameters, void **extra) {
	(void)parameters, (void)extra;
	is(f, FUNCTION);
	return enqueue(stream_of(c->stream, 0), f, f->name);
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream) {
	return (void)to, (void)from, (void)n, enqueue(stream_of(stream, 0), NULL, "copy");
}
int cuMemsetD8Async(uint64_t to, unsigned char c, size_t n, void *stream) {
	return (void)to, (void)c, (void)n, enqueue(stream_of(stream, 0), NULL, "fill");
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) {
	(void)to, (void)from, (void)n;
	int code = enqueue(&legacy, NULL, "copy");
	return code ? code : synchronize(&legacy);
}

int cuEventCreate(struct event **e, unsigned flags) {
	(void)flags;
	ready();
	if (eventless || !current)
		return INVALID;
	pthread_mutex_lock(&lock);
	struct event *old = again ? destroyed[EVENT & 7] : NULL;
	destroyed[EVENT & 7] = NULL;
	if (!(*e = old)) {
		*e = calloc(1, sizeof **e);
		(*e)->next = events, events = *e;
	}
	(*e)->magic = EVENT, (*e)->context = current, (*e)->at = 0;
	pthread_mutex_unlock(&lock);
	return OK;
}
int cuEventDestroy_v2(struct event *e) {
	destroy(e, EVENT);
	return OK;
}
static int record(struct event *e, struct stream *s) {
	ready();
	is(e, EVENT);
	if (s->capturing) {
		graph_events++;
		return OK;
	}
	if (s != &legacy && s != &own && e->context != s->context)
		return 400;
	double t = now();
	e->at = s->free_at > t ? s->free_at : t;
	return OK;
}
int cuEventRecord(struct event *e, void *s) { return record(e, stream_of(s, 0)); }
int cuEventRecord_ptsz(struct event *e, void *s) { return record(e, stream_of(s, 1)); }
static struct stream *captured; // the last
int cuEventQuery(struct event *e) {
	ready();
	is(e, EVENT);
	if (captures)
		return captured->broken = 1, CAPTURE_UNSUPPORTED;
	return e->at <= now() ? OK : NOT_READY;
}
int cuEventSynchronize(struct event *e) {
	is(e, EVENT);
	sleep_until(e->at);
	return OK;
}
int cuEventElapsedTime(float *ms, struct event *a, struct event *b) {
	is(a, EVENT), is(b, EVENT);
	if (a->context != b->context)
		return 400;
	if (a->at > now() || b->at > now())
		return NOT_READY;
	return *ms = (float)((b->at - a->at) * 1e3), OK;
}

int cuStreamBeginCapture_v2(void *stream, int mode) {
	(void)mode;
	struct stream *s = stream_of(stream, 0);
	s->capturing = 1, s->broken = 0;
	s->graph = calloc(1, sizeof *s->graph);
	s->graph->magic = GRAPH;
	captures++;
	captured = s;
	return OK;
}
int cuStreamEndCapture(void *stream, struct graph **g) {
	struct stream *s = stream_of(stream, 0);
	s->capturing = 0;
	captures--;
	*g = s->graph;
	return s->broken ? INVALIDATED : OK;
}
int cuStreamIsCapturing(void *stream, int *status) { return *status = stream_of(stream, 0)->capturing, OK; }
int cuGraphLaunch(struct graph *g, void *stream) {
	is(g, GRAPH);
	for (int i = 0; i < g->n; i++)
		enqueue(stream_of(stream, 0), g->all[i], g->all[i]->name);
	return OK;
}
int standin_graph_events(void) { return graph_events; }

// The first version of each, which the driver keeps for programs that ask for that name.
int cuCtxDestroy(struct context *c) { return cuCtxDestroy_v2(c); }
int cuStreamDestroy(struct stream *s) { return cuStreamDestroy_v2(s); }
int cuEventDestroy(struct event *e) { return cuEventDestroy_v2(e); }
int cuDevicePrimaryCtxReset(int device) { return cuDevicePrimaryCtxReset_v2(device); }
int cuDevicePrimaryCtxRelease(int device) { return cuDevicePrimaryCtxRelease_v2(device); }
int cuStreamBeginCapture(void *stream) { return cuStreamBeginCapture_v2(stream, 0); }

// Its own table: NVIDIA's does not ask the dynamic linker.
#define ONE(name) {#name, (void *)name}
int cuGetProcAddress(const char *, void **, int, uint64_t);
int cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);
static const struct { const char *name; void *function; } table[] = {
    ONE(cuInit), ONE(cuDeviceGetCount), ONE(cuDeviceGet), ONE(cuDeviceGetUuid_v2),
    ONE(cuCtxCreate_v2), ONE(cuCtxDestroy_v2), ONE(cuDevicePrimaryCtxRetain), ONE(cuDevicePrimaryCtxReset_v2),
    ONE(cuDevicePrimaryCtxRelease_v2), ONE(cuDevicePrimaryCtxGetState), ONE(cuEventDestroy_v2), ONE(cuCtxSetCurrent),
    ONE(cuCtxGetCurrent), ONE(cuCtxGetDevice), ONE(cuCtxSynchronize), ONE(cuStreamCreate),
    ONE(cuStreamDestroy_v2), ONE(cuStreamSynchronize), ONE(cuStreamSynchronize_ptsz),
    ONE(cuStreamQuery), ONE(cuModuleGetFunction), ONE(cuFuncGetName), ONE(cuLaunchKernel),
    ONE(cuLaunchKernel_ptsz), ONE(cuLaunchKernelEx), ONE(cuMemcpyHtoDAsync_v2),
    ONE(cuMemsetD8Async), ONE(cuMemcpyDtoH_v2), ONE(cuEventCreate), ONE(cuEventRecord),
    ONE(cuEventRecord_ptsz), ONE(cuEventQuery), ONE(cuEventSynchronize), ONE(cuEventElapsedTime),
    ONE(cuStreamBeginCapture_v2), ONE(cuStreamEndCapture), ONE(cuStreamIsCapturing),
    ONE(cuGraphLaunch), ONE(cuGetProcAddress_v2), ONE(cuGetProcAddress)};

int cuGetProcAddress_v2(const char *name, void **at, int version, uint64_t flags, int *status) {
	static const char *const forms[2][4] = {{"%s_v2", "%s", NULL}, {"%s_v2_ptsz", "%s_ptsz", "%s_v2", "%s"}};
	char full[128];
	(void)version;
	*at = NULL;
	for (int i = 0; !*at && i < 4 && forms[flags >> 1 & 1][i]; i++) {
		snprintf(full, sizeof full, forms[flags >> 1 & 1][i], name);
		for (size_t k = 0; k < sizeof table / sizeof *table; k++)
			if (!strcmp(table[k].name, full))
				*at = table[k].function;
	}
	if (twice && !strcmp(name, "cuLaunchKernel"))
		*at = (void *)launch_twice;
	if (status)
		*status = *at ? 0 : 1;
	return *at ? OK : NOT_FOUND;
}
int cuGetProcAddress(const char *name, void **at, int version, uint64_t flags) {
	return cuGetProcAddress_v2(name, at, version, flags, NULL);
}
