/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking turns in an object that threads share: who comes second waits, who comes from inside of one of its own calls
 * (a finalizer, a signal handler) gets a RuntimeError, because waiting would not end. purepy/zstd/format/locks.py is
 * the same in Python. A lock is created only when a thread has to wait.
 */
#pragma once

#include "../../common/compat.c"

typedef struct {
    unsigned long owner; /* the thread that is inside, 0 if none is */
    int waiting;         /* how many threads are */
    int is_rung;
    PyThread_type_lock bell; /* held, but from the end of a turn until somebody who waits has heard it */
} Turn;

/* Set a field that is also an attribute: other threads read it outside of a turn. */
#define SET_SHOWN(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* Wait for the end of a turn; return 1, or -1 with an exception set by a signal handler. */
static NEVER_INLINE int turn_wait(Turn *turn)
{
    if (turn->bell == NULL) {
        turn->bell = PyThread_allocate_lock();
        if (turn->bell == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        PyThread_acquire_lock(turn->bell, WAIT_LOCK);
    }
    PyLockStatus status;
    turn->waiting++;
    Py_BEGIN_ALLOW_THREADS
    status = PyThread_acquire_lock_timed(turn->bell, -1, 1);
    Py_END_ALLOW_THREADS
    turn->waiting--;
    if (status == PY_LOCK_ACQUIRED) {
        turn->is_rung = 0;
        return 1;
    }
    return PyErr_CheckSignals() < 0 ? -1 : 1;
}

/* Begin a turn in an object; return 0, or -1 with an exception set. */
static int turn_enter(PyObject *self, Turn *turn)
{
    unsigned long me = PyThread_get_thread_ident();
    int result = 1;
    while (result == 1) {
        WITH_LOCKED(self)
        if (LIKELY(turn->owner == 0)) {
            turn->owner = me;
            result = 0;
        }
        else if (turn->owner == me) {
            PyErr_Format(PyExc_RuntimeError, "%s is used again from inside one of its own calls",
                         Py_TYPE(self)->tp_name);
            result = -1;
        }
        else {
            result = turn_wait(turn);
        }
        END_LOCKED()
    }
    return result;
}

static void turn_leave(PyObject *self, Turn *turn)
{
    (void)self; /* not used with a GIL */
    WITH_LOCKED(self)
    turn->owner = 0;
    if (UNLIKELY(turn->waiting > 0) && !turn->is_rung) {
        turn->is_rung = 1;
        PyThread_release_lock(turn->bell);
    }
    END_LOCKED()
}

/* Free a turn's lock, with its object. */
static void turn_free(Turn *turn)
{
    if (turn->bell != NULL) {
        if (!turn->is_rung)
            PyThread_release_lock(turn->bell);
        PyThread_free_lock(turn->bell);
        turn->bell = NULL;
    }
}
