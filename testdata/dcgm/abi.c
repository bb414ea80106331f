// Compares cg's declarations of DCGM (nemb/dcgm/abi/abi.h) with NVIDIA's headers, when it is compiled. check.sh does.
#include <stddef.h>
#include <stdint.h>

#include <dcgm_agent.h>
#include <dcgm_fields.h>
#include <dcgm_structs.h>

#include "../../nemb/dcgm/abi/abi.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
#define SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs)
#define FIELD(ours, our, theirs, their)                                                         \
	_Static_assert(offsetof(struct ours, our) == offsetof(theirs, their) &&                     \
	                   sizeof(((struct ours *)0)->our) == sizeof(((theirs *)0)->their),         \
	               #ours "." #our " is not " #theirs "." #their)

SAME(CG_DCGM_OK, DCGM_ST_OK);
SAME(CG_DCGM_NOT_SUPPORTED, DCGM_ST_NOT_SUPPORTED);
SAME(CG_DCGM_NO_DATA, DCGM_ST_NO_DATA);
SAME(CG_DCGM_CONNECTION, DCGM_ST_CONNECTION_NOT_VALID);
SAME(CG_DCGM_GROUP_EMPTY, DCGM_GROUP_EMPTY);
SAME(CG_DCGM_AUTO, DCGM_OPERATION_MODE_AUTO);
SAME(CG_DCGM_GPU_INSTANCE, DCGM_FE_GPU_I);
SAME(CG_DCGM_ENGINE, DCGM_FI_PROF_GR_ENGINE_ACTIVE);
SAME(CG_DCGM_SMS, DCGM_FI_PROF_SM_ACTIVE);
SAME(CG_DCGM_MOST, DCGM_MAX_HIERARCHY_INFO);
SAME(CG_DCGM_VERSION(cg_dcgm_hierarchy, 2), dcgmMigHierarchy_version2);
SAME(CG_DCGM_VERSION(cg_dcgm_connection, 2), dcgmConnectV2Params_version2);
_Static_assert(sizeof(dcgmHandle_t) == sizeof(uintptr_t) && sizeof(dcgmGpuGrp_t) == sizeof(uintptr_t) &&
                   sizeof(dcgmFieldGrp_t) == sizeof(uintptr_t),
               "handles");

SIZE(cg_dcgm_pair, dcgmGroupEntityPair_t);
FIELD(cg_dcgm_pair, group, dcgmGroupEntityPair_t, entityGroupId);
FIELD(cg_dcgm_pair, id, dcgmGroupEntityPair_t, entityId);
SIZE(cg_dcgm_entity, dcgmMigHierarchyInfo_v2);
FIELD(cg_dcgm_entity, entity, dcgmMigHierarchyInfo_v2, entity);
FIELD(cg_dcgm_entity, parent, dcgmMigHierarchyInfo_v2, parent);
FIELD(cg_dcgm_entity, uuid, dcgmMigHierarchyInfo_v2, info.gpuUuid);
FIELD(cg_dcgm_entity, gpu, dcgmMigHierarchyInfo_v2, info.nvmlGpuIndex);
FIELD(cg_dcgm_entity, instance, dcgmMigHierarchyInfo_v2, info.nvmlInstanceId);
FIELD(cg_dcgm_entity, compute, dcgmMigHierarchyInfo_v2, info.nvmlComputeInstanceId);
FIELD(cg_dcgm_entity, profile, dcgmMigHierarchyInfo_v2, info.nvmlMigProfileId);
FIELD(cg_dcgm_entity, slices, dcgmMigHierarchyInfo_v2, info.nvmlProfileSlices);
FIELD(cg_dcgm_hierarchy, n, dcgmMigHierarchy_v2, count);
FIELD(cg_dcgm_hierarchy, entities, dcgmMigHierarchy_v2, entityList);
FIELD(cg_dcgm_connection, persist, dcgmConnectV2Params_v2, persistAfterDisconnect);
FIELD(cg_dcgm_connection, timeout_ms, dcgmConnectV2Params_v2, timeoutMs);
FIELD(cg_dcgm_connection, is_socket, dcgmConnectV2Params_v2, addressIsUnixSocket);
SIZE(cg_dcgm_value, dcgmFieldValue_v1);
FIELD(cg_dcgm_value, field, dcgmFieldValue_v1, fieldId);
FIELD(cg_dcgm_value, type, dcgmFieldValue_v1, fieldType);
FIELD(cg_dcgm_value, status, dcgmFieldValue_v1, status);
FIELD(cg_dcgm_value, at, dcgmFieldValue_v1, ts);
FIELD(cg_dcgm_value, value.number, dcgmFieldValue_v1, value.dbl);
FIELD(cg_dcgm_value, value, dcgmFieldValue_v1, value);

// The functions take what library.c passes.
static int told(dcgm_field_entity_group_t group, dcgm_field_eid_t entity, dcgmFieldValue_v1 *values, int n, void *data) {
	return (int)group + (int)entity + values->status + n + (data != 0);
}

int main(void) {
	dcgmHandle_t handle = 0;
	dcgmConnectV2Params_v2 connection = {dcgmConnectV2Params_version2, 0, 1000, 0};
	dcgmMigHierarchy_v2 *hierarchy = 0;
	dcgmGpuGrp_t group = 0;
	dcgmFieldGrp_t fields = 0;
	unsigned short ids[] = {CG_DCGM_ENGINE, CG_DCGM_SMS};
	long long since = 0;
	dcgmInit();
	dcgmStartEmbedded(DCGM_OPERATION_MODE_AUTO, &handle);
	dcgmConnect_v2("127.0.0.1", &connection, &handle);
	dcgmGetGpuInstanceHierarchy(handle, hierarchy);
	dcgmGroupCreate(handle, DCGM_GROUP_EMPTY, "cg", &group);
	dcgmGroupAddEntity(handle, group, DCGM_FE_GPU_I, 0);
	dcgmFieldGroupCreate(handle, 2, ids, "cg", &fields);
	dcgmWatchFields(handle, group, fields, 250000, 60.0, 0);
	dcgmUpdateAllFields(handle, 0);
	dcgmGetValuesSince_v2(handle, group, fields, since, &since, told, 0);
	dcgmUnwatchFields(handle, group, fields);
	dcgmFieldGroupDestroy(handle, fields);
	dcgmGroupDestroy(handle, group);
	dcgmDisconnect(handle);
	dcgmStopEmbedded(handle);
	return dcgmShutdown();
}
