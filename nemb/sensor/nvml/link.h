// The library behind go-nvml's functions. See link.c.
#ifndef CG_NEMB_NVML_LINK_H
#define CG_NEMB_NVML_LINK_H

// cg_nvml_load loads the library whose functions are called from now on. 0, or
// why it cannot be loaded.
const char *cg_nvml_load(const char *path);

#endif
