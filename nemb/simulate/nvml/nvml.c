// A libnvidia-ml.so.1 of GPUs that do not exist. Its file NAME.conf, beside the
// library, is read at each call; a line is one of
//
//	gpus N              devices (1)
//	watts I W           power of device I (100): constant, its counter is 20 ms old at most
//	idle I W            its power while no process computes (that of watts): in between it
//	                    grows with the sum of what the processes use of the SMs
//	process I PID SM MIB BEGIN END [WATTS]
//	                    a process uses SM % of device I, with MIB of memory, from and to
//	                    seconds of CLOCK_MONOTONIC; with WATTS it draws that much meanwhile, above
//	                    idle power
//	every MS            the driver's samples of what processes use are taken so often (200)
//	draws I PID         the contexts of PID on device I draw, and do not compute
//	accounting I        device I accounts for processes
//	mps I PID           PID is a client of MPS on device I
//	migmode I           device I is divided into MIG instances; its handle is the whole
//	mig I               the handle of device I is a MIG instance of it
//	instance I GI N [hidden]  device I has a GPU instance GI of N slices, with one compute instance; hidden: only
//	                    what lists all processes tells of it
//	in PID GI [PART]    PID computes on GPU instance GI, for SM % of the time; meanwhile PART % of the
//	                    instance's SMs work (100), and draw that part of the power
//	slices I N          the slices of device I (7)
//	architecture I N    NVML_DEVICE_ARCH_* of device I (9, Hopper)
//	capability I N M    the compute capability of device I (9 0)
//	habit I T W D       the counter of device I moves each T ms, by the mean power of the W ms that
//	                    ended D ms before, times T
//	powerhabit I T W D  its powers change each T ms: the mean of the W ms that ended D ms before
//	averagehabit I T W D  the same of its power that is said to be an average
//	version TEXT        of the driver (550.54.15)
//	fail I FUNCTION N   that function answers N for device I, * for all
//	block MS            how long the throughput of PCIe takes to read (0)
//
// where FUNCTION is init, count, handle, energy, power, instant, average,
// temperature, clock, utilization, memory, nvlink, pcie, processes (their utilisation),
// contexts (of the whole device), own (contexts of an instance), graphics, instances, attributes, gpm,
// accounting or architecture. With -DNO_FUNCTION (upper case: INIT, ENERGY,
// POWER, FIELDS, PROCESSES, CONTEXTS, GPM) the library lacks it. Types and numbers are those of
// nvml.h, written out: cg is compiled against the real one. instances.c
// follows this text.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX = 16, MOST = 1024 };
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { POWER_AVERAGE = 185, POWER_INSTANT = 186, NVLINK_TX = 138, NVLINK_RX = 139 };
enum { UINT = 1, ULONGLONG = 3 };

struct device {
	int index, instance;
	int id; // of the GPU instance; -1 where it is any
};

static struct device whole[MAX], instances[MAX], pieces[MAX][MAX];

struct process {
	int device;
	unsigned pid;
	double sm, mib, begin, end, watts; // watts below 0: as the device
	int gpu_instance;                  // -1: none
	double sms, part;                  // what works of the instance's SMs, and of the device's
};

struct conf {
	int gpus, block, mig[MAX], migmode[MAX], accounting[MAX], architecture[MAX];
	double watts[MAX], idle[MAX], every; // idle below 0: as watts
	struct process processes[MOST];
	int known; // processes
	struct instance {
		int device, id, slices, hidden;
	} instances[MOST];
	int divided, slices[MAX]; // instances
	struct {
		unsigned pid;
		int gpu_instance;
		double sms;
	} place[MOST]; // of processes
	int placed;
	int clients, mps[MAX], drawers, draws[MAX];
	unsigned client[MAX], drawer[MAX];
	int major[MAX], minor[MAX];
	char version[32];
	struct habit {
		double period, window, delay; // s; no period: the device has none
	} habit[MAX], power_habit[MAX], average_habit[MAX];
	const char *function; // that is asked for
	int device, fail;     // what it answers
};

static struct habit seconds(struct habit ms) {
	return (struct habit){ms.period * 1e-3, ms.window * 1e-3, ms.delay * 1e-3};
}

