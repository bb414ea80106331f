/*
 * The names of kernels and ranges, which have numbers (kernels.c). All of it is under the lock of datagrams.h.
 */
#ifndef CG_NAMES_H
#define CG_NAMES_H

#include <stdlib.h>
#include <string.h>

#include "datagrams.h"

#define NAMES (1u << 14)
#define LONGEST_NAME 8192

static struct {
	char *text;
	uint32_t sent; /* the generation */
} names[NAMES];
static uint32_t named;

#define MOST_NAMES (NAMES / 4 * 3)

/* name_number gives a name a number, under the lock; 0 where it is new and there are as many as most. */
static uint32_t name_number(const char *name, uint32_t most)
{
	uint32_t h = 2166136261u;
	for (const char *c = name; *c; c++)
		h = (h ^ (uint8_t)*c) * 16777619u;
	for (uint32_t k = 0; k < NAMES; k++) {
		uint32_t i = (h + k) % NAMES, number = i + 1;
		if (!names[i].text) {
			if (named >= most || !(names[i].text = strdup(name)))
				return 0;
			named++;
			return number;
		}
		if (!strcmp(names[i].text, name))
			return number;
	}
	return 0;
}

#endif
