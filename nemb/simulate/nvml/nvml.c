// A libnvidia-ml.so.1 of GPUs that do not exist. Its file NAME.conf, beside the
// library, is read at each call; a line is one of
//
//	gpus N              devices (1)
//	watts I W           power of device I (100): constant, its counter is 20 ms old at most
//	mig I               the handle of device I is a MIG instance of it
//	fail I FUNCTION N   that function answers N for device I, * for all
//	block MS            how long the throughput of PCIe takes to read (0)
//
// where FUNCTION is init, count, handle, energy, power, instant, average,
// temperature, clock, utilization, memory, nvlink or pcie. With -DNO_FUNCTION (upper
// case) the library lacks it. Types and numbers are those of nvml.h, written
// out: cg is compiled against the real one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX = 16, SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3 };
enum { POWER_AVERAGE = 185, POWER_INSTANT = 186, NVLINK_TX = 138, NVLINK_RX = 139 };
enum { UINT = 1, ULONGLONG = 3 };

struct device {
	int index, instance;
};

static struct device whole[MAX], instances[MAX];

struct conf {
	int gpus, block, mig[MAX];
	double watts[MAX];
	const char *function; // that is asked for
	int device, fail;     // what it answers
};

static struct conf conf(int device, const char *function) {
	struct conf c = {.gpus = 1};
	for (int i = 0; i < MAX; i++)
		c.watts[i] = 100;
	Dl_info info;
	char path[4096], line[256], which[16], name[32];
	if (!dladdr(whole, &info))
		return c;
	snprintf(path, sizeof path, "%s.conf", info.dli_fname);
	FILE *f = fopen(path, "re");
	if (!f)
		return c;
	int i, n;
	double w;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "gpus %d", &n) == 1 && n <= MAX)
			c.gpus = n;
		else if (sscanf(line, "watts %d %lf", &i, &w) == 2 && i < MAX)
			c.watts[i] = w;
		else if (sscanf(line, "mig %d", &i) == 1 && i < MAX)
			c.mig[i] = 1;
		else if (sscanf(line, "block %d", &n) == 1)
			c.block = n;
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
	*mJ = 1000 * c.watts[d->index] * ((long long)(now() * 50) / 50.0);
	return c.fail;
}
#endif

#ifndef NO_POWER
int nvmlDeviceGetPowerUsage(struct device *d, unsigned *mW) {
	struct conf c = conf(d->index, "power");
	*mW = c.watts[d->index] * 1000;
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
			f[i].value.ui = c.watts[d->index] * 1000;
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
	gpu_and_memory[0] = 90 - d->index;
	gpu_and_memory[1] = 30 + d->index;
	return conf(d->index, "utilization").fail;
}

int nvmlDeviceGetMemoryInfo(struct device *d, unsigned long long *total_free_used) {
	total_free_used[0] = 16ULL << 30;
	total_free_used[1] = 12ULL << 30;
	total_free_used[2] = 4ULL << 30;
	return conf(d->index, "memory").fail;
}

int nvmlDeviceGetPcieThroughput(struct device *d, int counter, unsigned *kib) {
	struct conf c = conf(d->index, "pcie");
	usleep(c.block * 1000);
	*kib = 1000 * (counter + 1) + d->index;
	return c.fail;
}
