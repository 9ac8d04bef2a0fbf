/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of libzstd that compress and decompress one chunk of a stream, and the functions for
   cpkg/_native/zstd/functions.py. */
#pragma once

#include <zstd.h>
#include <zstd_errors.h>

#include "../buffers.c"
#include "../contexts.c"
#include "../format.c"

/* If the caller's limit for the output is at most this many bytes, so much memory is allocated at once. */
enum { BIG_PIECE = 8 << 20 };

/*
 * Compress a chunk; return the output as bytes. Return NULL with an exception set, or, if libzstd failed, with its
 * result in `left`.
 */
static PyObject *compress_chunk(ZSTD_CCtx *cctx, const Input *data, int mode, size_t *left)
{
    ZSTD_inBuffer in = {data->start, data->size, 0};
    size_t bound = ZSTD_compressBound(data->size);
    Output out;
    if (ZSTD_isError(bound))
        return PyErr_NoMemory();
    /* allocate the whole bound: at a frame's end, libzstd then needs no buffer of its own; else the output need not
       grow */
    int at_once = bound > (mode == ZSTD_e_end ? (size_t)SCRATCH_SIZE : 4 * (size_t)BLOCK_MAX);
    if (output_begin(&out, at_once ? bound : 0, PY_SSIZE_T_MAX) < 0)
        return NULL;
    for (;;) {
        size_t result;
        Py_BEGIN_ALLOW_THREADS
        result = ZSTD_compressStream2(cctx, &out.buffer, &in, (ZSTD_EndDirective)mode);
        Py_END_ALLOW_THREADS
        if (ZSTD_isError(result)) {
            *left = result;
            output_abandon(&out);
            return NULL;
        }
        int is_full = out.buffer.pos == out.buffer.size;
        if (mode == ZSTD_e_continue ? in.pos == in.size && !is_full : result == 0)
            return output_finish(&out);
        if (PyErr_CheckSignals() < 0) {
            output_abandon(&out);
            return NULL;
        }
        if (is_full && output_grow(&out) < 0)
            return NULL;
    }
}

/* Check the number of arguments of a function that has only positional ones; return 0, or -1 with TypeError set. */
static int check_count(const char *name, Py_ssize_t nargs, Py_ssize_t wanted)
{
    if (nargs != wanted) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, not %zd", name, wanted, nargs);
        return -1;
    }
    return 0;
}

/* The arguments of decompress_chunk() and decompress_chunk_into(). */
typedef struct {
    ZSTD_DCtx *dctx;
    Input data;
    ZSTD_inBuffer in;
    uint64_t window_max; /* the limit of a frame that begins here; 0 if no frame begins here */
    int has_magic;
} Step;

/* Read (address, data, start) from `args` and (window_max, has_magic) from `header`; return 0, or -1 with an exception
   set. */
static int step_open(Step *step, PyObject *const *args, PyObject *const *header)
{
    step->dctx = PyLong_AsVoidPtr(args[0]);
    Py_ssize_t start = PyLong_AsSsize_t(args[2]);
    step->window_max = (uint64_t)PyLong_AsSsize_t(header[0]);
    step->has_magic = header[1] == Py_True;
    if (PyErr_Occurred() || input_open(&step->data, args[1]) < 0)
        return -1;
    if (start < 0 || (size_t)start > step->data.size) {
        PyErr_SetString(PyExc_ValueError, "start is outside the data");
        input_close(&step->data);
        return -1;
    }
    step->in = (ZSTD_inBuffer){step->data.start, step->data.size, (size_t)start};
    return 0;
}

/*
 * Check the header of a new frame. If libzstd gets a whole frame and memory for its content, it decompresses the frame
 * at once, which has two effects that callers must not notice:
 * - It needs no window, so it does not check the limit of the window. This function checks the limit, and returns
 *   libzstd's error for a window that is too large; otherwise it returns 0.
 * - It may write anywhere in the output. So this function lowers `capacity` to the content's size, and never raises it.
 */
static size_t begin_frame(const Step *step, size_t *capacity)
{
    const unsigned char *src = step->in.src;
    Header header;
    if (step->window_max == 0 || read_header(src + step->in.pos, src + step->in.size, step->has_magic, &header) < 0)
        return 0;
    if (header.window > step->window_max)
        return (size_t)0 - ZSTD_error_frameParameter_windowTooLarge;
    if (header.is_declared && header.content < *capacity)
        *capacity = (size_t)header.content;
    return 0;
}

