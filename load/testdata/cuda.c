// A libcuda.so.1 of a GPU that does not exist. FAIL names a function that
// answers 700; with NONE the device is not there. It sees that what is
// launched was loaded, in the context of the one device.
#include <string.h>
#include <unistd.h>

#ifndef FAIL
#define FAIL ""
#endif
#define ANSWER(name) return strcmp(FAIL, name) ? 0 : 700

static int context, module, function, alive;

int cuInit(unsigned flags) { ANSWER("cuInit"); }
int cuDeviceGet(int *d, int i) {
#ifdef NONE
	return 100;
#endif
	*d = 7;
	ANSWER("cuDeviceGet");
}
int cuCtxCreate_v2(void **c, unsigned flags, int d) {
	*c = &context;
	alive = d == 7;
	ANSWER("cuCtxCreate");
}
int cuModuleLoadData(void **m, const char *ptx) {
	*m = &module;
	if (!alive || strncmp(ptx, ".version", 8) || !strstr(ptx, ".entry burn()"))
		return 218; // CUDA_ERROR_INVALID_PTX
	ANSWER("cuModuleLoadData");
}
int cuModuleGetFunction(void **f, void *m, const char *name) {
	*f = &function;
	return m == &module && !strcmp(name, "burn") ? 0 : 500;
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                   void **params, void **extra) {
	if (f != &function || !alive || gx * gy * gz == 0 || bx * by * bz > 1024)
		return 1;
	ANSWER("cuLaunchKernel");
}
int cuCtxSynchronize(void) {
	usleep(1000);
	ANSWER("cuCtxSynchronize");
}
int cuCtxDestroy_v2(void *c) {
	alive = 0;
	return c != &context;
}
