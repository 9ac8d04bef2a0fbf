/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multi_compress_to_buffer() and multi_decompress_to_buffer(): many buffers in one call, in threads that know nothing
 * of Python. Whatever is out of the ordinary is left to cpkg/zstandard/batches.py, which does one item after the other
 * and says which is wrong.
 */
#pragma once

#include <pthread.h>

#include <zstd.h>

#include "../../common/queue.c"
#include "../compression_preset.c"
#include "../decompression_preset.c"
#include "../streams/chunks.c"
#include "../streams/calls.c"

/* Offset and length of a segment, 64 bits each, as BufferWithSegments has them. */
typedef struct {
    uint64_t offset;
    uint64_t length;
} Segment;

/* The buffers of a list, all open at a time. */
typedef struct {
    Kept *kept;      /* of this thread */
    PyObject *items; /* a tuple, as the list may change */
    Input *inputs;
    Py_ssize_t count;
    Segment *segments; /* the result of each */
} Batch;

/* Threads at work on a batch, and the caller, which looks for signals between items. */
typedef struct {
    Queue queue;
    pthread_t caller;
    PyThreadState *state; /* the caller's, who has released the GIL */
    int64_t next_look;    /* by clock_ms() */
} Crew;

/* A part of a batch, which one thread works on: its output lies in one block of memory. */
typedef struct Share {
    Task task;
    Crew *crew;
    const Input *inputs;
    Py_ssize_t count;
    Segment *segments;
    PyObject *bytes;
    PyObject *table;
    char *memory;
    size_t room;
    size_t size;
    void *context;
    size_t result;   /* libzstd's of the last call */
    size_t unlooked; /* bytes since the caller has looked at the clock */
    int has_failed;
} Share;

static void batch_close(Batch *batch)
{
    for (Py_ssize_t i = 0; i < batch->count; i++)
        input_close(&batch->inputs[i]);
    PyMem_Free(batch->inputs);
    PyMem_Free(batch->segments);
    Py_CLEAR(batch->items);
}

/* Open the buffers; return 0, or -1 with an exception set. */
static int batch_open(Batch *batch, PyObject *list)
{
    memset(batch, 0, sizeof *batch);
    batch->items = PyList_AsTuple(list);
    if (batch->items == NULL)
        return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(batch->items);
    batch->inputs = PyMem_Calloc((size_t)(count > 0 ? count : 1), sizeof(Input));
    batch->segments = PyMem_Calloc((size_t)(count > 0 ? count : 1), sizeof(Segment));
    if (batch->inputs == NULL || batch->segments == NULL) {
        PyErr_NoMemory();
        batch_close(batch);
        return -1;
    }
    while (batch->count < count) {
        if (input_open(&batch->inputs[batch->count], PyTuple_GET_ITEM(batch->items, batch->count)) < 0) {
            batch_close(batch);
            return -1;
        }
        batch->count++;
    }
    return 0;
}

/* Look for signals, every TURN_MS; stop the crew if a handler has raised. */
static void crew_look(Crew *crew)
{
    if (clock_ms() < crew->next_look)
        return;
    PyEval_RestoreThread(crew->state);
    if (PyErr_CheckSignals() < 0)
        queue_stop(&crew->queue);
    crew->state = PyEval_SaveThread();
    crew->next_look = clock_ms() + TURN_MS;
}

/* Say whether a share goes on, with an item of so many bytes. */
static int share_goes_on(Share *share, size_t size)
{
    enum { LOOK_AFTER = 64 << 10 /* bytes that are done in less than a millisecond */ };
    if (share->has_failed || queue_is_stopping(&share->crew->queue))
        return 0;
    share->unlooked += size + 1024;
    if (share->unlooked > LOOK_AFTER && pthread_equal(pthread_self(), share->crew->caller)) {
        share->unlooked = 0;
        crew_look(share->crew);
    }
    return !queue_is_stopping(&share->crew->queue);
}

/* Work on all shares, each in a thread of its own, if there can be so many; return 0, or -1 with an exception. */
static int shares_run(Share *shares, Py_ssize_t count, void (*work)(Task *))
{
    Crew crew = {.caller = pthread_self(), .next_look = clock_ms() + TURN_MS};
    if (!queue_make(&crew.queue)) {
        PyErr_NoMemory();
        return -1;
    }
    crew.state = PyEval_SaveThread();
    queue_start(&crew.queue, (int)count - 1);
    for (Py_ssize_t i = 0; i < count; i++) {
        shares[i].crew = &crew;
        shares[i].task.work = work;
        queue_submit(&crew.queue, &shares[i].task);
    }
    for (Py_ssize_t i = 0; i < count && !queue_is_stopping(&crew.queue);) {
        i += queue_wait(&crew.queue, &shares[i].task) == TASK_DONE;
        crew_look(&crew);
    }
    queue_close(&crew.queue); /* before anything is freed that a thread works on */
    queue_unmake(&crew.queue);
    PyEval_RestoreThread(crew.state);
    return PyErr_Occurred() ? -1 : 0;
}

