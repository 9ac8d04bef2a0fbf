/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: settings for any number of frames, and a place for a context that has them (contexts.c). The Python half is
 * in cpkg/_native/zstd/presets.py, whose classes derive from these types: it sets them up, makes contexts with
 * dictionaries or worker threads, and gets every call that is out of the ordinary, as it came.
 */
#pragma once

#include "../common/compat.c"

/* Have the Python half make a context; return it, or NULL with an exception set. */
static void *new_context(PyObject *preset)
{
    PyObject *address = PyObject_CallMethod(preset, "_new_context", NULL);
    void *context = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    return context;
}

/*
 * Ask a preset's Python half for a context: the object that owns it, and its address. Returns NULL with an exception
 * set if that fails.
 */
static void *preset_borrow(PyObject *preset, PyObject **lent)
{
    PyObject *pair = PyObject_CallMethod(preset, "_lend", NULL);
    void *context = NULL;
    if (pair != NULL && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2) {
        context = PyLong_AsVoidPtr(PyTuple_GET_ITEM(pair, 1));
        if (context != NULL)
            *lent = new_ref(PyTuple_GET_ITEM(pair, 0));
    }
    Py_XDECREF(pair);
    return context;
}

/* Give a lent context back, and drop the owner; errors are written to standard error, as nobody waits for them. */
static void preset_return(PyObject *preset, PyObject **lent, int has_failed)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *done = PyObject_CallMethod(preset, "_take_back", "OO", *lent, has_failed ? Py_True : Py_False);
    if (done == NULL)
        PyErr_WriteUnraisable(preset);
    Py_XDECREF(done);
    Py_CLEAR(*lent);
    PyErr_Restore(type, value, traceback);
}
