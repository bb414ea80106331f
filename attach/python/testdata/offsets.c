/* Prints the layout of an interpreter's structures, as its own headers say. The test
   TestTables compares it with the tables of the package. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#else
#include <internal/pycore_pystate.h>
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif

#define SAY(name, type, field) printf("%s %zu\n", name, offsetof(type, field))

int main(void) {
    SAY("interpreters", _PyRuntimeState, interpreters.head);
    SAY("interpreter.next", PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x030b0000
    SAY("interpreter.threads", PyInterpreterState, threads.head);
    SAY("thread.native", PyThreadState, native_thread_id);
#else
    SAY("interpreter.threads", PyInterpreterState, tstate_head);
#endif
    SAY("thread.next", PyThreadState, next);
    SAY("thread.id", PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030d0000
    SAY("thread.frame", PyThreadState, current_frame);
#elif PY_VERSION_HEX >= 0x030b0000
    SAY("thread.frame", PyThreadState, cframe);
    SAY("cframe.frame", _PyCFrame, current_frame);
#else
    SAY("thread.frame", PyThreadState, frame);
#endif
#if PY_VERSION_HEX >= 0x030d0000
    SAY("frame.code", _PyInterpreterFrame, f_executable);
#elif PY_VERSION_HEX >= 0x030b0000
    SAY("frame.code", _PyInterpreterFrame, f_code);
#endif
#if PY_VERSION_HEX >= 0x030b0000
    SAY("frame.previous", _PyInterpreterFrame, previous);
    SAY("frame.owner", _PyInterpreterFrame, owner);
    SAY("code.qualname", PyCodeObject, co_qualname);
    SAY("code.instructions", PyCodeObject, co_code_adaptive);
#else
    SAY("frame.code", PyFrameObject, f_code);
    SAY("frame.previous", PyFrameObject, f_back);
#endif
    SAY("code.filename", PyCodeObject, co_filename);
    SAY("code.name", PyCodeObject, co_name);
    SAY("code.line", PyCodeObject, co_firstlineno);
    SAY("object.type", PyObject, ob_type);
    SAY("object.size", PyVarObject, ob_size);
    SAY("string.length", PyASCIIObject, length);
    SAY("string.state", PyASCIIObject, state);
    printf("string.ascii %zu\n", sizeof(PyASCIIObject));
    printf("string.wide %zu\n", sizeof(PyCompactUnicodeObject));
    return 0;
}
