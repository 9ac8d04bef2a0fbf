/* SPDX-License-Identifier: Apache-2.0 */
/* The names of methods that the stream objects call, interned by install.c. */
#pragma once

#include "../../common/compat.c"

static PyObject *name_read, *name_write, *name_flush, *name_close;

static int names_set_up(void)
{
    name_read = PyUnicode_InternFromString("read");
    name_write = PyUnicode_InternFromString("write");
    name_flush = PyUnicode_InternFromString("flush");
    name_close = PyUnicode_InternFromString("close");
    return name_read == NULL || name_write == NULL || name_flush == NULL || name_close == NULL ? -1 : 0;
}

/* Call a method without arguments, if the object has it; return 0, or -1 with an exception set. */
static int call_if_there(PyObject *object, PyObject *name)
{
    PyObject *method = PyObject_GetAttr(object, name);
    if (method == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    PyObject *result = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}
