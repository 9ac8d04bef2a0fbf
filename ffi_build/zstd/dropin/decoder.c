/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Decoder: frames being decompressed, one after the other, with a context of a preset, which it takes when a frame
 * comes that does not lie ahead whole. It is not to be used after an error.
 */
#ifndef CPKG_ZSTD_DROPIN_DECODER
#define CPKG_ZSTD_DROPIN_DECODER

#include <Python.h>

#include <zstd.h>

#include "../decompression_preset.c"
#include "../streams.c"
#include "feed.c"
#include "raising.c"

/* Output of at least this size is decompressed into its own memory, not copied there. */
enum { DIRECT_MIN = 16 << 10 };

typedef struct {
    DecompressionPreset *preset;
    ZSTD_DCtx *dctx;
    PyObject *lent; /* the context as Python has lent it, where C cannot set one up */
    uint64_t window_max;
    int has_magic;
    int has_failed;
    int at_start;   /* no frame has begun, or one has ended */
    int is_drained; /* nothing more comes without more input */
} Decoder;

/* Begin one in zeroed memory; return 0, or -1 with an exception set. */
static int decoder_open(Decoder *decoder, DecompressionPreset *preset)
{
    decoder->at_start = decoder->is_drained = decoder->has_magic = 1;
    decoder->window_max = preset->window_max;
    if (!preset->is_ready) {
        PyObject *limits = PyObject_CallMethod((PyObject *)preset, "_frame_limits", NULL);
        unsigned long long window_max = 0;
        int is_read = limits != NULL && PyArg_ParseTuple(limits, "Kp:_frame_limits", &window_max, &decoder->has_magic);
        Py_XDECREF(limits);
        if (!is_read)
            return -1;
        decoder->window_max = window_max;
    }
    decoder->preset = (DecompressionPreset *)new_ref((PyObject *)preset);
    return 0;
}

/* Take a context; return 0, or -1 with an exception set. */
static int decoder_take(Decoder *decoder)
{
    DecompressionPreset *preset = decoder->preset;
    if (!preset->is_ready) {
        decoder->dctx = preset_borrow((PyObject *)preset, &decoder->lent);
    }
    else {
        decoder->dctx = exchange(&preset->context, NULL);
        if (decoder->dctx == NULL && is_default(preset)) {
            Kept *kept = kept_here();
            decoder->dctx = kept != NULL ? take_dctx(kept) : NULL;
            if (decoder->dctx == NULL)
                PyErr_NoMemory();
        }
        else if (decoder->dctx == NULL) {
            decoder->dctx = new_context((PyObject *)preset);
        }
    }
    return decoder->dctx == NULL ? -1 : 0;
}

/* Give the context back. */
static void decoder_release(Decoder *decoder)
{
    ZSTD_DCtx *dctx = decoder->dctx;
    decoder->dctx = NULL;
    if (decoder->lent != NULL) {
        preset_return((PyObject *)decoder->preset, &decoder->lent, decoder->has_failed);
    }
    else if (dctx != NULL) {
        Kept *kept = is_default(decoder->preset) ? kept_here() : NULL;
        if (decoder->has_failed || ZSTD_isError(ZSTD_DCtx_reset(dctx, ZSTD_reset_session_only))) {
            ZSTD_freeDCtx(dctx);
        }
        else if (put_back(&decoder->preset->context, dctx) != NULL) {
            if (kept != NULL)
                give_dctx(kept, dctx, 0);
            else
                ZSTD_freeDCtx(dctx);
        }
    }
}

static int decoder_traverse(Decoder *decoder, visitproc visit, void *arg)
{
    Py_VISIT(decoder->preset);
    Py_VISIT(decoder->lent);
    return 0;
}

/* Let go of all that it holds. */
static void decoder_clear(Decoder *decoder)
{
    if (decoder->lent != NULL) {
        decoder->dctx = NULL; /* its owner frees it */
        Py_CLEAR(decoder->lent);
    }
    decoder_release(decoder);
    Py_CLEAR(decoder->preset);
}

/*
 * Decompress from `in` as far as one frame and `limit` (-1: none) go; return bytes, or NULL with an exception set.
 *
 * `offset` is where the input lies in all that was given, for errors.
 */
static PyObject *decoder_step(Decoder *decoder, ZSTD_inBuffer *in, Py_ssize_t limit, unsigned long long offset)
{
    if (decoder->at_start && decoder->preset->is_ready) {
        Frame frame;
        PyObject *content =
            whole_frame(decoder->preset, (const char *)in->src + in->pos, in->size - in->pos, limit, &frame);
        if (content != NULL) {
            in->pos += frame.size;
            decoder->is_drained = in->pos == in->size;
            return content;
        }
        if (PyErr_Occurred())
            return NULL;
    }
    if (decoder->dctx == NULL && decoder_take(decoder) < 0)
        return NULL;
    Step step = {.dctx = decoder->dctx,
                 .in = *in,
                 .window_max = decoder->at_start ? decoder->window_max : 0,
                 .has_magic = decoder->has_magic};
    size_t expected = limit >= DIRECT_MIN && limit <= BIG_PIECE ? (size_t)limit : 0;
    size_t left = 0;
    PyObject *content = decompress_chunk(&step, limit < 0 ? (size_t)PY_SSIZE_T_MAX : (size_t)limit, expected, &left);
    if (content == NULL) {
        decoder->has_failed = 1;
        if (ZSTD_isError(left)) {
            raise_made(PyObject_CallMethod((PyObject *)decoder->preset, "_decompression_error", "KK",
                                           (unsigned long long)left, offset + in->pos));
        }
        return NULL;
    }
    *in = step.in;
    decoder->at_start = left == 0;
    decoder->is_drained = in->pos == in->size && (left == 0 || limit < 0 || PyBytes_GET_SIZE(content) < limit);
    if (left == 0 && decoder->lent != NULL) {
        PyObject *done =
            PyObject_CallMethod((PyObject *)decoder->preset, "_after_frame", "O", decoder->lent); /* prefixes */
        if (done == NULL) {
            decoder->has_failed = 1;
            Py_CLEAR(content);
        }
        Py_XDECREF(done);
    }
    return content;
}

/* Raise what input that ends inside a frame, after so many bytes, is. Returns NULL. */
static PyObject *decoder_raise_truncated(Decoder *decoder, unsigned long long taken)
{
    return raise_made(PyObject_CallMethod((PyObject *)decoder->preset, "_truncated_error", "K", taken));
}

/* Return the size of the context in bytes; if there is none now, of the one that the preset has, or None. */
static PyObject *decoder_memory_size(const Decoder *decoder)
{
    if (decoder->dctx != NULL)
        return PyLong_FromSize_t(ZSTD_sizeof_DCtx(decoder->dctx));
    if (!decoder->preset->is_ready)
        Py_RETURN_NONE;
    return PyObject_CallMethod((PyObject *)decoder->preset, "_memory_size", NULL);
}

#endif
