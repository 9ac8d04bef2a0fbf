/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking turns in an object that threads share: a second thread waits. A call from inside of one of the object's own
 * calls (a finalizer, a signal handler) gets a RuntimeError, because waiting would not end.
 * purepy/zstd/format/locks.py is the same in Python.
 */
#pragma once

#include "../../common/compat.c"

typedef struct {
    PyThread_type_lock lock; /* NULL in an object that is not initialized */
    unsigned long owner;     /* the thread that is inside, or 0 */
} Turn;

/* Set a field that is also an attribute: other threads read it outside of a turn. */
#define SET_SHOWN(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* Create the lock, last of all that initializes an object; return 0, or -1 with an exception set. */
static int turn_make(Turn *turn)
{
    turn->lock = PyThread_allocate_lock();
    if (turn->lock != NULL)
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* Begin a turn in an object; return 0, or -1 with an exception set. */
static int turn_enter(PyObject *self, Turn *turn)
{
    unsigned long me = PyThread_get_thread_ident();
    if (turn->lock == NULL) {
        PyErr_Format(PyExc_RuntimeError, "%s is not initialized", Py_TYPE(self)->tp_name);
        return -1;
    }
    if (__atomic_load_n(&turn->owner, __ATOMIC_RELAXED) == me) {
        PyErr_Format(PyExc_RuntimeError, "%s is used again from inside one of its own calls", Py_TYPE(self)->tp_name);
        return -1;
    }
    PyLockStatus status = PyThread_acquire_lock_timed(turn->lock, 0, 0);
    while (UNLIKELY(status != PY_LOCK_ACQUIRED)) {
        if (PyErr_CheckSignals() < 0)
            return -1;
        Py_BEGIN_ALLOW_THREADS
        status = PyThread_acquire_lock_timed(turn->lock, -1, 1);
        Py_END_ALLOW_THREADS
    }
    SET_SHOWN(turn->owner, me);
    return 0;
}

static void turn_leave(Turn *turn)
{
    SET_SHOWN(turn->owner, 0);
    PyThread_release_lock(turn->lock);
}

/* Free a turn's lock, with its object. */
static void turn_free(Turn *turn)
{
    if (turn->lock != NULL)
        PyThread_free_lock(turn->lock);
}
