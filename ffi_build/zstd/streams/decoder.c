/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompress frame after frame with a context of a preset. A Decompressor takes a context only for a frame that is not
 * completely available.
 */
#pragma once

#include <zstd.h>
#include <zstd_errors.h>

#include "../decompression_preset.c"
#include "chunks.c"
#include "turn.c"

/* A limit of at least this many bytes is allocated at once; below it, the output starts in the scratch buffer. */
enum { DIRECT_MIN = 16 << 10 };

enum { HEADER_MAX = 18 };

typedef struct {
    PyObject_HEAD
    Turn turn;
    DecompressionPreset *preset;
    ZSTD_DCtx *dctx;
    PyObject *lent; /* the owner of the context, if Python has lent it because C cannot set it up; otherwise NULL */
    uint64_t window_max;
    int has_magic;
    char at_start; /* the next input begins a frame */
    /* The current frame: the part of its header that is available, and the sizes of its content. */
    unsigned char head[HEADER_MAX];
    size_t head_size;
    size_t head_before; /* the size of the header before the current call */
    int is_declared;
    uint64_t declared;
    uint64_t produced;
    /* The input of earlier calls. */
    PyObject *pending; /* bytes with unused input from `position` on, or NULL */
    Py_ssize_t position;
    unsigned long long offset; /* the position in all input where `pending`, or else the next input, begins */
    char is_eof;
    char needs_input;
    int is_multi_frame;
    int goes_on; /* a call continues with the next frame after the end of a frame */
} Decompressor;

/* Take a context, unless the decompressor has one; return 0, or -1 with an exception set. */
static int decompressor_take(Decompressor *decompressor)
{
    DecompressionPreset *preset = decompressor->preset;
    long process;
    if (decompressor->dctx != NULL)
        return 0;
    if (!preset->is_ready) {
        decompressor->dctx = preset_borrow((PyObject *)preset, &decompressor->lent, &process);
    }
    else {
        decompressor->dctx = place_take(&preset->context);
        if (decompressor->dctx == NULL && is_default(preset)) {
            Kept *kept = kept_here();
            decompressor->dctx = kept != NULL ? take_dctx(kept) : NULL;
            if (decompressor->dctx == NULL)
                PyErr_NoMemory();
        }
        else if (decompressor->dctx == NULL) {
            decompressor->dctx = new_context((PyObject *)preset);
        }
    }
    return decompressor->dctx == NULL ? -1 : 0;
}

/* Give back the context, if there is one; keep an exception that is set. */
static void decompressor_give_back(Decompressor *decompressor, int has_failed)
{
    ZSTD_DCtx *dctx = decompressor->dctx;
    DecompressionPreset *preset = decompressor->preset;
    decompressor->dctx = NULL;
    if (decompressor->lent != NULL)
        preset_return((PyObject *)preset, &decompressor->lent, has_failed);
    else if (dctx != NULL && (has_failed || ZSTD_isError(ZSTD_DCtx_reset(dctx, ZSTD_reset_session_only))))
        ZSTD_freeDCtx(dctx);
    else if (dctx != NULL)
        settle_dctx(preset->serves_one && is_default(preset) ? NULL : &preset->context, is_default(preset), dctx);
}

/* Give back the context after an error, so that a new frame begins; keep an exception that is set. */
static void decompressor_restart(Decompressor *decompressor)
{
    decompressor_give_back(decompressor, 1);
    SET_SHOWN(decompressor->at_start, 1);
}

