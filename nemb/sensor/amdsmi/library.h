// AMD SMI's library (libamd_smi.so), loaded while cg runs. See library.c.
#ifndef CG_NEMB_AMDSMI_LIBRARY_H
#define CG_NEMB_AMDSMI_LIBRARY_H

#include <stdint.h>

// What cg_amdsmi functions answer where the library has no such function: AMD SMI's own
// answers are small, or 0xFFFFFFFE and more.
enum { CG_AMDSMI_NO_FUNCTION = 0x10000 };

// Lengths of memory for the library's structures, in words of 32 bits: more than any version has.
enum { CG_AMDSMI_VERSION = 16, CG_AMDSMI_POWER = 128, CG_AMDSMI_ACTIVITY = 64, CG_AMDSMI_CLOCK = 64 };

// cg_amdsmi_load loads the library whose functions are called from now on. 0, or why it cannot
// be loaded.
const char *cg_amdsmi_load(const char *path);

// The others return an amdsmi_status_t.
uint32_t cg_amdsmi_init(void);
uint32_t cg_amdsmi_shut_down(void);
uint32_t cg_amdsmi_version(uint32_t *version);
// cg_amdsmi_gpus fills in the handles of AMD's GPUs, *n at most, and sets *n to their number.
uint32_t cg_amdsmi_gpus(void **handles, uint32_t *n);
uint32_t cg_amdsmi_energy(void *gpu, double *microjoules);
uint32_t cg_amdsmi_power(void *gpu, uint32_t *power);
uint32_t cg_amdsmi_temperature(void *gpu, int which, int64_t *value);
uint32_t cg_amdsmi_activity(void *gpu, uint32_t *activity);
uint32_t cg_amdsmi_clock(void *gpu, int which, uint32_t *info);
uint32_t cg_amdsmi_memory(void *gpu, uint64_t *bytes);
// cg_amdsmi_processes fills in the structures of the processes that use a GPU, *n at most, and sets *n to their number.
// With none it only counts.
uint32_t cg_amdsmi_processes(void *gpu, uint32_t *n, void *processes);

#endif
