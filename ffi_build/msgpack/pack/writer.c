/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The growing output of one packing call.
 *
 * A message starts in a scratch buffer that is kept between calls. If it fits, it is copied once, into a bytes object
 * of its size. A longer message moves into a bytes object, which grows with realloc (large blocks are moved by
 * remapping their pages) and is cut to the message's size at the end, without a copy. Its first size is what the last
 * long message needed, so messages of the same size reuse one block of the heap. For a larger first size, glibc would
 * map and unmap fresh pages for each message, which takes up to five times as long as packing.
 *
 * Packing functions take the write position and return it (NULL after an error), so that it stays in a register.
 */
#pragma once

#include <msgpack/sysdep.h>
#include <msgpack/timestamp.h>

#include "../../common/compat.c"
#include "../common/state.c"

/* The templates of msgpack-c write headers and numbers. Their argument "user" is the write position. The caller has
   reserved HEADER_MAX bytes, so that appending is one store. */
#define HEADER_MAX 9
#define msgpack_pack_user unsigned char *
#define msgpack_pack_inline_func(name) static ALWAYS_INLINE unsigned char *write##name
#define msgpack_pack_inline_func_cint(name) static inline unsigned char *write##name
#define msgpack_pack_inline_func_fixint(name) static inline unsigned char *write_fix##name
#define msgpack_pack_append_buffer(position, data, size) \
    do { \
        memcpy((position), (data), (size)); \
        return (position) + (size); \
    } while (0)
/* only the template's function for timestamps calls this; it expects a stream that advances by itself, and is not
   used */
#define msgpack_pack_ext(x, size, type) (void)write_ext(x, size, type)
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wpointer-sign"
#endif
#include <msgpack/pack_template.h>
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#undef msgpack_pack_ext

#define SCRATCH_SIZE (256 * 1024)
#define PACK_LENGTH_MAX 0xffffffffu

/* The memory that the last message outside the scratch buffer needed, if it was at most LAST_LONG_MAX: for more, glibc
   always maps fresh pages. Only a first guess for the next message, so threads may overwrite it at any time. */
#define LAST_LONG_MAX (32 * 1024 * 1024)
#define RESERVED_MAX 32 /* for the last value of a message, up to so much more room is reserved than it needs */
static size_t last_long;

#ifdef Py_GIL_DISABLED
/* Each of up to SCRATCHES threads has its own scratch buffer. More threads share them: while one thread uses a buffer,
   the other packs without one, like a hook that packs inside a call. The slots do not share cache lines. */
#define SCRATCHES 16
static struct {
    _Alignas(64) unsigned char *spare; /* NULL while a call uses it */
    int made;
} scratches[SCRATCHES];
static unsigned threads_seen;
static _Thread_local unsigned thread_number; /* 0: not known yet */

static unsigned char *scratch_take(void)
{
    if (UNLIKELY(thread_number == 0))
        thread_number = 1 + __atomic_fetch_add(&threads_seen, 1, __ATOMIC_RELAXED) % SCRATCHES;
    unsigned place = thread_number - 1;
    unsigned char *scratch = __atomic_exchange_n(&scratches[place].spare, NULL, __ATOMIC_ACQUIRE);
    if (UNLIKELY(!scratch) && !__atomic_exchange_n(&scratches[place].made, 1, __ATOMIC_RELAXED)) {
        scratch = PyMem_RawMalloc(SCRATCH_SIZE);
        if (!scratch)
            __atomic_store_n(&scratches[place].made, 0, __ATOMIC_RELAXED);
    }
    return scratch;
}
/* Give back a scratch buffer, from the thread that took it. */
static void scratch_give(unsigned char *scratch)
{
    __atomic_store_n(&scratches[thread_number - 1].spare, scratch, __ATOMIC_RELEASE);
}
#else
static unsigned char *spare_scratch; /* NULL while a call uses it */

static ALWAYS_INLINE unsigned char *scratch_take(void)
{
    unsigned char *scratch = spare_scratch;
    spare_scratch = NULL;
    return scratch;
}
static ALWAYS_INLINE void scratch_give(unsigned char *scratch)
{
    spare_scratch = scratch;
}
#endif

