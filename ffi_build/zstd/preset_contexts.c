/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: settings for any number of frames, and a context that has them. The Python half is in
 * cpkg/_native/zstd/presets.py, whose classes derive from these types: it sets them up, makes contexts with
 * dictionaries or worker threads, and gets every call that is out of the ordinary, as it came.
 *
 * A context is out of its place while it is in use, so that threads may share a preset: who finds the place empty makes
 * a context of his own. It is exchanged in one step, for builds without the GIL.
 */
#ifndef CPKG_ZSTD_PRESET_CONTEXTS
#define CPKG_ZSTD_PRESET_CONTEXTS

#include <Python.h>
#include <stddef.h>

static void *exchange(void **place, void *context)
{
    return __atomic_exchange_n(place, context, __ATOMIC_ACQ_REL);
}

/* Put a context into its place; return what was to be put there, if the place is not empty, or NULL. */
static void *put_back(void **place, void *context)
{
    void *empty = NULL;
    return __atomic_compare_exchange_n(place, &empty, context, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ? NULL : context;
}

/* Have the Python half make a context; return it, or NULL with an exception set. */
static void *new_context(PyObject *preset)
{
    PyObject *address = PyObject_CallMethod(preset, "_new_context", NULL);
    void *context = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    return context;
}

#endif
