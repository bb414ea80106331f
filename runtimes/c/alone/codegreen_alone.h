/*
 * The checkpoints of C and C++ source that runs without cg (cg analyze --save-instrumented).
 * Compile codegreen_alone.c, which is C and C++, with it: cc prog.c codegreen_alone.c
 */
#ifndef CODEGREEN_ALONE_H
#define CODEGREEN_ALONE_H

#ifdef __cplusplus
extern "C" {
#endif
unsigned codegreen_alone_enter(unsigned site, const char *name);
void codegreen_alone_exit(const unsigned *depth);
/* The names of a file's sites, from first on, and 0: a place has what the block says of it behind a tab. */
void codegreen_alone_places(unsigned first, const char *const *names);
void codegreen_alone_place(const unsigned *depth, unsigned place);
#ifdef __cplusplus
}
#endif

/* A call of a site begins; it ends where the block ends that this stands in. */
#define CODEGREEN_CALL(site, name)                                                            \
	unsigned codegreen_alone_depth __attribute__((cleanup(codegreen_alone_exit), unused)) = \
		codegreen_alone_enter(site, name)

/* The call goes to a place in its code, such as a line. */
#define CODEGREEN_PLACE(place) codegreen_alone_place(&codegreen_alone_depth, place)

#endif