static struct conf conf(int device, const char *function) {
	struct conf c = {.gpus = 1, .every = 0.2, .version = "550.54.15"};
	for (int i = 0; i < MAX; i++) {
		c.watts[i] = 100;
		c.idle[i] = -1;
		c.architecture[i] = 9;
		c.major[i] = 9;
		c.slices[i] = 7;
	}
	Dl_info info;
	char path[4096], line[256], which[16], name[32];
	if (!dladdr(whole, &info))
		return c;
	snprintf(path, sizeof path, "%s.conf", info.dli_fname);
	FILE *f = fopen(path, "re");
	if (!f)
		return c;
	int i, n, m;
	struct habit h;
	unsigned pid;
	double w;
	struct process p;
	struct instance in;
	while (fgets(line, sizeof line, f)) {
		p = (struct process){.watts = -1, .gpu_instance = -1, .sms = 1, .part = 1};
		if (sscanf(line, "process %d %u %lf %lf %lf %lf %lf", &p.device, &p.pid, &p.sm, &p.mib,
		           &p.begin, &p.end, &p.watts) >= 6 && c.known < MOST)
			c.processes[c.known++] = p;
		else if (sscanf(line, "gpus %d", &n) == 1 && n <= MAX)
			c.gpus = n;
		else if (sscanf(line, "watts %d %lf", &i, &w) == 2 && i < MAX)
			c.watts[i] = w;
		else if (sscanf(line, "idle %d %lf", &i, &w) == 2 && i < MAX)
			c.idle[i] = w;
		else if (sscanf(line, "capability %d %d %d", &i, &n, &m) == 3 && i < MAX)
			c.major[i] = n, c.minor[i] = m;
		else if (sscanf(line, "habit %d %lf %lf %lf", &i, &h.period, &h.window, &h.delay) == 4 && i < MAX)
			c.habit[i] = seconds(h);
		else if (sscanf(line, "powerhabit %d %lf %lf %lf", &i, &h.period, &h.window, &h.delay) == 4 && i < MAX)
			c.power_habit[i] = seconds(h);
		else if (sscanf(line, "averagehabit %d %lf %lf %lf", &i, &h.period, &h.window, &h.delay) == 4 && i < MAX)
			c.average_habit[i] = seconds(h);
		else if (sscanf(line, "version %31s", c.version) == 1)
			continue;
		else if (sscanf(line, "every %lf", &w) == 1)
			c.every = w * 1e-3;
		else if (sscanf(line, "accounting %d", &i) == 1 && i < MAX)
			c.accounting[i] = 1;
		else if (sscanf(line, "architecture %d %d", &i, &n) == 2 && i < MAX)
			c.architecture[i] = n;
		else if (sscanf(line, "mps %d %u", &i, &pid) == 2 && c.clients < MAX) {
			c.mps[c.clients] = i;
			c.client[c.clients++] = pid;
		} else if (sscanf(line, "draws %d %u", &i, &pid) == 2 && c.drawers < MAX) {
			c.draws[c.drawers] = i;
			c.drawer[c.drawers++] = pid;
		} else if (sscanf(line, "migmode %d", &i) == 1 && i < MAX)
			c.migmode[i] = 1;
		else if (sscanf(line, "mig %d", &i) == 1 && i < MAX)
			c.mig[i] = 1;
		else if (in.hidden = 0, sscanf(line, "instance %d %d %d hid%n", &in.device, &in.id, &in.slices,
		                               &in.hidden) == 3 && c.divided < MOST)
			c.instances[c.divided++] = in;
		else if (sscanf(line, "slices %d %d", &i, &n) == 2 && i < MAX)
			c.slices[i] = n;
		else if ((w = 100, sscanf(line, "in %u %d %lf", &pid, &n, &w)) >= 2 && c.placed < MOST) {
			c.place[c.placed].pid = pid;
			c.place[c.placed].gpu_instance = n;
			c.place[c.placed++].sms = w / 100;
		} else if (sscanf(line, "block %d", &n) == 1)
			c.block = n;
		else if (sscanf(line, "fail %15s %31s %d", which, name, &n) == 3 && !strcmp(name, function) &&
		         (!strcmp(which, "*") || atoi(which) == device))
			c.fail = n;
	}
	fclose(f);
	for (i = 0; i < c.known * c.placed; i++) {
		struct process *on = &c.processes[i / c.placed];
		if (c.place[i % c.placed].pid != on->pid)
			continue;
		on->gpu_instance = c.place[i % c.placed].gpu_instance;
		on->sms = c.place[i % c.placed].sms;
		for (n = 0; n < c.divided; n++)
			if (c.instances[n].device == on->device && c.instances[n].id == on->gpu_instance)
				on->part = on->sms * c.instances[n].slices / c.slices[on->device];
	}
	return c;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

// used is for how long kernels of a process ran between two moments, in seconds.
static double used(const struct process *p, double from, double to) {
	double begin = p->begin > from ? p->begin : from, end = p->end < to ? p->end : to;
	return end > begin ? p->sm / 100 * (end - begin) : 0;
}

// joules is what a device has used up to a moment.
static double joules(const struct conf *c, int device, double at) {
	if (c->idle[device] < 0)
		return c->watts[device] * at;
	double sum = c->idle[device] * at;
	for (int i = 0; i < c->known; i++)
		if (c->processes[i].device == device)
			sum += (c->processes[i].watts < 0 ? c->watts[device] - c->idle[device] : c->processes[i].watts) *
			       c->processes[i].part * used(&c->processes[i], 0, at);
	return sum;
}

// counted is what the counter of a device with a habit tells at a moment: what it counts for the updates before.
static double counted(const struct conf *c, int device, double at) {
	const struct habit *h = &c->habit[device];
	if (!h->period)
		return joules(c, device, (long long)(at * 50) / 50.0);
	long long last = at / h->period;
	double sum = c->idle[device] * last * h->period;
	if (c->idle[device] < 0)
		return c->watts[device] * last * h->period;
	for (int i = 0; i < c->known; i++) {
		const struct process *p = &c->processes[i];
		if (p->device != device)
			continue;
		double watts = p->watts < 0 ? c->watts[device] - c->idle[device] : p->watts;
		for (long long k = p->begin / h->period; k <= last && k * h->period < p->end + h->window + h->delay + h->period;
		     k++) {
			double end = k * h->period - h->delay;
			sum += watts * used(p, end - h->window, end) / h->window * h->period;
		}
	}
	return sum;
}

// told is the power of a device by a habit.
static double told(const struct conf *c, int device, const struct habit *h) {
	double end = (long long)(now() / h->period) * h->period - h->delay;
	return (joules(c, device, end) - joules(c, device, end - h->window)) / h->window;
}

// watts is the power of a device now.
static double watts(const struct conf *c, int device) {
	if (c->power_habit[device].period)
		return told(c, device, &c->power_habit[device]);
	if (c->idle[device] < 0)
		return c->watts[device];
	double at = now();
	return (joules(c, device, at) - joules(c, device, at - 1e-3)) / 1e-3;
}

// busy is for how much of the last sample kernels of any process ran.
static double busy(const struct conf *c, int device) {
	double to = (long long)(now() / c->every) * c->every, sum = 0;
	for (int i = 0; i < c->known; i++)
		if (c->processes[i].device == device)
			sum += used(&c->processes[i], to - c->every, to) / c->every;
	return sum < 1 ? sum : 1;
}

#ifndef NO_INIT
int nvmlInit_v2(void) { return conf(-1, "init").fail; }
int nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); } // other tools'
#endif
const char *nvmlErrorString(int code) { return code ? "error" : "success"; }
int nvmlShutdown(void) { return SUCCESS; }

