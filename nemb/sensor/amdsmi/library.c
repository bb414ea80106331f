// The functions of libamd_smi.so that cg calls, by name: a library that lacks one answers
// CG_AMDSMI_NO_FUNCTION for it, and nothing else. The types are those of amdsmi.h
// (rocm.docs.amd.com/projects/amdsmi), with structures as words, because their layout
// depends on the version.
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "library.h"

enum { GPUS = 1 << 1, AMD_GPU = 1, VRAM = 0, CURRENT = 0, MOST_SOCKETS = 256, MOST_OF_A_SOCKET = 64 };

static _Atomic(void *) library;

const char *cg_amdsmi_load(const char *path) {
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

uint32_t cg_amdsmi_init(void) {
	uint32_t (*f)(uint64_t) = (uint32_t (*)(uint64_t))find("amdsmi_init");
	return f ? f(GPUS) : CG_AMDSMI_NO_FUNCTION;
}

uint32_t cg_amdsmi_shut_down(void) {
	uint32_t (*f)(void) = (uint32_t (*)(void))find("amdsmi_shut_down");
	return f ? f() : CG_AMDSMI_NO_FUNCTION;
}

uint32_t cg_amdsmi_version(uint32_t *version) {
	uint32_t (*f)(void *) = (uint32_t (*)(void *))find("amdsmi_get_lib_version");
	memset(version, 0, CG_AMDSMI_VERSION * sizeof *version);
	return f ? f(version) : CG_AMDSMI_NO_FUNCTION;
}

uint32_t cg_amdsmi_gpus(void **handles, uint32_t *n) {
	typedef uint32_t list(uint32_t *, void **);
	typedef uint32_t list_of(void *, uint32_t *, void **);
	typedef uint32_t type_of(void *, uint32_t *);
	list *sockets = (list *)find("amdsmi_get_socket_handles");
	list_of *processors = (list_of *)find("amdsmi_get_processor_handles");
	type_of *type = (type_of *)find("amdsmi_get_processor_type");
	uint32_t most = *n, answer;
	*n = 0;
	if (!sockets || !processors || !type)
		return CG_AMDSMI_NO_FUNCTION;
	void *all[MOST_SOCKETS], *of[MOST_OF_A_SOCKET];
	uint32_t there = 0;
	if ((answer = sockets(&there, 0)))
		return answer;
	uint32_t asked = there < MOST_SOCKETS ? there : MOST_SOCKETS, room = asked;
	if (room && (answer = sockets(&room, all)))
		return answer;
	if (room > asked) // it may tell how many there are now, and has written what was asked for
		room = asked;
	for (uint32_t s = 0; s < room; s++) {
		uint32_t count = 0, given, kind;
		if ((answer = processors(all[s], &count, 0)))
			return answer;
		if (count > MOST_OF_A_SOCKET)
			count = MOST_OF_A_SOCKET;
		given = count;
		if (count && (answer = processors(all[s], &count, of)))
			return answer;
		if (count > given)
			count = given;
		for (uint32_t p = 0; p < count; p++)
			if (!type(of[p], &kind) && kind == AMD_GPU && *n < most)
				handles[(*n)++] = of[p];
	}
	return 0;
}

uint32_t cg_amdsmi_energy(void *gpu, double *microjoules) {
	typedef uint32_t energy(void *, uint64_t *, float *, uint64_t *);
	energy *f = (energy *)find("amdsmi_get_energy_count");
	uint64_t count = 0, at;
	float step = 0; // in microjoules
	uint32_t answer = f ? f(gpu, &count, &step, &at) : CG_AMDSMI_NO_FUNCTION;
	*microjoules = (double)count * (double)step;
	return answer;
}

uint32_t cg_amdsmi_power(void *gpu, uint32_t *power) {
	uint32_t (*f)(void *, void *) = (uint32_t (*)(void *, void *))find("amdsmi_get_power_info");
	memset(power, 0, CG_AMDSMI_POWER * sizeof *power);
	return f ? f(gpu, power) : CG_AMDSMI_NO_FUNCTION;
}

uint32_t cg_amdsmi_temperature(void *gpu, int which, int64_t *value) {
	typedef uint32_t temperature(void *, int, int, int64_t *);
	temperature *f = (temperature *)find("amdsmi_get_temp_metric");
	return f ? f(gpu, which, CURRENT, value) : CG_AMDSMI_NO_FUNCTION;
}

uint32_t cg_amdsmi_activity(void *gpu, uint32_t *activity) {
	uint32_t (*f)(void *, void *) = (uint32_t (*)(void *, void *))find("amdsmi_get_gpu_activity");
	memset(activity, 0, CG_AMDSMI_ACTIVITY * sizeof *activity);
	return f ? f(gpu, activity) : CG_AMDSMI_NO_FUNCTION;
}

uint32_t cg_amdsmi_clock(void *gpu, int which, uint32_t *info) {
	typedef uint32_t clock(void *, int, uint32_t *);
	clock *f = (clock *)find("amdsmi_get_clock_info");
	memset(info, 0, CG_AMDSMI_CLOCK * sizeof *info);
	return f ? f(gpu, which, info) : CG_AMDSMI_NO_FUNCTION;
}

uint32_t cg_amdsmi_memory(void *gpu, uint64_t *bytes) {
	typedef uint32_t memory(void *, int, uint64_t *);
	memory *f = (memory *)find("amdsmi_get_gpu_memory_usage");
	return f ? f(gpu, VRAM, bytes) : CG_AMDSMI_NO_FUNCTION;
}

uint32_t cg_amdsmi_processes(void *gpu, uint32_t *n, void *processes) {
	typedef uint32_t list(void *, uint32_t *, void *);
	list *f = (list *)find("amdsmi_get_gpu_process_list");
	return f ? f(gpu, n, processes) : CG_AMDSMI_NO_FUNCTION;
}
