/* An extension module whose two functions each spend their time in one of their own, and a thread that knows no
   Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>

static volatile unsigned long sink;

__attribute__((noinline, noclone)) static void inner_a(long n) {
	for (long i = 0; i < n; i++)
		sink += i * i;
	__asm__ volatile("");
}
__attribute__((noinline, noclone)) static void inner_b(long n) {
	for (long i = 0; i < n; i++)
		sink += i * i + 1;
	__asm__ volatile("");
}

static PyObject *a(PyObject *self, PyObject *args) {
	long n;
	if (!PyArg_ParseTuple(args, "l", &n))
		return NULL;
	inner_a(n);
	Py_RETURN_NONE;
}
static PyObject *b(PyObject *self, PyObject *args) {
	long n;
	if (!PyArg_ParseTuple(args, "l", &n))
		return NULL;
	inner_b(n);
	Py_RETURN_NONE;
}

__attribute__((noinline, noclone)) static void foreign(void) {
	for (long i = 0; i < 300000000; i++)
		sink += i;
	__asm__ volatile("");
}
static void *alone(void *unused) {
	foreign();
	return unused;
}
static PyObject *spawn(PyObject *self, PyObject *args) {
	pthread_t t;
	pthread_create(&t, NULL, alone, NULL);
	pthread_detach(t);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{"a", a, METH_VARARGS, ""}, {"b", b, METH_VARARGS, ""}, {"spawn", spawn, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "below", "", -1, methods};
PyMODINIT_FUNC PyInit_below(void) { return PyModule_Create(&module); }
