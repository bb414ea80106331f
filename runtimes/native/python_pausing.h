/*
 * Checkpoints of frames that can be suspended: those of generators and coroutines.
 * Such a checkpoint looks at its frame and records that the frame leaves the thread
 * or comes back. The two events alternate, also where the frame is closed or an
 * exception is thrown into it.
 */
#ifndef CG_PYTHON_PAUSING_H
#define CG_PYTHON_PAUSING_H

#include "python_checkpoint.h"

#include <stdlib.h>
#include <string.h>

/* What is known of frames that can be suspended, by address: a table with open
 * addressing. A generator that is closed, or thrown into, comes back without
 * passing its resume; the next checkpoint that it passes finds here that it was
 * away. The frame object lives as long as the frame, and a new frame begins with
 * an enter, which forgets what an earlier frame at its address left. The global lock
 * guards the table. There is one for the process, because addresses are unique in it.
 *
 * A frame that waits for one with checkpoints of its own stays on the
 * stack: its inclusive energy contains that of the inner frame. When the inner frame
 * leaves the thread, all that wait for it leave, and they come back with it. */
enum { AWAY = 1, WAITS = 2 };

typedef struct {
	PyObject *frame;
	uint64_t own; /* a bit for each open async statement: whether its object has checkpoints */
	uint32_t site, flags;
} Pause;

static struct {
	Pause *slots;
	size_t size, used; /* used includes removed slots */
	size_t waits;      /* frames that wait for one with checkpoints */
} pauses;

static PyObject *const removed = (PyObject *)1;

static size_t pause_home(PyObject *frame) { return ((uintptr_t)frame >> 4) * 0x9e3779b97f4a7c15u >> 20; }

static Pause *pause_find(PyObject *frame)
{
	if (!pauses.size)
		return NULL;
	for (size_t i = pause_home(frame);; i++) {
		Pause *p = &pauses.slots[i & (pauses.size - 1)];
		if (!p->frame)
			return NULL;
		if (p->frame == frame)
			return p;
	}
}

static Pause *pause_put(PyObject *frame)
{
	if (2 * (pauses.used + 1) > pauses.size) {
		Pause *old = pauses.slots;
		size_t n = pauses.size, live = 0;
		for (size_t i = 0; i < n; i++)
			live += old[i].frame && old[i].frame != removed;
		size_t size = 64;
		while (size < 4 * (live + 1))
			size *= 2;
		Pause *slots = calloc(size, sizeof *slots);
		if (!slots)
			return NULL;
		pauses.slots = slots;
		pauses.size = size;
		pauses.used = 0;
		for (size_t i = 0; i < n; i++)
			if (old[i].frame && old[i].frame != removed)
				*pause_put(old[i].frame) = old[i];
		free(old);
	}
	size_t i = pause_home(frame);
	while (pauses.slots[i & (pauses.size - 1)].frame)
		i++;
	Pause *p = &pauses.slots[i & (pauses.size - 1)];
	*p = (Pause){frame, 0, 0, 0};
	pauses.used++;
	return p;
}

/* pause_set changes the flags of a frame. A frame without flags and open statements
 * is removed. */
static void pause_set(Pause *p, uint32_t flags)
{
	if ((p->flags ^ flags) & WAITS)
		pauses.waits += flags & WAITS ? 1 : (size_t)-1;
	p->flags = flags;
	if (!flags && !p->own)
		p->frame = removed;
}

/* frame_back is the frame that a frame returns to. The reference is borrowed; the
 * frame lives because it runs. */
static PyObject *frame_back(PyObject *frame)
{
	if (!PyFrame_GetBack) /* 3.8: the field after the head and the size */
		return ((PyObject **)frame)[3];
	PyObject *back = PyFrame_GetBack(frame);
	if (back)
		Py_DecRef(back);
	return back;
}

/* is_comprehension reports whether a frame is that of a comprehension, which stands
 * between a frame that waits and its function's before 3.12. A checkpoint in it belongs
 * to the function's frame; the number of frames up stands above its low 32 bits. */
static int is_comprehension(PyObject *frame)
{
	static int framed = -1;
	if (framed < 0)
		framed = atoi(Py_GetVersion() + 2) < 12;
	if (!framed)
		return 0;
	PyObject *code = PyObject_GetAttrString(frame, "f_code");
	PyObject *name = code ? PyObject_GetAttrString(code, "co_name") : NULL;
	PyObject *text = name ? PyUnicode_AsUTF8String(name) : NULL;
	const char *s = text ? PyBytes_AsString(text) : "";
	int is = !strcmp(s, "<listcomp>") || !strcmp(s, "<setcomp>") || !strcmp(s, "<dictcomp>");
	if (text)
		Py_DecRef(text);
	if (name)
		Py_DecRef(name);
	if (code)
		Py_DecRef(code);
	PyErr_Clear();
	return is;
}

/* chain finds the frames with these flags that wait for this one, the nearest first.
 * They run, or ran until this one left, so the pointers are valid. Their entries in the
 * table may move meanwhile, since making a frame object can start the garbage
 * collector. */
enum { CHAIN = 512 };

static int chain(PyObject *frame, uint32_t flags, PyObject *out[CHAIN])
{
	int n = 0;
	while (pauses.waits && n < CHAIN && (frame = frame_back(frame))) {
		Pause *p = pause_find(frame);
		if (!p && is_comprehension(frame))
			continue;
		if (!p || p->flags != flags)
			break;
		out[n++] = frame;
	}
	return n;
}

