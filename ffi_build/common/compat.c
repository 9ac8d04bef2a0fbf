/* SPDX-License-Identifier: Apache-2.0 */
/* The differences between CPython 3.9 and 3.15, with and without the GIL, under one set of names. */
#pragma once

#include <Python.h>
#include <structmember.h>

#include "base.h"

#undef FASTCALL /* defined by the headers of Windows */
#define FASTCALL (METH_FASTCALL | METH_KEYWORDS)
#define AS_METHOD(function) ((PyCFunction)(void (*)(void))(function))

static ALWAYS_INLINE PyObject *new_ref(PyObject *o)
{
    Py_INCREF(o);
    return o;
}

/* Look up an attribute of a type without calling descriptors; return a new reference, or NULL if it is missing. */
static ALWAYS_INLINE PyObject *type_lookup(PyTypeObject *type, PyObject *name)
{
#ifdef Py_GIL_DISABLED
    return _PyType_LookupRef(type, name);
#else
    PyObject *found = _PyType_Lookup(type, name);
    Py_XINCREF(found);
    return found;
#endif
}

/* Grow memory from PyMem to `capacity` bytes; return 0, or -1 with a MemoryError and the memory unchanged. */
static inline int memory_grow(unsigned char **memory, Py_ssize_t *held, Py_ssize_t capacity)
{
    unsigned char *grown = PyMem_Realloc(*memory, (size_t)capacity);
    if (grown == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *memory = grown;
    *held = capacity;
    return 0;
}

/* A walk through a container borrows the references to its items. With the GIL, this is safe until Python code is
   called. Without it, the walk locks the container, and must also expect changes where the thread waits for another
   lock: CPython then releases the locks that the thread holds. The first UTF-8 of a str takes its lock. */
#ifdef Py_GIL_DISABLED
#define WITH_LOCKED(o) Py_BEGIN_CRITICAL_SECTION(o);
#define END_LOCKED() Py_END_CRITICAL_SECTION()
#define UTF8_NEEDS_LOCK(str) UNLIKELY(!PyUnicode_IS_COMPACT_ASCII(str))
#else
#define WITH_LOCKED(o) {
#define END_LOCKED() }
#define UTF8_NEEDS_LOCK(str) false
#endif

/* The object in a variable that is set only once, or NULL before that. Without the GIL, another thread may set the
   variable at any time. A thread that reads the object also sees everything that was written before it was set. */
#ifdef Py_GIL_DISABLED
#define KEPT_AT(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#else
#define KEPT_AT(place) (place)
#endif

/* Let threads call an object without counting their references to it: all threads would write to the same counter.
   Use it only for objects that live as long as the interpreter and are tracked by its collector. Only free-threaded
   builds since 3.14 support it. Functions from PyModule_AddFunctions() have this property already. */
static inline void leave_uncounted(PyObject *o)
{
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030E0000
    PyUnstable_Object_EnableDeferredRefcount(o);
#else
    (void)o;
#endif
}

/* Set and get a variable that other threads may read at any time. */
#ifdef Py_GIL_DISABLED
#define SET_SHOWN(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define SHOWN(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#else
#define SET_SHOWN(field, value) ((void)((field) = (value)))
#define SHOWN(field) (field)
#endif

/* A lock without waiting: busy_take() returns false while another caller has the flag. */
typedef int busy_flag;

static inline bool busy_take(busy_flag *flag)
{
#ifdef Py_GIL_DISABLED
    return __atomic_exchange_n(flag, 1, __ATOMIC_ACQUIRE) == 0;
#else
    const bool is_free = *flag == 0;
    *flag = 1;
    return is_free;
#endif
}

static inline void busy_drop(busy_flag *flag)
{
    __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
}
