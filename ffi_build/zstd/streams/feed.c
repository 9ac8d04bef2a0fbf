/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Feed: one frame being compressed, or several, one after the other, with a context of a preset.
 * cpkg/zstandard/feeding.py is the same in Python.
 *
 * After an error the frame has lost data: whatever is asked for then fails with the same text.
 */
#pragma once

#include <unistd.h>

#include <zstd.h>

#include "../compression_preset.c"
#include "chunks.c"
#include "raising.c"

/* Buffers go through in pieces of so many bytes, so that output is never held for more than one. */
enum { PIECE_SIZE = 1 << 20 };

typedef struct {
    CompressionPreset *preset;
    ZSTD_CCtx *cctx;   /* NULL once it was given back */
    PyObject *lent;    /* the context as Python has lent it, where C cannot make one */
    PyObject *failure; /* a str */
    uint64_t number;   /* of the preset's streams */
    Progress progress;
    unsigned long long left; /* of the pledged size */
    int is_pledged;
    int is_between; /* no frame has begun */
    pid_t made_in;  /* 0 if no threads compress */
} Feed;

/* Raise the error for a size that no frame can have. Returns NULL. */
static PyObject *raise_pledge_range(void)
{
    return PyErr_Format(PyExc_ValueError, "size argument should be a positive int less than %llu",
                        ZSTD_CONTENTSIZE_ERROR);
}

/* Read the size that is promised, -1 if none is; return 0, or -1 with an exception set. */
static int feed_take_pledge(Feed *feed, PyObject *size)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(size, &overflow);
    if (number == -1 && overflow == 0 && PyErr_Occurred())
        return -1;
    feed->is_pledged = overflow != 0 || number != -1;
    if (!feed->is_pledged)
        return 0;
    feed->left = overflow > 0 ? PyLong_AsUnsignedLongLong(size) : (unsigned long long)number;
    if (overflow < 0 || number < -1 || PyErr_Occurred() || feed->left >= ZSTD_CONTENTSIZE_ERROR) {
        raise_pledge_range();
        return -1;
    }
    return 0;
}

/* Take a context of the preset; return 0, or -1 with an exception set. */
static int feed_take(Feed *feed)
{
    if (feed->preset->is_ready) {
        Kept *kept = kept_here();
        feed->cctx = kept != NULL ? preset_take_cctx(feed->preset, kept) : (void *)PyErr_NoMemory();
    }
    else {
        feed->cctx = preset_borrow((PyObject *)feed->preset, &feed->lent);
        feed->made_in = getpid();
    }
    return feed->cctx == NULL ? -1 : 0;
}

/* Begin one in zeroed memory, with a size that is promised, or NULL; return 0, or -1 with an exception set. */
static int feed_open(Feed *feed, CompressionPreset *preset, PyObject *size)
{
    if (size != NULL && feed_take_pledge(feed, size) < 0)
        return -1;
    feed->preset = (CompressionPreset *)new_ref((PyObject *)preset);
    if (feed_take(feed) < 0)
        return -1;
    feed->is_between = 1;
    feed->number = ++preset->streams;
    preset->latest = feed->progress;
    if (feed->is_pledged)
        ZSTD_CCtx_setPledgedSrcSize(feed->cctx, feed->left);
    return 0;
}

/* Give the context back; nothing can be compressed any more. */
static void feed_release(Feed *feed)
{
    ZSTD_CCtx *cctx = feed->cctx;
    feed->cctx = NULL;
    if (feed->lent != NULL) {
        preset_return((PyObject *)feed->preset, &feed->lent, feed->failure != NULL);
    }
    else if (cctx != NULL) {
        if (feed->failure != NULL || ZSTD_isError(ZSTD_CCtx_reset(cctx, ZSTD_reset_session_only)))
            ZSTD_freeCCtx(cctx);
        else
            preset_give_cctx(feed->preset, cctx);
    }
}

/* Begin a new frame after an error, with another context; the rest of the current one is dropped. */
static void feed_renew(Feed *feed)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    feed->failure = new_ref(Py_None); /* which frees the context */
    feed_release(feed);
    Py_CLEAR(feed->failure);
    feed->is_between = 1;
    feed->is_pledged = 0;
    PyErr_Restore(type, value, traceback);
}

static int feed_traverse(Feed *feed, visitproc visit, void *arg)
{
    Py_VISIT(feed->preset);
    Py_VISIT(feed->lent);
    return 0;
}

