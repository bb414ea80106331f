// CUPTI and the CUDA driver of GPUs that do not exist. abi.h, which testdata/cupti compares with
// NVIDIA's headers, comes before this text. The file cupti.conf beside the library is read at each
// call; a line is one of
//
//	gpus N                       devices (1)
//	name TEXT                    of each (NVIDIA H100 80GB HBM3)
//	capability MAJOR MINOR       (9 0)
//	chip NAME                    of each (GH100)
//	metric NAME KIND UNIT DIMENSION VALUE [OTHER N]
//	                             a metric with its suffix; KIND is counter, ratio or throughput;
//	                             N samples have VALUE, then N have OTHER, and so on
//	samples N                    how many samples there are from one start to the next (1000)
//	decode N                     how many of them a decoding finds (100), all of them after a stop
//	incomplete N                 the last N of each decoding are not complete
//	empty N                      the last N of all last no time
//	stale N                      the first N of all have the time of another clock
//	lost N                       N samples are missing after the first ten
//	overflow N                   the Nth decoding after a start finds the buffer full
//	clock OFFSET PPM             the GPU's clock: CLOCK_MONOTONIC, faster by PPM, and OFFSET ns
//	passes N                     that the counters take (1)
//	live FILE                    samples are taken as time passes, in place of samples and decode; a line
//	                             FROM TO PART [GPU] of FILE (seconds of CLOCK_MONOTONIC) says that metrics
//	                             have that part of their value meanwhile, and 0 else
//	busy WATTS FILE              what cuLaunchKernel runs takes a millisecond, and is written to that FILE of the
//	                             stand-in of NVML (nemb/simulate/nvml); without it there is nothing to launch with
//	fail FUNCTION CODE [N]       it answers CODE, at its Nth call only where N is given
//
// It is as strict as the library is where that is known: sizes of structures, the order of calls, and
// that the configuration is still in memory.
#include <dlfcn.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, OK = 0, INVALID = 1, OPERATION = 7, MEMORY = 8, UNINITIALIZED = 15, METRIC = 17, UNSUPPORTED = 27,
       UNKNOWN = 999 };

struct metric {
	char name[128], kind[16], unit[32], dimension[32];
	double value, other;
	unsigned long each;
};

struct conf {
	int gpus, major, minor, metrics, fail;
	long samples, decode, incomplete, empty, stale, lost, overflow, passes;
	double offset, ppm, watts;
	char name[64], chip[32], live[4096], busy[4096];
	struct metric metric[MOST];
};

#define END(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

// configured reads the file; fail is what the function is to answer now.
static struct conf configured(const char *function) {
	static struct {
		char name[64];
		int n;
	} calls[64];
	struct conf c = {.gpus = 1, .major = 9, .samples = 1000, .decode = 100, .passes = 1};
	strcpy(c.name, "NVIDIA H100 80GB HBM3");
	strcpy(c.chip, "GH100");
	int k = 0;
	while (k < 63 && calls[k].n && strcmp(calls[k].name, function))
		k++;
	strcpy(calls[k].name, function);
	calls[k].n++;
	Dl_info info;
	char path[4096], line[512], copy[4096], name[64];
	if (!dladdr((void *)configured, &info))
		return c;
	snprintf(copy, sizeof copy, "%s", info.dli_fname);
	snprintf(path, sizeof path, "%s/cupti.conf", dirname(copy));
	FILE *f = fopen(path, "re");
	if (!f)
		return c;
	while (fgets(line, sizeof line, f)) {
		int code, at = 0;
		struct metric m = {.each = 0};
		if (sscanf(line, "metric %127s %15s %31s %31s %lf %lf %lu", m.name, m.kind, m.unit, m.dimension, &m.value,
		           &m.other, &m.each) >= 5 && c.metrics < MOST)
			c.metric[c.metrics++] = m;
		if (sscanf(line, "fail %63s %d %d", name, &code, &at) >= 2 && !strcmp(name, function) &&
		    (!at || at == calls[k].n))
			c.fail = code;
		sscanf(line, "gpus %d", &c.gpus);
		sscanf(line, "name %63[^\n]", c.name);
		sscanf(line, "capability %d %d", &c.major, &c.minor);
		sscanf(line, "chip %31s", c.chip);
		sscanf(line, "samples %ld", &c.samples);
		sscanf(line, "decode %ld", &c.decode);
		sscanf(line, "incomplete %ld", &c.incomplete);
		sscanf(line, "empty %ld", &c.empty);
		sscanf(line, "stale %ld", &c.stale);
		sscanf(line, "lost %ld", &c.lost);
		sscanf(line, "overflow %ld", &c.overflow);
		sscanf(line, "clock %lf %lf", &c.offset, &c.ppm);
		sscanf(line, "passes %ld", &c.passes);
		sscanf(line, "live %4095[^\n]", c.live);
		sscanf(line, "busy %lf %4095[^\n]", &c.watts, c.busy);
	}
	fclose(f);
	return c;
}

