/* SPDX-License-Identifier: Apache-2.0 */
/* What the two readers, files that read from a file or a buffer, have in common: reading. */
#pragma once

#include "file_object.c"
#include "flow.c"

enum { SKIPPED_AT_ONCE = BLOCK_MAX };

typedef struct {
    FileObject base;
    Flow flow;
    unsigned long long position;
    PyObject *failure;      /* an exception */
    int read_across_frames; /* one read goes from frame to frame */
} Reader;

static int reader_traverse(PyObject *self, visitproc visit, void *arg)
{
    Reader *reader = (Reader *)self;
    VISIT_TYPE(self);
    Py_VISIT(reader->base.file);
    Py_VISIT(reader->failure);
    return flow_traverse(&reader->flow, visit, arg);
}

static int reader_clear(PyObject *self)
{
    Reader *reader = (Reader *)self;
    reader->base.is_closed = 1;
    flow_clear(&reader->flow);
    Py_CLEAR(reader->failure);
    Py_CLEAR(reader->base.file);
    return 0;
}

static void reader_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    file_free((FileObject *)self);
}

/* Do flow_next(); what it raised once it raises from then on. */
static PyObject *reader_more(Reader *reader, Py_ssize_t limit)
{
    if (reader->failure != NULL) {
        PyException_SetTraceback(reader->failure, Py_None);
        return raise_made(new_ref(reader->failure));
    }
    PyObject *piece = flow_next(&reader->flow, limit);
    if (piece == NULL && is_zstd_error())
        reader->failure = current_exception();
    return piece;
}

/* Say whether a read may go on behind what came last. */
static int reader_goes_on(const Reader *reader)
{
    return reader->flow.is_packing || reader->read_across_frames || !reader->flow.decoder.at_start;
}

/* Join pieces, which are taken over, and count them as read. */
static PyObject *reader_given(Reader *reader, PyObject *first, PyObject *rest)
{
    PyObject *result = first;
    if (rest != NULL) {
        PyObject *empty = PyBytes_FromStringAndSize(NULL, 0);
        result = empty == NULL || PyList_Insert(rest, 0, first) < 0 ? NULL
                                                                    : PyObject_CallMethod(empty, "join", "O", rest);
        Py_XDECREF(empty);
        Py_DECREF(first);
        Py_DECREF(rest);
    }
    if (result != NULL)
        reader->position += (unsigned long long)PyBytes_GET_SIZE(result);
    return result;
}

/* Return up to `size` bytes (-1: all that is left, whatever the frames); NULL with an exception set. */
static PyObject *reader_gather(Reader *reader, Py_ssize_t size)
{
    PyObject *first = reader_more(reader, size);
    PyObject *rest = NULL;
    if (first == NULL)
        return NULL;
    Py_ssize_t total = PyBytes_GET_SIZE(first), last = total;
    while (last > 0 && (size < 0 ? PyErr_CheckSignals() == 0 : total < size && reader_goes_on(reader))) {
        PyObject *piece = reader_more(reader, size < 0 ? -1 : size - total);
        if (piece == NULL && size >= 0 && reader->failure != NULL && is_zstd_error()) {
            PyErr_Clear(); /* the next read raises it; what lies in front of the error is given before */
            break;
        }
        last = piece == NULL ? -1 : PyBytes_GET_SIZE(piece);
        total += last;
        if (last > 0 && ((rest == NULL && (rest = PyList_New(0)) == NULL) || PyList_Append(rest, piece) < 0))
            last = -1;
        Py_XDECREF(piece);
    }
    if (last < 0 || (size < 0 && PyErr_Occurred())) {
        Py_DECREF(first);
        Py_XDECREF(rest);
        return NULL;
    }
    return reader_given(reader, first, rest);
}

/* Read as `read` (is_once: as `read1`) does. */
static PyObject *reader_read_size(Reader *reader, Py_ssize_t size, int is_once)
{
    PyObject *result = NULL;
    if (file_enter(&reader->base) < 0)
        return NULL;
    if (size < -1) {
        PyErr_SetString(PyExc_ValueError, "cannot read negative amounts less than -1");
    }
    else if (size == 0) {
        result = PyBytes_FromStringAndSize(NULL, 0);
    }
    else if (is_once) {
        PyObject *piece = reader_more(reader, size == -1 ? PIECE_SIZE : size);
        result = piece == NULL ? NULL : reader_given(reader, piece, NULL);
    }
    else {
        result = reader_gather(reader, size);
    }
    turn_leave((PyObject *)reader, &reader->base.turn);
    return result;
}

/* Read and drop so many bytes, as far as there are; return 0, or -1 with an exception set. */
static int reader_skip(Reader *reader, unsigned long long left)
{
    while (left > 0) {
        PyObject *piece = reader_more(reader, left < SKIPPED_AT_ONCE ? (Py_ssize_t)left : SKIPPED_AT_ONCE);
        if (piece == NULL || PyErr_CheckSignals() < 0) {
            Py_XDECREF(piece);
            return -1;
        }
        Py_ssize_t size = PyBytes_GET_SIZE(piece);
        Py_DECREF(piece);
        if (size == 0)
            return 0;
        left -= (unsigned long long)size;
        reader->position += (unsigned long long)size;
    }
    return 0;
}