/* Let go of all that it holds. */
static void feed_clear(Feed *feed)
{
    if (feed->lent != NULL) {
        feed->cctx = NULL; /* its owner frees it */
        Py_CLEAR(feed->lent);
    }
    feed_release(feed);
    Py_CLEAR(feed->failure);
    Py_CLEAR(feed->preset);
}

/* Let nothing more be compressed, for a reason, which is taken over. */
static void feed_fail(Feed *feed, PyObject *why)
{
    Py_XDECREF(feed->failure);
    feed->failure = why;
}

/* Look at the pledged size before data is taken; return 0, or -1 with an exception set. */
static int feed_check_pledge(Feed *feed, size_t size, int mode)
{
    if (mode == ZSTD_e_end && feed->is_between)
        return 0; /* a frame in one call has the size of its data */
    if (size > feed->left || (size < feed->left && mode == ZSTD_e_end)) {
        PyObject *difference = size > feed->left ? PyLong_FromUnsignedLongLong(size - feed->left)
                                                 : PyLong_FromUnsignedLongLong(feed->left - size);
        PyObject *more = size > feed->left ? Py_True : Py_False;
        raise_made(difference == NULL ? NULL : call_presets("pledge_error", "NO", difference, more));
        return -1;
    }
    feed->left -= size;
    return 0;
}

/* Compress an input with the context at hand; return the output as bytes, or NULL with an exception set. */
static PyObject *feed_convert(Feed *feed, const Input *data, int mode)
{
    size_t result = 0;
    PyObject *output = compress_chunk(feed->cctx, data, mode, &result);
    if (output == NULL) {
        if (ZSTD_isError(result))
            raise_made(call_presets("compression_error", "(K)", (unsigned long long)result));
        return NULL;
    }
    feed->is_between = mode == ZSTD_e_end;
    feed->is_pledged &= !feed->is_between;
    feed->progress.ingested += data->size;
    feed->progress.produced += (uint64_t)PyBytes_GET_SIZE(output);
    if (mode != ZSTD_e_continue)
        feed->progress.flushed = feed->progress.ingested;
    if (feed->preset->streams == feed->number)
        feed->preset->latest = feed->progress;
    return output;
}

/* Refuse to go on in a forked child, which has none of the threads that compress; return 0, or -1 with an exception. */
static int feed_check_process(const Feed *feed)
{
    if (feed->made_in == 0 || feed->made_in == getpid())
        return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "a compressor with nb_workers cannot be used in a forked child: make a new one");
    return -1;
}

/* Compress an input, as `mode` (a ZSTD_EndDirective) says; return bytes, or NULL with an exception set. */
static PyObject *feed_push(Feed *feed, const Input *data, int mode)
{
    if (feed->failure != NULL)
        return raise_from("purepy.base.errors", "ZstdError", new_ref(feed->failure));
    if (data->size == 0 && mode == ZSTD_e_continue)
        return PyBytes_FromStringAndSize(NULL, 0); /* a frame without content is to be known as one when it begins */
    if (feed->cctx == NULL) {
        PyErr_SetString(PyExc_ValueError, "the stream is over");
        return NULL;
    }
    if (feed_check_process(feed) < 0)
        return NULL;
    PyObject *output = NULL;
    if (!feed->is_pledged || feed_check_pledge(feed, data->size, mode) == 0)
        output = feed_convert(feed, data, mode);
    if (output == NULL)
        feed_fail(feed, failure_text("%U", PyObject_Str));
    return output;
}

/* End the block or the frame. */
static PyObject *feed_flush(Feed *feed, int mode)
{
    const Input nothing = {"", 0, {0}};
    return feed_push(feed, &nothing, mode);
}

/* Cut a piece from the front of an input; return 0 when nothing is left, after one piece at least. */
static int input_piece(Input *piece, const Input *all, size_t *done)
{
    if (*done > 0 && *done >= all->size)
        return 0;
    piece->start = all->start + *done;
    piece->size = all->size - *done < PIECE_SIZE ? all->size - *done : PIECE_SIZE;
    piece->view.obj = NULL;
    *done += piece->size > 0 ? piece->size : 1;
    return 1;
}

/* frame_progression(): the bytes that the last stream has consumed, has compressed, and has produced. */
static PyObject *frame_progression(PyObject *self, PyObject *Py_UNUSED(unused))
{
    const Progress *latest = &((CompressionPreset *)self)->latest;
    unsigned long long taken = latest->ingested, waiting = (latest->ingested - latest->flushed) % BLOCK_MAX;
    return Py_BuildValue("(KKK)", taken, taken - waiting, (unsigned long long)latest->produced);
}
