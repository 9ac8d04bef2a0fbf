/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a Packer method: its start, its output, and its end. */
#pragma once

#include "../common/options.c"
#include "../common/state.c"
#include "objects.c"
#include "writer.c"

/* A packing call in progress, on the C stack. It has its own output and changes the Packer only at its end, so that
   threads can share a Packer. Only a call from inside another call of the same thread (`default`, a conversion) is
   refused. */
typedef struct Packing {
    struct Packing *outer;
    unsigned long thread;
} Packing;

typedef struct {
    PyObject_HEAD
    PackOptions options; /* owns its objects */
    unsigned char *data; /* with autoreset=False, the collected bytes */
    Py_ssize_t size, capacity;
    Py_ssize_t exports; /* buffers that refer to `data` */
    Packing *under_way;
} Packer;

static NEVER_INLINE bool packer_called_from_within(Packer *self, const char *method)
{
    const unsigned long thread = PyThread_get_thread_ident();
    for (Packing *p = self->under_way; p; p = p->outer)
        if (p->thread == thread) {
            PyErr_Format(PyExc_RuntimeError, "Packer.%s() cannot be called while packing is in progress", method);
            return true;
        }
    return false;
}

static bool packer_can_change(Packer *self)
{
    if (LIKELY(self->exports == 0))
        return true;
    PyErr_SetString(PyExc_BufferError, "Existing exports of data: Packer cannot be changed");
    return false;
}

/* Check whether a method may change the Packer; return false with an exception set. In a free-threaded build the caller
   holds the Packer's lock. */
static ALWAYS_INLINE bool packer_check(Packer *self, const char *method)
{
    return (LIKELY(!self->under_way) || !packer_called_from_within(self, method)) && packer_can_change(self);
}

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define LEFT_BEFORE_RETURN _Pragma("GCC diagnostic ignored \"-Wdangling-pointer\"")
#else
#define LEFT_BEFORE_RETURN
#endif

/* gcc warns because the Packer keeps a pointer to `call`; it does not see that packer_leave() removes the pointer */
LEFT_BEFORE_RETURN static bool packer_enter(Packer *self, Packing *call, const char *method)
{
    bool entered;
    WITH_LOCKED(self)
    entered = packer_check(self, method);
    if (LIKELY(entered)) {
        call->thread = PyThread_get_thread_ident();
        call->outer = self->under_way;
        self->under_way = call;
    }
    END_LOCKED()
    return entered;
}

/* Remove a call from the Packer's calls, which may end in any order because of threads. */
static void packer_leave(Packer *self, Packing *call)
{
    Packing **link = &self->under_way;
    while (*link != call)
        link = &(*link)->outer;
    *link = call->outer;
}

static int packer_append(Packer *self, const unsigned char *data, Py_ssize_t size)
{
    if (self->options.buffer) {
        PyObject *buffer = new_ref(self->options.buffer);
        int resized;
        WITH_LOCKED(buffer)
        Py_ssize_t end = PyByteArray_GET_SIZE(buffer);
        resized = PyByteArray_Resize(buffer, end + size);
        if (resized == 0)
            memcpy(PyByteArray_AS_STRING(buffer) + end, data, (size_t)size);
        END_LOCKED()
        Py_DECREF(buffer);
        return resized;
    }
    if (size > self->capacity - self->size) {
        Py_ssize_t capacity = self->size + size;
        if (capacity < PY_SSIZE_T_MAX / 2)
            capacity += capacity / 2;
        if (memory_grow(&self->data, &self->capacity, capacity) < 0)
            return -1;
    }
    memcpy(self->data + self->size, data, (size_t)size);
    self->size += size;
    return 0;
}

/* Return the result of a call: bytes, or None after appending the bytes to the Packer's. Drops the writer. */
static PyObject *packer_result(Packer *self, Writer *w, unsigned char *p)
{
    PyObject *result = NULL;
    if (LIKELY(self->options.autoreset && !self->options.buffer))
        return writer_finish(w, p);
    if (writer_check_limit(w, (size_t)(p - w->start)) == 0 && packer_can_change(self) &&
        packer_append(self, w->start, p - w->start) == 0)
        result = new_ref(Py_None);
    writer_drop(w);
    return result;
}

/* End a call that began with packer_enter(), and return its result; `p` is NULL after an error. A failure empties the
   Packer's own buffer, as in msgpack, but not a bytearray of the caller. */
static PyObject *packer_deliver(Packer *self, Packing *call, Encoder *c, unsigned char *p)
{
    PyObject *result = NULL;
    WITH_LOCKED(self)
    packer_leave(self, call);
    if (LIKELY(p != NULL))
        result = packer_result(self, &c->w, p);
    else
        writer_drop(&c->w);
    if (UNLIKELY(!result) && self->exports == 0)
        self->size = 0;
    END_LOCKED()
    return result;
}
