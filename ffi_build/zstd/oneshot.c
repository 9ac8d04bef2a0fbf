/* SPDX-License-Identifier: Apache-2.0 */
/* The one-shot functions compress() and decompress(), and the functions for `dumps` and `loads`. */
#pragma once

#include <zstd.h>

#include "../common/zstd_calls.h"
#include "arguments.c"
#include "buffers.c"
#include "compression_preset.c"
#include "decompression_preset.c"
#include "digests.c"
#include "format.c"

static PyObject *builtin_compress(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data", "level", "options", "zstd_dict"};
    PyObject *values[4];
    Parameter parameters[PARAMETERS_MAX];
    if (take_ordinary(names, 4, 4, args, nargs, kwnames, values) < 0)
        goto slow;
    int count = take_options(module, "CompressionParameter", values[2], parameters);
    if (is_given(values[1])) {
        int overflow = 0;
        if (!PyLong_CheckExact(values[1]) || is_given(values[2]))
            goto slow;
        long level = PyLong_AsLongAndOverflow(values[1], &overflow);
        if (overflow != 0 || level < ZSTD_minCLevel() || level > ZSTD_maxCLevel())
            goto slow;
        parameters[0] = (Parameter){ZSTD_c_compressionLevel, (int)level};
        count = 1;
    }
    if (count < 0)
        goto slow;
    for (int i = 0; i < count; i++)
        if (!is_ordinary(parameters[i]))
            goto slow;

    Input in;
    if (input_open(&in, values[0]) < 0) {
        if (count == 0 && !is_given(values[3]))
            return NULL;
        PyErr_Clear(); /* if another argument is also wrong, Python reports that one */
        goto slow;
    }
    Digest digest = {NULL, NULL};
    PyObject *result = NULL;
    if (!is_given(values[3]) || digest_for_compression(&digest, values[3], parameters, count, in.size) == 0)
        result = compress_at_once(NULL, &in, parameters, count, digest.tables, SIZE_MAX);
    digest_let_go(&digest);
    input_close(&in);
    if (result != NULL || PyErr_Occurred())
        return result;
slow:
    return call_slow(module, "_slow_compress", args, nargs, kwnames);
}

/*
 * Decompress all frames into new bytes. Return NULL with an exception set, or without one if the call must take the
 * slow path, which raises the error.
 */
static PyObject *decompress_at_once(const char *start, size_t size, uint64_t window_max, const ZSTD_DDict *tables,
                                    size_t limit)
{
    Frame all = {.size = size};
    if (measure_all_frames((const unsigned char *)start, window_max, tables != NULL, &all) < 0 ||
        (all.is_declared && all.content > limit)) {
        return NULL;
    }
    return unpack(NULL, start, &all, tables, all.content < limit ? (size_t)all.content : limit);
}

static PyObject *builtin_decompress(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"data", "zstd_dict", "options", "max_output_size", "size_hint"};
    PyObject *values[5];
    size_t limit = PY_SSIZE_T_MAX;
    size_t hint = 0; /* not needed here, because the frames' headers give the size */
    Parameter parameters[PARAMETERS_MAX];
    uint64_t window_max = WINDOW_SIZE_MAX_DEFAULT;
    if (take_ordinary(names, 5, 3, args, nargs, kwnames, values) < 0 || take_size_or_none(values[3], &limit) < 0 ||
        take_size_or_none(values[4], &hint) < 0) {
        goto slow;
    }
    int count = take_options(module, "DecompressionParameter", values[2], parameters);
    if (count < 0)
        goto slow;
    for (int i = 0; i < count; i++) {
        /* libzstd does not check the limit when it decompresses at once, so measure_frame() checks it */
        int window_log = parameters[i].value != 0 ? parameters[i].value : WINDOW_LOG_MAX_DEFAULT;
        ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
        if (parameters[i].key != ZSTD_d_windowLogMax || window_log < bounds.lowerBound ||
            window_log > bounds.upperBound) {
            goto slow;
        }
        window_max = (uint64_t)1 << window_log;
    }

    Input in;
    if (input_open(&in, values[0]) < 0) {
        if (!is_given(values[1]))
            return NULL;
        PyErr_Clear(); /* if another argument is also wrong, Python reports that one */
        goto slow;
    }
    Digest digest = {NULL, NULL};
    PyObject *result = NULL;
    if (!is_given(values[1]) || digest_for_decompression(&digest, values[1]) == 0)
        result = decompress_at_once(in.start, in.size, window_max, digest.tables, limit);
    digest_let_go(&digest);
    input_close(&in);
    if (result != NULL || PyErr_Occurred())
        return result;
slow:
    return call_slow(module, "_slow_decompress", args, nargs, kwnames);
}

/* The functions for `dumps` and `loads` (common/zstd_calls.h). */
static PyObject *job_compress(const char *data, size_t size, int level, bool checksum, size_t smaller_than)
{
    const Parameter parameters[] = {{ZSTD_c_compressionLevel, level}, {ZSTD_c_checksumFlag, checksum}};
    if (!is_ordinary(parameters[0]))
        return NULL;
    const Input in = {data, size, {0}};
    return compress_at_once(NULL, &in, parameters, 2, NULL, smaller_than);
}

static PyObject *job_decompress(const char *data, size_t size, size_t limit)
{
    return decompress_at_once(data, size, WINDOW_SIZE_MAX_DEFAULT, NULL,
                              limit < PY_SSIZE_T_MAX ? limit : PY_SSIZE_T_MAX);
}

static const ZstdCalls calls_for_job = {job_compress, job_decompress};
