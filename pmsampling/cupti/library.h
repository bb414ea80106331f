// CUPTI and the CUDA driver, loaded while cg runs. See library.c.
#ifndef CG_PMSAMPLING_CUPTI_LIBRARY_H
#define CG_PMSAMPLING_CUPTI_LIBRARY_H

#include "abi/abi.h"

// The functions that take a pointer to one structure of abi.h, in the order of their names in library.c.
enum cg_cupti_function {
	CG_INITIALIZE,
	CG_DEINITIALIZE,
	CG_CHIP,
	CG_CHIPS,
	CG_AVAILABILITY,
	CG_HOST,
	CG_HOST_END,
	CG_BASE,
	CG_SUB,
	CG_PROPERTIES,
	CG_SETS,
	CG_ADD,
	CG_CONFIG_SIZE,
	CG_CONFIG,
	CG_PASSES,
	CG_EVALUATE,
	CG_ENABLE,
	CG_DISABLE,
	CG_START,
	CG_STOP,
	CG_SET_CONFIG,
	CG_DATA_SIZE,
	CG_DATA,
	CG_DECODE,
	CG_INFO,
	CG_SAMPLE,
	CG_FUNCTIONS
};

// What a function answers that the library lacks. CUPTI's own answers are smaller, or 999.
enum { CG_CUPTI_NO_FUNCTION = 0x10000 };

// A library that was loaded. It stays loaded until the process ends: CUPTI leaves threads behind.
struct cg_cupti {
	void *handle;
	int32_t (*call[CG_FUNCTIONS])(void *);
};

// cg_cupti_load loads a library. 0, or why it cannot be loaded. Libraries that it finds by name
// (libnvperf_*.so, libcuda.so.1) are loaded before it, for all (shared).
const char *cg_cupti_load(const char *path, int shared, struct cg_cupti *library);

// cg_cupti_call calls one function with its structure.
int32_t cg_cupti_call(struct cg_cupti *library, int function, void *params);

// cg_cupti_evaluate fills in the values of n samples, first the metrics of the first one; params
// is that of the first sample.
int32_t cg_cupti_evaluate_samples(struct cg_cupti *library, struct cg_cupti_evaluate *params, size_t n);

// cg_cupti_times fills in when n samples began and ended, from the first one on.
int32_t cg_cupti_times(struct cg_cupti *library, struct cg_cupti_sample *params, size_t n, uint64_t *starts,
                       uint64_t *ends);

int32_t cg_cupti_version(struct cg_cupti *library, uint32_t *version);
int32_t cg_cupti_timestamp(struct cg_cupti *library, uint64_t *ns);

// The CUDA driver (libcuda.so.1). Answers are of CUresult, or CG_CUPTI_NO_FUNCTION.
int32_t cg_cuda_begin(struct cg_cupti *driver, int *devices);
// cg_cuda_device tells a device's name, its compute capability, and its place on the bus.
int32_t cg_cuda_device(struct cg_cupti *driver, int index, char *name, int *capability, char *bus, int length);
// cg_cuda_uuid tells a device's UUID, of 16 bytes.
int32_t cg_cuda_uuid(struct cg_cupti *driver, int index, uint8_t *uuid);

#endif
