/* SPDX-License-Identifier: Apache-2.0 */
/* Where content comes from: a file that is read in chunks, or a buffer. */
#pragma once

#include <errno.h>

#include <zstd.h>

#include "../buffers.c"
#include "other_file.c"

typedef struct {
    PyObject *file; /* NULL for a buffer */
    PyObject *size; /* an int: how much to read at a time */
    PyObject *chunk;
    Input input; /* the chunk, or the buffer */
    ZSTD_inBuffer in;
    Py_ssize_t skip;           /* so many bytes are left out at the start of a file */
    size_t piece;              /* how much of a buffer is given at a time */
    unsigned long long before; /* how many bytes came before this chunk */
} Origin;

/* Begin one in zeroed memory; `given` is a file, or a buffer. Return 0, or -1 with an exception set. */
static int origin_open(Origin *source, PyObject *given, Py_ssize_t read_size, Py_ssize_t skip, size_t piece)
{
    PyObject *read = PyObject_GetAttr(given, name_read);
    if (read != NULL) {
        Py_DECREF(read);
        source->size = PyLong_FromSsize_t(read_size);
        if (source->size == NULL)
            return -1;
        source->skip = skip;
        source->file = new_ref(given);
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    if (input_open(&source->input, given) < 0)
        return -1;
    source->chunk = new_ref(given);
    if ((size_t)skip > source->input.size)
        skip = (Py_ssize_t)source->input.size;
    source->input.start += skip;
    source->input.size -= (size_t)skip;
    source->in.src = source->input.start;
    source->piece = piece;
    return 0;
}

static void origin_drop_chunk(Origin *source)
{
    input_close(&source->input);
    memset(&source->input, 0, sizeof source->input);
    Py_CLEAR(source->chunk);
    source->before += source->in.size;
    source->in = (ZSTD_inBuffer){NULL, 0, 0};
}

static int origin_traverse(Origin *source, visitproc visit, void *arg)
{
    Py_VISIT(source->file);
    Py_VISIT(source->chunk);
    Py_VISIT(source->input.view.obj);
    return 0;
}

static void origin_clear(Origin *source)
{
    origin_drop_chunk(source);
    Py_CLEAR(source->file);
    Py_CLEAR(source->size);
}

/* Read a chunk of a file into `input`; return it, or NULL with an exception set. */
static PyObject *read_chunk(PyObject *file, PyObject *size, Input *input)
{
    PyObject *chunk = PyObject_CallMethodOneArg(file, name_read, size);
    if (chunk == Py_None) {
        Py_DECREF(chunk);
        PyObject *arguments = Py_BuildValue(
            "(is)", EAGAIN, "the source has no data at the moment; a non-blocking file cannot be a source");
        if (arguments != NULL)
            PyErr_SetObject(PyExc_BlockingIOError, arguments);
        Py_XDECREF(arguments);
        return NULL;
    }
    if (chunk != NULL && input_open(input, chunk) < 0)
        Py_CLEAR(chunk);
    return chunk;
}

/* Leave out the start of a file; return 0, or -1 with an exception set. */
static int origin_skip(Origin *source)
{
    PyObject *size = PyLong_FromSsize_t(source->skip);
    PyObject *skipped = size == NULL ? NULL : PyObject_CallMethodOneArg(source->file, name_read, size);
    Py_XDECREF(size);
    if (skipped == NULL)
        return -1;
    Py_DECREF(skipped);
    source->skip = 0;
    return 0;
}

/* Refill `in`, which must be used up; return 1, 0 at the end, or -1 with an exception set. */
static int origin_fill(Origin *source)
{
    if (source->file == NULL) {
        size_t rest = source->input.size - source->in.size;
        source->in.size += rest < source->piece ? rest : source->piece;
        return rest > 0;
    }
    if (source->skip > 0 && origin_skip(source) < 0)
        return -1;
    origin_drop_chunk(source);
    source->chunk = read_chunk(source->file, source->size, &source->input);
    if (source->chunk == NULL) {
        memset(&source->input, 0, sizeof source->input);
        return -1;
    }
    source->in = (ZSTD_inBuffer){source->input.start, source->input.size, 0};
    return source->in.size > 0;
}

/* Return how many bytes were given so far. */
static unsigned long long origin_taken(const Origin *source)
{
    return source->before + source->in.size;
}