/* Cut a batch into at most `count` shares of about the same number of bytes; return how many there are. */
static Py_ssize_t shares_cut(Share *shares, Py_ssize_t count, const Batch *batch)
{
    double total = 0, done = 0;
    for (Py_ssize_t i = 0; i < batch->count; i++)
        total += (double)batch->inputs[i].size + 1; /* an item costs something even if it is empty */
    Py_ssize_t cut = 0, i = 0;
    while (i < batch->count) {
        Share *share = &shares[cut++];
        double goal = total * (double)cut / (double)count;
        share->inputs = batch->inputs + i;
        share->segments = batch->segments + i;
        do {
            done += (double)batch->inputs[i++].size + 1;
            share->count++;
        } while (i < batch->count && (cut == count || done + (double)batch->inputs[i].size + 1 <= goal));
    }
    return cut;
}

/* Allocate the shares' memory for the results of all items; return 0, or -1 with an exception set. */
static int shares_allocate(Share *shares, Py_ssize_t count)
{
    for (Share *share = shares; share < shares + count; share++) {
        for (Py_ssize_t i = 0; i < share->count; i++) {
            if (share->segments[i].length > (size_t)PY_SSIZE_T_MAX - share->room) {
                PyErr_NoMemory();
                return -1;
            }
            share->segments[i].offset = share->room;
            share->room += (size_t)share->segments[i].length;
        }
        share->bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)share->room);
        if (share->bytes == NULL)
            return -1;
        share->memory = PyBytes_AS_STRING(share->bytes);
    }
    return 0;
}

/* Return a list of (bytes, table) of shares, or None if one has failed; what they hold is taken over. */
static PyObject *shares_finish(Share *shares, Py_ssize_t count)
{
    PyObject *result = PyList_New(count);
    for (Py_ssize_t n = 0; n < count; n++) {
        Share *share = &shares[n];
        if (result != NULL && share->has_failed)
            Py_SETREF(result, new_ref(Py_None));
        if (result == NULL || result == Py_None) {
            Py_CLEAR(share->bytes);
            continue;
        }
        PyObject *table =
            PyBytes_FromStringAndSize((const char *)share->segments, share->count * (Py_ssize_t)sizeof(Segment));
        PyObject *pair = NULL;
        if (share->size == share->room || _PyBytes_Resize(&share->bytes, (Py_ssize_t)share->size) == 0)
            pair = table == NULL ? NULL : PyTuple_Pack(2, share->bytes, table);
        Py_XDECREF(table);
        Py_CLEAR(share->bytes);
        if (pair == NULL)
            Py_CLEAR(result);
        else
            PyList_SET_ITEM(result, n, pair);
    }
    return result;
}

/* Read the number of threads, and make as many shares; NULL with an exception set. */
static Share *shares_new(const Batch *batch, PyObject *threads, Py_ssize_t *count)
{
    *count = 1;
    if (take_ssize(threads, count) < 0)
        return NULL;
    *count = *count < 1 ? 1 : *count > batch->count ? batch->count : *count;
    Share *shares = PyMem_Calloc((size_t)*count, sizeof(Share));
    if (shares == NULL)
        PyErr_NoMemory();
    else
        *count = shares_cut(shares, *count, batch);
    return shares;
}

/*
 * Open a batch for a method of `count` arguments, the first of them a list; return 1, 0 for one that is left to Python,
 * or -1 with an exception set.
 */
