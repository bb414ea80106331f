/*
 * Runs the program's main module, and tests, without a frame of cg's, so that
 * tracebacks and the depth of the stack stay the program's own.
 */
#ifndef CG_PYTHON_MAIN_H
#define CG_PYTHON_MAIN_H

#include "python_checkpoint.h"

#include <string.h>

/* Main runs the script: a callable without a frame of its own, so that the
 * script's is the outermost. It is called once, as runpy._run_module_as_main. */
typedef struct {
	PyObject head;
	PyObject *prepare;
} Main;

/* leave deletes the names that the interpreter takes from a main module that
 * has ended. */
static void leave(PyObject *names)
{
	static const char *const gone[] = {"__file__", "__cached__"};
	for (int i = 0; i < 2; i++)
		if (PyDict_DelItemString(names, gone[i]) < 0)
			PyErr_Clear();
}

static PyObject *main_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	(void)args, (void)kwargs;
	PyObject *pair = PyObject_CallObject(((Main *)self)->prepare, NULL);
	if (!pair)
		return NULL;
	PyObject *code = PyTuple_GetItem(pair, 0), *names = PyTuple_GetItem(pair, 1);
	/* The interpreter runs a script without a call around it. */
	int level = Py_EnterRecursiveCall && Py_LeaveRecursiveCall;
	if (level)
		Py_LeaveRecursiveCall();
	PyObject *result = code && names ? PyEval_EvalCode(code, names, names) : NULL;
	if (level)
		Py_EnterRecursiveCall("");
	if (result)
		leave(names);
	Py_DecRef(pair);
	return result;
}

/* The interpreter calls its audit hooks with the code of a main module before it
 * runs the code (docs.python.org/3/library/audit_events.html, exec). */
static PyObject *replacement; /* (code) -> (other code, names, whether leave takes names), or None */

static int audit(const char *event, PyObject *args, void *unused)
{
	(void)unused;
	if (!replacement || strcmp(event, "exec") != 0 || PyEval_GetFrame())
		return 0;
	PyObject *pair = PyObject_Call(replacement, args, NULL);
	if (!pair)
		return -1;
	if (pair == &_Py_NoneStruct) {
		Py_DecRef(pair);
		return 0;
	}
	replacement = NULL; /* kept for the life of the process */
	PyObject *code = PyTuple_GetItem(pair, 0), *names = PyTuple_GetItem(pair, 1);
	PyObject *result = code && names ? PyEval_EvalCode(code, names, names) : NULL;
	if (result) {
		Py_DecRef(result);
		if (PyTuple_GetItem(pair, 2) == &_Py_TrueStruct)
			leave(names);
		/* A main module that ends and one that exits with None do the same. */
		PyErr_SetNone(PyExc_SystemExit);
	} else if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
		/* The interpreter notes that its main module was interrupted, and
		 * ends by the signal then. */
		PyObject *type, *value, *trace;
		PyErr_Fetch(&type, &value, &trace);
		PyRun_StringFlags("raise KeyboardInterrupt", 257 /* Py_file_input */, names, names, NULL);
		PyErr_Clear();
		PyErr_Restore(type, value, trace);
	}
	Py_DecRef(pair);
	return -1;
}

/* replace(prepare): runs (code, names, whether from a file) = prepare(code) in place
 * of the next main module. If prepare returns None, the module runs as it is. */
static PyObject *new_replacement(PyObject *module, PyObject *prepare)
{
	(void)module;
	Py_IncRef(prepare);
	replacement = prepare;
	if (PySys_AddAuditHook(audit, NULL) < 0)
		return NULL;
	return none();
}

/* Around calls token = before(*args), then the function with the same arguments, then
 * after(token). It has no frame of its own. */
typedef struct {
	PyObject head;
	PyObject *before, *function, *after;
} Around;

static PyObject *around_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	Around *a = (Around *)self;
	PyObject *token = PyObject_Call(a->before, args, kwargs);
	if (!token)
		return NULL;
	PyObject *result = PyObject_Call(a->function, args, kwargs);
	PyObject *type, *value, *trace;
	PyErr_Fetch(&type, &value, &trace);
	PyObject *done = PyObject_CallFunctionObjArgs(a->after, token, NULL);
	if (done)
		Py_DecRef(done);
	else
		PyErr_Clear();
	PyErr_Restore(type, value, trace);
	Py_DecRef(token);
	return result;
}

/* around((before, function, after)): a callable, see Around. */
static PyObject *new_around(PyObject *module, PyObject *three)
{
	Around *a = (Around *)PyType_GenericAlloc(state_of(module)->around_type, 0);
	if (!a)
		return NULL;
	Py_IncRef(three); /* kept for the life of the process */
	a->before = PyTuple_GetItem(three, 0);
	a->function = PyTuple_GetItem(three, 1);
	a->after = PyTuple_GetItem(three, 2);
	if (!a->before || !a->function || !a->after) {
		Py_DecRef((PyObject *)a);
		return NULL;
	}
	return (PyObject *)a;
}

/* main(prepare): a callable that runs (code, names) = prepare(). */
static PyObject *new_main(PyObject *module, PyObject *prepare)
{
	Main *m = (Main *)PyType_GenericAlloc(state_of(module)->main_type, 0);
	if (m) {
		Py_IncRef(prepare); /* kept for the life of the process */
		m->prepare = prepare;
	}
	return (PyObject *)m;
}

#endif
