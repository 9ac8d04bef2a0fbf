/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in setting up a native module. cffi calls that code and cannot pass on exceptions, so their text is kept. */
#pragma once

#include "compat.c"
#include <stdio.h>

static char set_up_error[256];

/* Keep the text of the current exception, and clear the exception. */
static void set_up_error_keep(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    snprintf(set_up_error, sizeof set_up_error, "%s", utf8 != NULL ? utf8 : "setting up failed");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* Call a function that sets up a module, with the GIL, which cffi has released; return 0, or -1 and keep the error. */
static int set_up(int (*function)(PyObject *), void *argument)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int result = function(argument);
    if (result < 0)
        set_up_error_keep();
    PyGILState_Release(state);
    return result;
}

/* Refuse to set up a module again, because its objects belong to the process. Returns -1. */
static int set_up_refuse(const char *codec)
{
    PyErr_Format(PyExc_ImportError,
                 "the native %s codec works in one interpreter of a process, and another interpreter (or "
                 "an earlier import) is using it",
                 codec);
    return -1;
}
