// What cg passes to CUPTI's functions of PM sampling and of the profiler's host side, and the
// little of the CUDA driver that it needs. cg is built without CUDA: these declarations are its
// own, and testdata/cupti/abi.c compares each with NVIDIA's headers (cupti_pmsampling.h,
// cupti_profiler_host.h, cupti_target.h).
//
// Every structure begins with its size, which is the end of the last field that the caller knows
// (not sizeof), and a pointer that is null. Fields were added at the end: in CUPTI 12.8
// append, in 13.1 and 13.2 set and scope.
#ifndef CG_PMSAMPLING_CUPTI_ABI_H
#define CG_PMSAMPLING_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#define CG_CUPTI_HEAD \
	size_t size;      \
	void *reserved

// Profiler_Initialize, Profiler_DeInitialize
struct cg_cupti_plain {
	CG_CUPTI_HEAD;
};

// Device_GetChipName
struct cg_cupti_chip {
	CG_CUPTI_HEAD;
	size_t device;
	const char *name; // out
};

// Profiler_Host_GetSupportedChips
struct cg_cupti_chips {
	CG_CUPTI_HEAD;
	size_t n;                 // out
	const char *const *names; // out
};

// PmSampling_GetCounterAvailability: without an image it tells the length.
struct cg_cupti_availability {
	CG_CUPTI_HEAD;
	size_t device;
	size_t length; // in and out
	uint8_t *image;
};

enum { CG_CUPTI_PM_SAMPLING = 1 }; // CUpti_ProfilerType

// Profiler_Host_Initialize
struct cg_cupti_host {
	CG_CUPTI_HEAD;
	int32_t kind;
	const char *chip;
	const uint8_t *availability;
	void *host; // out
	const char *set;
};

// Profiler_Host_Deinitialize
struct cg_cupti_of_host {
	CG_CUPTI_HEAD;
	void *host;
};

// Profiler_Host_GetBaseMetrics
struct cg_cupti_base {
	CG_CUPTI_HEAD;
	void *host;
	int32_t type;
	const char **names; // out
	size_t n;           // out
};

// Profiler_Host_GetSubMetrics
struct cg_cupti_sub {
	CG_CUPTI_HEAD;
	void *host;
	int32_t type;
	const char *metric;
	size_t n;           // out
	const char **names; // out
};

// Profiler_Host_GetMetricProperties
struct cg_cupti_properties {
	CG_CUPTI_HEAD;
	void *host;
	const char *metric;
	const char *description; // out, as the rest
	const char *unit;        // of the hardware: sm, dramc
	const char *dimension;   // of the value: percent, gpc_cycle
	int32_t type;
	int32_t scope;
};

// Profiler_Host_GetSinglePassSets: without names it tells how many there are.
struct cg_cupti_sets {
	CG_CUPTI_HEAD;
	const char *chip;
	size_t n; // out
	const char **names;
};

// Profiler_Host_ConfigAddMetrics
struct cg_cupti_add {
	CG_CUPTI_HEAD;
	void *host;
	const char **metrics;
	size_t n;
};

// Profiler_Host_GetConfigImageSize
struct cg_cupti_config_size {
	CG_CUPTI_HEAD;
	void *host;
	size_t length; // out
};

// Profiler_Host_GetConfigImage
struct cg_cupti_config {
	CG_CUPTI_HEAD;
	void *host;
	size_t length;
	uint8_t *image;
};

// Profiler_Host_GetNumOfPasses
struct cg_cupti_passes {
	CG_CUPTI_HEAD;
	size_t length;
	uint8_t *image;
	size_t passes; // out
};

// Profiler_Host_EvaluateToGpuValues
struct cg_cupti_evaluate {
	CG_CUPTI_HEAD;
	void *host;
	const uint8_t *image;
	size_t length;
	size_t index;
	const char **metrics;
	size_t n;
	double *values; // out
};

// PmSampling_Enable
struct cg_cupti_enable {
	CG_CUPTI_HEAD;
	size_t device;
	void *object; // out
};

// PmSampling_Disable, PmSampling_Start, PmSampling_Stop
struct cg_cupti_of_object {
	CG_CUPTI_HEAD;
	void *object;
};

// PmSampling_SetConfig: CUPTI keeps the pointer to the configuration.
struct cg_cupti_set_config {
	CG_CUPTI_HEAD;
	void *object;
	size_t length;
	const uint8_t *config;
	size_t buffer;
	uint64_t interval;
	int32_t trigger;
	int32_t append;
};

// PmSampling_GetCounterDataSize
struct cg_cupti_data_size {
	CG_CUPTI_HEAD;
	void *object;
	const char **metrics;
	size_t n;
	uint32_t samples;
	size_t length; // out
};

// PmSampling_CounterDataImage_Initialize
struct cg_cupti_data {
	CG_CUPTI_HEAD;
	void *object;
	size_t length;
	uint8_t *image;
};

// PmSampling_DecodeData
struct cg_cupti_decode {
	CG_CUPTI_HEAD;
	void *object;
	uint8_t *image;
	size_t length;
	int32_t reason;   // out
	uint8_t overflow; // out
};

// PmSampling_GetCounterDataInfo
struct cg_cupti_info {
	CG_CUPTI_HEAD;
	const uint8_t *image;
	size_t length;
	size_t total; // out, as the rest
	size_t populated;
	size_t completed;
};

// PmSampling_CounterData_GetSampleInfo
struct cg_cupti_sample {
	CG_CUPTI_HEAD;
	void *object;
	const uint8_t *image;
	size_t length;
	size_t index;
	uint64_t start; // out, as the next: nanoseconds
	uint64_t end;
};

#endif
