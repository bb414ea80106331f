/* codegreen_gpus.h tells whose the energy of GPUs was in a task of codegreen.h.
 *
 *     #include "codegreen_gpus.h"
 *
 *     codegreen_gpu gpus[8];
 *     int i, n = codegreen_gpus_of(train, gpus, 8);
 *     for (i = 0; i < n && i < 8; i++)
 *         printf("%s: %.6f J of the program\n", gpus[i].domain, gpus[i].program_j);
 *
 * In C++ codegreen::gpus_of(train) is the same for a codegreen::task. */
#ifndef CODEGREEN_GPUS_H
#define CODEGREEN_GPUS_H

#include "codegreen.h"

/* Whose the energy of a GPU was, in joules: program_j, other_j, idle_j and unattributed_j add up to energy_j. One that
 * is not known is not equal to itself (NAN). */
typedef struct {
	char domain[64];
	char method[16]; /* process, or unattributed where the driver does not tell who used it */
	char reason[32]; /* why there is unattributed energy, "" where there is next to none */
	int used;        /* 0 where the program held no context on it */
	double energy_j;
	double program_j, program_lo_j, program_hi_j; /* what the task has of it, with bounds */
	double other_j, idle_j, unattributed_j;
} codegreen_gpu;

#ifdef __cplusplus
extern "C" {
#endif

/* codegreen_gpus_of fills gpus, of which there are most, for a task that is over, before codegreen_stop. It returns
 * how many GPUs the machine has, 0 where it has none or nothing is measured. It waits some 250 ms after the task's end
 * until drivers say whether the program used one, and up to 1.2 s where it may have. */
int codegreen_gpus_of(codegreen_task task, codegreen_gpu *gpus, int most);

/* What follows is not for programs. */

__attribute__((__weak__, __visibility__("default"), __no_instrument_function__)) int
codegreen_gpus_of(codegreen_task task, codegreen_gpu *gpus, int most)
{
	char message[16384], *at = message;
	codegreen_gpu g;
	long long e[7];
	double j[7];
	int i, n = 0, length = 0;
	if (!codegreen_ask(task, message, sizeof message))
		return 0;
	for (i = 0; at && i < 8; i++) { /* behind the kind */
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	while (at && sscanf(at, "%63s %15s %31s %d %lld %lld %lld %lld %lld %lld %lld%n", g.domain, g.method, g.reason,
			    &g.used, &e[0], &e[1], &e[2], &e[3], &e[4], &e[5], &e[6], &length) >= 11) {
		at += length;
		if (strcmp(g.reason, "-") == 0)
			g.reason[0] = 0;
		for (i = 0; i < 7; i++)
			j[i] = e[i] < 0 ? (double)__builtin_nanf("") : (double)e[i] / 1e6;
		g.energy_j = j[0], g.program_j = j[1], g.program_lo_j = j[2], g.program_hi_j = j[3];
		g.other_j = j[4], g.idle_j = j[5], g.unattributed_j = j[6];
		if (n < most)
			gpus[n] = g;
		n++;
	}
	return n;
}

#ifdef __cplusplus
}

namespace codegreen {

typedef codegreen_gpu gpu;

/* gpus_of fills gpus for a task, as codegreen_gpus_of does. */
inline int gpus_of(const task &of, gpu *gpus, int most) { return codegreen_gpus_of(of.number(), gpus, most); }

} // namespace codegreen
#endif
#endif
