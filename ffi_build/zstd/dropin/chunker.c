/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZstdCompressionChunker, and the iterators that its methods return, which do the work.
 * cpkg/zstandard/compression_objects.py has the same in Python.
 */
#pragma once

#include "../streams/calls.c"
#include "flow.c"
#include "../streams/object.c"
#include "../streams/turn.c"

typedef struct {
    PyObject_HEAD
    Turn turn;
    Feed feed;
    Pending pending; /* bytes that are no chunk yet, or are some */
    Py_ssize_t chunk_size;
    int is_finished;
    int is_busy; /* an iterator is not used up */
} Chunker;

typedef struct {
    PyObject_HEAD
    Chunker *chunker; /* NULL once it is used up */
    PyObject *data;
    Input input;
    size_t done;
    int mode; /* the last step: ZSTD_e_continue for none */
    int is_over;
} Chunks;

static PyTypeObject *chunker_type, *chunks_type;

static int chunker_clear(PyObject *self)
{
    ((Chunker *)self)->is_finished = 1;
    feed_clear(&((Chunker *)self)->feed);
    Py_CLEAR(((Chunker *)self)->pending.bytes);
    return 0;
}

OBJECT_WITH_TURN(chunker, Chunker, feed)

static int chunks_traverse(PyObject *self, visitproc visit, void *arg)
{
    Chunks *chunks = (Chunks *)self;
    VISIT_TYPE(self);
    Py_VISIT(chunks->chunker);
    Py_VISIT(chunks->data);
    Py_VISIT(chunks->input.view.obj);
    return 0;
}

static int chunks_clear(PyObject *self)
{
    Chunks *chunks = (Chunks *)self;
    chunks->is_over = 1;
    input_close(&chunks->input);
    memset(&chunks->input, 0, sizeof chunks->input);
    Py_CLEAR(chunks->data);
    Py_CLEAR(chunks->chunker);
    return 0;
}

COLLECTED_DEALLOC(chunks, )

/* Append output, and own it; return 0, or -1 with an exception set. */
static int pending_add(Pending *pending, PyObject *output)
{
    if (output == NULL)
        return -1;
    if (pending->bytes == NULL) {
        *pending = (Pending){output, 0};
        return 0;
    }
    Py_ssize_t rest = pending_left(pending), more = PyBytes_GET_SIZE(output);
    PyObject *joined = more == 0 ? NULL : PyBytes_FromStringAndSize(NULL, rest + more);
    if (joined != NULL) {
        memcpy(PyBytes_AS_STRING(joined), PyBytes_AS_STRING(pending->bytes) + pending->given, (size_t)rest);
        memcpy(PyBytes_AS_STRING(joined) + rest, PyBytes_AS_STRING(output), (size_t)more);
        Py_SETREF(pending->bytes, joined);
        pending->given = 0;
    }
    Py_DECREF(output);
    return joined == NULL && more != 0 ? -1 : 0;
}

/* Return the next chunk, or NULL, without an exception if there is none. */
static PyObject *chunks_step(Chunks *chunks, Chunker *chunker)
{
    for (;;) {
        Py_ssize_t left = pending_left(&chunker->pending);
        Input piece;
        if (left >= chunker->chunk_size)
            return pending_give(&chunker->pending, chunker->chunk_size);
        if (chunks->mode == ZSTD_e_continue && input_piece(&piece, &chunks->input, &chunks->done)) {
            if (pending_add(&chunker->pending, feed_push(&chunker->feed, &piece, ZSTD_e_continue)) < 0)
                return NULL;
        }
        else if (chunks->mode != ZSTD_e_continue && chunks->done == 0) {
            chunks->done = 1;
            if (pending_add(&chunker->pending, feed_flush(&chunker->feed, chunks->mode)) < 0)
                return NULL;
        }
        else {
            if (chunks->mode != ZSTD_e_continue && left > 0)
                return pending_give(&chunker->pending, left);
            if (chunks->mode == ZSTD_e_end) {
                chunker->is_finished = 1;
                feed_release(&chunker->feed);
            }
            chunker->is_busy = 0;
            chunks->is_over = 1;
            return NULL;
        }
    }
}

