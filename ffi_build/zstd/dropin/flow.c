/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Flow: what comes of a source when it is compressed, or decompressed, piece by piece. Readers, read_to_iter() and
 * copy_stream() are made of it.
 */
#pragma once

#include "../streams/decoder.c"
#include "../streams/feed.c"
#include "origin.c"

/* Output that is given piece by piece. */
typedef struct {
    PyObject *bytes; /* NULL for none */
    Py_ssize_t given;
} Pending;

static Py_ssize_t pending_left(const Pending *pending)
{
    return pending->bytes == NULL ? 0 : PyBytes_GET_SIZE(pending->bytes) - pending->given;
}

/* Return up to `limit` bytes (-1: all) of the output, of which there is some. */
static PyObject *pending_give(Pending *pending, Py_ssize_t limit)
{
    Py_ssize_t left = pending_left(pending), size = limit < 0 || left < limit ? left : limit;
    PyObject *piece = pending->given == 0 && size == left
                          ? new_ref(pending->bytes)
                          : PyBytes_FromStringAndSize(PyBytes_AS_STRING(pending->bytes) + pending->given, size);
    pending->given += size;
    if (size == left) {
        Py_CLEAR(pending->bytes);
        pending->given = 0;
    }
    return piece;
}

typedef struct {
    Origin source;
    int is_packing;
    int is_finished;
    int is_first_only; /* nothing is looked at behind the first frame */
    Feed feed;         /* of one that compresses */
    Pending pending;   /* output of that */
    Decoder decoder;   /* of one that decompresses */
} Flow;

/*
 * Begin one in zeroed memory: one that compresses if a size is promised (-1: none), one that decompresses if that is
 * NULL. Return 0, or -1 with an exception set.
 */
static int flow_open(Flow *flow, PyObject *preset, PyObject *source, PyObject *size, Py_ssize_t read_size,
                     Py_ssize_t skip)
{
    size_t piece = size == NULL ? PY_SSIZE_T_MAX : read_size > PIECE_SIZE ? (size_t)read_size : PIECE_SIZE;
    flow->is_packing = size != NULL;
    if (origin_open(&flow->source, source, read_size, skip, piece) < 0)
        return -1;
    return size != NULL ? feed_open(&flow->feed, (CompressionPreset *)preset, size)
                        : decoder_open(&flow->decoder, (DecompressionPreset *)preset);
}

/* Release everything; there is no output afterwards. */
static void flow_release(Flow *flow)
{
    flow->is_finished = 1;
    feed_release(&flow->feed);
    if (flow->decoder.preset != NULL)
        decoder_release(&flow->decoder);
    Py_CLEAR(flow->pending.bytes);
    origin_drop_chunk(&flow->source);
}

static int flow_traverse(Flow *flow, visitproc visit, void *arg)
{
    int result = origin_traverse(&flow->source, visit, arg);
    if (result == 0)
        result = feed_traverse(&flow->feed, visit, arg);
    return result != 0 ? result : decoder_traverse(&flow->decoder, visit, arg);
}

static void flow_clear(Flow *flow)
{
    flow->is_finished = 1;
    origin_clear(&flow->source);
    feed_clear(&flow->feed);
    decoder_clear(&flow->decoder);
    Py_CLEAR(flow->pending.bytes);
}

static PyObject *flow_next_packed(Flow *flow, Py_ssize_t limit)
{
    while (flow->pending.bytes == NULL && !flow->is_finished) {
        int is_more = origin_fill(&flow->source);
        if (is_more < 0)
            return NULL;
        Origin *source = &flow->source;
        if (is_more) {
            Input data = {(const char *)source->in.src + source->in.pos, source->in.size - source->in.pos, {0}};
            source->in.pos = source->in.size;
            flow->pending.bytes = feed_push(&flow->feed, &data, ZSTD_e_continue);
        }
        else {
            flow->pending.bytes = feed_flush(&flow->feed, ZSTD_e_end);
            flow->is_finished = 1;
            feed_release(&flow->feed);
        }
        if (flow->pending.bytes == NULL)
            return NULL;
        if (PyBytes_GET_SIZE(flow->pending.bytes) == 0)
            Py_CLEAR(flow->pending.bytes);
    }
    return flow->pending.bytes == NULL ? PyBytes_FromStringAndSize(NULL, 0) : pending_give(&flow->pending, limit);
}

static PyObject *flow_next_content(Flow *flow, Py_ssize_t limit)
{
    Decoder *decoder = &flow->decoder;
    Origin *source = &flow->source;
    while (!flow->is_finished) {
        if (decoder->is_drained) {
            int is_more = origin_fill(source);
            if (is_more < 0)
                return NULL;
            if (!is_more) {
                if (!decoder->at_start)
                    return raise_truncated(origin_taken(source));
                flow->is_finished = 1;
                break;
            }
        }
        PyObject *content = decoder_step(decoder, &source->in, limit, source->before);
        if (content == NULL)
            return NULL;
        flow->is_finished = flow->is_first_only && decoder->at_start;
        if (PyBytes_GET_SIZE(content) > 0)
            return content;
        Py_DECREF(content);
    }
    return PyBytes_FromStringAndSize(NULL, 0);
}

/* Return at least one byte of output and `limit` at most (-1: no limit), b"" at the end; NULL with an exception set. */
static PyObject *flow_next(Flow *flow, Py_ssize_t limit)
{
    return flow->is_packing ? flow_next_packed(flow, limit) : flow_next_content(flow, limit);
}
