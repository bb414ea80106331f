/*
 * What kernels.c uses of CUPTI's activity and callback interfaces, of CUDA 12.0 and later: the first fields of records,
 * which are those of all versions since (NVIDIA adds behind them). testdata/cupti compares them with NVIDIA's headers.
 */
#ifndef CG_CUPTI_ACTIVITY_H
#define CG_CUPTI_ACTIVITY_H

#include <stdint.h>

enum { CG_KIND_MEMCPY = 1, CG_KIND_MEMSET = 2, CG_KIND_KERNEL = 3, CG_KIND_CONCURRENT_KERNEL = 10 };

/* CUpti_ActivityKernel9 to 13 */
struct cg_activity_kernel {
	uint32_t kind;
	uint8_t cache, shared;
	uint16_t registers;
	uint32_t requested, executed;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t shared_static, shared_dynamic;
	uint32_t local_each, local_all;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemcpy5 to 7 */
struct cg_activity_memcpy {
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemset4 and 5 */
struct cg_activity_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
} __attribute__((packed, aligned(8)));

/* CUpti_CallbackData */
struct cg_callback {
	uint32_t site; /* 0 where the call begins, 1 where it ends */
	const char *function;
	const void *parameters;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *data;
	uint32_t correlation;
};

#endif