// BEGIN reads the file and answers what the call is to fail with.
#define BEGIN                             \
	struct conf c = configured(__func__); \
	if (c.fail)                           \
		return c.fail;

int NVPW_InitializeHost(void) { return 0; }

int cuInit(unsigned flags) {
	BEGIN
	return flags ? 1 : c.gpus ? 0 : 100;
}

int cuDeviceGetCount(int *n) {
	BEGIN
	*n = c.gpus;
	return 0;
}

int cuDeviceGet(int *device, int index) {
	BEGIN
	*device = index;
	return index < c.gpus ? 0 : 101;
}

int cuDeviceGetName(char *name, int length, int device) {
	BEGIN
	snprintf(name, length, "%s", c.name);
	return 0;
}

int cuDeviceGetAttribute(int *value, int which, int device) {
	BEGIN
	*value = which == 75 ? c.major : c.minor;
	return which == 75 || which == 76 ? 0 : 1;
}

int cuDeviceGetPCIBusId(char *place, int length, int device) {
	BEGIN
	snprintf(place, length, "0000:%02X:00.0", 0x1b + device);
	return 0;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
	BEGIN
	memset(uuid, 0x10 + device, 16);
	return 0;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static unsigned long gpu_now(struct conf *c) { return now() * (1 + c->ppm * 1e-6) + c->offset; }

int cuptiGetVersion(unsigned *version) {
	BEGIN
#ifdef OLDER
	*version = 24;
#elif defined OLD
	*version = 28;
#else
	*version = 130500;
#endif
	return 0;
}

int cuptiGetTimestamp(unsigned long *ns) {
	BEGIN
	*ns = gpu_now(&c);
	return 0;
}

static int begun, ended;

int cuptiProfilerInitialize(struct cg_cupti_plain *p) {
	BEGIN
	begun = 1;
	return p->size == 16 && !p->reserved ? OK : INVALID;
}

int cuptiProfilerDeInitialize(struct cg_cupti_plain *p) {
	BEGIN
	return ended++ ? UNKNOWN : OK; // the library crashes
}

int cuptiDeviceGetChipName(struct cg_cupti_chip *p) {
	static char chip[32];
	BEGIN
	if (!begun)
		return UNINITIALIZED;
	strcpy(chip, c.chip);
	p->name = chip;
	return p->size == END(cg_cupti_chip, name) && p->device < (size_t)c.gpus ? OK : INVALID;
}

#ifndef NO_PM
// ---- The host side. ----

static const char *const chips[] = {"TU102", "GA100", "GH100"};

int cuptiProfilerHostGetSupportedChips(struct cg_cupti_chips *p) {
	BEGIN
	p->names = chips;
	p->n = 3;
	return p->size == END(cg_cupti_chips, names) ? OK : INVALID;
}

struct host {
	char chip[32];
	int broken, metrics;
	char names[MOST][128];
};

int cuptiProfilerHostInitialize(struct cg_cupti_host *p) {
	BEGIN
	int known = 0;
	for (int i = 0; i < 3; i++)
		known |= !strcmp(chips[i], p->chip);
#if defined OLD || defined OLDER
	if (p->size != offsetof(struct cg_cupti_host, set))
		return INVALID;
#else
	if (p->size != END(cg_cupti_host, set) || (p->set && strcmp(p->set, "Triage")))
		return INVALID;
#endif
	if (!known || p->kind != CG_CUPTI_PM_SAMPLING)
		return INVALID;
	struct host *h = calloc(1, sizeof *h);
	strcpy(h->chip, p->chip);
	p->host = h;
	return OK;
}

int cuptiProfilerHostDeinitialize(struct cg_cupti_of_host *p) {
	BEGIN
	free(p->host);
	return OK;
}

static const char *const kinds[] = {"counter", "ratio", "throughput"};

int cuptiProfilerHostGetBaseMetrics(struct cg_cupti_base *p) {
	static char names[MOST][128];
	static const char *list[MOST];
	BEGIN
	p->n = 0;
	for (int i = 0; i < c.metrics; i++) {
		if (strcmp(c.metric[i].kind, kinds[p->type]))
			continue;
		snprintf(names[i], 128, "%.*s", (int)strcspn(c.metric[i].name, "."), c.metric[i].name);
		int seen = 0;
		for (size_t k = 0; k < p->n; k++)
			seen |= !strcmp(list[k], names[i]);
		if (!seen)
			list[p->n++] = names[i];
	}
	p->names = list;
	return p->size == END(cg_cupti_base, n) ? OK : INVALID;
}

// metric finds a metric; whole says that its suffix must be there.
static struct metric *metric(struct conf *c, const char *name, int whole) {
	for (int i = 0; i < c->metrics; i++)
		if (!strcmp(c->metric[i].name, name) ||
		    (!whole && strcspn(c->metric[i].name, ".") == strcspn(name, ".") &&
		     !strncmp(c->metric[i].name, name, strcspn(name, "."))))
			return &c->metric[i];
	return 0;
}

// described tells whether a name is one that has properties: CUPTI 12 wants a suffix.
static struct metric *described(struct conf *c, const char *name) {
#if defined OLD || defined OLDER
	if (!strchr(name, '.'))
		return 0;
#endif
	return metric(c, name, 0);
}

int cuptiProfilerHostGetSubMetrics(struct cg_cupti_sub *p) {
	static char names[MOST][128];
	static const char *list[MOST];
	BEGIN
	if (!described(&c, p->metric))
		return METRIC;
	p->n = 0;
	for (int i = 0; i < c.metrics; i++)
		if (strcspn(c.metric[i].name, ".") == strcspn(p->metric, ".") &&
		    !strncmp(c.metric[i].name, p->metric, strcspn(p->metric, "."))) {
			strcpy(names[p->n], strchr(c.metric[i].name, '.'));
			list[p->n] = names[p->n];
			p->n++;
		}
	p->names = list;
	return p->size == END(cg_cupti_sub, names) ? OK : INVALID;
}

int cuptiProfilerHostGetMetricProperties(struct cg_cupti_properties *p) {
	static struct metric found;
	static char description[160];
	BEGIN
#if defined OLD || defined OLDER
	if (p->size != END(cg_cupti_properties, type))
		return INVALID;
#endif
	struct metric *m = described(&c, p->metric);
	if (!m)
		return METRIC;
	found = *m;
	snprintf(description, sizeof description, "what %.*s counts", (int)strcspn(m->name, "."), m->name);
	p->description = description;
	p->unit = found.unit;
	p->dimension = found.dimension;
	return OK;
}

#if !defined OLD && !defined OLDER
int cuptiProfilerHostGetSinglePassSets(struct cg_cupti_sets *p) {
	BEGIN
	if (p->names && p->n == 1)
		p->names[0] = "Triage";
	p->n = 1;
	return p->size == END(cg_cupti_sets, names) ? OK : INVALID;
}
#endif

int cuptiProfilerHostConfigAddMetrics(struct cg_cupti_add *p) {
	BEGIN
	struct host *h = p->host;
	if (h->broken)
		return UNKNOWN;
	for (size_t i = 0; i < p->n; i++) {
		if (!metric(&c, p->metrics[i], 1)) {
			h->broken = 1;
			return INVALID;
		}
		strcpy(h->names[h->metrics++], p->metrics[i]);
	}
	return p->n ? OK : INVALID;
}

struct config {
	unsigned magic;
	int passes;
};

enum { CONFIG = 0x43464743, IMAGE = 0x474d4943 };

int cuptiProfilerHostGetConfigImageSize(struct cg_cupti_config_size *p) {
	BEGIN
	p->length = sizeof(struct config);
	return OK;
}

int cuptiProfilerHostGetConfigImage(struct cg_cupti_config *p) {
	BEGIN
	*(struct config *)p->image = (struct config){CONFIG, c.passes};
	return p->length >= sizeof(struct config) ? OK : INVALID;
}

int cuptiProfilerHostGetNumOfPasses(struct cg_cupti_passes *p) {
	BEGIN
	p->passes = ((struct config *)p->image)->passes;
	return OK;
}

struct slot {
	unsigned long number, start, end;
};

struct image {
	unsigned magic, device;
	size_t total, populated, completed;
	struct slot slot[];
};

// part is the part of their values that metrics have in a sample.
static double part(struct conf *c, unsigned device, const struct slot *s) {
	double sum = 0, from, to, part;
	char path[8192], line[256], copy[4096];
	Dl_info info;
	dladdr((void *)metric, &info);
	snprintf(copy, sizeof copy, "%s", info.dli_fname);
	snprintf(path, sizeof path, "%s/%s", *c->live == '/' ? "" : dirname(copy), c->live);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		unsigned of = 0;
		if (sscanf(line, "%lf %lf %lf %u", &from, &to, &part, &of) < 3 || of != device)
			continue;
		double begin = (s->start - c->offset) / (1 + c->ppm * 1e-6), end = (s->end - c->offset) / (1 + c->ppm * 1e-6);
		from = from * 1e9 > begin ? from * 1e9 : begin;
		to = to * 1e9 < end ? to * 1e9 : end;
		if (to > from)
			sum += part * (to - from);
	}
	if (f)
		fclose(f);
	return sum / (double)(s->end - s->start);
}