/* The types of checkpoints, of all interpreters. */
static PyObject *checkpoint_types[64];
static int n_checkpoint_types;

/* has_checkpoints reports whether the code object that is an attribute of an
 * object has checkpoints. */
static int has_checkpoints(PyObject *o, const char *attribute)
{
	PyObject *code = PyObject_GetAttrString(o, attribute), *consts = NULL;
	int found = 0;
	if (code && (consts = PyObject_GetAttrString(code, "co_consts")))
		for (Py_ssize_t i = 0, n = PyTuple_Size(consts); i < n && !found; i++) {
			PyObject *type = PyTuple_GetItem(consts, i)->type;
			for (int k = 0; k < n_checkpoint_types && !found; k++)
				found = type == checkpoint_types[k];
		}
	if (consts)
		Py_DecRef(consts);
	if (code)
		Py_DecRef(code);
	PyErr_Clear();
	return found;
}

/* method_has_checkpoints looks a function up in a type, past its metaclass. */
static int method_has_checkpoints(PyObject *type, PyObject *name)
{
	PyObject *method = _PyType_Lookup && name ? _PyType_Lookup(type, name) : NULL;
	return method && method->type == &PyFunction_Type && has_checkpoints(method, "__code__");
}

/* tells reports whether the object that a frame waits for has checkpoints, which then
 * record that it leaves. */
static int tells(PyObject *value, int statement)
{
	if (statement && value->type == &PyAsyncGen_Type)
		return has_checkpoints(value, "ag_code");
	if (statement) {
		PyObject *enter = PyUnicode_FromString("__aenter__"), *leave = PyUnicode_FromString("__aexit__");
		int both = method_has_checkpoints(value->type, enter) && method_has_checkpoints(value->type, leave);
		Py_DecRef(enter);
		Py_DecRef(leave);
		PyErr_Clear();
		return both;
	}
	if (value->type == &PyCoro_Type)
		return has_checkpoints(value, "cr_code");
	return value->type == &PyGen_Type && has_checkpoints(value, "gi_code");
}

/* come_back resumes the frames that wait for this one. */
static void come_back(PyObject *frame)
{
	PyObject *outer[CHAIN];
	for (int n = chain(frame, AWAY | WAITS, outer); n > 0; n--) {
		Pause *p = pause_find(outer[n - 1]);
		event(RESUME, p->site);
		pause_set(p, WAITS);
	}
}

static void suspend(PyObject *frame, uint32_t site, int how, PyObject *value)
{
	PyObject *outer[CHAIN];
	int telling = how == WAIT ? tells(value, 0) : how == OVER ? tells(value, 1) : 0;
	int n = how == ALONE || how == OPEN || telling ? 0 : chain(frame, WAITS, outer);
	Pause *p = pause_find(frame);
	if (p && p->flags & AWAY)
		return; /* thrown into, and leaves without having come back */
	if (!p && !(p = pause_put(frame))) {
		event(SUSPEND, site); /* no memory: the frame counts as one that never left */
		return;
	}
	p->site = site;
	if (how == OPEN) {
		p->own <<= 1;
		pause_set(p, p->flags);
		return;
	}
	if (how == OVER)
		p->own |= (uint64_t)telling;
	if (telling || (how == AGAIN && p->own & 1)) {
		pause_set(p, WAITS);
		return;
	}
	pause_set(p, AWAY);
	event(SUSPEND, site);
	for (int i = 0; i < n; i++) {
		p = pause_find(outer[i]);
		event(SUSPEND, p->site);
		pause_set(p, AWAY | WAITS);
	}
}

/* pausing_event records the event of a site whose frames can be suspended.
 * value is that of its expression, NULL if it has none. */
static void pausing_event(uint64_t bits, PyObject *value)
{
	uint64_t site = bits & ((1u << 21) - 1);
	int kind = bits >> 21 & 7, how = (int)(bits >> 24 & 255);
	PyObject *frame = PyEval_GetFrame(), *back;
	for (uint64_t up = bits >> 32; up && (back = frame_back(frame)); up--)
		frame = back;
	if (kind == SUSPEND) {
		suspend(frame, (uint32_t)site, how, value);
		return;
	}
	Pause *p = pause_find(frame);
	if (kind == RESUME && p && p->flags == WAITS) {
		pause_set(p, 0); /* it was never away */
		return;
	}
	if (kind == RESUME || (kind == UNWIND && p && p->flags & AWAY)) {
		come_back(frame);
		p = pause_find(frame);
		kind = RESUME;
	}
	if (kind == EXIT && p && p->flags & AWAY)
		kind = CLOSE;
	event(kind, site);
	if (!p)
		return;
	if (how == SHUT)
		p->own >>= 1;
	else if (kind != RESUME && kind != UNWIND)
		p->own = 0;
	pause_set(p, 0);
}

static PyObject *pausing_negative(PyObject *self)
{
	pausing_event(((Checkpoint *)self)->bits, NULL);
	return none();
}

static PyObject *pausing_lshift(PyObject *self, PyObject *value)
{
	pausing_event(((Checkpoint *)self)->bits, value);
	Py_IncRef(value);
	return value;
}

#endif
