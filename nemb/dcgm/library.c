// DCGM is C++ behind functions of C, which are looked up when the library is loaded. An engine may lack some.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

struct cg_dcgm {
	void *library;
	uintptr_t handle;
	int begun, embedded, connected;
	int (*init)(void);
	int (*shutdown)(void);
	int (*start)(int mode, uintptr_t *handle);
	int (*stop)(uintptr_t handle);
	int (*connect)(const char *address, struct cg_dcgm_connection *, uintptr_t *handle);
	int (*disconnect)(uintptr_t handle);
	int (*hierarchy)(uintptr_t handle, struct cg_dcgm_hierarchy *);
	int (*group)(uintptr_t handle, int type, const char *name, uintptr_t *group);
	int (*add)(uintptr_t handle, uintptr_t group, int kind, uint32_t entity);
	int (*ungroup)(uintptr_t handle, uintptr_t group);
	int (*fields)(uintptr_t handle, int n, const uint16_t *ids, const char *name, uintptr_t *fields);
	int (*unfields)(uintptr_t handle, uintptr_t fields);
	int (*watch)(uintptr_t handle, uintptr_t group, uintptr_t fields, long long us, double keep_s, int keep);
	int (*unwatch)(uintptr_t handle, uintptr_t group, uintptr_t fields);
	int (*since)(uintptr_t handle, uintptr_t group, uintptr_t fields, long long since, long long *next,
	             cg_dcgm_told *told, void *data);
	int (*update)(uintptr_t handle, int wait);
};

const char *cg_dcgm_load(const char *path, struct cg_dcgm **to) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return dlerror();
	struct cg_dcgm *d = calloc(1, sizeof *d);
	if (!d) {
		dlclose(library);
		return "out of memory";
	}
	d->library = library;
	*(void **)&d->init = dlsym(library, "dcgmInit");
	*(void **)&d->shutdown = dlsym(library, "dcgmShutdown");
	*(void **)&d->start = dlsym(library, "dcgmStartEmbedded");
	*(void **)&d->stop = dlsym(library, "dcgmStopEmbedded");
	*(void **)&d->connect = dlsym(library, "dcgmConnect_v2");
	*(void **)&d->disconnect = dlsym(library, "dcgmDisconnect");
	*(void **)&d->hierarchy = dlsym(library, "dcgmGetGpuInstanceHierarchy");
	*(void **)&d->group = dlsym(library, "dcgmGroupCreate");
	*(void **)&d->add = dlsym(library, "dcgmGroupAddEntity");
	*(void **)&d->ungroup = dlsym(library, "dcgmGroupDestroy");
	*(void **)&d->fields = dlsym(library, "dcgmFieldGroupCreate");
	*(void **)&d->unfields = dlsym(library, "dcgmFieldGroupDestroy");
	*(void **)&d->watch = dlsym(library, "dcgmWatchFields");
	*(void **)&d->unwatch = dlsym(library, "dcgmUnwatchFields");
	*(void **)&d->since = dlsym(library, "dcgmGetValuesSince_v2");
	*(void **)&d->update = dlsym(library, "dcgmUpdateAllFields");
	*to = d;
	return 0;
}

// begin initializes the library once.
static int begin(struct cg_dcgm *d) {
	if (!d->init || !d->shutdown)
		return CG_DCGM_NO_FUNCTION;
	int code = d->begun ? 0 : d->init();
	d->begun |= !code;
	return code;
}

int cg_dcgm_connect(struct cg_dcgm *d, const char *address, int is_socket, unsigned timeout_ms) {
	struct cg_dcgm_connection c = {CG_DCGM_VERSION(cg_dcgm_connection, 2), 0, timeout_ms, is_socket};
	int code = d->connect && d->disconnect ? begin(d) : CG_DCGM_NO_FUNCTION;
	if (!code)
		code = d->connect(address, &c, &d->handle);
	d->connected = !code;
	return code;
}

int cg_dcgm_embed(struct cg_dcgm *d) {
	int code = d->start && d->stop ? begin(d) : CG_DCGM_NO_FUNCTION;
	if (!code)
		code = d->start(CG_DCGM_AUTO, &d->handle);
	d->embedded = !code;
	return code;
}

void cg_dcgm_unload(struct cg_dcgm *d) {
	if (d->connected)
		d->disconnect(d->handle);
	if (d->embedded)
		d->stop(d->handle);
	if (d->begun)
		d->shutdown();
	// The library stays: threads of its own may still be on their way out of it.
	free(d);
}

int cg_dcgm_entities(struct cg_dcgm *d, struct cg_dcgm_hierarchy *to) {
	memset(to, 0, sizeof *to);
	to->version = CG_DCGM_VERSION(cg_dcgm_hierarchy, 2);
	return d->hierarchy ? d->hierarchy(d->handle, to) : CG_DCGM_NO_FUNCTION;
}

int cg_dcgm_watch(struct cg_dcgm *d, const char *name, const uint32_t *instances, int n, uint16_t *fields, int fields_n,
                  long long us, struct cg_dcgm_watch *to) {
	if (!d->group || !d->add || !d->ungroup || !d->fields || !d->unfields || !d->watch || !d->unwatch || !d->since)
		return CG_DCGM_NO_FUNCTION;
	int code = d->group(d->handle, CG_DCGM_GROUP_EMPTY, name, &to->group);
	if (code)
		return code;
	for (int i = 0; i < n && !code; i++)
		code = d->add(d->handle, to->group, CG_DCGM_GPU_INSTANCE, instances[i]);
	if (!code)
		code = d->fields(d->handle, fields_n, fields, name, &to->fields);
	if (code) {
		d->ungroup(d->handle, to->group);
		return code;
	}
	code = d->watch(d->handle, to->group, to->fields, us, 60, 0);
	if (code) {
		d->unfields(d->handle, to->fields);
		d->ungroup(d->handle, to->group);
	} else if (d->update)
		d->update(d->handle, 0);
	return code;
}

void cg_dcgm_unwatch(struct cg_dcgm *d, const struct cg_dcgm_watch *w) {
	d->unwatch(d->handle, w->group, w->fields);
	d->unfields(d->handle, w->fields);
	d->ungroup(d->handle, w->group);
}

// Values that are not told are very large (dcgm_structs.h, DCGM_FP64_BLANK and its neighbours).
static const double blank = 140737488355328.0;

static int keep(int group, uint32_t entity, struct cg_dcgm_value *values, int n, void *data) {
	struct cg_dcgm_samples *to = data;
	for (int i = 0; i < n && group == CG_DCGM_GPU_INSTANCE; i++) {
		struct cg_dcgm_value *v = &values[i];
		if (v->status || !(v->value.number >= 0 && v->value.number < blank))
			continue;
		if (to->n == (int)(sizeof to->samples / sizeof to->samples[0])) {
			to->missed++;
			continue;
		}
		to->samples[to->n++] = (struct cg_dcgm_sample){entity, v->field, v->at, v->value.number};
	}
	return 0;
}

int cg_dcgm_since(struct cg_dcgm *d, const struct cg_dcgm_watch *w, long long *since, struct cg_dcgm_samples *to) {
	to->n = to->missed = 0;
	long long next = *since;
	int code = d->since(d->handle, w->group, w->fields, *since, &next, keep, to);
	if (!code)
		*since = next;
	return code == CG_DCGM_NO_DATA ? 0 : code;
}
