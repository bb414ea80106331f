// Reads counters of energy behind file descriptors: for the package counter, and for
// the thread of the package sampler.
#ifndef CG_NEMB_COUNTER_H
#define CG_NEMB_COUNTER_H

#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

// What a reading gives that failed, and a counter that is read elsewhere. No counter
// shows as much.
#define CG_FAILED UINT64_MAX
#define CG_AWAY (UINT64_MAX - 1)

// A counter is one energy counter behind a file descriptor. What is read,
// masked and times scale, is microjoules.
struct cg_counter {
	int32_t fd;
	int32_t form;
	uint64_t at;   // CG_WORD: offset in the file; CG_GROUP: index in the group
	uint64_t mask; // of the binary forms
	double scale;  // of the binary forms
};

// What a read gives.
enum {
	CG_TEXT,  // a decimal number of microjoules and a newline, at offset 0
	CG_WORD,  // a word of 64 bits at an offset (/dev/cpu/N/msr)
	CG_GROUP, // perf events: their number, then a word each (PERF_FORMAT_GROUP)
	CG_NONE,  // nothing: the counter is read elsewhere
};
enum { CG_GROUP_MOST = 16 }; // members of a group

// cg_text reads a decimal number from offset 0 of fd. Empty, garbled or too
// long is a failure, and so is a number that fills the buffer.
static inline uint64_t cg_text(int fd) {
	char text[24];
	ssize_t n = pread(fd, text, sizeof text, 0);
	if (n <= 0 || n == sizeof text)
		return CG_FAILED;
	uint64_t v = 0;
	ssize_t i = 0;
	for (; i < n && text[i] >= '0' && text[i] <= '9'; i++) {
		if (v > (INT64_MAX - 9) / 10)
			return CG_FAILED;
		v = v * 10 + (text[i] - '0');
	}
	if (i == 0 || (i < n && text[i] != '\n'))
		return CG_FAILED;
	return v;
}

// cg_word is what a counter of a binary form shows, in microjoules.
static inline uint64_t cg_word(const struct cg_counter *c, uint64_t raw) {
	double uj = (double)(raw & c->mask) * c->scale;
	return uj < (double)INT64_MAX ? (uint64_t)uj : CG_FAILED;
}

// A cg_group is the last group that was read: the number of its events, and a word
// each.
struct cg_group {
	uint64_t words[1 + CG_GROUP_MOST];
	ssize_t got; // bytes
};

// cg_group_word is the word of a counter in a group, CG_FAILED where it is not there.
static inline uint64_t cg_group_word(const struct cg_counter *c, const struct cg_group *g) {
	int there = g->got > 8 && c->at < g->words[0] && (c->at + 2) * 8 <= (uint64_t)g->got;
	return there ? cg_word(c, g->words[1 + c->at]) : CG_FAILED;
}

// cg_read_counter reads counter i of several. Counters that are neighbours and have
// one descriptor take one read, which group keeps.
static inline void cg_read_counter(const struct cg_counter *c, int i, uint64_t *dst, struct cg_group *group) {
	uint64_t raw;
	switch (c->form) {
	case CG_TEXT:
		*dst = cg_text(c->fd);
		break;
	case CG_WORD:
		*dst = pread(c->fd, &raw, sizeof raw, c->at) == sizeof raw ? cg_word(c, raw) : CG_FAILED;
		break;
	case CG_GROUP:
		if (i == 0 || c[-1].form != CG_GROUP || c[-1].fd != c->fd)
			group->got = read(c->fd, group->words, sizeof group->words);
		*dst = cg_group_word(c, group);
		break;
	case CG_NONE:
		*dst = CG_AWAY;
		break;
	default:
		*dst = CG_FAILED;
	}
}

// cg_read reads n counters once, as a sample does. at is which one it is at.
static inline void cg_read(const struct cg_counter *c, int n, uint64_t *dst, int32_t *at) {
	struct cg_group group = {.got = 0};
	for (int i = 0; i < n; i++) {
		__atomic_store_n(at, i, __ATOMIC_RELAXED);
		cg_read_counter(c + i, i, dst + i, &group);
	}
}

#endif