int nvmlDeviceGetCount_v2(unsigned *n) {
	struct conf c = conf(-1, "count");
	*n = c.gpus;
	return c.fail;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct device **out) {
	struct conf c = conf(i, "handle");
	if ((int)i >= c.gpus)
		return INVALID_ARGUMENT;
	whole[i].index = instances[i].index = i;
	whole[i].id = instances[i].id = -1;
	instances[i].instance = 1;
	*out = c.mig[i] ? &instances[i] : &whole[i];
	return c.fail;
}

int nvmlDeviceIsMigDeviceHandle(struct device *d, unsigned *is) {
	*is = d->instance;
	return SUCCESS;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct device *d, struct device **out) {
	*out = &whole[d->index];
	return SUCCESS;
}

#ifndef NO_ENERGY
int nvmlDeviceGetTotalEnergyConsumption(struct device *d, unsigned long long *mJ) {
	struct conf c = conf(d->index, "energy");
	if (d->instance)
		return NOT_SUPPORTED;
	*mJ = 1000 * counted(&c, d->index, now());
	return c.fail;
}
#endif

#ifndef NO_POWER
int nvmlDeviceGetPowerUsage(struct device *d, unsigned *mW) {
	struct conf c = conf(d->index, "power");
	*mW = watts(&c, d->index) * 1000 + 0.5;
	return d->instance ? NOT_SUPPORTED : c.fail;
}
#endif

struct field {
	unsigned id, scope;
	long long timestamp, latency;
	int type, answer;
	union {
		unsigned ui;
		unsigned long long ull;
	} value;
};

