/* SPDX-License-Identifier: Apache-2.0 */
/* Presets for decompression: limits and a dictionary, and a context with the dictionary (see presets.c). */
#pragma once

#include <zstd.h>

#include "../common/objects.c"
#include "arguments.c"
#include "buffers.c"
#include "contexts.c"
#include "format.c"
#include "presets.c"
#include "short_calls.c"

typedef struct {
    PyObject_HEAD
    void *context; /* a ZSTD_DCtx * */
    int is_ready;
    int has_dictionary; /* if false, the contexts of threads are used */
    int serves_one;     /* only one stream uses the preset: the thread keeps the context afterwards */
    uint64_t window_max;
} DecompressionPreset;

static PyTypeObject *decompression_preset_type;

/* Return whether the settings are libzstd's defaults, so that any thread's context can be used. */
static int is_default(const DecompressionPreset *preset)
{
    return preset->is_ready && !preset->has_dictionary && preset->window_max == WINDOW_SIZE_MAX_DEFAULT;
}

/* _set_up(window_max, has_dictionary): store the settings; Python calls this once, before any other method. Without
   this call, all other calls are passed to Python. */
static PyObject *decompression_set_up(PyObject *self, PyObject *args)
{
    DecompressionPreset *preset = (DecompressionPreset *)self;
    unsigned long long window_max;
    int has_dictionary;
    if (!PyArg_ParseTuple(args, "Kp:_set_up", &window_max, &has_dictionary))
        return NULL;
    if (preset->is_ready) {
        PyErr_SetString(PyExc_RuntimeError, "the preset is already initialized");
        return NULL;
    }
    preset->window_max = window_max;
    preset->has_dictionary = has_dictionary;
    preset->is_ready = 1;
    Py_RETURN_NONE;
}

/* _retire(): pass all further calls to Python, because the settings change. A context with the old settings is no
   longer used. */
static PyObject *decompression_retire(PyObject *self, PyObject *Py_UNUSED(unused))
{
    ((DecompressionPreset *)self)->is_ready = 0;
    Py_RETURN_NONE;
}

static void decompression_preset_dealloc(PyObject *self)
{
    DecompressionPreset *preset = (DecompressionPreset *)self;
    settle_dctx(NULL, is_default(preset), preset->context); /* a plain context is kept for other presets */
    object_free(self);
}

/* Measure the frame at the start of an input; return 0, or -1 if the input takes the slow path. */
static ALWAYS_INLINE int preset_measure(const DecompressionPreset *preset, const Input *in, Frame *frame)
{
    const unsigned char *src = (const unsigned char *)in->start;
    if (!preset->is_ready || in->size < 4 || little_endian(src, 4) != FRAME_MAGIC)
        return -1;
    return measure_frame(src, src + in->size, preset->window_max, preset->has_dictionary, frame);
}

/*
 * Decompress a measured frame (or, without a preset, several frames) with at most `capacity` bytes of content. Return
 * the content as bytes. Return NULL with an exception set, or without one if the input takes the slow path. Without a
 * preset, `tables` are the tables of a dictionary, or NULL.
 */
static ALWAYS_INLINE PyObject *unpack(DecompressionPreset *preset, const char *src, const Frame *frame,
                                      const ZSTD_DDict *tables, size_t capacity)
{
    const int has_dictionary = preset != NULL && preset->has_dictionary;
    Output out;
    /* allocate a declared size directly; if only a small upper bound is known, use the scratch buffer */
    if (output_begin(&out, capacity <= SCRATCH_SIZE && !frame->is_declared ? 0 : capacity, capacity) < 0)
        return NULL;
    ZSTD_DCtx *dctx = has_dictionary ? place_take(&preset->context) : take_dctx(out.kept);
    if (dctx == NULL)
        dctx = has_dictionary ? new_context((PyObject *)preset) : (void *)PyErr_NoMemory();
    if (dctx == NULL) {
        output_abandon(&out);
        return NULL;
    }
    size_t written;
    ALLOW_THREADS_UNLESS(frame->size <= SHORT_MAX && capacity <= SHORT_MAX)
    if (has_dictionary)
        written = ZSTD_decompressDCtx(dctx, out.buffer.dst, out.buffer.size, src, frame->size);
    else /* unlike a loaded dictionary, the tables are not kept in the context */
        written = ZSTD_decompress_usingDDict(dctx, out.buffer.dst, out.buffer.size, src, frame->size, tables);
    END_ALLOW_THREADS_UNLESS()
    if (has_dictionary && !ZSTD_isError(written))
        settle_dctx(&preset->context, 0, dctx);
    else
        give_dctx(out.kept, dctx, written); /* frees the context after an error */
    if (ZSTD_isError(written) || (frame->is_declared && written != frame->content)) {
        output_abandon(&out);
        return NULL;
    }
    out.buffer.pos = written;
    return output_finish(&out);
}

static PyObject *preset_decompress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data", "max_output_size", "read_across_frames", "allow_extra_data"};
    DecompressionPreset *preset = (DecompressionPreset *)self;
    PyObject *values[4];
    size_t limit = 0;
    Input in;
    if (take_ordinary(names, 4, 4, args, nargs, kwnames, values) < 0 || values[1] == Py_None ||
        take_size_or_none(values[1], &limit) < 0 || (values[2] != NULL && values[2] != Py_False) ||
        (values[3] != NULL && values[3] != Py_False && values[3] != Py_True)) {
        goto slow;
    }
    if (input_open(&in, values[0]) < 0)
        return NULL;
    Frame frame;
    if (preset_measure(preset, &in, &frame) < 0 || !is_trusted(frame.content, frame.is_declared, frame.size) ||
        (frame.is_declared ? limit > 0 && frame.content > limit : limit == 0) ||
        (values[3] == Py_False && frame.size != in.size)) {
        input_close(&in);
        goto slow;
    }
    size_t capacity = frame.is_declared || frame.content < limit ? (size_t)frame.content : limit;
    PyObject *result = unpack(preset, in.start, &frame, NULL, capacity);
    input_close(&in);
    if (result != NULL || PyErr_Occurred())
        return result;
slow:
    return call_slow(self, "_decompress", args, nargs, kwnames);
}

/*
 * Decompress the frame at the start of the data, if it is complete and its content has at most `room` bytes (-1: no
 * limit). Return the content as bytes. Return NULL with an exception set, or without one if the slow path is needed.
 */
static PyObject *whole_frame(DecompressionPreset *preset, const char *data, size_t size, Py_ssize_t room, Frame *frame)
{
    Input in = {data, size, {0}};
    if (preset_measure(preset, &in, frame) < 0 || !is_trusted(frame->content, frame->is_declared, frame->size) ||
        (room >= 0 && frame->content > (size_t)room)) {
        return NULL;
    }
    return unpack(preset, data, frame, NULL, (size_t)frame->content);
}

static PyMethodDef decompression_preset_methods[] = {
    {"decompress", AS_METHOD(preset_decompress), FASTCALL,
     "decompress($self, /, data, max_output_size=0, read_across_frames=False, allow_extra_data=True)\n--\n\n" DROPIN_ZstdDecompressor_decompress},
    {"_set_up", decompression_set_up, METH_VARARGS, NULL},
    {"_retire", decompression_retire, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

DECLARE_TYPE(decompression_preset, "cpkg._native.zstd.compiled._DecompressionPreset", DecompressionPreset,
             Py_TPFLAGS_BASETYPE,
             {Py_tp_doc, "Limits and a dictionary for any number of frames; a base class of zstd/presets.py."},
             {Py_tp_dealloc, decompression_preset_dealloc}, {Py_tp_methods, decompression_preset_methods})
