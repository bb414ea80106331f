// Compares what cg uses of CUPTI's activities and callbacks (runtimes/native/cupti_activity.h) with NVIDIA's headers,
// when it is compiled. -DCUDA=1209 says that they are those of CUDA 12.9. check.sh compiles it.
#define CUPTIAPI
#include <stddef.h>
#include <stdint.h>
// What the headers use of CUDA's own, which is in another package.
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUevent_st *CUevent;
typedef int CUdevice, CUdevice_attribute, CUgraphNodeType, CUstreamAttrID;
typedef struct {
	char bytes[16];
} CUuuid;
typedef struct {
	char bytes[64];
} CUstreamAttrValue;
typedef struct CUaccessPolicyWindow_st CUaccessPolicyWindow;
#include <cupti_activity.h>
#include <cupti_callbacks.h>

#include "../../runtimes/native/cupti_activity.h"

#if CUDA < 1300
typedef CUpti_ActivityKernel9 kernel;
typedef CUpti_ActivityMemset4 memset_;
#elif CUDA < 1305
typedef CUpti_ActivityKernel11 kernel;
typedef CUpti_ActivityMemset4 memset_;
#else
typedef CUpti_ActivityKernel13 kernel;
typedef CUpti_ActivityMemset5 memset_;
#endif
#if CUDA < 1209
typedef CUpti_ActivityMemcpy5 memcpy_;
#elif CUDA < 1305
typedef CUpti_ActivityMemcpy6 memcpy_;
#else
typedef CUpti_ActivityMemcpy7 memcpy_;
#endif

#define FIELD(ours, our, theirs, their)                                            \
	_Static_assert(offsetof(struct ours, our) == offsetof(theirs, their) &&        \
	                   sizeof(((struct ours *)0)->our) == sizeof(((theirs *)0)->their), \
	               #ours "." #our " is not " #theirs "." #their);

FIELD(cg_activity_kernel, kind, kernel, kind)
FIELD(cg_activity_kernel, start, kernel, start)
FIELD(cg_activity_kernel, end, kernel, end)
FIELD(cg_activity_kernel, device, kernel, deviceId)
FIELD(cg_activity_kernel, stream, kernel, streamId)
FIELD(cg_activity_kernel, correlation, kernel, correlationId)
FIELD(cg_activity_kernel, name, kernel, name)
FIELD(cg_activity_memcpy, kind, memcpy_, kind)
FIELD(cg_activity_memcpy, copy, memcpy_, copyKind)
FIELD(cg_activity_memcpy, bytes, memcpy_, bytes)
FIELD(cg_activity_memcpy, start, memcpy_, start)
FIELD(cg_activity_memcpy, end, memcpy_, end)
FIELD(cg_activity_memcpy, device, memcpy_, deviceId)
FIELD(cg_activity_memcpy, correlation, memcpy_, correlationId)
FIELD(cg_activity_memcpy, runtime_correlation, memcpy_, runtimeCorrelationId)
FIELD(cg_activity_memset, kind, memset_, kind)
FIELD(cg_activity_memset, bytes, memset_, bytes)
FIELD(cg_activity_memset, start, memset_, start)
FIELD(cg_activity_memset, end, memset_, end)
FIELD(cg_activity_memset, device, memset_, deviceId)
FIELD(cg_activity_memset, correlation, memset_, correlationId)
FIELD(cg_callback, site, CUpti_CallbackData, callbackSite)
FIELD(cg_callback, function, CUpti_CallbackData, functionName)
FIELD(cg_callback, symbol, CUpti_CallbackData, symbolName)
FIELD(cg_callback, correlation, CUpti_CallbackData, correlationId)

_Static_assert(CG_KIND_MEMCPY == CUPTI_ACTIVITY_KIND_MEMCPY && CG_KIND_MEMSET == CUPTI_ACTIVITY_KIND_MEMSET &&
                   CG_KIND_KERNEL == CUPTI_ACTIVITY_KIND_KERNEL &&
                   CG_KIND_CONCURRENT_KERNEL == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
               "kinds of activities");
_Static_assert(CUPTI_API_ENTER == 0 && CUPTI_CB_DOMAIN_DRIVER_API == 1 && CUPTI_CB_DOMAIN_RUNTIME_API == 2 &&
                   CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == 39,
               "kinds of calls");
_Static_assert(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD == 1 && CUPTI_ACTIVITY_MEMCPY_KIND_DTOH == 2 &&
                   CUPTI_ACTIVITY_MEMCPY_KIND_HTOA == 3 && CUPTI_ACTIVITY_MEMCPY_KIND_ATOH == 4 &&
                   CUPTI_ACTIVITY_MEMCPY_KIND_ATOA == 5 && CUPTI_ACTIVITY_MEMCPY_KIND_ATOD == 6 &&
                   CUPTI_ACTIVITY_MEMCPY_KIND_DTOA == 7 && CUPTI_ACTIVITY_MEMCPY_KIND_DTOD == 8 &&
                   CUPTI_ACTIVITY_MEMCPY_KIND_HTOH == 9 && CUPTI_ACTIVITY_MEMCPY_KIND_PTOP == 10,
               "kinds of copies");