/* Add input to the current frame's header, and read the declared content size once the header is complete. */
static void frame_look(Decompressor *decompressor, const ZSTD_inBuffer *in)
{
    Header header;
    if (decompressor->at_start) {
        decompressor->head_size = 0;
        decompressor->is_declared = 0;
        decompressor->produced = 0;
    }
    decompressor->head_before = decompressor->head_size;
    size_t more = in->size - in->pos, room = HEADER_MAX - decompressor->head_size;
    if (decompressor->is_declared || room == 0 || more == 0)
        return;
    more = more < room ? more : room;
    memcpy(decompressor->head + decompressor->head_size, (const char *)in->src + in->pos, more);
    decompressor->head_size += more;
    const unsigned char *end = decompressor->head + decompressor->head_size;
    if (read_header(decompressor->head, end, decompressor->has_magic, &header) == 0) {
        /* libzstd uses the largest number for an unknown size */
        decompressor->is_declared = header.is_declared && header.content != ZSTD_CONTENTSIZE_UNKNOWN;
        decompressor->declared = header.content;
        decompressor->head_size = HEADER_MAX;
    }
}

/* Prepare for a call of libzstd; return 0, or -1 with an exception set. */
static int frame_begin(Decompressor *decompressor, Step *step, const ZSTD_inBuffer *in)
{
    if (decompressor_take(decompressor) < 0)
        return -1;
    frame_look(decompressor, in);
    *step = (Step){.dctx = decompressor->dctx,
                   .in = *in,
                   .window_max = decompressor->at_start ? decompressor->window_max : 0,
                   .has_magic = decompressor->has_magic};
    return 0;
}

/*
 * Record the effect of a call of libzstd that produced `size` bytes and returned `left`; return 0, or -1 if `left` is
 * an error.
 *
 * This function compares the size of the content with the declared size, because libzstd does not do so if a frame's
 * last block is empty.
 */
static int frame_end(Decompressor *decompressor, ZSTD_inBuffer *in, const Step *step, size_t size, size_t *left)
{
    decompressor->produced += size;
    if (*left == 0 && decompressor->is_declared && decompressor->produced != decompressor->declared)
        *left = (size_t)0 - ZSTD_error_corruption_detected;
    if (ZSTD_isError(*left))
        return -1;
    *in = step->in;
    SET_SHOWN(decompressor->at_start, *left == 0);
    if (*left == 0 && decompressor->lent != NULL)
        decompressor_give_back(decompressor, 0); /* a prefix applies to one frame: the next frame borrows again */
    return 0;
}

/*
 * Decompress `in` up to the end of a frame, to at most `limit` bytes (-1: no limit); return bytes. Return NULL with an
 * exception set, or, if libzstd failed, with its result in `left`.
 */
static PyObject *frame_bytes(Decompressor *decompressor, ZSTD_inBuffer *in, Py_ssize_t limit, size_t *left)
{
    Step step;
    if (decompressor->at_start && decompressor->preset->is_ready) {
        Frame frame;
        PyObject *content =
            whole_frame(decompressor->preset, (const char *)in->src + in->pos, in->size - in->pos, limit, &frame);
        if (content != NULL)
            in->pos += frame.size;
        if (content != NULL || PyErr_Occurred())
            return content;
    }
    if (frame_begin(decompressor, &step, in) < 0)
        return NULL;
    size_t expected = limit >= DIRECT_MIN && limit <= BIG_PIECE ? (size_t)limit : 0;
    PyObject *content = decompress_chunk(&step, limit < 0 ? (size_t)PY_SSIZE_T_MAX : (size_t)limit, expected, left);
    if (content != NULL && frame_end(decompressor, in, &step, (size_t)PyBytes_GET_SIZE(content), left) < 0)
        Py_CLEAR(content);
    return content;
}

/* Do the same as frame_bytes(), into `room` bytes of memory; set `size` to the number of bytes stored. Return 0 or
   -1. */
static int frame_into(Decompressor *decompressor, ZSTD_inBuffer *in, char *memory, size_t room, size_t *size,
                      size_t *left)
{
    Step step;
    if (frame_begin(decompressor, &step, in) < 0)
        return -1;
    size_t made = decompress_chunk_into(&step, memory, room, left);
    if (frame_end(decompressor, in, &step, made, left) < 0)
        return -1;
    *size = made;
    return 0;
}
