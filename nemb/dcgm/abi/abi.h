// What cg uses of NVIDIA's DCGM, written out, as its headers of versions 2.1 to 4.6 have it (dcgm_structs.h,
// dcgm_agent.h, dcgm_fields.h: github.com/NVIDIA/DCGM). testdata/dcgm/check.sh compares it with NVIDIA's own.
#ifndef CG_NEMB_DCGM_ABI_H
#define CG_NEMB_DCGM_ABI_H

#include <stdint.h>

enum {
	CG_DCGM_OK = 0,
	CG_DCGM_NOT_SUPPORTED = -6,
	CG_DCGM_NO_DATA = -14,
	CG_DCGM_CONNECTION = -21, // DCGM_ST_CONNECTION_NOT_VALID
	CG_DCGM_GROUP_EMPTY = 1,  // a group is made without members
	CG_DCGM_AUTO = 1,         // an engine in this process updates fields by itself
	CG_DCGM_GPU_INSTANCE = 4, // DCGM_FE_GPU_I
	CG_DCGM_ENGINE = 1001,    // DCGM_FI_PROF_GR_ENGINE_ACTIVE
	CG_DCGM_SMS = 1002,       // DCGM_FI_PROF_SM_ACTIVE
	CG_DCGM_MOST = 32 * 14,   // entities of a hierarchy
};

// CG_DCGM_VERSION is what a structure says of itself.
#define CG_DCGM_VERSION(type, n) ((uint32_t)(sizeof(struct type) | (n) << 24))

struct cg_dcgm_pair {
	int32_t group; // of entities
	uint32_t id;
};

struct cg_dcgm_entity {
	struct cg_dcgm_pair entity, parent;
	char uuid[128];                       // of the GPU
	uint32_t gpu, instance, compute;      // as NVML numbers them
	uint32_t profile, slices;
};

struct cg_dcgm_hierarchy { // version 2
	uint32_t version, n;
	struct cg_dcgm_entity entities[CG_DCGM_MOST];
};

struct cg_dcgm_connection { // version 2
	uint32_t version, persist, timeout_ms, is_socket;
};

struct cg_dcgm_value { // of a field, version 1
	uint32_t version;
	uint16_t field, type;
	int32_t status;
	int64_t at; // us since 1970
	union {
		double number;
		char bytes[4096];
	} value;
};

// What is called with the values of an entity; it answers 0 to go on.
typedef int cg_dcgm_told(int group, uint32_t entity, struct cg_dcgm_value *values, int n, void *data);

#endif