/* Create the scratch buffer, at import; return 0, or -1 with an exception set. */
static int scratch_make(void)
{
#ifndef Py_GIL_DISABLED
    if (!spare_scratch && !(spare_scratch = PyMem_RawMalloc(SCRATCH_SIZE))) {
        PyErr_NoMemory();
        return -1;
    }
#endif
    return 0;
}

typedef struct {
    unsigned char *start, *end; /* the memory for the message */
    unsigned char *scratch;     /* NULL if another call has it: one whose hook packs, or one of another thread */
    PyObject *bytes;            /* the object that `start` points into, once the message has left the scratch buffer */
    uint64_t limit;             /* max_total_bytes */
} Writer;

static unsigned char bytes_of_nothing[1];

/* Start an output, and return the first write position. */
static ALWAYS_INLINE unsigned char *writer_start(Writer *w, Py_ssize_t limit)
{
    w->scratch = scratch_take();
    w->bytes = NULL;
    w->limit = limit < 0 ? UINT64_MAX : (uint64_t)limit;
    w->start = w->scratch ? w->scratch : bytes_of_nothing;
    w->end = w->scratch ? w->scratch + SCRATCH_SIZE : w->start;
    return w->start;
}

static ALWAYS_INLINE void writer_drop(Writer *w)
{
    if (w->scratch)
        scratch_give(w->scratch);
    Py_XDECREF(w->bytes);
}

static int writer_check_limit(const Writer *w, size_t size)
{
    if (size <= w->limit)
        return 0;
    PyErr_Format(S.LimitError, "the packed object exceeds max_total_bytes(%llu)", (unsigned long long)w->limit);
    return -1;
}

/* Make room for `need` bytes at `p`; return the new write position, or NULL with an exception set. */
static NEVER_INLINE unsigned char *writer_grow(Writer *w, unsigned char *p, size_t need)
{
    size_t used = (size_t)(p - w->start);
    size_t capacity = (size_t)(w->end - w->start);
    if (writer_check_limit(w, used) < 0)
        return NULL;
    if (need > (size_t)PY_SSIZE_T_MAX / 2 - used) {
        PyErr_NoMemory();
        return NULL;
    }
    size_t wanted;
    if (used <= HEADER_MAX && need >= SCRATCH_SIZE)
        wanted = used + need; /* a single large str or bin: allocate exactly its size */
    else {
        wanted = capacity < 4 * SCRATCH_SIZE ? 4 * capacity : 2 * capacity;
        if (wanted < used + need)
            wanted = used + need + (used + need) / 4;
        if (wanted < 512)
            wanted = 512;
        const size_t last = SHOWN(last_long);
        if (w->start == w->scratch && last >= used + need)
            wanted = last;
    }
    if (w->bytes) {
        if (_PyBytes_Resize(&w->bytes, (Py_ssize_t)wanted) < 0)
            return NULL;
    }
    else {
        w->bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)wanted);
        if (!w->bytes)
            return NULL;
        memcpy(PyBytes_AS_STRING(w->bytes), w->start, used);
    }
    w->start = (unsigned char *)PyBytes_AS_STRING(w->bytes);
    w->end = w->start + wanted;
    return w->start + used;
}

/* Return the message as bytes; drop the writer in any case. */
static ALWAYS_INLINE PyObject *writer_finish(Writer *w, unsigned char *p)
{
    Py_ssize_t size = p - w->start;
    PyObject *result;
    if (UNLIKELY((uint64_t)size > w->limit)) {
        writer_check_limit(w, (size_t)size);
        result = NULL;
    }
    else if (w->bytes) {
        result = w->bytes;
        w->bytes = NULL;
        if (PyBytes_GET_SIZE(result) != size)
            _PyBytes_Resize(&result, size);
        if (size > SCRATCH_SIZE && size <= LAST_LONG_MAX)
            SET_SHOWN(last_long, (size_t)size + RESERVED_MAX);
    }
    else
        result = PyBytes_FromStringAndSize((const char *)w->start, size);
    writer_drop(w);
    return result;
}
