/*
 * The native module of Python's runtime: one extension module for CPython 3.8 and
 * later. It maps the channel at a path and makes checkpoints, which record events
 * in it. A file that is no channel is an OSError.
 *
 *   python_api.h         what is used of the interpreter
 *   python_checkpoint.h  checkpoints as objects
 *   python_pausing.h     those of generators and coroutines
 *   python_woven.h       woven code from the cache
 *   python_main.h        the start of the program
 *   python_threads.h     the names of threads
 */
#include "c_host.h"
#include "channel.h"
#include "python_api.h"
#include "python_checkpoint.h"
#include "python_main.h"
#include "python_pausing.h"
#include "python_threads.h"
#include "python_woven.h"

#include <stdlib.h>

/* checkpoint(bits): a checkpoint that records an event of these 24 bits. */
static PyObject *new_checkpoint(PyObject *module, PyObject *arg)
{
	return new_of_type(module, 0, arg);
}

/* pausing(bits): the same for a site whose frames can be suspended. The bits above
 * the 24 say what kind of pause it is (how << 24). */
static PyObject *new_pausing(PyObject *module, PyObject *arg)
{
	return new_of_type(module, 1, arg);
}

/* A function of Python that has CG_BATCH events: an enter and a leave by turns. */
typedef struct {
	PyObject *function, *enter, *leave;
	int failed;
} Batch;

static void run_batch(void *batch)
{
	Batch *b = batch;
	PyObject *result = b->failed ? NULL : PyObject_CallFunctionObjArgs(b->function, b->enter, b->leave, NULL);
	if (result)
		Py_DecRef(result);
	else {
		PyErr_Clear();
		b->failed = 1;
	}
}

static PyObject *(*volatile slot)(PyObject *) = checkpoint_negative;

/* negate calls a checkpoint through its slot, as the interpreter does, by turns one
 * that enters and one that exits. */
static void negate(void *checkpoint)
{
	slot(checkpoint);
	((Checkpoint *)checkpoint)->bits ^= (uint64_t)EXIT << 21;
}

/* calibrate measures what an event costs in a function of Python, with what the
 * interpreter needs to come to the checkpoint; without one, in a loop here. */
static void calibrate(State *s, PyObject *function)
{
	Batch b = {.function = function, .failed = 1};
	if (function) {
		b.enter = checkpoint_of(s, 1, 0);
		b.leave = checkpoint_of(s, (uint64_t)EXIT << 21 | 1, 0);
		b.failed = !b.enter || !b.leave;
		cg_calibrate(run_batch, &b, CG_BATCH);
		Py_DecRef(b.enter);
		Py_DecRef(b.leave);
	}
	Checkpoint c = {.bits = 1};
	if (b.failed)
		cg_calibrate(negate, &c, 1);
	PyErr_Clear();
}

/* open(path, batch): maps the channel, and measures what an event costs, by a function
 * that has CG_BATCH of them. False if this process has mapped it already. An OSError if
 * it cannot. */
static PyObject *open_channel(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
	PyObject *bytes = n > 0 ? PyUnicode_AsUTF8String(args[0]) : NULL;
	if (!bytes) {
		if (n <= 0)
			PyErr_SetString(PyExc_ValueError, "open wants the path of a channel");
		return NULL;
	}
	const char *name = PyBytes_AsString(bytes);
	PyObject *result = cg_head ? &_Py_FalseStruct : &_Py_TrueStruct;
	errno = cg_open(name);
	int e = errno;
	if (!e && !cg_cost)
		calibrate(state_of(module), n > 1 ? args[1] : NULL);
	if (!e)
		cg_host_units();
	errno = e;
	result = e ? PyErr_SetFromErrnoWithFilename(PyExc_OSError, name) : result;
	Py_DecRef(bytes);
	if (result)
		Py_IncRef(result);
	return result;
}

