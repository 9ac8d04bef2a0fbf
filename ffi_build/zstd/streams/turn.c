/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: only one thread at a time uses an object that threads share; a second thread waits. A call from inside one of
 * the object's own calls (in a finalizer or a signal handler) raises RuntimeError, because waiting would never end.
 * purepy/zstd/format/locks.py does the same in Python. Creating a lock would take a quarter of the time of an object
 * for a small frame. So a turn begins with one atomic exchange, and the first thread that must wait creates a lock, the
 * bell.
 */
#pragma once

#include "../../common/compat.c"

typedef struct {
    unsigned long owner;     /* the thread whose turn it is, or TURN_FREE; 0 in an object that is not initialized */
    int waiting;             /* the number of waiting threads */
    char is_rung;            /* whether the bell is released to wake a thread, and no thread has taken it yet */
    PyThread_type_lock bell; /* held, except between the end of a turn and the waking of a thread; initially NULL */
} Turn;

enum { TURN_FREE = 1 };

/* Allow turns; called at the end of an object's initialization. */
static void turn_make(Turn *turn)
{
    __atomic_store_n(&turn->owner, TURN_FREE, __ATOMIC_RELEASE);
}

/* Return the bell, creating it if necessary, or NULL with an exception set. */
static PyThread_type_lock turn_bell(Turn *turn)
{
    PyThread_type_lock found = __atomic_load_n(&turn->bell, __ATOMIC_ACQUIRE);
    if (found != NULL)
        return found;
    PyThread_type_lock bell = PyThread_allocate_lock();
    if (bell == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    PyThread_acquire_lock(bell, WAIT_LOCK);
    if (__atomic_compare_exchange_n(&turn->bell, &found, bell, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return bell;
    PyThread_release_lock(bell);
    PyThread_free_lock(bell);
    return found;
}

/* Begin a turn if it is no thread's turn; return TURN_FREE if the turn has begun, otherwise the value of `owner`. */
static ALWAYS_INLINE unsigned long turn_try(Turn *turn, unsigned long me)
{
    unsigned long owner = TURN_FREE;
    __atomic_compare_exchange_n(&turn->owner, &owner, me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return owner;
}

/*
 * Wait and begin a turn; return 0, or -1 with an exception set. A thread that is woken begins its turn without the GIL,
 * because the thread that ended its turn may keep the GIL until it begins its next turn.
 */
static NEVER_INLINE int turn_wait(Turn *turn, unsigned long me)
{
    PyThread_type_lock bell = turn_bell(turn);
    if (bell == NULL)
        return -1;
    int has_begun = 0;
    while (!has_begun) {
        if (PyErr_CheckSignals() < 0)
            return -1;
        PyLockStatus status = PY_LOCK_ACQUIRED;
        __atomic_add_fetch(&turn->waiting, 1, __ATOMIC_SEQ_CST);
        Py_BEGIN_ALLOW_THREADS
        /* `waiting` is incremented before each try, so every turn that ends after the try rings the bell */
        while (!(has_begun = turn_try(turn, me) == TURN_FREE) && status == PY_LOCK_ACQUIRED) {
            status = PyThread_acquire_lock_timed(bell, -1, 1);
            if (status == PY_LOCK_ACQUIRED)
                __atomic_store_n(&turn->is_rung, 0, __ATOMIC_SEQ_CST);
        }
        Py_END_ALLOW_THREADS
        __atomic_sub_fetch(&turn->waiting, 1, __ATOMIC_SEQ_CST);
    }
    return 0;
}

/* Begin a turn in an object; return 0, or -1 with an exception set. */
static int turn_enter(PyObject *self, Turn *turn)
{
    unsigned long me = PyThread_get_thread_ident(), owner = turn_try(turn, me);
    if (LIKELY(owner == TURN_FREE))
        return 0;
    if (owner != 0 && owner != me)
        return turn_wait(turn, me);
    const char *why = owner == 0 ? "is not initialized" : "was called from inside one of its own methods";
    PyErr_Format(PyExc_RuntimeError, "%s %s", Py_TYPE(self)->tp_name, why);
    return -1;
}

static void turn_leave(Turn *turn)
{
    __atomic_store_n(&turn->owner, TURN_FREE, __ATOMIC_SEQ_CST);
    if (UNLIKELY(__atomic_load_n(&turn->waiting, __ATOMIC_SEQ_CST) > 0) &&
        !__atomic_exchange_n(&turn->is_rung, 1, __ATOMIC_SEQ_CST))
        PyThread_release_lock(turn->bell);
}

/* Free the bell of a turn, together with its object. */
static void turn_free(Turn *turn)
{
    if (turn->bell == NULL)
        return;
    if (!turn->is_rung)
        PyThread_release_lock(turn->bell);
    PyThread_free_lock(turn->bell);
}
