// Why a missing NVML function cannot end cg.
//
// go-nvml leaves the functions of libnvidia-ml.so.1 undefined in the program
// and lets the dynamic linker find them at the first call. Where a driver lacks
// one, the linker ends the process ("symbol lookup error"); where programs are
// linked with -z now, the default of some distributions, it does so before
// main. So this file defines every one of them: those that cg uses look into
// the loaded library at each call, and answer NVML_ERROR_FUNCTION_NOT_FOUND
// where it has none; the others always do. They are hidden, so that the library
// itself never finds them. TestNVMLFunctionsAreDefined compares the list with
// go-nvml's.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

#include "link.h"

#define HIDDEN __attribute__((visibility("hidden")))

enum { FUNCTION_NOT_FOUND = 13 }; // NVML_ERROR_FUNCTION_NOT_FOUND

typedef uintptr_t function(uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static _Atomic(void *) library;

const char *cg_nvml_load(const char *path) {
	void *loaded = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!loaded)
		return dlerror();
	void *before = atomic_exchange(&library, loaded);
	if (before)
		dlclose(before);
	return 0;
}

static void *find(const char *name) {
	void *loaded = atomic_load(&library);
	return loaded ? dlsym(loaded, name) : 0;
}

// FORWARD defines a function that calls the one of that name in the library.
// All parameters of these functions are integers and pointers, which travel in
// registers.
#define FORWARD(name)                                                                \
	HIDDEN uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {      \
		function *f = (function *)find(#name);                                       \
		return f ? f(a, b, c, d) : FUNCTION_NOT_FOUND;                               \
	}

FORWARD(nvmlInit)
FORWARD(nvmlInit_v2)
FORWARD(nvmlShutdown)
FORWARD(nvmlSystemGetDriverVersion)
FORWARD(nvmlDeviceGetCount)
FORWARD(nvmlDeviceGetCount_v2)
FORWARD(nvmlDeviceGetHandleByIndex)
FORWARD(nvmlDeviceGetHandleByIndex_v2)
FORWARD(nvmlDeviceGetName)
FORWARD(nvmlDeviceGetUUID)
FORWARD(nvmlDeviceIsMigDeviceHandle)
FORWARD(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)
FORWARD(nvmlDeviceGetMigMode)
FORWARD(nvmlDeviceGetTotalEnergyConsumption)
FORWARD(nvmlDeviceGetPowerUsage)
FORWARD(nvmlDeviceGetFieldValues)
FORWARD(nvmlDeviceGetTemperature)
FORWARD(nvmlDeviceGetClockInfo)
FORWARD(nvmlDeviceGetUtilizationRates)
FORWARD(nvmlDeviceGetMemoryInfo)
FORWARD(nvmlDeviceGetPcieThroughput)
FORWARD(nvmlDeviceGetProcessUtilization)
FORWARD(nvmlDeviceGetComputeRunningProcesses)
FORWARD(nvmlDeviceGetComputeRunningProcesses_v2)
FORWARD(nvmlDeviceGetComputeRunningProcesses_v3)
FORWARD(nvmlDeviceGetGraphicsRunningProcesses)
FORWARD(nvmlDeviceGetGraphicsRunningProcesses_v2)
FORWARD(nvmlDeviceGetGraphicsRunningProcesses_v3)
FORWARD(nvmlDeviceGetMPSComputeRunningProcesses)
FORWARD(nvmlDeviceGetMPSComputeRunningProcesses_v2)
FORWARD(nvmlDeviceGetMPSComputeRunningProcesses_v3)
FORWARD(nvmlDeviceGetAccountingMode)
FORWARD(nvmlDeviceGetAccountingPids)
FORWARD(nvmlDeviceGetAccountingStats)
FORWARD(nvmlDeviceGetArchitecture)
FORWARD(nvmlDeviceGetCudaComputeCapability)
FORWARD(nvmlDeviceGetAttributes)
FORWARD(nvmlDeviceGetAttributes_v2)
FORWARD(nvmlDeviceGetComputeInstanceId)
FORWARD(nvmlDeviceGetGpuInstanceId)
FORWARD(nvmlDeviceGetMaxMigDeviceCount)
FORWARD(nvmlDeviceGetMigDeviceHandleByIndex)
FORWARD(nvmlGpmMetricsGet)
FORWARD(nvmlGpmMigSampleGet)
FORWARD(nvmlGpmQueryDeviceSupport)
FORWARD(nvmlGpmSampleAlloc)
FORWARD(nvmlGpmSampleFree)

HIDDEN const char *nvmlErrorString(int code) {
	const char *(*f)(int) = (const char *(*)(int))find("nvmlErrorString");
	return f ? f(code) : "unknown error";
}

// ABSENT defines a function of go-nvml's that cg does not call.
HIDDEN uintptr_t cg_nvml_absent(void) { return FUNCTION_NOT_FOUND; }
#define ABSENT(name) HIDDEN extern uintptr_t name(void) __attribute__((alias("cg_nvml_absent")));

ABSENT(nvmlComputeInstanceDestroy) ABSENT(nvmlComputeInstanceGetInfo) ABSENT(nvmlComputeInstanceGetInfo_v2)
ABSENT(nvmlDeviceClearAccountingPids) ABSENT(nvmlDeviceClearCpuAffinity) ABSENT(nvmlDeviceClearEccErrorCounts)
ABSENT(nvmlDeviceClearFieldValues) ABSENT(nvmlDeviceCreateGpuInstance)
ABSENT(nvmlDeviceCreateGpuInstanceWithPlacement) ABSENT(nvmlDeviceDiscoverGpus)
ABSENT(nvmlDeviceFreezeNvLinkUtilizationCounter) ABSENT(nvmlDeviceGetAPIRestriction)
ABSENT(nvmlDeviceGetAccountingBufferSize)
ABSENT(nvmlDeviceGetActiveVgpus)
ABSENT(nvmlDeviceGetAdaptiveClockInfoStatus) ABSENT(nvmlDeviceGetAddressingMode)
ABSENT(nvmlDeviceGetApplicationsClock)
 ABSENT(nvmlDeviceGetAutoBoostedClocksEnabled)
ABSENT(nvmlDeviceGetBAR1MemoryInfo) ABSENT(nvmlDeviceGetBoardId) ABSENT(nvmlDeviceGetBoardPartNumber)
ABSENT(nvmlDeviceGetBrand) ABSENT(nvmlDeviceGetBridgeChipInfo) ABSENT(nvmlDeviceGetBusType)
ABSENT(nvmlDeviceGetC2cModeInfoV) ABSENT(nvmlDeviceGetCapabilities) ABSENT(nvmlDeviceGetClkMonStatus)
ABSENT(nvmlDeviceGetClock) ABSENT(nvmlDeviceGetClockOffsets)
 ABSENT(nvmlDeviceGetComputeMode)

ABSENT(nvmlDeviceGetConfComputeGpuAttestationReport)
ABSENT(nvmlDeviceGetConfComputeGpuCertificate) ABSENT(nvmlDeviceGetConfComputeMemSizeInfo)
ABSENT(nvmlDeviceGetConfComputeProtectedMemoryUsage) ABSENT(nvmlDeviceGetCoolerInfo)
ABSENT(nvmlDeviceGetCpuAffinity) ABSENT(nvmlDeviceGetCpuAffinityWithinScope)
ABSENT(nvmlDeviceGetCreatableVgpus)
ABSENT(nvmlDeviceGetCurrPcieLinkGeneration) ABSENT(nvmlDeviceGetCurrPcieLinkWidth)
ABSENT(nvmlDeviceGetCurrentClockFreqs) ABSENT(nvmlDeviceGetCurrentClocksEventReasons)
ABSENT(nvmlDeviceGetCurrentClocksThrottleReasons) ABSENT(nvmlDeviceGetDecoderUtilization)
ABSENT(nvmlDeviceGetDefaultApplicationsClock) ABSENT(nvmlDeviceGetDefaultEccMode)
ABSENT(nvmlDeviceGetDetailedEccErrors) ABSENT(nvmlDeviceGetDisplayActive) ABSENT(nvmlDeviceGetDisplayMode)
ABSENT(nvmlDeviceGetDramEncryptionMode) ABSENT(nvmlDeviceGetDriverModel) ABSENT(nvmlDeviceGetDriverModel_v2)
ABSENT(nvmlDeviceGetDynamicPstatesInfo) ABSENT(nvmlDeviceGetEccMode) ABSENT(nvmlDeviceGetEncoderCapacity)
ABSENT(nvmlDeviceGetEncoderSessions) ABSENT(nvmlDeviceGetEncoderStats) ABSENT(nvmlDeviceGetEncoderUtilization)
ABSENT(nvmlDeviceGetEnforcedPowerLimit) ABSENT(nvmlDeviceGetFBCSessions) ABSENT(nvmlDeviceGetFBCStats)
ABSENT(nvmlDeviceGetFanControlPolicy_v2) ABSENT(nvmlDeviceGetFanSpeed) ABSENT(nvmlDeviceGetFanSpeedRPM)
ABSENT(nvmlDeviceGetFanSpeed_v2) ABSENT(nvmlDeviceGetGpcClkMinMaxVfOffset) ABSENT(nvmlDeviceGetGpcClkVfOffset)
ABSENT(nvmlDeviceGetGpuFabricInfo) ABSENT(nvmlDeviceGetGpuFabricInfoV) ABSENT(nvmlDeviceGetGpuInstanceById)
 ABSENT(nvmlDeviceGetGpuInstancePossiblePlacements)
ABSENT(nvmlDeviceGetGpuInstancePossiblePlacements_v2) ABSENT(nvmlDeviceGetGpuInstanceProfileInfo)
ABSENT(nvmlDeviceGetGpuInstanceProfileInfoByIdV) ABSENT(nvmlDeviceGetGpuInstanceProfileInfoV)
ABSENT(nvmlDeviceGetGpuInstanceRemainingCapacity) ABSENT(nvmlDeviceGetGpuInstances)
ABSENT(nvmlDeviceGetGpuMaxPcieLinkGeneration) ABSENT(nvmlDeviceGetGpuOperationMode)
ABSENT(nvmlDeviceGetGridLicensableFeatures)
ABSENT(nvmlDeviceGetGridLicensableFeatures_v2) ABSENT(nvmlDeviceGetGridLicensableFeatures_v3)
ABSENT(nvmlDeviceGetGridLicensableFeatures_v4) ABSENT(nvmlDeviceGetGspFirmwareMode)
ABSENT(nvmlDeviceGetGspFirmwareVersion) ABSENT(nvmlDeviceGetHandleByPciBusId)
ABSENT(nvmlDeviceGetHandleByPciBusId_v2) ABSENT(nvmlDeviceGetHandleBySerial) ABSENT(nvmlDeviceGetHandleByUUID)
ABSENT(nvmlDeviceGetHandleByUUIDV) ABSENT(nvmlDeviceGetHostVgpuMode) ABSENT(nvmlDeviceGetIndex)
ABSENT(nvmlDeviceGetInforomConfigurationChecksum) ABSENT(nvmlDeviceGetInforomImageVersion)
ABSENT(nvmlDeviceGetInforomVersion) ABSENT(nvmlDeviceGetIrqNum) ABSENT(nvmlDeviceGetJpgUtilization)
ABSENT(nvmlDeviceGetLastBBXFlushTime)

ABSENT(nvmlDeviceGetMarginTemperature) ABSENT(nvmlDeviceGetMaxClockInfo)
ABSENT(nvmlDeviceGetMaxCustomerBoostClock)
ABSENT(nvmlDeviceGetMaxPcieLinkGeneration) ABSENT(nvmlDeviceGetMaxPcieLinkWidth)
ABSENT(nvmlDeviceGetMemClkMinMaxVfOffset) ABSENT(nvmlDeviceGetMemClkVfOffset)
ABSENT(nvmlDeviceGetMemoryAffinity) ABSENT(nvmlDeviceGetMemoryBusWidth)
ABSENT(nvmlDeviceGetMemoryErrorCounter) ABSENT(nvmlDeviceGetMemoryInfo_v2)
 ABSENT(nvmlDeviceGetMinMaxClockOfPState)
ABSENT(nvmlDeviceGetMinMaxFanSpeed) ABSENT(nvmlDeviceGetMinorNumber) ABSENT(nvmlDeviceGetModuleId)
ABSENT(nvmlDeviceGetMultiGpuBoard) ABSENT(nvmlDeviceGetNumFans) ABSENT(nvmlDeviceGetNumGpuCores)
ABSENT(nvmlDeviceGetNumaNodeId) ABSENT(nvmlDeviceGetNvLinkCapability) ABSENT(nvmlDeviceGetNvLinkErrorCounter)
ABSENT(nvmlDeviceGetNvLinkInfo) ABSENT(nvmlDeviceGetNvLinkRemoteDeviceType)
ABSENT(nvmlDeviceGetNvLinkRemotePciInfo) ABSENT(nvmlDeviceGetNvLinkRemotePciInfo_v2)
ABSENT(nvmlDeviceGetNvLinkState) ABSENT(nvmlDeviceGetNvLinkUtilizationControl)
ABSENT(nvmlDeviceGetNvLinkUtilizationCounter) ABSENT(nvmlDeviceGetNvLinkVersion)
ABSENT(nvmlDeviceGetNvlinkBwMode) ABSENT(nvmlDeviceGetNvlinkSupportedBwModes)
ABSENT(nvmlDeviceGetOfaUtilization) ABSENT(nvmlDeviceGetP2PStatus) ABSENT(nvmlDeviceGetPciInfo)
ABSENT(nvmlDeviceGetPciInfoExt) ABSENT(nvmlDeviceGetPciInfo_v2) ABSENT(nvmlDeviceGetPciInfo_v3)
ABSENT(nvmlDeviceGetPcieLinkMaxSpeed) ABSENT(nvmlDeviceGetPcieReplayCounter) ABSENT(nvmlDeviceGetPcieSpeed)
ABSENT(nvmlDeviceGetPdi) ABSENT(nvmlDeviceGetPerformanceModes) ABSENT(nvmlDeviceGetPerformanceState)
ABSENT(nvmlDeviceGetPersistenceMode) ABSENT(nvmlDeviceGetPgpuMetadataString) ABSENT(nvmlDeviceGetPlatformInfo)
ABSENT(nvmlDeviceGetPowerManagementDefaultLimit) ABSENT(nvmlDeviceGetPowerManagementLimit)
ABSENT(nvmlDeviceGetPowerManagementLimitConstraints) ABSENT(nvmlDeviceGetPowerManagementMode)
ABSENT(nvmlDeviceGetPowerMizerMode_v1) ABSENT(nvmlDeviceGetPowerSource) ABSENT(nvmlDeviceGetPowerState)
ABSENT(nvmlDeviceGetProcessesUtilizationInfo)
ABSENT(nvmlDeviceGetRemappedRows) ABSENT(nvmlDeviceGetRepairStatus) ABSENT(nvmlDeviceGetRetiredPages)
ABSENT(nvmlDeviceGetRetiredPagesPendingStatus) ABSENT(nvmlDeviceGetRetiredPages_v2)
ABSENT(nvmlDeviceGetRowRemapperHistogram) ABSENT(nvmlDeviceGetRunningProcessDetailList)
ABSENT(nvmlDeviceGetSamples) ABSENT(nvmlDeviceGetSerial) ABSENT(nvmlDeviceGetSramEccErrorStatus)
ABSENT(nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts) ABSENT(nvmlDeviceGetSupportedClocksEventReasons)
ABSENT(nvmlDeviceGetSupportedClocksThrottleReasons) ABSENT(nvmlDeviceGetSupportedEventTypes)
ABSENT(nvmlDeviceGetSupportedGraphicsClocks) ABSENT(nvmlDeviceGetSupportedMemoryClocks)
ABSENT(nvmlDeviceGetSupportedPerformanceStates) ABSENT(nvmlDeviceGetSupportedVgpus)
ABSENT(nvmlDeviceGetTargetFanSpeed) ABSENT(nvmlDeviceGetTemperatureThreshold)
ABSENT(nvmlDeviceGetTemperatureV) ABSENT(nvmlDeviceGetThermalSettings)
ABSENT(nvmlDeviceGetTopologyCommonAncestor) ABSENT(nvmlDeviceGetTopologyNearestGpus)
ABSENT(nvmlDeviceGetTotalEccErrors) ABSENT(nvmlDeviceGetVbiosVersion) ABSENT(nvmlDeviceGetVgpuCapabilities)
ABSENT(nvmlDeviceGetVgpuHeterogeneousMode) ABSENT(nvmlDeviceGetVgpuInstancesUtilizationInfo)
ABSENT(nvmlDeviceGetVgpuMetadata) ABSENT(nvmlDeviceGetVgpuProcessUtilization)
ABSENT(nvmlDeviceGetVgpuProcessesUtilizationInfo) ABSENT(nvmlDeviceGetVgpuSchedulerCapabilities)
ABSENT(nvmlDeviceGetVgpuSchedulerLog) ABSENT(nvmlDeviceGetVgpuSchedulerState)
ABSENT(nvmlDeviceGetVgpuTypeCreatablePlacements) ABSENT(nvmlDeviceGetVgpuTypeSupportedPlacements)
ABSENT(nvmlDeviceGetVgpuUtilization) ABSENT(nvmlDeviceGetViolationStatus)
ABSENT(nvmlDeviceGetVirtualizationMode) ABSENT(nvmlDeviceModifyDrainState) ABSENT(nvmlDeviceOnSameBoard)
ABSENT(nvmlDevicePowerSmoothingActivatePresetProfile) ABSENT(nvmlDevicePowerSmoothingSetState)
ABSENT(nvmlDevicePowerSmoothingUpdatePresetProfileParam) ABSENT(nvmlDeviceQueryDrainState)
ABSENT(nvmlDeviceReadWritePRM_v1) ABSENT(nvmlDeviceRegisterEvents) ABSENT(nvmlDeviceRemoveGpu)
ABSENT(nvmlDeviceRemoveGpu_v2) ABSENT(nvmlDeviceResetApplicationsClocks)
ABSENT(nvmlDeviceResetGpuLockedClocks) ABSENT(nvmlDeviceResetMemoryLockedClocks)
ABSENT(nvmlDeviceResetNvLinkErrorCounters) ABSENT(nvmlDeviceResetNvLinkUtilizationCounter)
ABSENT(nvmlDeviceSetAPIRestriction) ABSENT(nvmlDeviceSetAccountingMode)
ABSENT(nvmlDeviceSetApplicationsClocks) ABSENT(nvmlDeviceSetAutoBoostedClocksEnabled)
ABSENT(nvmlDeviceSetClockOffsets) ABSENT(nvmlDeviceSetComputeMode)
ABSENT(nvmlDeviceSetConfComputeUnprotectedMemSize) ABSENT(nvmlDeviceSetCpuAffinity)
ABSENT(nvmlDeviceSetDefaultAutoBoostedClocksEnabled) ABSENT(nvmlDeviceSetDefaultFanSpeed_v2)
ABSENT(nvmlDeviceSetDramEncryptionMode) ABSENT(nvmlDeviceSetDriverModel) ABSENT(nvmlDeviceSetEccMode)
ABSENT(nvmlDeviceSetFanControlPolicy) ABSENT(nvmlDeviceSetFanSpeed_v2) ABSENT(nvmlDeviceSetGpcClkVfOffset)
ABSENT(nvmlDeviceSetGpuLockedClocks) ABSENT(nvmlDeviceSetGpuOperationMode) ABSENT(nvmlDeviceSetMemClkVfOffset)
ABSENT(nvmlDeviceSetMemoryLockedClocks) ABSENT(nvmlDeviceSetMigMode)
ABSENT(nvmlDeviceSetNvLinkDeviceLowPowerThreshold) ABSENT(nvmlDeviceSetNvLinkUtilizationControl)
ABSENT(nvmlDeviceSetNvlinkBwMode) ABSENT(nvmlDeviceSetPersistenceMode)
ABSENT(nvmlDeviceSetPowerManagementLimit) ABSENT(nvmlDeviceSetPowerManagementLimit_v2)
ABSENT(nvmlDeviceSetPowerMizerMode_v1) ABSENT(nvmlDeviceSetTemperatureThreshold)
ABSENT(nvmlDeviceSetVgpuCapabilities) ABSENT(nvmlDeviceSetVgpuHeterogeneousMode)
ABSENT(nvmlDeviceSetVgpuSchedulerState) ABSENT(nvmlDeviceSetVirtualizationMode)
ABSENT(nvmlDeviceValidateInforom) ABSENT(nvmlDeviceWorkloadPowerProfileClearRequestedProfiles)
ABSENT(nvmlDeviceWorkloadPowerProfileGetCurrentProfiles) ABSENT(nvmlDeviceWorkloadPowerProfileGetProfilesInfo)
ABSENT(nvmlDeviceWorkloadPowerProfileSetRequestedProfiles) ABSENT(nvmlEventSetCreate) ABSENT(nvmlEventSetFree)
ABSENT(nvmlEventSetWait) ABSENT(nvmlEventSetWait_v2) ABSENT(nvmlGetExcludedDeviceCount)
ABSENT(nvmlGetExcludedDeviceInfoByIndex) ABSENT(nvmlGetVgpuCompatibility)
ABSENT(nvmlGetVgpuDriverCapabilities) ABSENT(nvmlGetVgpuVersion)
 ABSENT(nvmlGpmQueryIfStreamingEnabled)
 ABSENT(nvmlGpmSampleGet)
ABSENT(nvmlGpmSetStreamingEnabled) ABSENT(nvmlGpuInstanceCreateComputeInstance)
ABSENT(nvmlGpuInstanceCreateComputeInstanceWithPlacement) ABSENT(nvmlGpuInstanceDestroy)
ABSENT(nvmlGpuInstanceGetActiveVgpus) ABSENT(nvmlGpuInstanceGetComputeInstanceById)
ABSENT(nvmlGpuInstanceGetComputeInstancePossiblePlacements)
ABSENT(nvmlGpuInstanceGetComputeInstanceProfileInfo) ABSENT(nvmlGpuInstanceGetComputeInstanceProfileInfoV)
ABSENT(nvmlGpuInstanceGetComputeInstanceRemainingCapacity) ABSENT(nvmlGpuInstanceGetComputeInstances)
ABSENT(nvmlGpuInstanceGetCreatableVgpus) ABSENT(nvmlGpuInstanceGetInfo)
ABSENT(nvmlGpuInstanceGetVgpuHeterogeneousMode) ABSENT(nvmlGpuInstanceGetVgpuSchedulerLog)
ABSENT(nvmlGpuInstanceGetVgpuSchedulerState) ABSENT(nvmlGpuInstanceGetVgpuTypeCreatablePlacements)
ABSENT(nvmlGpuInstanceSetVgpuHeterogeneousMode) ABSENT(nvmlGpuInstanceSetVgpuSchedulerState)
ABSENT(nvmlInitWithFlags) ABSENT(nvmlSetVgpuVersion) ABSENT(nvmlSystemEventSetCreate)
ABSENT(nvmlSystemEventSetFree) ABSENT(nvmlSystemEventSetWait) ABSENT(nvmlSystemGetConfComputeCapabilities)
ABSENT(nvmlSystemGetConfComputeGpusReadyState) ABSENT(nvmlSystemGetConfComputeKeyRotationThresholdInfo)
ABSENT(nvmlSystemGetConfComputeSettings) ABSENT(nvmlSystemGetConfComputeState)
ABSENT(nvmlSystemGetCudaDriverVersion) ABSENT(nvmlSystemGetCudaDriverVersion_v2)
ABSENT(nvmlSystemGetDriverBranch) ABSENT(nvmlSystemGetHicVersion) ABSENT(nvmlSystemGetNVMLVersion)
ABSENT(nvmlSystemGetNvlinkBwMode) ABSENT(nvmlSystemGetProcessName) ABSENT(nvmlSystemGetTopologyGpuSet)
ABSENT(nvmlSystemRegisterEvents) ABSENT(nvmlSystemSetConfComputeGpusReadyState)
ABSENT(nvmlSystemSetConfComputeKeyRotationThresholdInfo) ABSENT(nvmlSystemSetNvlinkBwMode)
ABSENT(nvmlUnitGetCount) ABSENT(nvmlUnitGetDevices) ABSENT(nvmlUnitGetFanSpeedInfo)
ABSENT(nvmlUnitGetHandleByIndex) ABSENT(nvmlUnitGetLedState) ABSENT(nvmlUnitGetPsuInfo)
ABSENT(nvmlUnitGetTemperature) ABSENT(nvmlUnitGetUnitInfo) ABSENT(nvmlUnitSetLedState)
ABSENT(nvmlVgpuInstanceClearAccountingPids) ABSENT(nvmlVgpuInstanceGetAccountingMode)
ABSENT(nvmlVgpuInstanceGetAccountingPids) ABSENT(nvmlVgpuInstanceGetAccountingStats)
ABSENT(nvmlVgpuInstanceGetEccMode) ABSENT(nvmlVgpuInstanceGetEncoderCapacity)
ABSENT(nvmlVgpuInstanceGetEncoderSessions) ABSENT(nvmlVgpuInstanceGetEncoderStats)
ABSENT(nvmlVgpuInstanceGetFBCSessions) ABSENT(nvmlVgpuInstanceGetFBCStats) ABSENT(nvmlVgpuInstanceGetFbUsage)
ABSENT(nvmlVgpuInstanceGetFrameRateLimit) ABSENT(nvmlVgpuInstanceGetGpuInstanceId)
ABSENT(nvmlVgpuInstanceGetGpuPciId) ABSENT(nvmlVgpuInstanceGetLicenseInfo)
ABSENT(nvmlVgpuInstanceGetLicenseInfo_v2) ABSENT(nvmlVgpuInstanceGetLicenseStatus)
ABSENT(nvmlVgpuInstanceGetMdevUUID) ABSENT(nvmlVgpuInstanceGetMetadata) ABSENT(nvmlVgpuInstanceGetPlacementId)
ABSENT(nvmlVgpuInstanceGetRuntimeStateSize) ABSENT(nvmlVgpuInstanceGetType) ABSENT(nvmlVgpuInstanceGetUUID)
ABSENT(nvmlVgpuInstanceGetVmDriverVersion) ABSENT(nvmlVgpuInstanceGetVmID)
ABSENT(nvmlVgpuInstanceSetEncoderCapacity) ABSENT(nvmlVgpuTypeGetBAR1Info) ABSENT(nvmlVgpuTypeGetCapabilities)
ABSENT(nvmlVgpuTypeGetClass) ABSENT(nvmlVgpuTypeGetDeviceID) ABSENT(nvmlVgpuTypeGetFbReservation)
ABSENT(nvmlVgpuTypeGetFrameRateLimit) ABSENT(nvmlVgpuTypeGetFramebufferSize)
ABSENT(nvmlVgpuTypeGetGpuInstanceProfileId) ABSENT(nvmlVgpuTypeGetGspHeapSize) ABSENT(nvmlVgpuTypeGetLicense)
ABSENT(nvmlVgpuTypeGetMaxInstances) ABSENT(nvmlVgpuTypeGetMaxInstancesPerGpuInstance)
ABSENT(nvmlVgpuTypeGetMaxInstancesPerVm) ABSENT(nvmlVgpuTypeGetName) ABSENT(nvmlVgpuTypeGetNumDisplayHeads)
ABSENT(nvmlVgpuTypeGetResolution)
