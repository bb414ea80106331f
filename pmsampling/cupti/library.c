// Calls into CUPTI by the names of its functions: a library that lacks one answers
// CG_CUPTI_NO_FUNCTION for it, and nothing else. So cg works with each version as far as it goes.
#include <dlfcn.h>

#include "library.h"

static const char *const names[CG_FUNCTIONS] = {
	[CG_INITIALIZE] = "cuptiProfilerInitialize",
	[CG_DEINITIALIZE] = "cuptiProfilerDeInitialize",
	[CG_CHIP] = "cuptiDeviceGetChipName",
	[CG_CHIPS] = "cuptiProfilerHostGetSupportedChips",
	[CG_AVAILABILITY] = "cuptiPmSamplingGetCounterAvailability",
	[CG_HOST] = "cuptiProfilerHostInitialize",
	[CG_HOST_END] = "cuptiProfilerHostDeinitialize",
	[CG_BASE] = "cuptiProfilerHostGetBaseMetrics",
	[CG_SUB] = "cuptiProfilerHostGetSubMetrics",
	[CG_PROPERTIES] = "cuptiProfilerHostGetMetricProperties",
	[CG_SETS] = "cuptiProfilerHostGetSinglePassSets",
	[CG_ADD] = "cuptiProfilerHostConfigAddMetrics",
	[CG_CONFIG_SIZE] = "cuptiProfilerHostGetConfigImageSize",
	[CG_CONFIG] = "cuptiProfilerHostGetConfigImage",
	[CG_PASSES] = "cuptiProfilerHostGetNumOfPasses",
	[CG_EVALUATE] = "cuptiProfilerHostEvaluateToGpuValues",
	[CG_ENABLE] = "cuptiPmSamplingEnable",
	[CG_DISABLE] = "cuptiPmSamplingDisable",
	[CG_START] = "cuptiPmSamplingStart",
	[CG_STOP] = "cuptiPmSamplingStop",
	[CG_SET_CONFIG] = "cuptiPmSamplingSetConfig",
	[CG_DATA_SIZE] = "cuptiPmSamplingGetCounterDataSize",
	[CG_DATA] = "cuptiPmSamplingCounterDataImageInitialize",
	[CG_DECODE] = "cuptiPmSamplingDecodeData",
	[CG_INFO] = "cuptiPmSamplingGetCounterDataInfo",
	[CG_SAMPLE] = "cuptiPmSamplingCounterDataGetSampleInfo",
};

const char *cg_cupti_load(const char *path, int shared, struct cg_cupti *library) {
	library->handle = dlopen(path, RTLD_LAZY | (shared ? RTLD_GLOBAL : RTLD_LOCAL));
	if (!library->handle)
		return dlerror();
	for (int i = 0; i < CG_FUNCTIONS; i++)
		library->call[i] = (int32_t(*)(void *))dlsym(library->handle, names[i]);
	return 0;
}

int32_t cg_cupti_call(struct cg_cupti *library, int function, void *params) {
	return library->call[function] ? library->call[function](params) : CG_CUPTI_NO_FUNCTION;
}

// The parameters are Go's, whose collector reads them at any time. The pointer to values moves in a copy,
// as it points to other memory behind the last value.
int32_t cg_cupti_evaluate_samples(struct cg_cupti *library, struct cg_cupti_evaluate *params, size_t n) {
	struct cg_cupti_evaluate each = *params;
	for (size_t i = 0; i < n; i++, each.index++, each.values += each.n) {
		int32_t answer = cg_cupti_call(library, CG_EVALUATE, &each);
		if (answer)
			return answer;
	}
	return 0;
}

int32_t cg_cupti_times(struct cg_cupti *library, struct cg_cupti_sample *params, size_t n, uint64_t *starts,
                       uint64_t *ends) {
	for (size_t i = 0; i < n; i++, params->index++) {
		int32_t answer = cg_cupti_call(library, CG_SAMPLE, params);
		if (answer)
			return answer;
		starts[i] = params->start;
		ends[i] = params->end;
	}
	return 0;
}

int32_t cg_cupti_version(struct cg_cupti *library, uint32_t *version) {
	int32_t (*f)(uint32_t *) = (int32_t(*)(uint32_t *))dlsym(library->handle, "cuptiGetVersion");
	return f ? f(version) : CG_CUPTI_NO_FUNCTION;
}

int32_t cg_cupti_timestamp(struct cg_cupti *library, uint64_t *ns) {
	int32_t (*f)(uint64_t *) = (int32_t(*)(uint64_t *))dlsym(library->handle, "cuptiGetTimestamp");
	return f ? f(ns) : CG_CUPTI_NO_FUNCTION;
}

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 }; // CUdevice_attribute

int32_t cg_cuda_begin(struct cg_cupti *driver, int *devices) {
	int32_t (*init)(unsigned) = (int32_t(*)(unsigned))dlsym(driver->handle, "cuInit");
	int32_t (*count)(int *) = (int32_t(*)(int *))dlsym(driver->handle, "cuDeviceGetCount");
	if (!init || !count)
		return CG_CUPTI_NO_FUNCTION;
	int32_t answer = init(0);
	return answer ? answer : count(devices);
}

int32_t cg_cuda_device(struct cg_cupti *driver, int index, char *name, int *capability, char *bus, int length) {
	int32_t (*get)(int *, int) = (int32_t(*)(int *, int))dlsym(driver->handle, "cuDeviceGet");
	int32_t (*named)(char *, int, int) = (int32_t(*)(char *, int, int))dlsym(driver->handle, "cuDeviceGetName");
	int32_t (*attribute)(int *, int, int) =
		(int32_t(*)(int *, int, int))dlsym(driver->handle, "cuDeviceGetAttribute");
	int32_t (*place)(char *, int, int) = (int32_t(*)(char *, int, int))dlsym(driver->handle, "cuDeviceGetPCIBusId");
	int device;
	int32_t answer;
	if (!get || !named || !attribute || !place)
		return CG_CUPTI_NO_FUNCTION;
	if ((answer = get(&device, index)) || (answer = named(name, length, device)) ||
	    (answer = attribute(&capability[0], CAPABILITY_MAJOR, device)) ||
	    (answer = attribute(&capability[1], CAPABILITY_MINOR, device)))
		return answer;
	return place(bus, length, device);
}

int32_t cg_cuda_uuid(struct cg_cupti *driver, int index, uint8_t *uuid) {
	int32_t (*get)(int *, int) = (int32_t(*)(int *, int))dlsym(driver->handle, "cuDeviceGet");
	int32_t (*of)(uint8_t *, int) = (int32_t(*)(uint8_t *, int))dlsym(driver->handle, "cuDeviceGetUuid_v2");
	if (!of)
		of = (int32_t(*)(uint8_t *, int))dlsym(driver->handle, "cuDeviceGetUuid");
	int device;
	if (!get || !of)
		return CG_CUPTI_NO_FUNCTION;
	int32_t answer = get(&device, index);
	return answer ? answer : of(uuid, device);
}