int cuptiProfilerHostEvaluateToGpuValues(struct cg_cupti_evaluate *p) {
	BEGIN
	const struct image *i = (const void *)p->image;
	if (p->length >= sizeof *i && i->magic == 0)
		*(volatile int *)i->total = 0; // as the library, which looks at no image before it reads it
	if (p->length < sizeof *i || i->magic != IMAGE || p->index >= i->completed ||
	    p->length < sizeof *i + i->total * sizeof *i->slot)
		return INVALID;
	for (size_t k = 0; k < p->n; k++) {
		struct metric *m = metric(&c, p->metrics[k], 1);
		if (!m)
			return METRIC;
		p->values[k] = m->each && i->slot[p->index].number / m->each % 2 ? m->other : m->value;
		if (*c.live)
			p->values[k] *= part(&c, i->device, &i->slot[p->index]);
	}
	return OK;
}

// ---- The GPUs' side: a sampler each. ----

static struct sampler {
	int enabled, running, decodings;
	const struct config *config;
	unsigned long interval, began, ended, next; // next is the number of the next sample
} samplers[16];

// BEGIN_OF is BEGIN of a function whose structure names a sampler.
#define BEGIN_OF                                                                   \
	BEGIN                                                                          \
	struct sampler *sampler = p->object;                                           \
	if (sampler < samplers || sampler >= samplers + 16)                            \
		return INVALID;

