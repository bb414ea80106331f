// A libdcgm.so.4 for the GPUs of the stand-in of NVML that lies beside it. Its file NAME.conf, beside the library, is
// read at each call; a line is one of
//
//	engine              a host engine answers
//	embedded            an engine can be started in the process
//	nosm                the activity of SMs cannot be measured
//	unlisted N          the engine does not know the GPU instances with that number
//	fail FUNCTION N     that function answers N: hierarchy, watch or since
//
// The samples of a watch end at whole multiples of its period. abi.h comes before this text
// (cg/nemb/dcgm/abi).
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MOST_WATCHES = 64, MOST_INSTANCES = 64, TOO_MANY = -24, BAD = -1, UNSUPPORTED = -6, NO_ENGINE = -21 };

static struct watch {
	int made, watched, entities, fields;
	uint32_t entity[MOST_INSTANCES];
	uint16_t field[4];
	long long period, began;
} watches[MOST_WATCHES];

static int has(const char *what, int *number) {
	Dl_info info;
	char path[4096], line[256], name[32];
	if (!dladdr(watches, &info))
		return 0;
	snprintf(path, sizeof path, "%s.conf", info.dli_fname);
	FILE *f = fopen(path, "re");
	int found = 0, n;
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, what))
			found = 1;
		if (number && sscanf(line, "fail %31s %d", name, &n) == 2 && !strcmp(name, what))
			*number = n, found = 1;
	}
	if (f)
		fclose(f);
	return found;
}

static int failure(const char *function) {
	int n = 0;
	has(function, &n);
	return n;
}

// beside finds a function of the stand-in of NVML.
static void *beside(const char *name) {
	Dl_info info;
	char path[4096];
	if (!dladdr(watches, &info))
		return 0;
	snprintf(path, sizeof path, "%.*s/libnvidia-ml.so.1", (int)(strrchr(info.dli_fname, '/') - info.dli_fname),
	         info.dli_fname);
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	return library ? dlsym(library, name) : 0;
}

int dcgmInit(void) { return 0; }
int dcgmShutdown(void) { return 0; }

int dcgmStartEmbedded(int mode, uintptr_t *handle) {
	*handle = 1;
	return mode != CG_DCGM_AUTO ? BAD : has("embedded", 0) ? 0 : -7;
}
int dcgmStopEmbedded(uintptr_t handle) { return handle == 1 ? 0 : BAD; }

int dcgmConnect_v2(const char *address, struct cg_dcgm_connection *c, uintptr_t *handle) {
	*handle = 2;
	if (c->version != CG_DCGM_VERSION(cg_dcgm_connection, 2) || c->is_socket != (*address == '/'))
		return BAD;
	return has("engine", 0) ? 0 : NO_ENGINE;
}
int dcgmDisconnect(uintptr_t handle) { return handle == 2 ? 0 : BAD; }

int dcgmGetGpuInstanceHierarchy(uintptr_t handle, struct cg_dcgm_hierarchy *to) {
	int (*list)(int, int *, int *, int *) = beside("cg_simulated_list");
	int devices[MOST_INSTANCES], ids[MOST_INSTANCES], slices[MOST_INSTANCES];
	if (to->version != CG_DCGM_VERSION(cg_dcgm_hierarchy, 2) || !list || !handle)
		return BAD;
	if (failure("hierarchy"))
		return failure("hierarchy");
	int n = list(MOST_INSTANCES, devices, ids, slices);
	to->n = 2 * n;
	for (int i = 0; i < n; i++) {
		struct cg_dcgm_entity *e = &to->entities[2 * i];
		char unlisted[32];
		snprintf(unlisted, sizeof unlisted, "unlisted %d", ids[i]);
		e->entity = (struct cg_dcgm_pair){CG_DCGM_GPU_INSTANCE, i};
		e->gpu = devices[i];
		e->instance = ids[i];
		e->slices = slices[i];
		char byte[3];
		strcpy(e->uuid, "GPU-");
		for (int k = 0; k < 16; k++) {
			snprintf(byte, sizeof byte, "%02x", 0x10 + devices[i]);
			strcat(e->uuid, k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "");
			strcat(e->uuid, byte);
		}
		if (has(unlisted, 0))
			*e->uuid = 0; // of no GPU
		to->entities[2 * i + 1] = *e; // its compute instance
		to->entities[2 * i + 1].entity.group = CG_DCGM_GPU_INSTANCE + 1;
		to->entities[2 * i + 1].parent = e->entity;
	}
	return 0;
}

