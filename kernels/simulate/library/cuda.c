// A CUDA driver (libcuda.so.1) of a GPU that does not exist and, with -DCUPTI, the library that records what runs on
// it (libcupti.so.13). Both are in one folder. The file cuda.conf there is read at each call; a line is one of
//
//	kernel NAME MS WATTS [PART]
//	                        kernels of that name take MS ms and draw WATTS while they run; counters have that PART of
//	                        their values (1)
//	nvml FILE               what runs is written to that file of the stand-in of NVML (nemb/simulate/nvml)
//	counters FILE           and to that file of the stand-in of PM sampling (pmsampling/simulate)
//	fail FUNCTION CODE      a function of CUPTI answers CODE
//	drop N                  CUPTI drops each Nth record
//	forget N                CUPTI does not know when each Nth activity ran
//	split                   calls of the driver within those of the runtime have numbers of their own
//
// A GPU runs one after the other what is launched. As NVIDIA's driver does, it loads the library that
// CUDA_INJECTION64_PATH names when it starts, and calls InitializeInjection. It shows nothing of a GPU.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cupti_activity.h"

enum { DRIVER = 1, RUNTIME = 2, LAUNCH = 307, COPY = 277, RUNTIME_LAUNCH = 211 };

// beside is a file in the folder of this library.
static const char *beside(const char *file, char *to, size_t n) {
	Dl_info info;
	char copy[4096];
	dladdr((void *)beside, &info);
	snprintf(copy, sizeof copy, "%s", info.dli_fname);
	snprintf(to, n, "%s/%s", dirname(copy), file);
	return to;
}

static inline double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

// setting finds a line of cuda.conf that begins with a word and an argument ("" for none).
static int setting(const char *word, const char *argument, const char *format, void *a, void *b, void *c) {
	char path[4096], line[512], first[32], second[256];
	FILE *f = fopen(beside("cuda.conf", path, sizeof path), "re");
	int found = 0;
	while (f && !found && fgets(line, sizeof line, f)) {
		int at = 0;
		if (*argument) {
			if (sscanf(line, "%31s %255s %n", first, second, &at) < 2 || strcmp(second, argument))
				continue;
		} else if (sscanf(line, "%31s %n", first, &at) < 1)
			continue;
		if (!strcmp(first, word))
			found = !*format || sscanf(line + at, format, a, b, c) >= 1;
	}
	if (f)
		fclose(f);
	return found;
}

#ifdef CUPTI

static int fails(const char *function) {
	int code = 0;
	setting("fail", function, "%d", &code, NULL, NULL);
	return code;
}

static void (*callback)(void *, int, uint32_t, const void *);
static void (*request)(uint8_t **, size_t *, size_t *);
static void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
static uint64_t (*timestamp)(void);
static int enabled[16], called[3][512];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffer;
static size_t size, valid, dropped;
static unsigned long records;
static pid_t owner; // the process that subscribed

int cuptiSubscribe(void **subscriber, void (*f)(void *, int, uint32_t, const void *), void *user) {
	(void)user;
	*subscriber = &callback;
	callback = f;
	owner = getpid();
	return fails("cuptiSubscribe");
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t function) {
	if (subscriber != &callback || domain < 1 || domain > 2 || function >= 512)
		return 1;
	called[domain][function] = on;
	return 0;
}

int cuptiGetCallbackName(int domain, uint32_t function, const char **name) {
	*name = domain == DRIVER && function == LAUNCH           ? "cuLaunchKernel"
	        : domain == DRIVER && function == COPY           ? "cuMemcpyHtoD_v2"
	        : domain == RUNTIME && function == RUNTIME_LAUNCH ? "cudaLaunchKernel_v7000"
	        : domain == DRIVER && function == 1              ? "cuInit"
	                                                         : NULL;
	return *name ? 0 : 1;
}

int cuptiActivityRegisterCallbacks(void (*a)(uint8_t **, size_t *, size_t *),
                                   void (*b)(void *, uint32_t, uint8_t *, size_t, size_t)) {
	request = a;
	complete = b;
	return fails("cuptiActivityRegisterCallbacks");
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*f)(void)) {
	timestamp = f;
	return f && !enabled[CG_KIND_CONCURRENT_KERNEL] ? 0 : 1;
}

int cuptiActivityEnable(int kind) {
	if (!complete || kind < 0 || kind > 15)
		return 1;
	enabled[kind] = 1;
	return fails("cuptiActivityEnable");
}

