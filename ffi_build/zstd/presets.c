/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: settings for any number of frames, and a place for a context with these settings (contexts.c). The Python
 * half is in cpkg/_native/zstd/presets.py, whose classes derive from these types. The docstring of presets.py describes
 * the calls between the two halves.
 */
#pragma once

#include "../common/compat.c"

/* Let the Python half create a context, which C then owns; return it, or NULL with an exception set. */
static void *new_context(PyObject *preset)
{
    PyObject *address = PyObject_CallMethod(preset, "_new_context", NULL);
    void *context = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    return context;
}

/*
 * Borrow from the Python half a context that C must not keep. Set `lent` to the object that owns the context, and
 * `process` to the only process that may use it (0: any process). Return NULL with an exception set on failure.
 */
static void *preset_borrow(PyObject *preset, PyObject **lent, long *process)
{
    PyObject *loan = PyObject_CallMethod(preset, "_lend", NULL);
    PyObject *owner, *address;
    void *context = NULL;
    if (loan != NULL && PyArg_ParseTuple(loan, "OOl:_lend", &owner, &address, process)) {
        context = PyLong_AsVoidPtr(address);
        if (context != NULL)
            *lent = new_ref(owner);
    }
    Py_XDECREF(loan);
    return context;
}

/* Return a borrowed context to the Python half, and drop its owner. Errors are printed, because callers cannot handle
   them. */
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
