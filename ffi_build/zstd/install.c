/* SPDX-License-Identifier: Apache-2.0 */
/* Import: put the builtins into the module cpkg._native.zstd.compiled, and keep the error if that fails. */
#ifndef CPKG_ZSTD_INSTALL
#define CPKG_ZSTD_INSTALL

#include <Python.h>
#include <stdio.h>

#include "contexts.c"
#include "oneshot.c"
#include "streams.c"
#include "write_buffer.c"
/* Nothing would hold io.TextIOWrapper's own lock while next() takes a line. */
#ifndef Py_GIL_DISABLED
#include "lines.c"
#endif

static PyMethodDef builtins[] = {
    {"compress", (PyCFunction)(void (*)(void))builtin_compress, METH_FASTCALL | METH_KEYWORDS, builtin_compress_doc},
    {"decompress", (PyCFunction)(void (*)(void))builtin_decompress, METH_FASTCALL | METH_KEYWORDS,
     builtin_decompress_doc},
    {"_stream_compress", (PyCFunction)(void (*)(void))stream_compress, METH_FASTCALL, NULL},
    {"_stream_decompress", (PyCFunction)(void (*)(void))stream_decompress, METH_FASTCALL, NULL},
    {"_stream_decompress_into", (PyCFunction)(void (*)(void))stream_decompress_into, METH_FASTCALL, NULL},
#ifndef Py_GIL_DISABLED
    {"_make_text_reader", make_text_reader, METH_VARARGS, NULL},
#endif
    {NULL, NULL, 0, NULL},
};

/* Add a type to a module; return 0, or -1 with an exception set. */
static int add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    int result = type == NULL ? -1 : PyObject_SetAttrString(module, name, type);
    Py_XDECREF(type);
    return result;
}

/*
 * Add the builtins to a module, which has to have `_slow_compress` and `_slow_decompress`; return 0, or -1 with an
 * exception set.
 */
static int add_builtins(PyObject *module)
{
    if (contexts_set_up() < 0) {
        PyErr_SetString(PyExc_OSError, "no thread-specific storage is left for the contexts that threads keep");
        return -1;
    }
    PyObject *name = PyModule_GetNameObject(module);
    if (name == NULL) {
        return -1;
    }
    int result = 0;
    for (PyMethodDef *method = builtins; method->ml_name != NULL && result == 0; method++) {
        PyObject *function = PyCFunction_NewEx(method, module, name);
        result = function == NULL ? -1 : PyObject_SetAttrString(module, method->ml_name, function);
        Py_XDECREF(function);
    }
    Py_DECREF(name);
    if (result == 0) {
        result = add_type(module, "_WriteBuffer", &write_buffer_spec);
    }
#ifndef Py_GIL_DISABLED
    if (result == 0) {
        result = add_type(module, "_LineBuffer", &line_buffer_spec);
    }
#endif
    return result;
}

/* The text of the exception that the last cpkg_add_builtins() failed with. */
static char set_up_error[256];

static const char *cpkg_builtins_error(void)
{
    return set_up_error;
}

/* Keep the text of the exception that is set, and clear it: cffi, which calls this, cannot pass one on. */
static void keep_set_up_error(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    snprintf(set_up_error, sizeof set_up_error, "%s", utf8 != NULL ? utf8 : "an exception without a text");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* Do add_builtins() for cffi, which calls this without the GIL; if that fails cpkg_builtins_error() says why. */
static int cpkg_add_builtins(void *module)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int result = add_builtins(module);
    if (result < 0) {
        keep_set_up_error();
    }
    PyGILState_Release(state);
    return result;
}

#endif
