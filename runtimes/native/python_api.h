/*
 * What cg uses of CPython 3.8 and later, declared without Python.h, so that one
 * library serves every version: the stable ABI (docs.python.org/3/c-api/stable.html)
 * and the layout of the object head, which is part of it. A function that some
 * versions lack is weak: NULL there. Not for free-threaded builds, whose head
 * differs.
 */
#ifndef CG_PYTHON_API_H
#define CG_PYTHON_API_H

#include <stdint.h>

typedef intptr_t Py_ssize_t;
typedef struct PyObject {
	Py_ssize_t refcount;
	struct PyObject *type;
} PyObject;
typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);
typedef struct {
	const char *name;
	PyCFunction call;
	int flags;
	const char *doc;
} PyMethodDef;
typedef struct {
	int slot;
	void *value;
} PySlot; /* PyType_Slot and PyModuleDef_Slot */
typedef struct {
	PyObject head;
	PyObject *(*init)(void);
	Py_ssize_t index;
	PyObject *copy;
	const char *name, *doc;
	Py_ssize_t size;
	PyMethodDef *methods;
	PySlot *slots;
	void *traverse, *clear, *free;
} PyModuleDef;
typedef struct {
	const char *name;
	int size, item_size;
	unsigned int flags;
	PySlot *slots;
} PyType_Spec;

enum {
	METH_O = 8,
	METH_FASTCALL = 0x80,
	Py_mp_subscript = 5,
	Py_nb_index = 13,
	Py_nb_lshift = 28,
	Py_nb_negative = 30,
	Py_tp_call = 50,
	Py_mod_exec = 2,
	Py_mod_multiple_interpreters = 3,
	Py_TPFLAGS_DEFAULT = 1 << 18,
};

#define Py_MOD_PER_INTERPRETER_GIL_SUPPORTED ((void *)2)

extern PyObject _Py_NoneStruct;
extern PyObject _Py_TrueStruct, _Py_FalseStruct;
extern PyObject *PyExc_OSError, *PyExc_ValueError;
extern const char *Py_GetVersion(void);
extern void Py_IncRef(PyObject *);
extern long PyLong_AsLong(PyObject *);
extern PyObject *PyLong_FromLong(long);
extern PyObject *PyLong_FromUnsignedLongLong(unsigned long long);
extern PyObject *PyErr_Occurred(void);
extern void PyErr_SetString(PyObject *, const char *);
extern PyObject *PyErr_SetFromErrnoWithFilename(PyObject *, const char *);
extern PyObject *PyModuleDef_Init(PyModuleDef *);
extern PyObject *PyType_FromSpec(PyType_Spec *);
extern PyObject *PyType_GenericAlloc(PyObject *, Py_ssize_t);
extern void Py_DecRef(PyObject *);
extern PyObject *PyObject_CallObject(PyObject *, PyObject *);
extern PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t); /* borrowed */
extern int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
extern PyObject *PyObject_GetAttr(PyObject *, PyObject *);
extern PyObject *PyUnicode_InternFromString(const char *);
extern const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);
extern PyObject *PyEval_GetFrame(void); /* borrowed */
extern PyObject *PyFrame_GetBack(PyObject *) __attribute__((weak)); /* not in 3.8 */
extern PyObject *PyObject_GetAttrString(PyObject *, const char *);
extern Py_ssize_t PyTuple_Size(PyObject *);
extern PyObject PyCoro_Type, PyGen_Type, PyAsyncGen_Type, PyFunction_Type;
extern PyObject *_PyType_Lookup(PyObject *, PyObject *) __attribute__((weak)); /* borrowed */
extern PyObject *PyUnicode_FromString(const char *);
extern PyObject *PyEval_EvalCode(PyObject *, PyObject *, PyObject *);
extern PyObject *PyUnicode_AsUTF8String(PyObject *);
extern char *PyBytes_AsString(PyObject *);
extern int PyBytes_AsStringAndSize(PyObject *, char **, Py_ssize_t *);
extern PyObject *PySys_GetObject(const char *); /* borrowed */
extern PyObject *PyDict_GetItem(PyObject *, PyObject *); /* borrowed */
extern PyObject *PyObject_GenericGetAttr(PyObject *, PyObject *);
extern unsigned long PyThread_get_thread_ident(void);
extern PyObject PyDict_Type, PyUnicode_Type;
extern void *PyModule_GetState(PyObject *);
extern void PyErr_Clear(void);
extern int PyDict_DelItemString(PyObject *, const char *);
extern PyObject *PyObject_Call(PyObject *, PyObject *, PyObject *);
extern PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
extern PyObject *PyExc_SystemExit, *PyExc_KeyboardInterrupt;
extern void PyErr_SetNone(PyObject *);
extern PyObject *PyErr_NoMemory(void);
extern void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
extern void PyErr_Restore(PyObject *, PyObject *, PyObject *);
extern int PyErr_ExceptionMatches(PyObject *);
extern PyObject *PyRun_StringFlags(const char *, int, PyObject *, PyObject *, void *);
extern int PySys_AddAuditHook(int (*)(const char *, PyObject *, void *), void *);
/* Not in the stable ABI. Where it is missing, load finds nothing. */
extern PyObject *PyMarshal_ReadObjectFromString(const char *, Py_ssize_t) __attribute__((weak));
/* not in 3.8 */
extern int Py_EnterRecursiveCall(const char *) __attribute__((weak));
extern void Py_LeaveRecursiveCall(void) __attribute__((weak));

static int none_is_immortal; /* PEP 683, 3.12 and later */

static inline PyObject *none(void)
{
	if (!none_is_immortal)
		_Py_NoneStruct.refcount++;
	return &_Py_NoneStruct;
}

#endif
