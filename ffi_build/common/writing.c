/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to a caller's file. purepy/base/writing.py defines what the result of write() means, and handles rare
   results. */
#pragma once

#include "compat.c"

/*
 * Call a file's write() with an object of `size` bytes; return 0, or -1 with an exception set. With a size of -1, any
 * result of write() is accepted. `name_write` is the str "write".
 */
static int file_write(PyObject *file, PyObject *name_write, PyObject *data, Py_ssize_t size)
{
    PyObject *returned = PyObject_CallMethodOneArg(file, name_write, data);
    if (returned == NULL)
        return -1;
    int overflow = 0;
    if (size < 0 ||
        (PyLong_CheckExact(returned) && PyLong_AsLongAndOverflow(returned, &overflow) == size && overflow == 0)) {
        Py_DECREF(returned);
        return 0;
    }
    PyObject *module = PyImport_ImportModule("purepy.base.writing");
    PyObject *done = module == NULL ? NULL : PyObject_CallMethod(module, "write_rest", "OOO", file, data, returned);
    Py_XDECREF(module);
    Py_DECREF(returned);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}