int cuptiPmSamplingGetCounterAvailability(struct cg_cupti_availability *p) {
	BEGIN
	p->length = 8;
	if (p->image)
		memset(p->image, 1, 8);
	return begun && p->size == END(cg_cupti_availability, image) ? OK : INVALID;
}

int cuptiPmSamplingEnable(struct cg_cupti_enable *p) {
	BEGIN
	if (!begun || p->size != END(cg_cupti_enable, object) || p->device >= (size_t)c.gpus)
		return INVALID;
	struct sampler *sampler = &samplers[p->device];
	if (sampler->enabled)
		return OPERATION;
	*sampler = (struct sampler){.enabled = 1};
	p->object = sampler;
	return OK;
}

int cuptiPmSamplingDisable(struct cg_cupti_of_object *p) {
	BEGIN_OF
	sampler->enabled = 0;
	return OK;
}

int cuptiPmSamplingSetConfig(struct cg_cupti_set_config *p) {
	BEGIN_OF
#ifdef OLDER
	if (p->size != END(cg_cupti_set_config, trigger))
		return INVALID;
#else
	if (p->size != END(cg_cupti_set_config, append))
		return INVALID;
#endif
	if (sampler->config)
		return UNKNOWN; // the library crashes
	if (((const struct config *)p->config)->passes != 1)
		return UNSUPPORTED;
	if (!strcmp(c.chip, "GA100") && p->trigger == 1)
		return UNSUPPORTED;
	sampler->config = (const void *)p->config;
	sampler->interval = p->interval;
	return p->length == sizeof(struct config) && p->interval && p->buffer ? OK : INVALID;
}

