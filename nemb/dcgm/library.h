// DCGM's library (libdcgm.so), loaded while cg runs. See library.c.
#ifndef CG_NEMB_DCGM_LIBRARY_H
#define CG_NEMB_DCGM_LIBRARY_H

#include "abi/abi.h"

// What the functions answer where the library has no such function; DCGM's own answers are 0 and below.
enum { CG_DCGM_NO_FUNCTION = 1 };

struct cg_dcgm;

// cg_dcgm_load loads the library. 0, or why it cannot be loaded.
const char *cg_dcgm_load(const char *path, struct cg_dcgm **to);
// cg_dcgm_connect connects to a host engine, at HOST[:PORT] or a socket's path.
int cg_dcgm_connect(struct cg_dcgm *, const char *address, int is_socket, unsigned timeout_ms);
// cg_dcgm_embed starts an engine in this process.
int cg_dcgm_embed(struct cg_dcgm *);
// cg_dcgm_unload ends what was begun, and unloads the library. It is not called beside the others.
void cg_dcgm_unload(struct cg_dcgm *);

int cg_dcgm_entities(struct cg_dcgm *, struct cg_dcgm_hierarchy *to);

struct cg_dcgm_watch {
	uintptr_t group, fields;
};

// cg_dcgm_watch has the engine measure fields of GPU instances each us.
int cg_dcgm_watch(struct cg_dcgm *, const char *name, const uint32_t *instances, int n, uint16_t *fields, int fields_n,
                  long long us, struct cg_dcgm_watch *to);
void cg_dcgm_unwatch(struct cg_dcgm *, const struct cg_dcgm_watch *);

struct cg_dcgm_sample {
	uint32_t entity;
	uint16_t field;
	int64_t at; // us since 1970
	double value;
};

struct cg_dcgm_samples {
	int n, missed; // missed: there was no room
	struct cg_dcgm_sample samples[4096];
};

// cg_dcgm_since gives the samples from *since on, and sets it for the next call.
int cg_dcgm_since(struct cg_dcgm *, const struct cg_dcgm_watch *, long long *since, struct cg_dcgm_samples *to);

#endif
