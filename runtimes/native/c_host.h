/*
 * A library of another language as the host of functions of C and C++ (c.c): those of an extension
 * of Python, say, that was built with checkpoints. One library has the stacks of a thread, so
 * callers and callees of both languages are in one tree.
 */
#ifndef CG_C_HOST_H
#define CG_C_HOST_H

#include "c_calls.h"

extern void *cg_load(const char *, int) __asm__("dlopen") __attribute__((weak));
extern void *cg_symbol(void *, const char *) __asm__("dlsym") __attribute__((weak));

/* cg_host_units hands the functions out, if cg has named the library that does. */
static void cg_host_units(void)
{
	const char *path = secure_getenv("CG_C_RUNTIME");
	void *library = path && *path && cg_load && cg_symbol ? cg_load(path, 2 /* RTLD_NOW */) : NULL;
	void (*host)(const cg_c_functions *) =
		library ? (void (*)(const cg_c_functions *))cg_symbol(library, "__codegreen_host") : NULL;
	if (host)
		host(&cg_c_own);
}

#endif
