/*
 * Checkpoints for C and C++ (c_calls.h): an object that is linked into a program whose
 * functions have them, and a library that a program or a library of a build loads when it
 * begins, once in a process.
 *
 * A program that is run without the variable CG_CHANNEL, or whose channel cannot be opened,
 * runs as if it had no checkpoints.
 *
 * In a program of another language that is measured, too, such as Python, the functions of
 * C are on the same stacks as that language's. Its own library has the stacks: it hands its
 * functions to this one (c_host.h), and units that begin later get these. CG_C_HOST names a
 * symbol of such a program: while it has handed out nothing, units have no checkpoints there.
 */
#define _GNU_SOURCE
#define CG_C_FUNCTION __attribute__((visibility("default")))
static void cg_begin_units(void);

#include "c_calls.h"

#include <dlfcn.h>

static pthread_once_t cg_once = PTHREAD_ONCE_INIT;

static void cg_begin_program(void)
{
	const char *path = secure_getenv("CG_CHANNEL");
	int e = errno;
	if (path && *path && !cg_open(path) && !cg_cost)
		cg_calibrate(cg_event_alone, NULL, 1);
	errno = e;
}

static void cg_begin_units(void) { pthread_once(&cg_once, cg_begin_program); }

/* The loader's functions are found where the program has them by itself: a static link need not. */
extern void *cg_symbol(void *library, const char *name) __asm__("dlsym") __attribute__((weak));

static const cg_c_functions *_Atomic cg_hosted;

/* __codegreen_host takes the functions of another language's library. */
CG_C_FUNCTION void __codegreen_host(const cg_c_functions *functions) { atomic_store(&cg_hosted, functions); }

/* __codegreen_functions gives a unit the functions that it calls, NULL for none. */
CG_C_FUNCTION const cg_c_functions *__codegreen_functions(void)
{
	const cg_c_functions *hosted = atomic_load(&cg_hosted);
	const char *symbol = secure_getenv("CG_C_HOST");
	if (hosted)
		return hosted;
	return symbol && *symbol && cg_symbol && cg_symbol(RTLD_DEFAULT, symbol) ? NULL : &cg_c_own;
}
