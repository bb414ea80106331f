// Compares cg's declarations of CUPTI (pmsampling/cupti/abi/abi.h) with NVIDIA's headers, when it is compiled. With
// -DCUDA=1209 they are those of CUDA 12.9: fields that came later are left out. check.sh compiles it.
#define CUPTIAPI
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_target.h>

#include "../../pmsampling/cupti/abi/abi.h"

#define FIELD(ours, our, theirs, their)                                                                   \
	_Static_assert(offsetof(struct cg_cupti_##ours, our) == offsetof(CUpti_##theirs##_Params, their) &&   \
	                   sizeof(((struct cg_cupti_##ours *)0)->our) == sizeof(((CUpti_##theirs##_Params *)0)->their), \
	               #ours "." #our " is not " #theirs "." #their);
// LAST also compares the size that the structure is given, the end of its last field.
#define LAST(ours, our, theirs, their)                                                                        \
	FIELD(ours, our, theirs, their)                                                                           \
	_Static_assert(offsetof(struct cg_cupti_##ours, our) + sizeof(((struct cg_cupti_##ours *)0)->our) ==      \
	                   CUpti_##theirs##_Params_STRUCT_SIZE,                                                   \
	               "the size of " #ours);
#define HEAD(ours, theirs)                 \
	FIELD(ours, size, theirs, structSize)  \
	FIELD(ours, reserved, theirs, pPriv)

HEAD(chip, Device_GetChipName)
FIELD(chip, device, Device_GetChipName, deviceIndex)
LAST(chip, name, Device_GetChipName, pChipName)
HEAD(chips, Profiler_Host_GetSupportedChips)
FIELD(chips, n, Profiler_Host_GetSupportedChips, numChips)
LAST(chips, names, Profiler_Host_GetSupportedChips, ppChipNames)
HEAD(availability, PmSampling_GetCounterAvailability)
FIELD(availability, device, PmSampling_GetCounterAvailability, deviceIndex)
FIELD(availability, length, PmSampling_GetCounterAvailability, counterAvailabilityImageSize)
LAST(availability, image, PmSampling_GetCounterAvailability, pCounterAvailabilityImage)
HEAD(host, Profiler_Host_Initialize)
FIELD(host, kind, Profiler_Host_Initialize, profilerType)
FIELD(host, chip, Profiler_Host_Initialize, pChipName)
FIELD(host, availability, Profiler_Host_Initialize, pCounterAvailabilityImage)
#if CUDA < 1302
LAST(host, host, Profiler_Host_Initialize, pHostObject)
#else
FIELD(host, host, Profiler_Host_Initialize, pHostObject)
LAST(host, set, Profiler_Host_Initialize, pSinglePassMetricSetName)
HEAD(sets, Profiler_Host_GetSinglePassSets)
FIELD(sets, chip, Profiler_Host_GetSinglePassSets, pChipName)
FIELD(sets, n, Profiler_Host_GetSinglePassSets, numOfSinglePassSets)
LAST(sets, names, Profiler_Host_GetSinglePassSets, ppSinglePassSets)
#endif
HEAD(of_host, Profiler_Host_Deinitialize)
LAST(of_host, host, Profiler_Host_Deinitialize, pHostObject)
HEAD(base, Profiler_Host_GetBaseMetrics)
FIELD(base, host, Profiler_Host_GetBaseMetrics, pHostObject)
FIELD(base, type, Profiler_Host_GetBaseMetrics, metricType)
FIELD(base, names, Profiler_Host_GetBaseMetrics, ppMetricNames)
LAST(base, n, Profiler_Host_GetBaseMetrics, numMetrics)
HEAD(sub, Profiler_Host_GetSubMetrics)
FIELD(sub, host, Profiler_Host_GetSubMetrics, pHostObject)
FIELD(sub, type, Profiler_Host_GetSubMetrics, metricType)
FIELD(sub, metric, Profiler_Host_GetSubMetrics, pMetricName)
FIELD(sub, n, Profiler_Host_GetSubMetrics, numOfSubmetrics)
LAST(sub, names, Profiler_Host_GetSubMetrics, ppSubMetrics)
HEAD(properties, Profiler_Host_GetMetricProperties)
FIELD(properties, host, Profiler_Host_GetMetricProperties, pHostObject)
FIELD(properties, metric, Profiler_Host_GetMetricProperties, pMetricName)
FIELD(properties, description, Profiler_Host_GetMetricProperties, pDescription)
FIELD(properties, unit, Profiler_Host_GetMetricProperties, pHwUnit)
FIELD(properties, dimension, Profiler_Host_GetMetricProperties, pDimUnit)
#if CUDA < 1301
LAST(properties, type, Profiler_Host_GetMetricProperties, metricType)
#else
FIELD(properties, type, Profiler_Host_GetMetricProperties, metricType)
LAST(properties, scope, Profiler_Host_GetMetricProperties, metricCollectionScope)
#endif
HEAD(add, Profiler_Host_ConfigAddMetrics)
FIELD(add, host, Profiler_Host_ConfigAddMetrics, pHostObject)
FIELD(add, metrics, Profiler_Host_ConfigAddMetrics, ppMetricNames)
LAST(add, n, Profiler_Host_ConfigAddMetrics, numMetrics)
HEAD(config_size, Profiler_Host_GetConfigImageSize)
FIELD(config_size, host, Profiler_Host_GetConfigImageSize, pHostObject)
LAST(config_size, length, Profiler_Host_GetConfigImageSize, configImageSize)
HEAD(config, Profiler_Host_GetConfigImage)
FIELD(config, host, Profiler_Host_GetConfigImage, pHostObject)
FIELD(config, length, Profiler_Host_GetConfigImage, configImageSize)
LAST(config, image, Profiler_Host_GetConfigImage, pConfigImage)
HEAD(passes, Profiler_Host_GetNumOfPasses)
FIELD(passes, length, Profiler_Host_GetNumOfPasses, configImageSize)
FIELD(passes, image, Profiler_Host_GetNumOfPasses, pConfigImage)
LAST(passes, passes, Profiler_Host_GetNumOfPasses, numOfPasses)
HEAD(evaluate, Profiler_Host_EvaluateToGpuValues)
FIELD(evaluate, host, Profiler_Host_EvaluateToGpuValues, pHostObject)
FIELD(evaluate, image, Profiler_Host_EvaluateToGpuValues, pCounterDataImage)
FIELD(evaluate, length, Profiler_Host_EvaluateToGpuValues, counterDataImageSize)
FIELD(evaluate, index, Profiler_Host_EvaluateToGpuValues, rangeIndex)
FIELD(evaluate, metrics, Profiler_Host_EvaluateToGpuValues, ppMetricNames)
FIELD(evaluate, n, Profiler_Host_EvaluateToGpuValues, numMetrics)
LAST(evaluate, values, Profiler_Host_EvaluateToGpuValues, pMetricValues)
HEAD(enable, PmSampling_Enable)
FIELD(enable, device, PmSampling_Enable, deviceIndex)
LAST(enable, object, PmSampling_Enable, pPmSamplingObject)
HEAD(of_object, PmSampling_Disable)
LAST(of_object, object, PmSampling_Disable, pPmSamplingObject)
LAST(of_object, object, PmSampling_Start, pPmSamplingObject)
LAST(of_object, object, PmSampling_Stop, pPmSamplingObject)
HEAD(set_config, PmSampling_SetConfig)
FIELD(set_config, object, PmSampling_SetConfig, pPmSamplingObject)
FIELD(set_config, length, PmSampling_SetConfig, configSize)
FIELD(set_config, config, PmSampling_SetConfig, pConfig)
FIELD(set_config, buffer, PmSampling_SetConfig, hardwareBufferSize)
FIELD(set_config, interval, PmSampling_SetConfig, samplingInterval)
#if CUDA < 1208
LAST(set_config, trigger, PmSampling_SetConfig, triggerMode)
#else
FIELD(set_config, trigger, PmSampling_SetConfig, triggerMode)
LAST(set_config, append, PmSampling_SetConfig, hwBufferAppendMode)
_Static_assert(CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST == 0 &&
                   CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST == 1,
               "append modes");
#endif
HEAD(data_size, PmSampling_GetCounterDataSize)
FIELD(data_size, object, PmSampling_GetCounterDataSize, pPmSamplingObject)
FIELD(data_size, metrics, PmSampling_GetCounterDataSize, pMetricNames)
FIELD(data_size, n, PmSampling_GetCounterDataSize, numMetrics)
FIELD(data_size, samples, PmSampling_GetCounterDataSize, maxSamples)
LAST(data_size, length, PmSampling_GetCounterDataSize, counterDataSize)
HEAD(data, PmSampling_CounterDataImage_Initialize)
FIELD(data, object, PmSampling_CounterDataImage_Initialize, pPmSamplingObject)
FIELD(data, length, PmSampling_CounterDataImage_Initialize, counterDataSize)
LAST(data, image, PmSampling_CounterDataImage_Initialize, pCounterData)
HEAD(decode, PmSampling_DecodeData)
FIELD(decode, object, PmSampling_DecodeData, pPmSamplingObject)
FIELD(decode, image, PmSampling_DecodeData, pCounterDataImage)
FIELD(decode, length, PmSampling_DecodeData, counterDataImageSize)
FIELD(decode, reason, PmSampling_DecodeData, decodeStopReason)
LAST(decode, overflow, PmSampling_DecodeData, overflow)
HEAD(info, PmSampling_GetCounterDataInfo)
FIELD(info, image, PmSampling_GetCounterDataInfo, pCounterDataImage)
FIELD(info, length, PmSampling_GetCounterDataInfo, counterDataImageSize)
FIELD(info, total, PmSampling_GetCounterDataInfo, numTotalSamples)
FIELD(info, populated, PmSampling_GetCounterDataInfo, numPopulatedSamples)
LAST(info, completed, PmSampling_GetCounterDataInfo, numCompletedSamples)
HEAD(sample, PmSampling_CounterData_GetSampleInfo)
FIELD(sample, object, PmSampling_CounterData_GetSampleInfo, pPmSamplingObject)
FIELD(sample, image, PmSampling_CounterData_GetSampleInfo, pCounterDataImage)
FIELD(sample, length, PmSampling_CounterData_GetSampleInfo, counterDataImageSize)
FIELD(sample, index, PmSampling_CounterData_GetSampleInfo, sampleIndex)
FIELD(sample, start, PmSampling_CounterData_GetSampleInfo, startTimestamp)
LAST(sample, end, PmSampling_CounterData_GetSampleInfo, endTimestamp)

_Static_assert(CUPTI_PROFILER_TYPE_PM_SAMPLING == CG_CUPTI_PM_SAMPLING, "the type of profiler");
_Static_assert(CUPTI_METRIC_TYPE_COUNTER == 0 && CUPTI_METRIC_TYPE_RATIO == 1 && CUPTI_METRIC_TYPE_THROUGHPUT == 2,
               "types of metrics");
_Static_assert(CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL == 0 &&
                   CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL == 1,
               "trigger modes");
_Static_assert(CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL == 1 &&
                   CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS == 2,
               "reasons");
_Static_assert(CUPTI_ERROR_INVALID_PARAMETER == 1 && CUPTI_ERROR_INVALID_OPERATION == 7 &&
                   CUPTI_ERROR_OUT_OF_MEMORY == 8 && CUPTI_ERROR_NOT_INITIALIZED == 15 &&
                   CUPTI_ERROR_INVALID_METRIC_NAME == 17 && CUPTI_ERROR_HARDWARE_BUSY == 26 &&
                   CUPTI_ERROR_NOT_SUPPORTED == 27 && CUPTI_ERROR_INSUFFICIENT_PRIVILEGES == 35 &&
                   CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED == 42 && CUPTI_ERROR_UNKNOWN == 999,
               "answers");
#if CUDA >= 1305
_Static_assert(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED == 43 && CUPTI_ERROR_INVALID_CHIP_NAME == 46, "later answers");
#endif
