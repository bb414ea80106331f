// MIG instances of the GPUs of nvml.c, which comes before this text, and GPM.

int nvmlDeviceGetMaxMigDeviceCount(struct device *d, unsigned *n) {
	struct conf c = conf(d->index, "instances");
	*n = c.migmode[d->index] ? c.slices[d->index] : 0;
	return c.fail;
}

int nvmlDeviceGetMigDeviceHandleByIndex(struct device *d, unsigned index, struct device **out) {
	struct conf c = conf(d->index, "instances");
	if (c.fail)
		return c.fail;
	for (int i = 0; i < c.divided; i++) {
		const struct instance *in = &c.instances[i];
		if (in->device != d->index || in->hidden || index-- != 0)
			continue;
		struct device *piece = &pieces[d->index][in->id % MAX];
		*piece = (struct device){d->index, 1, in->id};
		*out = piece;
		return SUCCESS;
	}
	return NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(struct device *d, unsigned *id) {
	*id = d->id;
	return d->instance ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetComputeInstanceId(struct device *d, unsigned *id) {
	*id = 0;
	return d->instance ? SUCCESS : INVALID_ARGUMENT;
}

struct attributes {
	unsigned sms, copiers, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices;
	unsigned long long mib;
};

static int slices(const struct conf *c, int device, int id) {
	for (int i = 0; i < c->divided; i++)
		if (c->instances[i].device == device && c->instances[i].id == id)
			return c->instances[i].slices;
	return 0;
}

int nvmlDeviceGetAttributes_v2(struct device *d, struct attributes *to) {
	struct conf c = conf(d->index, "attributes");
	int n = slices(&c, d->index, d->id);
	*to = (struct attributes){.sms = 14 * n, .gpu_slices = n, .compute_slices = n};
	return c.fail ? c.fail : d->instance ? SUCCESS : NOT_SUPPORTED;
}

// A sample of GPM: for how long kernels have run on a GPU instance up to a moment, and its SMs have worked.
struct gpm {
	double at, engine, sms;
};

// cg_simulated_list lists the GPU instances, and gives their number; the stand-in of DCGM asks it.
int cg_simulated_list(int room, int *devices, int *ids, int *slices) {
	struct conf c = conf(-1, "list");
	for (int i = 0; i < c.divided && i < room; i++)
		devices[i] = c.instances[i].device, ids[i] = c.instances[i].id, slices[i] = c.instances[i].slices;
	return c.divided;
}

// simulated tells that of a GPU instance. 0: there is none.
static int simulated(int device, int id, double at, double *engine, double *sms) {
	struct conf c = conf(device, "gpm");
	*engine = *sms = 0;
	for (int i = 0; i < c.known; i++)
		if (c.processes[i].device == device && c.processes[i].gpu_instance == id) {
			*engine += used(&c.processes[i], 0, at);
			*sms += used(&c.processes[i], 0, at) * c.processes[i].sms;
		}
	return c.migmode[device] ? slices(&c, device, id) : 0;
}

// cg_simulated_instance is for the stand-in of DCGM. It is not called here: the linker may find that of another
// library.
int cg_simulated_instance(int device, int id, double at, double *engine, double *sms) {
	return simulated(device, id, at, engine, sms);
}

struct support {
	unsigned version, is;
};

#ifndef NO_GPM
int nvmlGpmQueryDeviceSupport(struct device *d, struct support *to) {
	struct conf c = conf(d->index, "gpm");
	to->is = c.major[d->index] >= 9;
	return c.fail;
}

int nvmlGpmSampleAlloc(struct gpm **to) {
	*to = calloc(1, sizeof **to);
	return SUCCESS;
}

int nvmlGpmSampleFree(struct gpm *g) {
	free(g);
	return SUCCESS;
}

int nvmlGpmMigSampleGet(struct device *d, unsigned id, struct gpm *to) {
	char one[16]; // gpm1 is that of instance 1
	snprintf(one, sizeof one, "gpm%u", id);
	int fail = conf(d->index, one).fail;
	to->at = now();
	if (!fail)
		fail = conf(d->index, "gpm").fail;
	if (fail)
		return fail;
	return simulated(d->index, id, to->at, &to->engine, &to->sms) ? SUCCESS : NOT_FOUND;
}

struct metrics {
	unsigned version, n;
	const struct gpm *a, *b;
	struct {
		unsigned id;
		int answer;
		double value;
		const char *names[3];
	} metrics[210];
};

int nvmlGpmMetricsGet(struct metrics *m) {
	double length = m->b->at - m->a->at;
	for (unsigned i = 0; i < m->n; i++) {
		m->metrics[i].answer = m->metrics[i].id == 1 || m->metrics[i].id == 2 ? SUCCESS : NOT_SUPPORTED;
		m->metrics[i].value =
		    100 * (m->metrics[i].id == 1 ? m->b->engine - m->a->engine : m->b->sms - m->a->sms) / length;
	}
	return SUCCESS;
}
#endif
