// A libamd_smi.so of GPUs that do not exist. Its file NAME.conf, beside the library, is read at
// each call; a line is one of
//
//	gpus N              GPUs (1), each on a socket of its own, beside a processor that is none
//	version A B         what amdsmi_get_lib_version answers first (24 6): it chooses the layout of powers
//	watts I W           power of GPU I (100): constant
//	grow N              the second answer to a question for a list tells N more than the first
//	average I           GPU I knows its average power alone
//	process I PID UNITS PART WATTS FROM TO
//	                    from one second of CLOCK_MONOTONIC to another a process holds GPU I, is on so many of its
//	                    compute units, has a part of the graphics engine's time, and draws WATTS more. Such a GPU
//	                    is busy all of the time while processes run on it, and else idle
//	                    (quiet I PID FROM TO: it holds the GPU, and does nothing)
//	fail I FUNCTION N   that function answers N for GPU I, * for all
//
// where FUNCTION is init, sockets, energy, power, temperature, hotspot, activity, clock, memory or processes. With
// -DNO_FUNCTION (upper case) the library lacks it. Types and numbers are those of amdsmi.h,
// written out.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX = 16, SUCCESS = 0, INVAL = 1, NOT_INIT = 32, GPU = 1, CPU = 2 };

struct processor {
	int index, type;
};

static struct processor gpus[MAX], cpu = {0, CPU};
static int begun; // not how often, as in AMD's

struct held {
	int gpu;
	unsigned pid, units;
	double part, watts, from, to;
};

struct conf {
	struct held held[MAX];
	int holds;
	int gpus, grow, average[MAX], fail;
	unsigned version[2];
	double watts[MAX];
};

static struct conf conf(int device, const char *function) {
	struct conf c = {.gpus = 1, .version = {24, 6}, .fail = device < 0 || begun ? SUCCESS : NOT_INIT};
	for (int i = 0; i < MAX; i++)
		c.watts[i] = 100;
	Dl_info info;
	char path[4096], line[256], which[16], name[32];
	if (!dladdr(gpus, &info))
		return c;
	snprintf(path, sizeof path, "%s.conf", info.dli_fname);
	FILE *f = fopen(path, "re");
	if (!f)
		return c;
	int i, n;
	unsigned a, b;
	double w;
	struct held h, q = {0};
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "gpus %d", &n) == 1 && n <= MAX)
			c.gpus = n;
		else if (sscanf(line, "grow %d", &n) == 1)
			c.grow = n;
		else if (sscanf(line, "version %u %u", &a, &b) == 2)
			c.version[0] = a, c.version[1] = b;
		else if (sscanf(line, "watts %d %lf", &i, &w) == 2 && i < MAX)
			c.watts[i] = w;
		else if (c.holds < MAX && sscanf(line, "process %d %u %u %lf %lf %lf %lf", &h.gpu, &h.pid, &h.units, &h.part,
		                                 &h.watts, &h.from, &h.to) == 7)
			c.held[c.holds++] = h;
		else if (c.holds < MAX && sscanf(line, "quiet %d %u %lf %lf", &q.gpu, &q.pid, &q.from, &q.to) == 4)
			c.held[c.holds++] = q;
		else if (sscanf(line, "average %d", &i) == 1 && i < MAX)
			c.average[i] = 1;
		else if (sscanf(line, "fail %15s %31s %d", which, name, &n) == 3 && !strcmp(name, function) &&
		         (!strcmp(which, "*") || atoi(which) == device))
			c.fail = n;
	}
	fclose(f);
	return c;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

// ran is for how long a process has run up to now.
static double ran(const struct held *h) {
	double t = now();
	return t < h->from ? 0 : (t < h->to ? t : h->to) - h->from;
}

static int runs(const struct held *h) {
	double t = now();
	return t >= h->from && t < h->to;
}

int amdsmi_init(uint64_t flags) {
	int answer = flags == 2 ? conf(-1, "init").fail : INVAL;
	begun = !answer;
	return answer;
}

int amdsmi_shut_down(void) {
	begun = 0;
	return SUCCESS;
}

int amdsmi_get_lib_version(unsigned *version) {
	struct conf c = conf(-1, "version");
	version[0] = c.version[0], version[1] = c.version[1];
	return c.fail;
}

int amdsmi_get_socket_handles(uint32_t *n, void **sockets) {
	struct conf c = conf(-1, "sockets");
	for (int i = 0; sockets && i < c.gpus && i < (int)*n; i++) {
		gpus[i] = (struct processor){i, GPU};
		sockets[i] = &gpus[i];
	}
	*n = c.gpus + (sockets ? c.grow : 0);
	return c.fail;
}

