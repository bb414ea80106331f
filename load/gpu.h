// One kernel on one GPU, through the driver's library (libcuda.so.1,
// docs.nvidia.com/cuda/cuda-driver-api), loaded at run time. For one thread.
#ifndef CG_LOAD_GPU_H
#define CG_LOAD_GPU_H

enum { CG_GPU_ABSENT = -1 };

// All return 0, CG_GPU_ABSENT or a CUresult; *step then names what failed.
int cg_gpu_find(const char *library, const char **step); // is there one?
int cg_gpu_open(const char *library, const char **step);
int cg_gpu_round(const char **step); // some milliseconds of work, waited for
int cg_gpu_rounds(int n, const char **step); // n of them, with no pause between
void cg_gpu_close(void);

#endif