static PyObject *chunks_next(PyObject *self)
{
    Chunks *chunks = (Chunks *)self;
    Chunker *chunker = chunks->chunker;
    if (chunker == NULL)
        return NULL;
    Py_INCREF(chunker);
    PyObject *chunk = NULL;
    if (turn_enter((PyObject *)chunker, &chunker->turn) == 0) {
        if (!chunks->is_over) {
            chunk = chunks_step(chunks, chunker);
            chunks->is_over |= chunk == NULL;
        }
        turn_leave((PyObject *)chunker, &chunker->turn);
    }
    Py_DECREF(chunker);
    return chunk;
}

/* Return an iterator that does some work; `data` is NULL for none. */
static PyObject *new_chunks(PyObject *self, const char *finished, const char *busy, PyObject *data, int mode)
{
    Chunker *chunker = (Chunker *)self;
    Chunks *chunks = object_new(chunks_type);
    if (chunks == NULL || (data != NULL && input_open(&chunks->input, data) < 0)) {
        Py_XDECREF(chunks);
        return NULL;
    }
    Py_XINCREF(data);
    chunks->data = data;
    chunks->mode = mode;
    if (turn_enter(self, &chunker->turn) < 0) {
        Py_DECREF(chunks);
        return NULL;
    }
    const char *wrong = chunker->is_finished ? finished : chunker->is_busy ? busy : NULL;
    if (wrong == NULL) {
        chunker->is_busy = 1;
        chunks->chunker = (Chunker *)new_ref(self);
    }
    turn_leave(self, &chunker->turn);
    if (wrong != NULL) {
        Py_DECREF(chunks);
        return raise_zstd_error(wrong);
    }
    return (PyObject *)chunks;
}

static PyObject *chunker_compress(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *data;
    if (take_only_argument("compress", "data", 1, args, nargs, kwnames, &data) < 0)
        return NULL;
    return new_chunks(self, "cannot call compress() after compression finished",
                      "cannot perform operation before consuming output from previous operation", data,
                      ZSTD_e_continue);
}

static PyObject *chunker_flush(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return new_chunks(self, "cannot call flush() after compression finished",
                      "cannot call flush() before consuming output from previous operation", NULL, ZSTD_e_flush);
}

static PyObject *chunker_finish(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return new_chunks(self, "cannot call finish() after compression finished",
                      "cannot call finish() before consuming output from previous operation", NULL, ZSTD_e_end);
}

static PyMethodDef chunker_methods[] = {
    {"compress", AS_METHOD(chunker_compress), FASTCALL,
     "compress($self, /, data)\n--\n\n" DROPIN_ZstdCompressionChunker_compress},
    {"flush", chunker_flush, METH_NOARGS, "flush($self, /)\n--\n\n" DROPIN_ZstdCompressionChunker_flush},
    {"finish", chunker_finish, METH_NOARGS, "finish($self, /)\n--\n\n" DROPIN_ZstdCompressionChunker_finish},
    {NULL, NULL, 0, NULL},
};

DECLARE_STREAM_TYPE(chunker, "ZstdCompressionChunker", Chunker, {Py_tp_doc, DROPIN_ZstdCompressionChunker},
                    {Py_tp_methods, chunker_methods})

DECLARE_STREAM_TYPE(chunks, "ZstdCompressionChunkerIterator", Chunks,
                    {Py_tp_doc, "Chunks of a ZstdCompressionChunker."}, {Py_tp_iter, PyObject_SelfIter},
                    {Py_tp_iternext, chunks_next})

/* _chunker(size, chunk_size) */
static PyObject *make_chunker(PyObject *preset, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t chunk_size = 0;
    if (check_count("_chunker", nargs, 2) < 0 || take_ssize(args[1], &chunk_size) < 0)
        return NULL;
    Chunker *chunker = object_new(chunker_type);
    if (chunker == NULL || feed_open(&chunker->feed, (CompressionPreset *)preset, args[0]) < 0) {
        Py_XDECREF(chunker);
        return NULL;
    }
    chunker->chunk_size = chunk_size;
    return (PyObject *)chunker;
}
