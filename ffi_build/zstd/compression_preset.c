/* SPDX-License-Identifier: Apache-2.0 */
/* Presets for compression: parameters, and a context with these parameters (see presets.c). */
#pragma once

#include <zstd.h>

#include "../common/objects.c"
#include "arguments.c"
#include "buffers.c"
#include "contexts.c"
#include "presets.c"
#include "short_calls.c"

typedef struct {
    PyObject_HEAD
    void *context; /* a ZSTD_CCtx * */
    int is_ready;
    int is_plain; /* neither a dictionary nor threads: C creates the contexts, and threads keep them for other calls */
    int count;
    Parameter parameters[PARAMETERS_MAX];
} CompressionPreset;

static PyTypeObject *compression_preset_type;

/* Return a context with the preset's parameters, or NULL with an exception set. */
static ZSTD_CCtx *preset_take_cctx(CompressionPreset *preset, Kept *kept)
{
    ZSTD_CCtx *cctx = place_take(&preset->context);
    if (cctx != NULL || !preset->is_plain)
        return cctx != NULL ? cctx : new_context((PyObject *)preset);
    cctx = take_cctx(kept);
    size_t result = 0;
    for (int i = 0; cctx != NULL && i < preset->count && !ZSTD_isError(result); i++)
        result = ZSTD_CCtx_setParameter(cctx, (ZSTD_cParameter)preset->parameters[i].key, preset->parameters[i].value);
    if (cctx == NULL) {
        PyErr_NoMemory();
    }
    else if (ZSTD_isError(result)) {
        ZSTD_freeCCtx(cctx);
        cctx = new_context((PyObject *)preset); /* raises the error */
    }
    return cctx;
}

/* Keep a context for the next frame; none of the context's calls may have failed. */
static void preset_give_cctx(CompressionPreset *preset, ZSTD_CCtx *cctx)
{
    settle_cctx(&preset->context, preset->is_plain, cctx);
}

/* _set_up(pairs, is_plain): store the parameters; Python calls this once, before any other method. */
static PyObject *compression_set_up(PyObject *self, PyObject *args)
{
    CompressionPreset *preset = (CompressionPreset *)self;
    PyObject *pairs;
    int is_plain;
    if (!PyArg_ParseTuple(args, "O!p:_set_up", &PyList_Type, &pairs, &is_plain))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(pairs);
    if (preset->is_ready || count > PARAMETERS_MAX) {
        PyErr_SetString(PyExc_RuntimeError, "the preset is already initialized");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Parameter *parameter = &preset->parameters[i];
        if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, i), "ii", &parameter->key, &parameter->value))
            return NULL;
    }
    preset->count = (int)count;
    preset->is_plain = is_plain;
    preset->is_ready = 1;
    Py_RETURN_NONE;
}

/* _retire(): pass all further calls to Python, because the settings change. A context with the old settings is no
   longer used. */
static PyObject *compression_retire(PyObject *self, PyObject *Py_UNUSED(unused))
{
    ((CompressionPreset *)self)->is_ready = 0;
    Py_RETURN_NONE;
}

static void compression_preset_dealloc(PyObject *self)
{
    CompressionPreset *preset = (CompressionPreset *)self;
    settle_cctx(NULL, preset->is_plain, preset->context); /* many presets serve only one frame */
    object_free(self);
}

/* If a result can have at most this many bytes, it is written to the scratch buffer and copied into bytes of its size.
   If it can be larger, copying would take longer than allocating bytes of the largest size and shortening them. */
enum { COPIED_MAX = 32 << 10 };

/*
 * Compress into new bytes, or return None if the frame is not smaller than `smaller_than`. Return NULL with an
 * exception set, or without one if the call must take the slow path. Without a preset, a context of this thread is used
 * with the parameters, and with a dictionary if `tables` is not NULL.
 */
static PyObject *compress_at_once(CompressionPreset *preset, const Input *in, const Parameter *parameters, int count,
                                  const ZSTD_CDict *tables, size_t smaller_than)
{
    size_t bound = ZSTD_compressBound(in->size);
    Output out;
    if (ZSTD_isError(bound) || bound > (size_t)PY_SSIZE_T_MAX)
        return PyErr_NoMemory();
    if (output_begin(&out, bound <= COPIED_MAX ? 0 : bound, bound) < 0)
        return NULL;
    ZSTD_CCtx *cctx = preset != NULL ? preset_take_cctx(preset, out.kept) : take_cctx(out.kept);
    if (cctx == NULL) {
        output_abandon(&out);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    size_t written = 0;
    ALLOW_THREADS_UNLESS((preset == NULL || preset->is_plain) && is_short_compression(in->size, parameters, count))
    for (int i = 0; preset == NULL && i < count && !ZSTD_isError(written); i++)
        written = ZSTD_CCtx_setParameter(cctx, (ZSTD_cParameter)parameters[i].key, parameters[i].value);
    if (tables != NULL && !ZSTD_isError(written))
        written = ZSTD_CCtx_refCDict(cctx, tables);
    if (!ZSTD_isError(written))
        written = ZSTD_compress2(cctx, out.buffer.dst, out.buffer.size, in->start, in->size);
    if (tables != NULL && !ZSTD_isError(written))
        ZSTD_CCtx_refCDict(cctx, NULL);
    END_ALLOW_THREADS_UNLESS()
    if (preset != NULL && !ZSTD_isError(written))
        preset_give_cctx(preset, cctx);
    else
        give_cctx(out.kept, cctx, written); /* frees the context after an error */
    if (ZSTD_isError(written)) {
        output_abandon(&out);
        return NULL;
    }
    if (written >= smaller_than) {
        output_abandon(&out);
        Py_RETURN_NONE;
    }
    out.buffer.pos = written;
    return output_finish(&out);
}

static PyObject *preset_compress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data"};
    CompressionPreset *preset = (CompressionPreset *)self;
    PyObject *data;
    Input in;
    if (take_ordinary(names, 1, 1, args, nargs, kwnames, &data) < 0 || !preset->is_ready)
        return call_slow(self, "_compress", args, nargs, kwnames);
    if (input_open(&in, data) < 0)
        return NULL;
    PyObject *result = compress_at_once(preset, &in, preset->parameters, preset->count, NULL, SIZE_MAX);
    input_close(&in);
    return result != NULL || PyErr_Occurred() ? result : call_slow(self, "_compress", args, nargs, kwnames);
}

static PyMethodDef compression_preset_methods[] = {
    {"compress", AS_METHOD(preset_compress), FASTCALL,
     "compress($self, /, data)\n--\n\n" DROPIN_ZstdCompressor_compress},
    {"_set_up", compression_set_up, METH_VARARGS, NULL},
    {"_retire", compression_retire, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

DECLARE_TYPE(compression_preset, "cpkg._native.zstd.compiled._CompressionPreset", CompressionPreset,
             Py_TPFLAGS_BASETYPE, {Py_tp_doc, "Settings for any number of frames; a base class of zstd/presets.py."},
             {Py_tp_dealloc, compression_preset_dealloc}, {Py_tp_methods, compression_preset_methods})
