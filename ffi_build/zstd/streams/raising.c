/* SPDX-License-Identifier: Apache-2.0 */
/* The exceptions of the stream objects, which Python code creates. */
#pragma once

#include "../../common/compat.c"
#include <stdarg.h>

/* Raise an exception object and release it. If it is NULL, keep the exception that is set already. Returns NULL. */
static PyObject *raise_made(PyObject *exception)
{
    if (exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

/* Call a function of cpkg/_native/zstd/presets.py that creates an object, usually an exception; return the object, or
   NULL with an exception set. */
static PyObject *call_presets(const char *function, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *module = PyImport_ImportModule("cpkg._native.zstd.presets");
    PyObject *callable = module == NULL ? NULL : PyObject_GetAttrString(module, function);
    PyObject *values = Py_VaBuildValue(format, arguments);
    va_end(arguments);
    PyObject *result = NULL;
    if (callable != NULL && values != NULL)
        result = PyTuple_Check(values) ? PyObject_CallObject(callable, values) : PyObject_CallOneArg(callable, values);
    Py_XDECREF(values);
    Py_XDECREF(callable);
    Py_XDECREF(module);
    return result;
}
