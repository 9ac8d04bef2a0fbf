/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to the other file: purepy/_writing.py has the rule how much a write() took, and does the rare cases. */
#pragma once

#include "../../common/compat.c"
#include "names.c"

/* Write a piece; return 0, or -1 with an exception set. */
static int write_one_piece(PyObject *file, PyObject *piece, Py_ssize_t size)
{
    PyObject *returned = PyObject_CallMethodOneArg(file, name_write, piece);
    if (returned == NULL)
        return -1;
    int overflow = 0;
    if (PyLong_CheckExact(returned) && PyLong_AsLongAndOverflow(returned, &overflow) == size && overflow == 0) {
        Py_DECREF(returned);
        return 0;
    }
    PyObject *module = PyImport_ImportModule("purepy._writing");
    PyObject *done = module == NULL ? NULL : PyObject_CallMethod(module, "write_rest", "OOO", file, piece, returned);
    Py_XDECREF(module);
    Py_DECREF(returned);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Write bytes, perhaps none, to a file in pieces of at most `write_size`; return 0, or -1 with an exception set. */
static int write_pieces(PyObject *file, PyObject *bytes, Py_ssize_t write_size)
{
    Py_ssize_t size = PyBytes_GET_SIZE(bytes);
    if (size <= write_size)
        return size == 0 ? 0 : write_one_piece(file, bytes, size);
    PyObject *view = PyMemoryView_FromObject(bytes);
    int result = view == NULL ? -1 : 0;
    for (Py_ssize_t start = 0; result == 0 && start < size; start += write_size) {
        Py_ssize_t end = size - start < write_size ? size : start + write_size;
        PyObject *piece = PySequence_GetSlice(view, start, end);
        result = piece == NULL ? -1 : write_one_piece(file, piece, end - start);
        Py_XDECREF(piece);
    }
    Py_XDECREF(view);
    return result;
}