static size_t sizeOf(uint32_t kind) {
	return kind == CG_KIND_CONCURRENT_KERNEL ? 224 : kind == CG_KIND_MEMCPY ? 112 : kind == CG_KIND_MEMSET ? 104 : 0;
}

int cuptiActivityGetNextRecord(uint8_t *b, size_t n, void **record) {
	uint8_t *next = *record ? (uint8_t *)*record + sizeOf(*(uint32_t *)*record) : b;
	if (next >= b + n)
		return 12;
	*record = next;
	return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n) {
	(void)context, (void)stream;
	*n = dropped;
	dropped = 0;
	return 0;
}

// Flushing gives what is complete: what the GPU has not finished stays, unless it is forced, which waits. In the child
// of a fork it is not there, as CUDA's own locks are not.
int cuptiActivityFlushAll(uint32_t forced) {
	if (getpid() != owner)
		_exit(99);
	pthread_mutex_lock(&lock);
	uint8_t *b = buffer;
	size_t n = 0, all = valid;
	for (void *record = NULL; b && !cuptiActivityGetNextRecord(b, all, &record);) {
		uint64_t end = *(uint32_t *)record == CG_KIND_CONCURRENT_KERNEL ? ((struct cg_activity_kernel *)record)->end
		                                                               : ((struct cg_activity_memcpy *)record)->end;
		while (forced && end > timestamp())
			usleep(1000);
		if (end > timestamp())
			break;
		n = (size_t)((uint8_t *)record - b) + sizeOf(*(uint32_t *)record);
	}
	uint8_t *left = NULL;
	size_t room = size;
	if (n && n < all) {
		size_t records = 0;
		request(&left, &room, &records);
		memcpy(left, b + n, all - n);
	}
	if (n) {
		buffer = left;
		valid = left ? all - n : 0;
		size = room;
	}
	pthread_mutex_unlock(&lock);
	if (n)
		complete(NULL, 0, b, 1 << 20, n);
	return 0;
}

// The driver's side: a call begins or ends, and something is to run.
void standin_call(int domain, uint32_t function, int ends, uint32_t correlation) {
	struct cg_callback c = {.site = ends, .function = "?", .correlation = correlation};
	if (callback && called[domain][function])
		callback(NULL, domain, function, &c);
}

void standin_activity(const char *name, double from, double to, uint32_t correlation, uint32_t device, uint64_t bytes) {
	union {
		struct cg_activity_kernel kernel;
		struct cg_activity_memcpy copy;
		uint8_t bytes[256];
	} r = {0};
	uint32_t kind = bytes ? CG_KIND_MEMCPY : CG_KIND_CONCURRENT_KERNEL;
	int every = 0, unknown = 0;
	setting("drop", "", "%d", &every, NULL, NULL);
	setting("forget", "", "%d", &unknown, NULL, NULL);
	if (!enabled[kind])
		return;
	records++;
	if (every && records % every == 0) {
		dropped++;
		return;
	}
	if (unknown && records % unknown == 0)
		from = to = 0;
	if (bytes) {
		r.copy.kind = kind, r.copy.copy = 1, r.copy.bytes = bytes, r.copy.start = from * 1e9, r.copy.end = to * 1e9;
		r.copy.device = device, r.copy.correlation = correlation;
	} else {
		r.kernel.kind = kind, r.kernel.start = from * 1e9, r.kernel.end = to * 1e9, r.kernel.device = device;
		r.kernel.correlation = correlation, r.kernel.name = name;
	}
	pthread_mutex_lock(&lock);
	size_t n = sizeOf(kind), records_ = 0;
	if (buffer && valid + n > size) {
		uint8_t *full = buffer;
		size_t all = valid;
		buffer = NULL;
		pthread_mutex_unlock(&lock);
		complete(NULL, 0, full, all, all);
		pthread_mutex_lock(&lock);
	}
	if (!buffer) {
		valid = 0;
		request(&buffer, &size, &records_);
	}
	if (buffer && valid + n <= size) {
		memcpy(buffer + valid, r.bytes, n);
		valid += n;
	} else
		dropped++;
	pthread_mutex_unlock(&lock);
}

#else

static struct {
	void (*call)(int, uint32_t, int, uint32_t);
	void (*activity)(const char *, double, double, uint32_t, uint32_t, uint64_t);
} cupti;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double free_at; // when the GPU has nothing more to do
static uint32_t correlation;

