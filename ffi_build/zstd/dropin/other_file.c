/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the file that a stream object reads from, or writes to. */
#pragma once

#include "../../common/writing.c"

/* The names of its methods, interned at import. */
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

/* Write bytes, perhaps none, to a file in pieces of at most `write_size`; return 0, or -1 with an exception set. */
static int write_pieces(PyObject *file, PyObject *bytes, Py_ssize_t write_size)
{
    Py_ssize_t size = PyBytes_GET_SIZE(bytes);
    if (size <= write_size)
        return size == 0 ? 0 : file_write(file, name_write, bytes, size);
    PyObject *view = PyMemoryView_FromObject(bytes);
    int result = view == NULL ? -1 : 0;
    for (Py_ssize_t start = 0; result == 0 && start < size; start += write_size) {
        Py_ssize_t end = size - start < write_size ? size : start + write_size;
        PyObject *piece = PySequence_GetSlice(view, start, end);
        result = piece == NULL ? -1 : file_write(file, name_write, piece, end - start);
        Py_XDECREF(piece);
    }
    Py_XDECREF(view);
    return result;
}