int amdsmi_get_processor_handles(void *socket, uint32_t *n, void **processors) {
	if (processors)
		processors[0] = &cpu, processors[1] = socket;
	*n = 2 + (processors ? conf(-1, "processors").grow : 0);
	return SUCCESS;
}

int amdsmi_get_processor_type(struct processor *p, int *type) {
	*type = p->type;
	return SUCCESS;
}

#ifndef NO_ENERGY
int amdsmi_get_energy_count(struct processor *p, uint64_t *count, float *step, uint64_t *at) {
	struct conf c = conf(p->index, "energy");
	*step = 15.259;
	double joules = c.watts[p->index] * now();
	for (int i = 0; i < c.holds; i++)
		joules += c.held[i].gpu == p->index ? c.held[i].watts * ran(&c.held[i]) : 0;
	*count = joules * 1e6 / (double)*step;
	*at = now() * 1e9;
	return c.fail;
}
#endif

int amdsmi_get_power_info(struct processor *p, uint32_t *info) {
	struct conf c = conf(p->index, "power");
	uint32_t watts = c.watts[p->index], current = c.average[p->index] ? 0xFFFF : watts;
	memset(info, 0xEE, 16 * sizeof *info);
	if (c.version[0] > 24)
		info[2] = current, info[3] = watts;
	else if (c.version[0] == 24 || c.version[1] >= 4)
		info[0] = current, info[1] = watts;
	else
		info[0] = watts;
	return c.fail;
}

int amdsmi_get_temp_metric(struct processor *p, int which, int metric, int64_t *value) {
	*value = which ? 60 + p->index : 40 + p->index;
	return metric ? INVAL : conf(p->index, which ? "hotspot" : "temperature").fail;
}

int amdsmi_get_gpu_activity(struct processor *p, uint32_t *usage) {
	struct conf c = conf(p->index, "activity");
	usage[0] = 90 - p->index;
	usage[1] = 30 + p->index;
	usage[2] = 0xFFFF;
	for (int i = 0, seen = 0; i < c.holds; i++)
		if (c.held[i].gpu == p->index) {
			if (!seen++)
				usage[0] = 0;
			if (runs(&c.held[i]) && (c.held[i].units || c.held[i].part > 0))
				usage[0] = 100;
		}
	return c.fail;
}

int amdsmi_get_clock_info(struct processor *p, int which, uint32_t *info) {
	info[0] = which ? 1600 : 2100 + p->index;
	return which == 0 || which == 4 ? conf(p->index, "clock").fail : INVAL;
}

int amdsmi_get_gpu_memory_usage(struct processor *p, int kind, uint64_t *bytes) {
	*bytes = 4ULL << 30;
	return kind ? INVAL : conf(p->index, "memory").fail;
}

#ifndef NO_PROCESSES
// The structure of a process, with names of LENGTH bytes.
#define PROCESS(LENGTH, MORE)          \
	struct process##LENGTH {           \
		char name[LENGTH];             \
		uint32_t pid;                  \
		uint64_t mem, gfx, enc;        \
		uint32_t unused[12];           \
		uint64_t gtt, cpu, vram;       \
		uint32_t unused2[10];          \
		char container[LENGTH];        \
		uint32_t cu_occupancy, more[MORE]; \
	}

PROCESS(32, 3);
PROCESS(256, 11);

int amdsmi_get_gpu_process_list(struct processor *p, uint32_t *n, void *list) {
	struct conf c = conf(p->index, "processes");
	uint32_t there = 0;
	for (int i = 0; i < c.holds; i++) {
		const struct held *h = &c.held[i];
		if (h->gpu != p->index || !runs(h))
			continue;
		if (list && there < *n && c.version[0] == 24) {
			struct process32 one = {.name = "program", .pid = h->pid, .gfx = ran(h) * h->part * 1e9, .vram = 1 << 30};
			((struct process32 *)list)[there] = one;
		} else if (list && there < *n) {
			struct process256 one = {.name = "program", .pid = h->pid, .gfx = ran(h) * h->part * 1e9, .vram = 1 << 30,
			                         .cu_occupancy = c.version[0] > 25 ? h->units : 0};
			((struct process256 *)list)[there] = one;
		}
		there++;
	}
	*n = there;
	return c.fail;
}
#endif
