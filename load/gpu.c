#include "gpu.h"

#include <dlfcn.h>

enum { CUDA_SUCCESS = 0, CUDA_ERROR_NO_DEVICE = 100, BLOCKS = 1024, THREADS = 256 };

typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;

static struct {
	int (*cuInit)(unsigned);
	int (*cuDeviceGet)(CUdevice *, int);
	int (*cuCtxCreate_v2)(CUcontext *, unsigned, CUdevice);
	int (*cuModuleLoadData)(CUmodule *, const void *);
	int (*cuModuleGetFunction)(CUfunction *, CUmodule, const char *);
	int (*cuLaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	                      void *, void **, void **);
	int (*cuCtxSynchronize)(void);
	int (*cuCtxDestroy_v2)(CUcontext);
} cu;

static CUcontext context;
static CUfunction kernel;

// 100 000 dependent fused multiply-adds in each thread. The result is stored
// nowhere, but might be: the branch is never taken (x stays below 2).
static const char ptx[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry burn()\n"
    "{\n"
    "	.reg .pred %p<3>;\n"
    "	.reg .b32 %r<3>;\n"
    "	.reg .f32 %f<5>;\n"
    "	.reg .b64 %rd<2>;\n"
    "	mov.f32 %f1, 0f3F800000;\n" // 1
    "	mov.f32 %f2, 0f3F7FFF58;\n" // a little less than 1
    "	mov.f32 %f3, 0f37000000;\n" // a very small number
    "	mov.u32 %r1, 0;\n"
    "BURN:\n"
    "	fma.rn.f32 %f1, %f1, %f2, %f3;\n"
    "	fma.rn.f32 %f1, %f1, %f2, %f3;\n"
    "	fma.rn.f32 %f1, %f1, %f2, %f3;\n"
    "	fma.rn.f32 %f1, %f1, %f2, %f3;\n"
    "	add.u32 %r1, %r1, 1;\n"
    "	setp.lt.u32 %p1, %r1, 25000;\n"
    "	@%p1 bra BURN;\n"
    "	setp.lt.f32 %p2, %f1, 0f40000000;\n"
    "	@%p2 bra DONE;\n"
    "	mov.u64 %rd1, 0;\n"
    "	st.global.f32 [%rd1], %f1;\n"
    "DONE:\n"
    "	ret;\n"
    "}\n";

#define LOAD(name)                                                                   \
	if (!(*(void **)&cu.name = dlsym(library, #name))) {                             \
		*step = "libcuda.so.1 lacks " #name;                                         \
		return CG_GPU_ABSENT;                                                        \
	}
#define TRY(name, ...)                                                               \
	*step = #name;                                                                   \
	if ((code = cu.name(__VA_ARGS__)) != CUDA_SUCCESS)                               \
		return code == CUDA_ERROR_NO_DEVICE ? CG_GPU_ABSENT : code;

static CUdevice device;

int cg_gpu_find(const char *path, const char **step) {
	int code;
	*step = "libcuda.so.1 is not there";
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return CG_GPU_ABSENT;
	LOAD(cuInit)
	LOAD(cuDeviceGet)
	LOAD(cuCtxCreate_v2)
	LOAD(cuModuleLoadData)
	LOAD(cuModuleGetFunction)
	LOAD(cuLaunchKernel)
	LOAD(cuCtxSynchronize)
	LOAD(cuCtxDestroy_v2)
	TRY(cuInit, 0)
	TRY(cuDeviceGet, &device, 0)
	return 0;
}

int cg_gpu_open(const char *path, const char **step) {
	int code = cg_gpu_find(path, step);
	CUmodule module;
	if (code)
		return code;
	TRY(cuCtxCreate_v2, &context, 0, device)
	TRY(cuModuleLoadData, &module, ptx)
	TRY(cuModuleGetFunction, &kernel, module, "burn")
	return 0;
}

int cg_gpu_round(const char **step) { return cg_gpu_rounds(1, step); }

int cg_gpu_rounds(int n, const char **step) {
	int code;
	while (n-- > 0) {
		TRY(cuLaunchKernel, kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, 0, 0, 0)
	}
	TRY(cuCtxSynchronize)
	return 0;
}

void cg_gpu_close(void) {
	if (context)
		cu.cuCtxDestroy_v2(context);
	context = 0;
}