static int batch_begin(Batch *batch, const char *name, PyObject *const *args, Py_ssize_t nargs, Py_ssize_t count,
                       int is_ready)
{
    if (check_count(name, nargs, count) < 0)
        return -1;
    Kept *kept = kept_here();
    if (kept == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    PyObject *list = args[0];
    if (!is_ready || !PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0)
        return 0;
    if (batch_open(batch, list) == 0) {
        batch->kept = kept;
        return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    return 0;
}

static void compress_share(Task *task)
{
    Share *share = (Share *)task;
    for (Py_ssize_t i = 0; i < share->count && share_goes_on(share, share->inputs[i].size); i++) {
        const Input *in = &share->inputs[i];
        size_t written =
            ZSTD_compress2(share->context, share->memory + share->size, share->room - share->size, in->start, in->size);
        share->result = written;
        share->has_failed = ZSTD_isError(written) != 0;
        share->segments[i] = (Segment){share->size, written};
        share->size += share->has_failed ? 0 : written;
    }
}

/*
 * _compress_many(list, threads) -> [(bytes, table), ...], or None if that is left to Python.
 *
 * The frames of a share lie one after the other; the table has their offsets and lengths.
 */
static PyObject *compress_many(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    CompressionPreset *preset = (CompressionPreset *)self;
    Batch batch;
    int is_open = batch_begin(&batch, "_compress_many", args, nargs, 2, preset->is_ready);
    if (is_open <= 0)
        return is_open < 0 ? NULL : new_ref(Py_None);
    uint64_t total = 0;
    for (Py_ssize_t i = 0; i < batch.count; i++) {
        batch.segments[i].length = ZSTD_compressBound(batch.inputs[i].size); /* an error is too much to allocate */
        total += batch.inputs[i].size;
    }
    PyObject *result = total == 0 ? new_ref(Py_None) : NULL;
    Py_ssize_t count = 0;
    Share *shares = result != NULL ? NULL : shares_new(&batch, args[1], &count);
    if (shares != NULL) {
        int is_ready = shares_allocate(shares, count) == 0;
        for (Py_ssize_t n = 0; n < count && is_ready; n++) {
            shares[n].context = preset_take_cctx(preset, batch.kept);
            is_ready = shares[n].context != NULL;
        }
        if (is_ready)
            is_ready = shares_run(shares, count, compress_share) == 0;
        for (Py_ssize_t n = 0; n < count; n++) {
            if (shares[n].context != NULL && !shares[n].has_failed)
                preset_give_cctx(preset, shares[n].context);
            else
                ZSTD_freeCCtx(shares[n].context);
            if (!is_ready)
                Py_CLEAR(shares[n].bytes);
        }
        result = is_ready ? shares_finish(shares, count) : NULL;
    }
    PyMem_Free(shares);
    batch_close(&batch);
    return result;
}

static void decompress_share(Task *task)
{
    Share *share = (Share *)task;
    for (Py_ssize_t i = 0; i < share->count && share_goes_on(share, share->segments[i].length); i++) {
        size_t content = (size_t)share->segments[i].length;
        share->result = ZSTD_decompressDCtx(share->context, share->memory + share->segments[i].offset, content,
                                            share->inputs[i].start, share->inputs[i].size);
        share->has_failed = share->result != content;
    }
    share->size = share->room;
}

/* Find what comes of each frame, the sizes given or 0; return 0 if all of them can be decompressed at once. */
static int batch_measure(Batch *batch, const DecompressionPreset *preset, const unsigned char *sizes)
{
    for (Py_ssize_t i = 0; i < batch->count; i++) {
        Frame frame;
        Input *in = &batch->inputs[i];
        uint64_t wanted = sizes == NULL ? 0 : little_endian(sizes + 8 * i, 8);
        if (preset_measure(preset, in, &frame) < 0 || (!frame.is_declared && wanted == 0) ||
            (wanted > 0 && (frame.is_declared ? wanted != frame.content : wanted > frame.content)) ||
            !is_trusted(frame.content, frame.is_declared, frame.size)) {
            return -1;
        }
        in->size = frame.size;
        batch->segments[i].length = wanted > 0 ? wanted : frame.content;
    }
    return 0;
}

/*
 * _decompress_many(list, sizes, threads) -> [(bytes, table), ...], or None if that is left to Python.
 *
 * `sizes` is None or a buffer of the contents' sizes, 64 bits each, 0 for one that the frame declares. The contents of
 * a share lie one after the other; the table has their offsets and lengths.
 */
static PyObject *decompress_many(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    DecompressionPreset *preset = (DecompressionPreset *)self;
    Batch batch;
    int is_open = batch_begin(&batch, "_decompress_many", args, nargs, 3, preset->is_ready);
    if (is_open <= 0)
        return is_open < 0 ? NULL : new_ref(Py_None);
    Input sizes = {NULL, 0, {0}};
    PyObject *result = NULL;
    Share *shares = NULL;
    Py_ssize_t count = 0;
    if (args[1] != Py_None && input_open(&sizes, args[1]) < 0)
        goto done;
    if ((args[1] != Py_None && sizes.size != (size_t)batch.count * sizeof(uint64_t)) ||
        batch_measure(&batch, preset, (const unsigned char *)sizes.start) < 0) {
        result = new_ref(Py_None);
        goto done;
    }
    shares = shares_new(&batch, args[2], &count);
    int is_ready = shares != NULL && shares_allocate(shares, count) == 0;
    for (Py_ssize_t n = 0; n < count && is_ready; n++) {
        shares[n].context = preset_take_dctx(preset, batch.kept);
        is_ready = shares[n].context != NULL;
    }
    if (is_ready)
        is_ready = shares_run(shares, count, decompress_share) == 0;
    for (Py_ssize_t n = 0; shares != NULL && n < count; n++) {
        if (shares[n].context != NULL)
            preset_give_dctx(preset, batch.kept, shares[n].context, shares[n].result);
        if (!is_ready)
            Py_CLEAR(shares[n].bytes);
    }
    result = is_ready ? shares_finish(shares, count) : NULL;
done:
    input_close(&sizes);
    PyMem_Free(shares);
    batch_close(&batch);
    return result;
}
