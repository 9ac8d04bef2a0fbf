/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of CPython 3.9 to 3.15 that the codec uses: ints, dicts, the garbage collector, the C stack. */
#pragma once

#if defined(__GLIBC__) || defined(__APPLE__) || defined(__FreeBSD__)
#include <pthread.h>
#ifdef __FreeBSD__
#include <pthread_np.h>
#endif
#elif defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#endif

#include <msgpack/sysdep.h>

#include "../../common/compat.c"

/* ---- ints ---- */

static ALWAYS_INLINE bool digits_value(const digit *digits, Py_ssize_t size, uint64_t *magnitude)
{
    uint64_t value;
    if (LIKELY(size == 2)) {
        *magnitude = (uint64_t)digits[1] << PyLong_SHIFT | digits[0];
        return true;
    }
    if (size > (64 + PyLong_SHIFT - 1) / PyLong_SHIFT)
        return false;
    value = 0;
    for (Py_ssize_t i = size; i-- > 0;) {
        if (value >> (64 - PyLong_SHIFT))
            return false;
        value = value << PyLong_SHIFT | digits[i];
    }
    *magnitude = value;
    return true;
}

/* Read an int's magnitude and sign; return false if the magnitude needs more than 64 bits. Never calls Python code. */
static ALWAYS_INLINE bool int_parts(PyObject *o, uint64_t *magnitude, bool *negative)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (LIKELY(PyUnstable_Long_IsCompact((PyLongObject *)o))) {
        Py_ssize_t value = PyUnstable_Long_CompactValue((PyLongObject *)o);
        *negative = value < 0;
        *magnitude = value < 0 ? (uint64_t)-value : (uint64_t)value;
        return true;
    }
    const digit *digits = ((PyLongObject *)o)->long_value.ob_digit;
    const uintptr_t tag = ((PyLongObject *)o)->long_value.lv_tag;
    const Py_ssize_t size = (Py_ssize_t)(tag >> _PyLong_NON_SIZE_BITS);
    *negative = (tag & _PyLong_SIGN_MASK) == 2;
    return digits_value(digits, size, magnitude);
#else
    const digit *digits = ((PyLongObject *)o)->ob_digit;
    Py_ssize_t size = Py_SIZE(o);
    *negative = size < 0;
    size = size < 0 ? -size : size;
    if (LIKELY(size <= 1)) {
        *magnitude = size ? digits[0] : 0;
        return true;
    }
    return digits_value(digits, size, magnitude);
#endif
}

/* Write the 16 bytes of an int from 0 to 2**128 - 1; return false for any other int. */
static inline bool int_to_bytes16(PyObject *o, unsigned char *to)
{
#if PyLong_SHIFT == 30
    uint64_t high, low;
#if PY_VERSION_HEX >= 0x030C0000
    const digit *digits = ((PyLongObject *)o)->long_value.ob_digit;
    const uintptr_t tag = ((PyLongObject *)o)->long_value.lv_tag;
    const Py_ssize_t size = (tag & _PyLong_SIGN_MASK) == 2 ? -1 : (Py_ssize_t)(tag >> _PyLong_NON_SIZE_BITS);
#else
    const digit *digits = ((PyLongObject *)o)->ob_digit;
    const Py_ssize_t size = Py_SIZE(o);
#endif
    uint64_t d[5] = {0};
    if (size < 0 || size > 5 || (size == 5 && digits[4] >> 8))
        return false;
    for (Py_ssize_t i = 0; i < size; i++)
        d[i] = digits[i];
    low = d[0] | d[1] << 30 | d[2] << 60;
    high = d[2] >> 4 | d[3] << 26 | d[4] << 56;
    _msgpack_store64(to, high);
    _msgpack_store64(to + 8, low);
    return true;
#else
    (void)o;
    (void)to;
    return false;
#endif
}

/* ---- dicts ---- */

/* Return a new dict with room for `n` pairs, or NULL with an exception set. The smallest dict has room for five. */
static inline PyObject *dict_new(Py_ssize_t n)
{
#if PY_VERSION_HEX < 0x03100000
    if (n > 5)
        return _PyDict_NewPresized(n);
#else
    (void)n;
#endif
    return PyDict_New();
}

/* Return how many pairs at least fit in a dict from dict_new(n) before its table grows. */
static inline size_t dict_room(Py_ssize_t n)
{
#if PY_VERSION_HEX < 0x03100000
    const Py_ssize_t most = (1 << 17) * 2 / 3;
    if (n > 5)
        return (size_t)(n < most ? n : most);
#else
    (void)n;
#endif
    return 5;
}

/* ---- the cyclic garbage collector ---- */

/* Decoding creates no reference cycles, so garbage collections during it visit the new objects in vain, and would take
   a quarter to three quarters of the time. So gc_hold() turns the collector off for messages above some size, with the
   GIL only. Python code of others must not observe that, so the collector is on again while such code runs. */
