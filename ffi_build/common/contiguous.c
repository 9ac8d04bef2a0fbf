/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of callers' buffers. purepy/base/buffers.py refuses buffers that are not C-contiguous, with one text. */
#pragma once

#include "compat.c"

/*
 * Get a C-contiguous buffer of an object into `view`; return 0, or -1 with an exception set.
 *
 * Types raise different errors for a buffer that is not contiguous (numpy's arrays a ValueError). Instead of these
 * errors, purepy/base/buffers.py raises the same one for all types.
 */
static int contiguous_open(PyObject *data, Py_buffer *view)
{
    if (PyObject_GetBuffer(data, view, PyBUF_SIMPLE) == 0)
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return -1;
    PyErr_Clear();
    PyObject *module = PyImport_ImportModule("purepy.base.buffers");
    PyObject *found = module == NULL ? NULL : PyObject_CallMethod(module, "contiguous", "O", data);
    Py_XDECREF(module);
    if (found == NULL)
        return -1;
    int result = PyObject_GetBuffer(found, view, PyBUF_SIMPLE);
    Py_DECREF(found);
    return result;
}
