// Makes a thread take no signals.
#ifndef CG_NEMB_DEAF_H
#define CG_NEMB_DEAF_H

#include <pthread.h>
#include <signal.h>

// cg_deaf makes the calling thread take no signals but those of its own faults.
static inline void cg_deaf(void) {
	sigset_t all;
	sigfillset(&all);
	for (const int *n = (const int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, 0}; *n; n++)
		sigdelset(&all, *n);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

#endif