// Groups of entities and of fields are numbers of watches, from 1 on.
int dcgmGroupCreate(uintptr_t handle, int type, const char *name, uintptr_t *group) {
	for (int i = 0; i < MOST_WATCHES; i++)
		if (!watches[i].made) {
			watches[i] = (struct watch){.made = 1};
			*group = i + 1;
			return type == CG_DCGM_GROUP_EMPTY && *name && handle ? 0 : BAD;
		}
	return TOO_MANY;
}

int dcgmGroupAddEntity(uintptr_t handle, uintptr_t group, int kind, uint32_t entity) {
	struct watch *w = &watches[group - 1];
	if (kind != CG_DCGM_GPU_INSTANCE || !handle || w->entities == MOST_INSTANCES)
		return BAD;
	w->entity[w->entities++] = entity;
	return 0;
}

int dcgmGroupDestroy(uintptr_t handle, uintptr_t group) {
	watches[group - 1].made = 0;
	return handle ? 0 : BAD;
}

int dcgmFieldGroupCreate(uintptr_t handle, int n, const uint16_t *ids, const char *name, uintptr_t *fields) {
	for (int i = 0; i < MOST_WATCHES; i++)
		if (watches[i].made && !watches[i].fields) {
			watches[i].fields = n;
			memcpy(watches[i].field, ids, n * sizeof *ids);
			*fields = i + 1;
			return *name && handle ? 0 : BAD;
		}
	return TOO_MANY;
}

int dcgmFieldGroupDestroy(uintptr_t handle, uintptr_t fields) {
	watches[fields - 1].fields = 0;
	return handle ? 0 : BAD;
}

static long long micros(int clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

int dcgmWatchFields(uintptr_t handle, uintptr_t group, uintptr_t fields, long long us, double keep_s, int keep) {
	struct watch *w = &watches[group - 1];
	if (group != fields || !handle || us < 100000 || keep_s <= 0 || keep)
		return BAD;
	if (failure("watch"))
		return failure("watch");
	for (int i = 0; i < w->fields; i++)
		if (w->field[i] == CG_DCGM_SMS && has("nosm", 0))
			return UNSUPPORTED;
	w->period = us;
	w->began = micros(CLOCK_REALTIME);
	w->watched = 1;
	return 0;
}

int dcgmUnwatchFields(uintptr_t handle, uintptr_t group, uintptr_t fields) {
	watches[group - 1].watched = 0;
	return group == fields && handle ? 0 : BAD;
}

int dcgmUpdateAllFields(uintptr_t handle, int wait) { return handle && !wait ? 0 : BAD; }

int dcgmGetValuesSince_v2(uintptr_t handle, uintptr_t group, uintptr_t fields, long long since, long long *next,
                          cg_dcgm_told *told, void *data) {
	struct watch *w = &watches[group - 1];
	int (*active)(int, int, double, double *, double *) = beside("cg_simulated_instance");
	struct cg_dcgm_hierarchy h = {.version = CG_DCGM_VERSION(cg_dcgm_hierarchy, 2)};
	if (!handle || group != fields || !w->watched || !active)
		return BAD;
	if (failure("since"))
		return failure("since");
	if (dcgmGetGpuInstanceHierarchy(handle, &h))
		return BAD;
	double ahead = (micros(CLOCK_REALTIME) - micros(CLOCK_MONOTONIC)) * 1e-6;
	long long now = micros(CLOCK_REALTIME), from = since > w->began ? since : w->began;
	for (int i = 0; i < w->entities; i++)
		for (int k = 0; k < w->fields; k++)
			for (long long at = (from / w->period + 1) * w->period; at <= now; at += w->period) {
				const struct cg_dcgm_entity *e = &h.entities[2 * w->entity[i]];
				double before[2], after[2];
				if (!active(e->gpu, e->instance, (at - w->period) * 1e-6 - ahead, &before[0], &before[1]) ||
				    !active(e->gpu, e->instance, at * 1e-6 - ahead, &after[0], &after[1]))
					continue;
				int which = w->field[k] == CG_DCGM_SMS;
				struct cg_dcgm_value v = {.field = w->field[k], .at = at};
				v.value.number = (after[which] - before[which]) / (w->period * 1e-6);
				if (at < w->began + w->period)
					v.value.number = 140737488355328.0; // not known: it began in the middle
				told(CG_DCGM_GPU_INSTANCE, w->entity[i], &v, 1, data);
			}
	*next = now / w->period * w->period;
	return 0;
}
