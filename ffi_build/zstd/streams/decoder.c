/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Decoder: frames being decompressed, one after the other, with a context of a preset, which it takes when a frame
 * comes that does not lie ahead whole. After an error it is of no use before decoder_restart().
 */
#pragma once

#include <zstd.h>
#include <zstd_errors.h>

#include "../decompression_preset.c"
#include "chunks.c"
#include "raising.c"
#include "turn.c"

/* Output of at least this size is decompressed into its own memory, not copied there. */
enum { DIRECT_MIN = 16 << 10 };

enum { HEADER_MAX = 18 };

typedef struct {
    DecompressionPreset *preset;
    ZSTD_DCtx *dctx;
    PyObject *lent; /* the context as Python has lent it, where C cannot set one up */
    uint64_t window_max;
    int has_magic;
    int has_failed;
    char at_start;  /* no frame has begun, or one has ended */
    int is_drained; /* nothing more comes without more input */
    /* Of the frame at hand: its header, as far as it has come, and its content. */
    unsigned char head[HEADER_MAX];
    size_t head_size;
    int is_declared;
    uint64_t declared;
    uint64_t produced;
} Decoder;

/* Begin one in zeroed memory; return 0, or -1 with an exception set. */
static int decoder_open(Decoder *decoder, DecompressionPreset *preset)
{
    SET_SHOWN(decoder->at_start, 1);
    decoder->is_drained = decoder->has_magic = 1;
    decoder->window_max = preset->window_max;
    decoder->preset = (DecompressionPreset *)new_ref((PyObject *)preset);
    if (preset->is_ready)
        return 0;
    PyObject *limits = PyObject_GetAttrString((PyObject *)preset, "frame_limits");
    unsigned long long window_max = 0;
    int is_read = limits != NULL && PyArg_ParseTuple(limits, "Kp:frame_limits", &window_max, &decoder->has_magic);
    Py_XDECREF(limits);
    decoder->window_max = window_max;
    return is_read ? 0 : -1;
}

