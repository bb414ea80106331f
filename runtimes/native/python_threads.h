/*
 * What the program calls its threads: the names of threading.Thread. The module is not
 * imported for it, and no function of the program is called.
 */
#ifndef CG_PYTHON_THREADS_H
#define CG_PYTHON_THREADS_H

#include "channel.h"
#include "python_api.h"

/* attribute is GetAttr without what the object's class may have put in its place; NULL without an error where there is
 * none. The reference is the caller's. */
static PyObject *attribute(PyObject *of, const char *name)
{
	PyObject *key = PyUnicode_InternFromString(name), *value = NULL;
	if (key) {
		value = PyObject_GenericGetAttr(of, key);
		Py_DecRef(key);
	}
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
	PyObject *name = thread ? attribute(thread, "_name") : NULL;
	PyObject *bytes = name ? PyUnicode_AsUTF8String(name) : NULL; /* a TypeError where it is no text */
	char *text;
	Py_ssize_t n;
	if (bytes && PyBytes_AsStringAndSize(bytes, &text, &n) == 0)
		cg_name_thread(text, (size_t)n);
	PyErr_Clear();
	for (PyObject *gone[] = {bytes, name, ident, active}, **p = gone; p < gone + 4; p++)
		if (*p)
			Py_DecRef(*p);
}

static void python_thread_name(void)
{
	PyObject *type, *value, *trace;
	PyErr_Fetch(&type, &value, &trace);
	PyObject *name = PyUnicode_InternFromString("threading");
	PyObject *threading = name ? PyImport_GetModule(name) : NULL;
	if (threading) {
		tell_thread(threading);
		Py_DecRef(threading);
	}
	if (name)
		Py_DecRef(name);
	PyErr_Clear();
	PyErr_Restore(type, value, trace);
}

#endif
