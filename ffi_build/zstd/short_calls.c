/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that keep the GIL: they take about a microsecond, and releasing and retaking the GIL would take a tenth to a
 * quarter of that time. (hashlib also keeps the GIL for small data.)
 */
#pragma once

#include <zstd.h>

#include "arguments.c"

enum { SHORT_MAX = 1 << 10 }; /* bytes, of input and of output */

/* Return whether only the level and parameters that do not change the search are set. Others may need large tables. */
static int has_level_alone(const Parameter *parameters, int count)
{
    for (int i = 0; i < count; i++) {
        int key = parameters[i].key;
        if (key != ZSTD_c_compressionLevel && key != ZSTD_c_contentSizeFlag && key != ZSTD_c_checksumFlag &&
            key != ZSTD_c_dictIDFlag) {
            return 0;
        }
    }
    return 1;
}

/* Return whether compression is a short call: the data is small, and no parameter makes it slow. */
static int is_short_compression(size_t size, const Parameter *parameters, int count)
{
    return size <= SHORT_MAX && has_level_alone(parameters, count);
}

/* Do the same as Py_BEGIN_ALLOW_THREADS and Py_END_ALLOW_THREADS, but keep the GIL if `is_short`. */
#define ALLOW_THREADS_UNLESS(is_short) \
    { \
        PyThreadState *released = (is_short) ? NULL : PyEval_SaveThread();
#define END_ALLOW_THREADS_UNLESS() \
    if (released != NULL) { \
        PyEval_RestoreThread(released); \
    } \
    }