int cuptiPmSamplingStart(struct cg_cupti_of_object *p) {
	BEGIN_OF
	if (!sampler->enabled || sampler->running || !sampler->config)
		return OPERATION;
	if (sampler->config->magic != CONFIG)
		return UNKNOWN; // it was freed
	sampler->running = 1;
	sampler->decodings = 0;
	sampler->began = gpu_now(&c);
	sampler->next = 0;
	return OK;
}

int cuptiPmSamplingStop(struct cg_cupti_of_object *p) {
	BEGIN_OF
	if (!sampler->enabled || !sampler->running)
		return OPERATION;
	sampler->running = 0;
	sampler->ended = gpu_now(&c);
	return OK;
}

int cuptiPmSamplingGetCounterDataSize(struct cg_cupti_data_size *p) {
	BEGIN_OF
	if (!sampler->enabled || !p->samples || p->size != END(cg_cupti_data_size, length))
		return INVALID;
	p->length = sizeof(struct image) + p->samples * sizeof(struct slot);
	return OK;
}

int cuptiPmSamplingCounterDataImageInitialize(struct cg_cupti_data *p) {
	BEGIN_OF
	struct image *i = (void *)p->image;
	memset(i, 0, p->length);
	i->magic = IMAGE;
	i->device = sampler - samplers;
	i->total = (p->length - sizeof *i) / sizeof *i->slot;
	return p->size == END(cg_cupti_data, image) ? OK : INVALID;
}

int cuptiPmSamplingDecodeData(struct cg_cupti_decode *p) {
	BEGIN_OF
	struct image *i = (void *)p->image;
	if (p->size != END(cg_cupti_decode, overflow) || i->magic != IMAGE || i->populated)
		return INVALID;
	if (!sampler->config || sampler->config->magic != CONFIG)
		return UNKNOWN;
	unsigned long left = c.samples - sampler->next, n = left;
	if (sampler->running && n > (unsigned long)c.decode)
		n = c.decode;
	if (*c.live) {
		unsigned long until = sampler->running ? gpu_now(&c) : sampler->ended;
		n = (until - sampler->began) / sampler->interval - sampler->next;
	}
	p->reason = 2;
	for (unsigned long k = 0; k < n; k++, sampler->next++) {
		if (k >= i->total) { // what does not fit is lost
			p->reason = 1;
			continue;
		}
		unsigned long number = sampler->next, at = number + (number >= 10 ? c.lost : 0);
		unsigned long start = sampler->began + at * sampler->interval;
		struct slot s = {number, start, start + sampler->interval};
		if (number < (unsigned long)c.stale)
			s.end = (s.start = 75000000000 + number) + 1;
		if (c.empty && number >= (unsigned long)(c.samples - c.empty))
			s.end = s.start;
		i->slot[i->populated++] = s;
	}
	i->completed = i->populated > (size_t)c.incomplete ? i->populated - c.incomplete : 0;
	sampler->decodings++;
	p->overflow = c.overflow && sampler->decodings >= c.overflow;
	return p->overflow ? MEMORY : OK;
}

int cuptiPmSamplingGetCounterDataInfo(struct cg_cupti_info *p) {
	BEGIN
	const struct image *i = (const void *)p->image;
	p->total = i->total;
	p->populated = i->populated;
	p->completed = i->completed;
	return p->size == END(cg_cupti_info, completed) && i->magic == IMAGE ? OK : INVALID;
}

int cuptiPmSamplingCounterDataGetSampleInfo(struct cg_cupti_sample *p) {
	BEGIN
	const struct image *i = (const void *)p->image;
	if (p->size != END(cg_cupti_sample, end) || p->index >= i->populated)
		return INVALID;
	p->start = i->slot[p->index].start;
	p->end = i->slot[p->index].end;
	return OK;
}
#endif