int cuInit(unsigned flags) {
	static int begun;
	(void)flags;
	const char *injected = getenv("CUDA_INJECTION64_PATH");
	if (begun++ || !injected)
		return 0;
	void *library = dlopen(injected, RTLD_NOW);
	int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
	if (!start)
		return 0;
	start();
	char path[4096];
	void *other = dlopen(beside("libcupti.so.13", path, sizeof path), RTLD_NOW | RTLD_NOLOAD);
	if (other) {
		*(void **)&cupti.call = dlsym(other, "standin_call");
		*(void **)&cupti.activity = dlsym(other, "standin_activity");
	}
	return 0;
}

int cuDeviceGetCount(int *n) {
	*n = 1;
	return 0;
}

int cuDeviceGet(int *device, int index) {
	*device = index;
	return index ? 101 : 0;
}

int cuDeviceGetName(char *name, int length, int device) {
	(void)device;
	snprintf(name, (size_t)length, "NVIDIA H100 80GB HBM3");
	return 0;
}

int cuDeviceGetAttribute(int *value, int which, int device) {
	(void)device;
	*value = which == 75 ? 9 : 0;
	return 0;
}

int cuDeviceGetPCIBusId(char *place, int length, int device) {
	snprintf(place, (size_t)length, "0000:%02X:00.0", 0x1b + device);
	return 0;
}

int cuDeviceGetUuid_v2(uint8_t *uuid, int device) {
	memset(uuid, 0x10 + device, 16);
	return 0;
}

struct load {
	double ms, watts, part;
};

static struct load load_of(const char *name) {
	struct load l = {1, 0, 1};
	setting("kernel", name, "%lf %lf %lf", &l.ms, &l.watts, &l.part);
	return l;
}

// run queues something, with the calls of the API around it; under the runtime's name, too, where runtime is set.
static int run(const char *name, struct load l, uint64_t bytes, int runtime) {
	char conf[4096];
	pthread_mutex_lock(&lock);
	uint32_t outer = ++correlation, inner = outer;
	if (runtime && setting("split", "", "", NULL, NULL, NULL))
		inner = ++correlation;
	pthread_mutex_unlock(&lock);
	uint32_t function = bytes ? COPY : LAUNCH;
	if (cupti.call) {
		if (runtime)
			cupti.call(RUNTIME, RUNTIME_LAUNCH, 0, outer);
		cupti.call(DRIVER, function, 0, inner);
	}
	pthread_mutex_lock(&lock);
	double from = now(), to;
	if (from < free_at)
		from = free_at;
	free_at = to = from + l.ms * 1e-3;
	pthread_mutex_unlock(&lock);
	if (setting("counters", "", "%4095s", conf, NULL, NULL)) {
		FILE *f = fopen(conf, "ae");
		if (f) {
			fprintf(f, "%.9f %.9f %f\n", from, to, l.part);
			fclose(f);
		}
	}
	if (setting("nvml", "", "%4095s", conf, NULL, NULL)) {
		FILE *f = fopen(conf, "ae");
		if (f) {
			fprintf(f, "process 0 %d 100 100 %.9f %.9f %f\n", getpid(), from, to, l.watts);
			fclose(f);
		}
	}
	if (cupti.activity)
		cupti.activity(name, from, to, outer, 0, bytes);
	if (cupti.call) {
		cupti.call(DRIVER, function, 1, inner);
		if (runtime)
			cupti.call(RUNTIME, RUNTIME_LAUNCH, 1, outer);
	}
	return 0;
}

// A function is its name.
int cuModuleGetFunction(const char **function, void *module, const char *name) {
	(void)module;
	*function = strdup(name);
	return 0;
}

static int launch(const char *function, int runtime) {
	return run(function, load_of(function), 0, runtime);
}

int cuLaunchKernel(const char *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
	(void)shared, (void)stream, (void)parameters, (void)extra;
	return launch(function, 0);
}

// Of the runtime, which NVIDIA has in a library of its own.
int cudaLaunchKernel(const char *function) { return launch(function, 1); }

int cuMemcpyHtoD_v2(void *to, const void *from, size_t n) {
	(void)to, (void)from;
	return run("copy", load_of("copy"), n, 0);
}

int cuCtxSynchronize(void) {
	while (now() < free_at)
		usleep(500);
	return 0;
}

#endif
