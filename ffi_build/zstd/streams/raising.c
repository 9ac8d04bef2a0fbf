/* SPDX-License-Identifier: Apache-2.0 */
/* The exceptions that the stream objects raise: the types are Python's, and the texts that depend on libzstd, too. */
#pragma once

#include "../../common/compat.c"
#include <stdarg.h>

/* Raise a type of a module with a text, which is taken over; for what happens seldom. Returns NULL. */
static PyObject *raise_from(const char *module, const char *type_name, PyObject *text)
{
    PyObject *found = text == NULL ? NULL : PyImport_ImportModule(module);
    PyObject *type = found == NULL ? NULL : PyObject_GetAttrString(found, type_name);
    if (type != NULL)
        PyErr_SetObject(type, text);
    Py_XDECREF(type);
    Py_XDECREF(found);
    Py_XDECREF(text);
    return NULL;
}

/* Raise an exception object and release it; if it could not be created, that error stays set. Returns NULL. */
static PyObject *raise_made(PyObject *exception)
{
    if (exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

/* Have a function of cpkg/_native/zstd/presets.py make an object, an exception mostly; NULL with an exception set. */
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

/* Say whether the exception that is set is a ZstdError. */
static int is_zstd_error(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *module = PyImport_ImportModule("purepy.base.errors");
    PyObject *wanted = module == NULL ? NULL : PyObject_GetAttrString(module, "ZstdError");
    int result = wanted != NULL && PyErr_GivenExceptionMatches(type, wanted);
    Py_XDECREF(wanted);
    Py_XDECREF(module);
    PyErr_Restore(type, value, traceback); /* in the place of what may have come meanwhile */
    return result;
}