#ifndef NO_FIELDS
int nvmlDeviceGetFieldValues(struct device *d, int n, struct field *f) {
	for (int i = 0; i < n; i++) {
		const char *name = f[i].id == POWER_INSTANT ? "instant" : f[i].id == POWER_AVERAGE ? "average" : "nvlink";
		struct conf c = conf(d->index, name);
		f[i].answer = c.fail;
		switch (f[i].id) {
		case POWER_INSTANT:
		case POWER_AVERAGE:
			f[i].type = UINT;
			f[i].value.ui = (f[i].id == POWER_AVERAGE && c.average_habit[d->index].period
			                     ? told(&c, d->index, &c.average_habit[d->index])
			                     : watts(&c, d->index)) *
			                    1000 + 0.5;
			break;
		case NVLINK_TX:
		case NVLINK_RX:
			f[i].type = ULONGLONG;
			f[i].value.ull = f[i].id * 1000 + d->index;
			if (f[i].scope != UINT32_MAX)
				f[i].answer = INVALID_ARGUMENT;
			break;
		default:
			f[i].answer = NOT_SUPPORTED;
		}
	}
	return SUCCESS;
}
#endif

int nvmlDeviceGetTemperature(struct device *d, int sensor, unsigned *celsius) {
	*celsius = 40 + d->index;
	return sensor ? INVALID_ARGUMENT : conf(d->index, "temperature").fail;
}

int nvmlDeviceGetClockInfo(struct device *d, int which, unsigned *mhz) {
	*mhz = which == 2 ? 5001 : 1400 + d->index;
	return which == 0 || which == 2 ? conf(d->index, "clock").fail : INVALID_ARGUMENT;
}

int nvmlDeviceGetUtilizationRates(struct device *d, unsigned *gpu_and_memory) {
	struct conf c = conf(d->index, "utilization");
	gpu_and_memory[0] = c.idle[d->index] < 0 ? 90 - d->index : 100 * busy(&c, d->index);
	gpu_and_memory[1] = 30 + d->index;
	return c.fail;
}

int nvmlDeviceGetMemoryInfo(struct device *d, unsigned long long *total_free_used) {
	total_free_used[0] = 16ULL << 30;
	total_free_used[1] = 12ULL << 30;
	total_free_used[2] = 4ULL << 30;
	return conf(d->index, "memory").fail;
}

int nvmlDeviceGetMigMode(struct device *d, unsigned *current, unsigned *pending) {
	struct conf c = conf(d->index, "migmode");
	*current = *pending = c.migmode[d->index];
	return c.fail;
}

int nvmlDeviceGetUUID(struct device *d, char *to, unsigned n) {
	char uuid[48] = "GPU-", byte[3];
	for (int i = 0; i < 16; i++) {
		snprintf(byte, sizeof byte, "%02x", 0x10 + d->index);
		strcat(uuid, i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "");
		strcat(uuid, byte);
	}
	snprintf(to, n, "%s", uuid);
	return conf(d->index, "uuid").fail;
}

int nvmlDeviceGetArchitecture(struct device *d, unsigned *architecture) {
	struct conf c = conf(d->index, "architecture");
	*architecture = c.architecture[d->index];
	return c.fail;
}

int nvmlDeviceGetCudaComputeCapability(struct device *d, int *major, int *minor) {
	struct conf c = conf(d->index, "capability");
	*major = c.major[d->index];
	*minor = c.minor[d->index];
	return c.fail;
}

int nvmlDeviceGetName(struct device *d, char *to, unsigned n) {
	snprintf(to, n, "NVIDIA H100 80GB HBM3");
	return conf(d->index, "name").fail;
}

int nvmlSystemGetDriverVersion(char *to, unsigned n) {
	struct conf c = conf(-1, "driver");
	snprintf(to, n, "%s", c.version);
	return c.fail;
}

struct use {
	unsigned pid;
	unsigned long long us;
	unsigned sm, memory, encoder, decoder;
};

