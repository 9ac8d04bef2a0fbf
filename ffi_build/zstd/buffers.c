/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a call reads from and the memory that it writes to. */
#pragma once

#include <zstd.h>

#include "../common/compat.c"
#include "../common/contiguous.c"
#include "contexts.c"
#include "memory.c"

/*
 * An output of unknown length. It starts in the scratch buffer, so that a short output is copied once into bytes of its
 * size. A long output continues in bytes that grow by half each time (realloc() moves pages and does not copy them).
 */
typedef struct {
    ZSTD_outBuffer buffer;
    Kept *kept;
    char *scratch;
    PyObject *bytes;
    size_t limit;
} Output;

static int output_allocate(Output *out, size_t size)
{
    out->bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (out->bytes == NULL)
        return -1;
    out->buffer.dst = PyBytes_AS_STRING(out->bytes);
    out->buffer.size = size;
    cpkg_advise_huge_pages(out->buffer.dst, size);
    return 0;
}

/*
 * Start an output of at most `limit` bytes, with memory for `expected` bytes, or in the scratch buffer if `expected` is
 * 0. Return 0, or -1 with an exception set.
 */
static int output_begin(Output *out, size_t expected, size_t limit)
{
    memset(out, 0, sizeof *out);
    out->kept = kept_here();
    if (out->kept == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    out->limit = limit;
    if (expected > 0)
        return output_allocate(out, expected < limit ? expected : limit);
    out->scratch = take_scratch(out->kept);
    if (out->scratch == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    out->buffer.dst = out->scratch;
    out->buffer.size = limit < SCRATCH_SIZE ? limit : SCRATCH_SIZE;
    return 0;
}

static void output_abandon(Output *out)
{
    if (out->scratch != NULL) {
        give_scratch(out->kept, out->scratch);
        out->scratch = NULL;
    }
    Py_CLEAR(out->bytes);
}

/* Enlarge an output whose size is below the limit; on failure, free the output and return -1 with an exception set. */
static int output_grow(Output *out)
{
    size_t size = out->buffer.size;
    size_t more = size < (size_t)PY_SSIZE_T_MAX / 2 ? size / 2 : 0;
    if (more < 4 * (size_t)BLOCK_MAX)
        more = 4 * (size_t)BLOCK_MAX;
    if (more > out->limit - size)
        more = out->limit - size;
    size += more;
    if (out->scratch != NULL) {
        char *scratch = out->scratch;
        if (output_allocate(out, size) < 0) {
            output_abandon(out);
            return -1;
        }
        memcpy(out->buffer.dst, scratch, out->buffer.pos);
        out->scratch = NULL;
        give_scratch(out->kept, scratch);
        return 0;
    }
    if (_PyBytes_Resize(&out->bytes, (Py_ssize_t)size) < 0)
        return -1;
    out->buffer.dst = PyBytes_AS_STRING(out->bytes);
    out->buffer.size = size;
    cpkg_advise_huge_pages(out->buffer.dst, size);
    return 0;
}

static PyObject *output_finish(Output *out)
{
    if (out->scratch != NULL) {
        PyObject *result = PyBytes_FromStringAndSize(out->scratch, (Py_ssize_t)out->buffer.pos);
        output_abandon(out);
        return result;
    }
    if (out->buffer.pos != out->buffer.size && _PyBytes_Resize(&out->bytes, (Py_ssize_t)out->buffer.pos) < 0)
        return NULL;
    return out->bytes;
}

/* An input: a bytes object, which the caller keeps alive, or another object whose contiguous buffer is held in
   `view`. */
typedef struct {
    const char *start;
    size_t size;
    Py_buffer view;
} Input;

static int input_open(Input *in, PyObject *data)
{
    if (PyBytes_CheckExact(data)) {
        in->start = PyBytes_AS_STRING(data);
        in->size = (size_t)PyBytes_GET_SIZE(data);
        in->view.obj = NULL;
        return 0;
    }
    if (contiguous_open(data, &in->view) < 0)
        return -1;
    in->start = in->view.buf;
    in->size = (size_t)in->view.len;
    return 0;
}

static void input_close(Input *in)
{
    if (in->view.obj != NULL)
        PyBuffer_Release(&in->view);
}

/*
 * Read the only argument of a buffer type's initializer, a bytearray, and hold its memory; return 0, or -1 with an
 * exception set. `format` is "O!:" followed by the type's name.
 */
static int take_memory(Py_buffer *held, PyObject *args, const char *format)
{
    PyObject *memory;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, format, &PyByteArray_Type, &memory))
        return -1;
    if (held->obj != NULL) {
        PyErr_Format(PyExc_RuntimeError, "%s is already initialized", format + sizeof "O!:" - 1);
        return -1;
    }
    if (PyObject_GetBuffer(memory, &view, PyBUF_WRITABLE) < 0)
        return -1;
    *held = view;
    return 0;
}