/*
 * Decompress up to the end of the frame, or at most `limit` bytes; return the output as bytes. `left` becomes libzstd's
 * result, which is 0 at the end of the frame. Return NULL with an exception set, or with an error in `left`. `expected`
 * is the size to allocate at once, or 0.
 */
static PyObject *decompress_chunk(Step *step, size_t limit, size_t expected, size_t *left)
{
    Output out;
    if (output_begin(&out, expected, limit) < 0)
        return NULL;
    size_t capacity = 0; /* not used, because the whole output is new memory */
    *left = begin_frame(step, &capacity);
    for (;;) {
        if (!ZSTD_isError(*left)) {
            Py_BEGIN_ALLOW_THREADS
            *left = ZSTD_decompressStream(step->dctx, &out.buffer, &step->in);
            Py_END_ALLOW_THREADS
        }
        if (ZSTD_isError(*left)) {
            output_abandon(&out);
            return NULL;
        }
        if (*left == 0)
            break;
        if (out.buffer.pos == out.buffer.size) {
            if (out.buffer.size == limit)
                break;
            if (PyErr_CheckSignals() < 0) {
                *left = 0;
                output_abandon(&out);
                return NULL;
            }
            if (output_grow(&out) < 0) {
                *left = 0;
                return NULL;
            }
        }
        else if (step->in.pos == step->in.size) {
            break;
        }
    }
    return output_finish(&out);
}

/*
 * stream_decompress(address, data, start, max_length, expected, window_max, has_magic)
 * -> (bytes, position, is_frame_end), or libzstd's result as an int if it is an error.
 *
 * Reads `data` from the position `start`; the result's `position` is where reading stopped. `address` is the address of
 * a ZSTD_DCtx that the caller keeps alive and locked. `expected` is the size to allocate at once, or 0. `window_max` is
 * the context's limit if a frame begins at `start`, otherwise 0. `has_magic` is whether frames have a magic number.
 */
static PyObject *stream_decompress(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (check_count("stream_decompress", nargs, 7) < 0)
        return NULL;
    Py_ssize_t max_length = PyLong_AsSsize_t(args[3]);
    Py_ssize_t expected = PyLong_AsSsize_t(args[4]);
    Step step;
    if (PyErr_Occurred() || step_open(&step, args, args + 5) < 0)
        return NULL;
    size_t limit = max_length < 0 ? PY_SSIZE_T_MAX : (size_t)max_length;
    if (expected <= 0)
        expected = max_length > SCRATCH_SIZE && max_length <= BIG_PIECE ? max_length : 0;
    size_t left = 0;
    PyObject *result = NULL, *content = decompress_chunk(&step, limit, (size_t)expected, &left);
    if (content != NULL)
        result = Py_BuildValue("(NnO)", content, (Py_ssize_t)step.in.pos, left == 0 ? Py_True : Py_False);
    else if (ZSTD_isError(left))
        result = PyLong_FromSize_t(left);
    input_close(&step.data);
    return result;
}

/* Decompress into `room` bytes of memory; return the number of bytes stored, and change nothing after them. */
static size_t decompress_chunk_into(Step *step, void *memory, size_t room, size_t *left)
{
    ZSTD_outBuffer out = {memory, room, 0};
    Py_BEGIN_ALLOW_THREADS
    *left = begin_frame(step, &out.size);
    while (!ZSTD_isError(*left)) {
        *left = ZSTD_decompressStream(step->dctx, &out, &step->in);
        out.size = room; /* after the first call, libzstd copies content from its own memory, and writes nothing else */
        if (*left == 0 || out.pos == room || step->in.pos == step->in.size)
            break;
    }
    Py_END_ALLOW_THREADS
    return out.pos;
}

/*
 * stream_decompress_into(address, data, start, buffer, window_max, has_magic) -> (written, position, is_frame_end), or
 * libzstd's result as an int if it is an error. Fills a writable buffer up to the end of a frame, and changes nothing
 * after the content.
 */
static PyObject *stream_decompress_into(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (check_count("stream_decompress_into", nargs, 6) < 0)
        return NULL;
    Step step;
    if (step_open(&step, args, args + 4) < 0)
        return NULL;
    PyObject *result = NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(args[3], &view, PyBUF_WRITABLE) < 0)
        goto done;
    size_t left;
    size_t written = decompress_chunk_into(&step, view.buf, (size_t)view.len, &left);
    PyBuffer_Release(&view);
    if (ZSTD_isError(left))
        result = PyLong_FromSize_t(left);
    else
        result = Py_BuildValue("(nnO)", (Py_ssize_t)written, (Py_ssize_t)step.in.pos, left == 0 ? Py_True : Py_False);
done:
    input_close(&step.data);
    return result;
}