#define GC_HOLD_BYTES 1024

static inline bool gc_hold(Py_ssize_t message_size);
static inline void gc_resume(bool held);

#if defined(Py_GIL_DISABLED)
static inline bool gc_hold(Py_ssize_t message_size)
{
    (void)message_size;
    return false;
}
static inline void gc_resume(bool held)
{
    (void)held;
}
#elif PY_VERSION_HEX >= 0x030A0000
static inline bool gc_hold(Py_ssize_t message_size)
{
    return message_size >= GC_HOLD_BYTES && PyGC_Disable();
}
static inline void gc_resume(bool held)
{
    if (held)
        PyGC_Enable();
}
#else
static PyObject *gc_isenabled, *gc_disable, *gc_enable;

static inline bool gc_hold(Py_ssize_t message_size)
{
    /* In 3.9 only the module gc has these functions; calling them costs more, so the message must be larger. */
    if (message_size < 4 * GC_HOLD_BYTES)
        return false;
    PyObject *enabled = PyObject_CallObject(gc_isenabled, NULL);
    bool held = enabled == Py_True;
    Py_XDECREF(enabled);
    if (held) {
        PyObject *done = PyObject_CallObject(gc_disable, NULL);
        held = done != NULL;
        Py_XDECREF(done);
    }
    PyErr_Clear();
    return held;
}
static inline void gc_resume(bool held)
{
    if (!held)
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *done = PyObject_CallObject(gc_enable, NULL);
    Py_XDECREF(done);
    PyErr_Restore(type, value, traceback);
}
#endif

/* ---- unfinished containers ---- */

/* How to hide a list or tuple from Python code while it is filled; see unpack/parser_state.c. */
enum guard {
    GUARD_NONE, /* no Python code can run */
    GUARD_HOLD, /* only finalizers can run: turn the collector off before the first list or tuple */
    GUARD_HIDE, /* let the collector not track the list or tuple */
};

/* Return how to hide containers while no hook is called. Up to 3.11 the garbage collector, and with it finalizers, may
   run whenever a container is created; since 3.12 the collector runs only in the interpreter's loop. */
static inline enum guard guard_of(bool gc_held)
{
#if defined(Py_GIL_DISABLED)
    (void)gc_held;
    return GUARD_HIDE;
#elif PY_VERSION_HEX >= 0x030C0000
    (void)gc_held;
    return GUARD_NONE;
#elif PY_VERSION_HEX >= 0x030A0000
    return gc_held ? GUARD_NONE : GUARD_HOLD;
#else
    return gc_held ? GUARD_NONE : GUARD_HIDE;
#endif
}

/* ---- the C stack ---- */

#if defined(__GNUC__) || defined(__clang__)
#define STACK_POSITION() ((uintptr_t)__builtin_frame_address(0)) /* with sanitizers, local variables may be elsewhere */
#else
#define STACK_POSITION() UINTPTR_MAX
#endif

/* Bytes reserved for code that the deepest level calls, and for larger frames of sanitizers; half of a small stack. */
#define STACK_MARGIN (192 * 1024)

/* Return the lowest address to which this thread's stack may grow, or 1 if it is unknown. Takes microseconds. */
static NEVER_INLINE uintptr_t stack_floor_find(void)
{
    uintptr_t floor = 0;
    size_t size = 0;
#if defined(__APPLE__)
    size = pthread_get_stacksize_np(pthread_self());
    floor = (uintptr_t)pthread_get_stackaddr_np(pthread_self()) - size;
#elif defined(__GLIBC__) || defined(__FreeBSD__)
    pthread_attr_t attributes;
    void *address;
#ifdef __FreeBSD__
    if (pthread_attr_init(&attributes) != 0)
        return 1;
    if (pthread_attr_get_np(pthread_self(), &attributes) == 0 &&
#else
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 1;
    if (
#endif
        pthread_attr_getstack(&attributes, &address, &size) == 0)
        floor = (uintptr_t)address;
    pthread_attr_destroy(&attributes);
#elif defined(_WIN32)
    MEMORY_BASIC_INFORMATION found;
    if (VirtualQuery(&found, &found, sizeof(found)) != 0)
        floor = (uintptr_t)found.AllocationBase;
#endif
    return floor ? floor + (size && size / 2 < STACK_MARGIN ? size / 2 : STACK_MARGIN) : 1;
}

/* Return stack_floor_find(), cached for each thread. Recursive functions compare their position with it. */
static ALWAYS_INLINE uintptr_t stack_floor(void)
{
    static _Thread_local uintptr_t kept; /* 0: not known yet */
    if (UNLIKELY(!kept))
        kept = stack_floor_find();
    return kept;
}
