/*
 * Loads woven code from the cache. The path of a source gives its code object with
 * live checkpoints. It gives None for an entry that others could write, for one
 * that is not as cg wrote it, and for one whose source has changed.
 */
#ifndef CG_PYTHON_WOVEN_H
#define CG_PYTHON_WOVEN_H

#include "python_checkpoint.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The head of an entry; cache.py of Python's runtime describes the rest. Code is read
 * as the interpreter reads a .pyc, and a checkpoint is put into each of the places. */
typedef struct {
	char magic[8];
	uint64_t digest; /* of what follows */
	uint64_t stamp, hash, length;
	uint32_t path, places, sites, count; /* sizes of what follows; number of sites */
} Entry;

static const char magic[8] = {'c', 'g', 'w', 'o', 'v', 'e', 'n', 3};

/* enliven sets the checkpoints of a code object and of those in it. The tuple of
 * constants is changed in place, so nothing else may refer to it; nothing does when it
 * comes from marshal. Returns 0 if it cannot be done. */
static int enliven(State *s, PyObject *code, const uint32_t **at, const uint32_t *end, uint32_t base)
{
	PyObject *consts = PyObject_GetAttr(code, s->co_consts);
	if (!consts)
		return 0;
	int alone = consts->refcount == 2;
	Py_DecRef(consts);
	if (!alone || *at >= end)
		return 0;
	for (uint32_t n = *(*at)++; n; n--) {
		if (end - *at < 2)
			return 0;
		uint32_t index = *(*at)++, mark = *(*at)++;
		if (PyTuple_GetItem(consts, index) != &_Py_NoneStruct || (mark >> 24 & 15) > 1 + SHUT)
			return 0;
		uint32_t type = mark >> 24 & 15, how = type ? type - 1 : PLAIN;
		uint64_t bits = (uint64_t)(mark >> 28) << 32 | how << 24 | ((mark & 0xffffff) + base);
		PyObject *c = checkpoint_of(s, bits, type > 0);
		if (!c || PyTuple_SetItem(consts, index, c) < 0)
			return 0;
	}
	if (*at >= end)
		return 0;
	for (uint32_t n = *(*at)++; n; n--) {
		if (*at >= end)
			return 0;
		PyObject *inner = PyTuple_GetItem(consts, *(*at)++);
		if (!inner || inner->type != code->type || !enliven(s, inner, at, end, base))
			return 0;
	}
	return 1;
}

/* read_private reads a file that is this user's own and that nobody else may write,
 * and returns its size: 0 if it cannot. cache.py then says why. */
static size_t read_private(Buffer *b, const char *name)
{
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size_t n = 0;
	struct stat st;
	int own = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
	while (own) {
		if (n == b->room) {
			size_t room = b->room ? 4 * b->room : 64 << 10;
			char *more = realloc(b->text, room);
			if (!more) {
				n = 0;
				break;
			}
			b->text = more;
			b->room = room;
		}
		ssize_t k = read(fd, b->text + n, b->room - n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			n = 0;
		if (k <= 0)
			break;
		n += (size_t)k;
		if (n < b->room)
			break; /* a regular file gives all that it has */
	}
	close(fd);
	return n;
}

/* stamp is a digest of the times, size and inode of a file: equal if it is unchanged. */
static uint64_t stamp(const struct stat *st)
{
	uint64_t f[4] = {
		(uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec,
		(uint64_t)st->st_size, (uint64_t)st->st_ino,
	};
	return cg_digest(0, f, sizeof f);
}

static PyObject *load_entry(State *s, Buffer *buffer, const cg_part *module, const cg_part *path, const cg_part *role)
{
	struct stat st;
	if (cg_head->closed || stat(path->text, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	char name[4096];
	int n = snprintf(name, sizeof name, "%s%016llx", s->cache,
		(unsigned long long)cg_digest(cg_digest(0, path->text, path->size), role->text, role->size));
	size_t size = n < (int)sizeof name ? read_private(buffer, name) : 0;
	const char *b = buffer->text;
	const Entry *e = (const Entry *)b;
	if (size < sizeof *e || memcmp(e->magic, magic, sizeof magic) != 0 || e->stamp == 0 || e->stamp != stamp(&st))
		return NULL;
	const size_t sealed = offsetof(Entry, stamp);
	if (e->digest != cg_digest(0, b + sealed, size - sealed))
		return NULL;
	uint64_t head = sizeof *e + (uint64_t)e->places + e->path + e->sites;
	const char *p = b + sizeof *e;
	const uint32_t *at = (const uint32_t *)p, *end = at + e->places / 4;
	p += e->places;
	if (head > size || e->places % 4 || e->path != path->size || memcmp(p, path->text, path->size) != 0)
		return NULL;
	cg_part names[3] = {*module, *path, {p + e->path, e->sites}};
	int64_t base = cg_number(names, e->count);
	if (base < 0)
		return NULL;
	PyObject *code = PyMarshal_ReadObjectFromString(b + head, (Py_ssize_t)(size - head));
	if (code && e->places && !enliven(s, code, &at, end, (uint32_t)base)) {
		Py_DecRef(code);
		code = NULL;
	}
	return code;
}

/* load(module, path, role): the woven code of a file from the cache, with live
 * checkpoints. None if there is none or it may be out of date. If no process has
 * loaded the file yet, its sites get their numbers. The time of load is cg's own. */
static PyObject *load(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
	State *s = state_of(module);
	cg_part parts[3];
	record((uint64_t)ENTER << 21 | (CG_SITES - 1));
	PyObject *code = NULL;
	int ok = n == 3 && cg_head && s->cache && &PyMarshal_ReadObjectFromString;
	for (int i = 0; ok && i < 3; i++) {
		Py_ssize_t size;
		parts[i].text = PyUnicode_AsUTF8AndSize(args[i], &size);
		parts[i].size = (size_t)size;
		ok = parts[i].text && !memchr(parts[i].text, 0, parts[i].size);
	}
	/* A relative path names another file in each working folder. */
	if (ok && parts[1].text[0] == '/') {
		/* The buffer is kept from one module to the next. The garbage collector may run
		 * code of the program meanwhile that imports another module. */
		Buffer b = s->spare;
		s->spare = (Buffer){0};
		code = load_entry(s, &b, &parts[0], &parts[1], &parts[2]);
		if (s->spare.text || b.room > 1 << 20)
			free(b.text);
		else
			s->spare = b;
	}
	if (!code)
		PyErr_Clear();
	record((uint64_t)EXIT << 21 | (CG_SITES - 1));
	return code ? code : none();
}

/* digest(bytes): the digest of an entry's content. */
static PyObject *digest(PyObject *module, PyObject *bytes)
{
	(void)module;
	char *text;
	Py_ssize_t size;
	if (PyBytes_AsStringAndSize(bytes, &text, &size) < 0)
		return NULL;
	return PyLong_FromUnsignedLongLong(cg_digest(0, text, (size_t)size));
}

/* cache(prefix): how the paths of entries begin. */
static PyObject *set_cache(PyObject *module, PyObject *prefix)
{
	Py_ssize_t size;
	const char *text = PyUnicode_AsUTF8AndSize(prefix, &size);
	if (text) {
		free(state_of(module)->cache);
		state_of(module)->cache = strdup(text);
	}
	PyErr_Clear(); /* there is no cache then */
	return none();
}

#endif
