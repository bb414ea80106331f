/*
 * Checkpoints as Python objects: the state of the module, and the plain type of
 * checkpoints. python_pausing.h has the other.
 *
 *   -checkpoint        records the event, gives None
 *   checkpoint[x]      records the event, gives x
 *   checkpoint << x    the same; not for an x that may be NotImplemented
 *
 * Woven code uses operators and not calls, because operators need no frame and no
 * arguments. The checkpoint is a constant of the code. Bits out of range are a
 * ValueError.
 */
#ifndef CG_PYTHON_CHECKPOINT_H
#define CG_PYTHON_CHECKPOINT_H

#include "channel.h"
#include "python_api.h"
#include "python_threads.h"

#include <stdlib.h>

typedef struct {
	PyObject head;
	uint64_t bits; /* kind << 21 | site */
} Checkpoint;

typedef struct {
	char *text;
	size_t room;
} Buffer;

enum { ENTER, EXIT, SUSPEND, RESUME, UNWIND, CLOSE };

/* What a checkpoint of a pausing site stands at. The number is above its 24 bits. */
enum {
	PLAIN, /* a yield; any enter, exit, unwind or resume */
	WAIT,  /* await x, yield from x: x may have checkpoints of its own */
	ALONE, /* yield in an asynchronous generator: its value goes to the frame that waits */
	OPEN,  /* an async statement begins; no event */
	OVER,  /* the object of the async statement is known */
	AGAIN, /* the body of the async statement ends, for the next value or at the end */
	SHUT,  /* the async statement has ended */
};

enum { UP = 15 }; /* most frames between a checkpoint's frame and its site's */

/* Each interpreter of the process has a module and types of its own. */
typedef struct {
	PyObject *types[2]; /* checkpoint, pausing */
	PyObject *main_type, *around_type;
	PyObject *co_consts; /* the name */
	char *cache;         /* what the names of cache entries begin with */
	Buffer spare;
	Checkpoint ***made[(SHUT + 1) * (UP + 1)]; /* all checkpoints, by the kind, then 12 and 12 of their bits */
} State;

static State *state_of(PyObject *module) { return PyModule_GetState(module); }

static PyObject *checkpoint_negative(PyObject *self)
{
	record(((Checkpoint *)self)->bits);
	return &_Py_NoneStruct;
}

static PyObject *checkpoint_negative_counted(PyObject *self)
{
	record(((Checkpoint *)self)->bits);
	_Py_NoneStruct.refcount++;
	return &_Py_NoneStruct;
}

static PyObject *checkpoint_lshift(PyObject *self, PyObject *value)
{
	record(((Checkpoint *)self)->bits);
	Py_IncRef(value);
	return value;
}

static void event(int kind, uint32_t site) { record((uint32_t)kind << 21 | site); }

/* checkpoint_of returns the checkpoint of some bits. It is always the same object, so
 * that code that is loaded twice is equal. */
static PyObject *checkpoint_of(State *s, uint64_t bits, int type)
{
	uint32_t kind = (bits >> 24 & 255) + (SHUT + 1) * (bits >> 32 & UP);
	Checkpoint ***pages = s->made[kind];
	if (!pages && !(pages = s->made[kind] = calloc(1 << 12, sizeof *pages)))
		return PyErr_NoMemory();
	Checkpoint **page = pages[bits >> 12 & ((1 << 12) - 1)];
	if (!page && !(page = pages[bits >> 12 & ((1 << 12) - 1)] = calloc(1 << 12, sizeof *page)))
		return PyErr_NoMemory();
	Checkpoint **p = &page[bits & ((1 << 12) - 1)];
	if (!*p || (*p)->head.type != s->types[type]) {
		Checkpoint *c = (Checkpoint *)PyType_GenericAlloc(s->types[type], 0);
		if (!c)
			return NULL;
		c->bits = bits;
		*p = c; /* kept for the life of the interpreter */
	}
	Py_IncRef((PyObject *)*p);
	return (PyObject *)*p;
}

static PyObject *checkpoint_index(PyObject *self)
{
	return PyLong_FromLong((long)((Checkpoint *)self)->bits);
}

static PyObject *new_of_type(PyObject *module, int type, PyObject *arg)
{
	long bits = PyLong_AsLong(arg);
	if (bits == -1 && PyErr_Occurred())
		return NULL;
	if (bits <= 0 || (bits & 0xffffffff) >= (SHUT + 1) << 24 || bits >> 32 > UP) {
		PyErr_SetString(PyExc_ValueError, "a checkpoint has 24 bits, and is not 0");
		return NULL;
	}
	return checkpoint_of(state_of(module), (uint64_t)bits, type);
}

#endif