static PyMethodDef methods[] = {
	{"checkpoint", new_checkpoint, METH_O,
		"checkpoint($module, bits, /)\n--\n\nA checkpoint that records kind << 21 | site."},
	{"pausing", new_pausing, METH_O,
		"pausing($module, bits, /)\n--\n\nThe same, of a site whose frames can be suspended."},
	{"load", (PyCFunction)(void *)load, METH_FASTCALL,
		"load($module, module, path, role, /)\n--\n\nThe woven code of a file from the cache, or None."},
	{"digest", digest, METH_O,
		"digest($module, bytes, /)\n--\n\nWhat an entry of the cache has for its content."},
	{"cache", set_cache, METH_O,
		"cache($module, prefix, /)\n--\n\nWhere load finds entries."},
	{"main", new_main, METH_O,
		"main($module, prepare, /)\n--\n\nA callable that runs (code, names) = prepare()."},
	{"replace", new_replacement, METH_O,
		"replace($module, prepare, /)\n--\n\nRun (code, names) = prepare(code) in place of the next main module."},
	{"around", new_around, METH_O,
		"around($module, three, /)\n--\n\nA callable that runs the second of three between the others."},
	{"open", (PyCFunction)(void *)open_channel, METH_FASTCALL,
		"open($module, path, batch=None, /)\n--\n\nMap the channel at path: False if this process has it. "
		"OSError if it is none. batch(enter, leave) has 256 events, by which their cost is measured."},
	{0},
};

static PySlot checkpoint_slots[] = {
	{Py_nb_negative, checkpoint_negative_counted}, /* replaced where None is immortal */
	{Py_nb_index, checkpoint_index},
	{Py_nb_lshift, checkpoint_lshift},
	{Py_mp_subscript, checkpoint_lshift},
	{0},
};

static PySlot pausing_slots[] = {
	{Py_nb_index, checkpoint_index},
	{Py_nb_lshift, pausing_lshift},
	{Py_mp_subscript, pausing_lshift},
	{Py_nb_negative, pausing_negative},
	{0},
};

static PyType_Spec pausing_spec = {"cgprobe.Pausing", sizeof(Checkpoint), 0, Py_TPFLAGS_DEFAULT, pausing_slots};
static PyType_Spec checkpoint_spec = {"cgprobe.Checkpoint", sizeof(Checkpoint), 0, Py_TPFLAGS_DEFAULT,
	checkpoint_slots};

static PySlot main_slots[] = {{Py_tp_call, main_call}, {0}};
static PyType_Spec main_spec = {"cgprobe.Main", sizeof(Main), 0, Py_TPFLAGS_DEFAULT, main_slots};

static PySlot around_slots[] = {{Py_tp_call, around_call}, {0}};
static PyType_Spec around_spec = {"cgprobe.Around", sizeof(Around), 0, Py_TPFLAGS_DEFAULT, around_slots};

static int module_exec(PyObject *module)
{
	State *s = state_of(module);
	s->types[0] = PyType_FromSpec(&checkpoint_spec);
	s->types[1] = PyType_FromSpec(&pausing_spec);
	s->co_consts = PyUnicode_InternFromString("co_consts");
	s->main_type = PyType_FromSpec(&main_spec);
	s->around_type = PyType_FromSpec(&around_spec);
	for (int i = 0; i < 2 && n_checkpoint_types < (int)(sizeof checkpoint_types / sizeof *checkpoint_types); i++)
		checkpoint_types[n_checkpoint_types++] = s->types[i];
	return s->types[0] && s->types[1] && s->co_consts && s->main_type && s->around_type ? 0 : -1;
}

static PySlot module_slots[] = {{Py_mod_exec, module_exec}, {0}, {0}};
static PyModuleDef module_def = {{1, NULL}, NULL, 0, NULL, "cgprobe", "Checkpoints of cg (checkpoint/FORMAT.md).",
	sizeof(State), methods, module_slots, NULL, NULL, NULL};

__attribute__((visibility("default"))) PyObject *PyInit_cgprobe(void)
{
	const char *v = Py_GetVersion();
	if (atoi(v) > 3 || (v[0] == '3' && v[1] == '.' && atoi(v + 2) >= 12)) {
		none_is_immortal = 1;
		checkpoint_slots[0].value = checkpoint_negative;
		/* Versions before 3.12 refuse this slot. */
		module_slots[1] = (PySlot){Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED};
	}
	return PyModuleDef_Init(&module_def);
}
