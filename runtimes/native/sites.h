/*
 * Numbers of sites (checkpoint/FORMAT.md, Table of files): those that the sites
 * of a file have.
 */
#ifndef CG_SITES_H
#define CG_SITES_H

#include "state.h"

#include <string.h>

/* cg_digest continues a digest with n bytes. */
static uint64_t cg_digest(uint64_t h, const void *part, size_t n)
{
	const uint64_t k = 0x9e3779b97f4a7c15u;
	const char *p = part;
	h = (h ^ n) * k;
	h ^= h >> 32;
	while (n) {
		uint64_t w = 0;
		size_t m = n < 8 ? n : 8;
		if (m == 8)
			memcpy(&w, p, 8);
		else
			memcpy(&w, p, m);
		h = (h ^ w) * k;
		h ^= h >> 32;
		p += m;
		n -= m;
	}
	return h;
}

typedef struct {
	const char *text;
	size_t size;
} cg_part;

/* cg_give gives a file numbers that no other process has given it meanwhile.
 * Its names stand there before its numbers can be used. */
static int64_t cg_give(cg_file *f, const cg_part *names, size_t size, uint32_t count)
{
	uint64_t at = atomic_fetch_add(&cg_head->named, size);
	if (at + size > CG_NAMES)
		return -1;
	uint64_t base = atomic_fetch_add(&cg_head->given, count);
	if (base + count >= CG_SITES - 1)
		return -1;
	char *p = cg_names + at;
	uint64_t length = names[0].size + 1 + names[1].size + 1 + names[2].size;
	memcpy(p, &length, 8);
	p += 8;
	for (int i = 0; i < 3; i++) {
		memcpy(p, names[i].text, names[i].size);
		p += names[i].size + 1;
	}
	uint64_t value = 0;
	if (!atomic_compare_exchange_strong(&f->value, &value, at / 8 << 42 | base << 21 | count))
		base = value >> 21 & (CG_SITES - 1);
	return (int64_t)base;
}

/* cg_number gives the number before that of a file's first site: the one it
 * has, if a process of the program has loaded it. names are module, path and
 * the lines of the sites. -1 when cg has to be asked. */
static inline int64_t cg_number(const cg_part *names, uint32_t count)
{
	uint64_t key = 0;
	for (int i = 0; i < 3; i++)
		key = cg_digest(key, names[i].text, names[i].size);
	if (!key)
		key = 1;
	size_t size = (8 + names[0].size + 1 + names[1].size + 1 + names[2].size + 7) & ~(size_t)7;
	for (uint32_t i = 0; i < CG_PROBES; i++) {
		/* few files lie in few pages */
		cg_file *f = &cg_files[(key + i) & (i < 32 ? (256u << i / 8 * 2) - 1 : CG_FILES - 1)];
		uint64_t found = atomic_load(&f->key);
		if (!found) {
			if (atomic_load(&cg_head->named) + size > CG_NAMES ||
			    atomic_load(&cg_head->given) + count >= CG_SITES - 1)
				return -1;
			if (atomic_compare_exchange_strong(&f->key, &found, key))
				return cg_give(f, names, size, count);
		}
		if (found != key)
			continue;
		/* Another process is about to give the numbers, or was killed. */
		uint64_t value = atomic_load(&f->value);
		for (int k = 0; !value && k < 200; k++) {
			struct timespec t = {0, 50000};
			nanosleep(&t, NULL);
			value = atomic_load(&f->value);
		}
		return value ? (int64_t)(value >> 21 & (CG_SITES - 1)) : cg_give(f, names, size, count);
	}
	return -1;
}

#endif
