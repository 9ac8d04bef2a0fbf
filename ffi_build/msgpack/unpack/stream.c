/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an Unpacker, and its input: the buffer, which is filled from feed() or a file. */
#pragma once

#include "../common/formats.c"
#include "../common/options.c"
#include "../common/state.c"
#include "functions.c"
#include "huge_pages.c"
#include "parser_state.c"

/* An Unpacker without unread data frees its buffer if the buffer is larger than this. */
#define IDLE_CAPACITY (16 * 1024)

enum unpack_mode { MODE_NONE, MODE_UNPACK, MODE_SKIP, MODE_RAW, MODE_ARRAY_HEADER, MODE_MAP_HEADER };

typedef struct {
    PyObject_HEAD
    UnpackOptions options; /* owns its objects */
    Parser ps;
    unsigned char *buffer;
    Py_ssize_t head, tail, capacity; /* buffer[head..tail) is not consumed */
    uint64_t base;                   /* offset of buffer[0] in the stream */
    uint64_t floor;                  /* the offset of `head` when data was last added */
    uint64_t start;                  /* offset of the current or last object */
    Py_ssize_t header_read;          /* see unpacker_count_header() */
    uint64_t position;               /* the result of tell(), which other threads may call during an operation */
    ArenasAhead *ahead;              /* the arenas for a large incomplete object, else NULL */
    enum unpack_mode mode;           /* the operation that has begun an incomplete object and must continue it */
    busy_flag busy;
} Unpacker;

/* Return how many bytes of a cut value's header count as read for tell(), as in msgpack: the first byte, and the length
   field once it is complete. Data that feed() adds later does not change this number. */
static Py_ssize_t unpacker_count_header(const Unpacker *self)
{
    if (self->mode != MODE_UNPACK && self->mode != MODE_SKIP && self->mode != MODE_RAW)
        return 0;
    if (self->head == self->tail)
        return 0;
    FormatHeader h;
    return read_header(self->buffer + self->head, (size_t)(self->tail - self->head), &h) ? (Py_ssize_t)h.size : 1;
}

/* Return the position of the first byte in the buffer that is still needed. A Raw is copied from the buffer only when
   it is complete, so its skipped bytes are needed. */
static Py_ssize_t unpacker_keep(const Unpacker *self)
{
    if (self->ps.skipping && !self->ps.discard)
        return (Py_ssize_t)(self->ps.skip_start - self->base);
    return self->head;
}

static int unpacker_full(const Unpacker *self)
{
    PyErr_Format(S.BufferFull, "more than max_buffer_size(%zd) bytes wait to be unpacked",
                 self->options.max_buffer_size);
    return -1;
}

static int unpacker_append(Unpacker *self, const unsigned char *data, Py_ssize_t size)
{
    Py_ssize_t waiting = self->tail - self->head - self->header_read;
    if (size > self->options.max_buffer_size - waiting)
        return unpacker_full(self);
    self->floor = self->base + (uint64_t)self->head;
    if (size > self->capacity - self->tail) {
        Py_ssize_t keep = unpacker_keep(self), kept = self->tail - keep;
        /* Move the bytes that are still needed to the front if there are no more of them than consumed bytes, else
           grow. */
        if (keep > 0 && kept <= keep) {
            memmove(self->buffer, self->buffer + keep, (size_t)kept);
            self->base += (uint64_t)keep;
            self->head -= keep;
            self->tail = kept;
        }
        if (size > self->capacity - self->tail) {
            Py_ssize_t capacity = self->tail + size;
            if (capacity < PY_SSIZE_T_MAX / 2 && self->tail > 0)
                capacity += capacity;
            if (memory_grow(&self->buffer, &self->capacity, capacity) < 0)
                return -1;
        }
    }
    if (size > 0) /* otherwise there may be no buffer yet */
        memcpy(self->buffer + self->tail, data, (size_t)size);
    self->tail += size;
    return 0;
}

static ALWAYS_INLINE void unpacker_publish(Unpacker *self)
{
    SET_SHOWN(self->position, self->base + (uint64_t)(self->head + self->header_read));
}

/* End an operation: if everything was consumed, empty the buffer, and free it if it is large. */
static ALWAYS_INLINE void unpacker_settle(Unpacker *self)
{
    if (self->head == self->tail && unpacker_keep(self) == self->head) {
        self->base += (uint64_t)self->head;
        self->head = self->tail = 0;
        if (UNLIKELY(self->ps.view != NULL))
            Py_CLEAR(self->ps.view);
        if (UNLIKELY(self->capacity > IDLE_CAPACITY)) {
            PyMem_Free(self->buffer);
            self->buffer = NULL;
            self->capacity = 0;
        }
    }
    unpacker_publish(self);
}

/* Call the file's read(size); return 1 if it returned data, which `view` then holds, 0 at the end of the file, or -1 with
   an exception set. Bytes may be lost unless the file raised an Exception or its result is refused. */
static int unpacker_call_read(Unpacker *self, Py_ssize_t size, Py_buffer *view)
{
    PyObject *count = PyLong_FromSsize_t(size);
    PyObject *data = count ? PyObject_CallMethodObjArgs(self->options.file_like, S.str_read, count, NULL) : NULL;
    Py_XDECREF(count);
    int some = data ? PyObject_IsTrue(data) : -1;
    if (some < 0)
        self->ps.broken = data || !PyErr_ExceptionMatches(PyExc_Exception);
    else if (some && input_get(data, view) < 0) {
        self->ps.broken = !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
                          !PyErr_ExceptionMatches(PyExc_BufferError);
        some = -1;
    }
    Py_XDECREF(data);
    return some;
}

/* Read more data from the file, and forget the file at its end; return 0, or -1 with an exception set. */
static int unpacker_read_file(Unpacker *self)
{
    Py_ssize_t room = self->options.max_buffer_size - (self->tail - self->head - self->header_read);
    if (room <= 0)
        return unpacker_full(self);
    Py_buffer view;
    int some = unpacker_call_read(self, room < self->options.read_size ? room : self->options.read_size, &view);
    if (some > 0) {
        some = unpacker_append(self, view.buf, view.len);
        self->ps.broken = some < 0 && PyErr_ExceptionMatches(PyExc_MemoryError);
        PyBuffer_Release(&view);
    }
    else if (some == 0)
        Py_CLEAR(self->options.file_like);
    return some;
}
