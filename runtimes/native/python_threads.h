/*
 * What the program calls its threads: the names of threading.Thread. The module is not
 * imported for it, and no function of the program is called. Only checkpoints of Python's
 * ask: they hold the GIL. A function of C that was built with checkpoints may not.
 */
#ifndef CG_PYTHON_THREADS_H
#define CG_PYTHON_THREADS_H

#include "channel.h"
#include "python_api.h"

#include <errno.h>

/* attribute is GetAttr without what the object's class may have put in its place; NULL without an error where there is
 * none, or where its class has a descriptor of that name. The reference is the caller's. */
static PyObject *attribute(PyObject *of, const char *name)
{
	PyObject *key = PyUnicode_InternFromString(name), *value = NULL;
	PyObject *above = key && _PyType_Lookup ? _PyType_Lookup(of->type, key) : NULL;
	if (key && (!above || above->type == &PyUnicode_Type))
		value = PyObject_GenericGetAttr(of, key);
	if (key)
		Py_DecRef(key);
	if (!value)
		PyErr_Clear();
	return value;
}

/* tell_thread tells what threading._active has for the thread. */
static void tell_thread(PyObject *threading)
{
	PyObject *active = attribute(threading, "_active");
	if (!active)
		return;
	PyObject *ident = active->type == &PyDict_Type ? PyLong_FromUnsignedLongLong(PyThread_get_thread_ident()) : NULL;
	PyObject *thread = ident ? PyDict_GetItem(active, ident) : NULL;
	if (thread)
		Py_IncRef(thread);
	PyObject *name = thread ? attribute(thread, "_name") : NULL;
	PyObject *bytes = name ? PyUnicode_AsUTF8String(name) : NULL; /* a TypeError where it is no text */
	char *text;
	Py_ssize_t n;
	if (bytes && PyBytes_AsStringAndSize(bytes, &text, &n) == 0)
		cg_name_thread(text, (size_t)n);
	PyErr_Clear();
	for (PyObject *gone[] = {bytes, name, thread, ident, active}, **p = gone; p < gone + 5; p++)
		if (*p)
			Py_DecRef(*p);
}

/* python_thread_name asks for the name of the thread at its first event in a tree and, while the program has not
 * imported threading, at each of the next 15, and then ever more seldom up to some hundred: each event until then takes
 * longer. The exception that is on its way stays. */
static void __attribute__((noinline, cold)) python_thread_name(void)
{
	if (--cg_mine.unnamed) /* first 0: the garbage collector may run code of the program, with checkpoints */
		return;
	int e = errno;
	PyObject *type, *value, *trace;
	PyErr_Fetch(&type, &value, &trace);
	PyObject *modules = PySys_GetObject("modules"); /* PyImport_GetModule waits for one that is being imported */
	PyObject *name = modules && modules->type == &PyDict_Type ? PyUnicode_InternFromString("threading") : NULL;
	PyObject *threading = name ? PyDict_GetItem(modules, name) : NULL;
	if (threading) {
		Py_IncRef(threading);
		tell_thread(threading);
		Py_DecRef(threading);
	} else if (cg_mine.asked < 24) {
		cg_mine.unnamed = 1 << (cg_mine.asked > 16 ? cg_mine.asked - 16 : 0);
		cg_mine.asked++;
	}
	if (name)
		Py_DecRef(name);
	PyErr_Clear();
	PyErr_Restore(type, value, trace);
	errno = e;
}

/* record records an event of Python's, with the GIL held. */
static inline void __attribute__((always_inline)) record(uint64_t bits)
{
	cg_event((uint32_t)bits);
	if (__builtin_expect(cg_mine.unnamed, 0))
		python_thread_name();
}

#endif