/* Take a context; return 0, or -1 with an exception set. */
static int decoder_take(Decoder *decoder)
{
    DecompressionPreset *preset = decoder->preset;
    long process;
    if (!preset->is_ready) {
        decoder->dctx = preset_borrow((PyObject *)preset, &decoder->lent, &process);
    }
    else {
        decoder->dctx = place_take(&preset->context);
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
    DecompressionPreset *preset = decoder->preset;
    decoder->dctx = NULL;
    if (decoder->lent != NULL) {
        preset_return((PyObject *)preset, &decoder->lent, decoder->has_failed);
    }
    else if (dctx != NULL) {
        if (decoder->has_failed || ZSTD_isError(ZSTD_DCtx_reset(dctx, ZSTD_reset_session_only)))
            ZSTD_freeDCtx(dctx);
        else
            settle_dctx(preset->serves_one && is_default(preset) ? NULL : &preset->context, is_default(preset), dctx);
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

/* Begin anew after an error, with another context. */
static void decoder_restart(Decoder *decoder)
{
    decoder->has_failed = 1;
    decoder_release(decoder);
    decoder->has_failed = 0;
    SET_SHOWN(decoder->at_start, 1);
    decoder->is_drained = 1;
}

/* Add what comes to the header of the frame at hand, until the size of the content can be read there. */
static void decoder_look(Decoder *decoder, const ZSTD_inBuffer *in)
{
    Header header;
    if (decoder->at_start) {
        decoder->head_size = 0;
        decoder->is_declared = 0;
        decoder->produced = 0;
    }
    size_t more = in->size - in->pos, room = HEADER_MAX - decoder->head_size;
    if (decoder->is_declared || room == 0 || more == 0)
        return;
    more = more < room ? more : room;
    memcpy(decoder->head + decoder->head_size, (const char *)in->src + in->pos, more);
    decoder->head_size += more;
    if (read_header(decoder->head, decoder->head + decoder->head_size, decoder->has_magic, &header) == 0) {
        /* libzstd takes the largest number for a size that is not known */
        decoder->is_declared = header.is_declared && header.content != ZSTD_CONTENTSIZE_UNKNOWN;
        decoder->declared = header.content;
        decoder->head_size = HEADER_MAX;
    }
}

/* Make ready for a call of libzstd; return 0, or -1 with an exception set. */
static int decoder_begin(Decoder *decoder, Step *step, const ZSTD_inBuffer *in)
{
    if (decoder->has_failed) {
        raise_from("purepy.base.errors", "ZstdError",
                   PyUnicode_FromString("an earlier call failed inside of a frame: begin again where that begins"));
        return -1;
    }
    if (decoder->dctx == NULL && decoder_take(decoder) < 0)
        return -1;
    decoder_look(decoder, in);
    *step = (Step){.dctx = decoder->dctx,
                   .in = *in,
                   .window_max = decoder->at_start ? decoder->window_max : 0,
                   .has_magic = decoder->has_magic};
    return 0;
}

/*
 * Take note of what a call of libzstd has done, which made `size` bytes; return 0, or -1 with an exception set. `left`
 * is its result.
 *
 * libzstd does not compare a frame's size with the one that its header declares if its last block is empty.
 */
static int decoder_end(Decoder *decoder, ZSTD_inBuffer *in, const Step *step, size_t left, size_t size,
                       unsigned long long offset)
{
    decoder->produced += size;
    if (left == 0 && decoder->is_declared && decoder->produced != decoder->declared)
        left = (size_t)0 - ZSTD_error_corruption_detected;
    if (ZSTD_isError(left)) {
        decoder->has_failed = 1;
        raise_made(call_presets("decompression_error", "KK", (unsigned long long)left, offset + in->pos));
        return -1;
    }
    *in = step->in;
    SET_SHOWN(decoder->at_start, left == 0);
    if (left == 0 && decoder->lent != NULL)
        decoder_release(decoder); /* a prefix serves one frame: the next one borrows again */
    return 0;
}

/*
 * Decompress from `in` as far as one frame and `limit` (-1: none) go; return bytes, or NULL with an exception set.
 *
 * `offset` is where the input lies in all that was given, for errors.
 */
static PyObject *decoder_step(Decoder *decoder, ZSTD_inBuffer *in, Py_ssize_t limit, unsigned long long offset)
{
    if (decoder->at_start && !decoder->has_failed && decoder->preset->is_ready) {
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
    Step step;
    if (decoder_begin(decoder, &step, in) < 0)
        return NULL;
    size_t expected = limit >= DIRECT_MIN && limit <= BIG_PIECE ? (size_t)limit : 0;
    size_t left = 0;
    PyObject *content = decompress_chunk(&step, limit < 0 ? (size_t)PY_SSIZE_T_MAX : (size_t)limit, expected, &left);
    if (content == NULL && !ZSTD_isError(left)) {
        decoder->has_failed = 1;
        return NULL;
    }
    size_t size = content == NULL ? 0 : (size_t)PyBytes_GET_SIZE(content);
    if (decoder_end(decoder, in, &step, left, size, offset) < 0)
        Py_CLEAR(content);
    decoder->is_drained = in->pos == in->size && (left == 0 || limit < 0 || (Py_ssize_t)size < limit);
    return content;
}

/* Do the same into `room` bytes of memory; return how many it holds then, or -1 with an exception set. */
static Py_ssize_t decoder_step_into(Decoder *decoder, ZSTD_inBuffer *in, char *memory, size_t room,
                                    unsigned long long offset)
{
    Step step;
    if (decoder_begin(decoder, &step, in) < 0)
        return -1;
    size_t left;
    size_t size = decompress_chunk_into(&step, memory, room, &left);
    return decoder_end(decoder, in, &step, left, size, offset) < 0 ? -1 : (Py_ssize_t)size;
}

/* Return the size of the context in bytes, or NULL with an exception set. */
static PyObject *decoder_memory_size(Decoder *decoder)
{
    if (decoder->dctx == NULL && decoder_take(decoder) < 0)
        return NULL;
    return PyLong_FromSize_t(ZSTD_sizeof_DCtx(decoder->dctx));
}