#ifndef NO_PROCESSES
// The samples end at whole multiples of the period, and what a process used is the mean of
// those after the moment that is asked for.
int nvmlDeviceGetProcessUtilization(struct device *d, struct use *to, unsigned *n, unsigned long long after) {
	struct conf c = conf(d->index, "processes");
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	double real = t.tv_sec + t.tv_nsec * 1e-9 - now(); // of moment 0 of CLOCK_MONOTONIC
	if (c.fail)
		return c.fail;
	if (c.migmode[d->index] || d->instance)
		return NOT_SUPPORTED;
	double last = (long long)(now() / c.every) * c.every, begin = after * 1e-6 - real;
	double first = ((long long)(begin / c.every) + 1) * c.every - c.every; // where its samples begin
	if (begin < last - 72 * c.every)
		first = last - 72 * c.every;
	unsigned found = 0, room = to ? *n : 0;
	for (int i = 0; i < c.known && last > first; i++) {
		struct process *p = &c.processes[i];
		double part = 0;
		int before = 0; // a process has one sample, of all its lines
		for (int k = 0; k < c.known; k++)
			if (c.processes[k].device == d->index && c.processes[k].pid == p->pid) {
				before |= k < i;
				part += used(&c.processes[k], first, last) / (last - first);
			}
		if (p->device != d->index || before || part <= 0)
			continue;
		if (found++ < room)
			to[found - 1] = (struct use){p->pid, (last + real) * 1e6, part * 100 + 0.5, part * 50};
	}
	*n = found;
	return !found ? NOT_FOUND : found > room ? INSUFFICIENT_SIZE : SUCCESS;
}
#endif

struct context {
	unsigned pid;
	unsigned long long bytes;
	unsigned gpu_instance, compute_instance;
};

#ifndef NO_CONTEXTS
enum kind { COMPUTE, DRAW, CLIENT }; // of contexts

static int contexts(const char *function, const struct device *of, enum kind kind, unsigned *n, struct context *to) {
	int device = of->index;
	struct conf c = conf(device, of->instance && of->id >= 0 ? "own" : function);
	unsigned found = 0, room = to ? *n : 0;
	double at = now();
	for (int i = 0; i < c.known; i++) {
		struct process *p = &c.processes[i];
		int client = 0, draws = 0;
		for (int k = 0; k < c.clients; k++)
			client |= c.mps[k] == device && c.client[k] == p->pid;
		for (int k = 0; k < c.drawers; k++)
			draws |= c.draws[k] == device && c.drawer[k] == p->pid;
		int is = kind == CLIENT ? client : draws == (kind == DRAW);
		if (p->device == device && p->begin <= at && at < p->end && is &&
		    (of->id < 0 || of->id == p->gpu_instance) && found++ < room)
			to[found - 1] = (struct context){p->pid, p->mib * (1 << 20), p->gpu_instance, p->gpu_instance < 0 ? -1 : 0};
	}
	*n = found;
	return c.fail ? c.fail : found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct device *d, unsigned *n, struct context *to) {
	return contexts("contexts", d, COMPUTE, n, to);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(struct device *d, unsigned *n, struct context *to) {
	return contexts("graphics", d, DRAW, n, to);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct device *d, unsigned *n, struct context *to) {
	return contexts("mps", d, CLIENT, n, to);
}
#endif

int nvmlDeviceGetAccountingMode(struct device *d, unsigned *mode) {
	struct conf c = conf(d->index, "accounting");
	*mode = c.accounting[d->index];
	return c.fail;
}

int nvmlDeviceGetAccountingPids(struct device *d, unsigned *n, unsigned *to) {
	struct conf c = conf(d->index, "accounting");
	unsigned found = 0, room = to ? *n : 0;
	for (int i = 0; i < c.known; i++)
		if (c.processes[i].device == d->index && c.processes[i].begin <= now() && found++ < room)
			to[found - 1] = c.processes[i].pid;
	*n = found;
	return c.fail ? c.fail : found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

struct accounting {
	unsigned gpu, memory;
	unsigned long long bytes, ms, started_us;
	unsigned running, reserved[5];
};

_Static_assert(sizeof(struct use) == 32 && sizeof(struct context) == 24 && sizeof(struct accounting) == 56, "nvml.h");

int nvmlDeviceGetAccountingStats(struct device *d, unsigned pid, struct accounting *to) {
	struct conf c = conf(d->index, "accounting");
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	double at = now(), real = t.tv_sec + t.tv_nsec * 1e-9 - at;
	for (int i = 0; i < c.known && !c.fail; i++) {
		struct process *p = &c.processes[i];
		if (p->device != d->index || p->pid != pid || p->begin > at)
			continue;
		memset(to, 0, sizeof *to);
		to->running = at < p->end;
		to->gpu = p->sm + 0.5;
		to->bytes = p->mib * (1 << 20);
		to->ms = to->running ? 0 : (p->end - p->begin) * 1e3;
		to->started_us = (p->begin + real) * 1e6;
		return SUCCESS;
	}
	return c.fail ? c.fail : NOT_FOUND;
}

int nvmlDeviceGetPcieThroughput(struct device *d, int counter, unsigned *kib) {
	struct conf c = conf(d->index, "pcie");
	usleep(c.block * 1000);
	*kib = 1000 * (counter + 1) + d->index;
	return c.fail;
}
