/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that keep the GIL: what takes about a microsecond, of which giving it away and taking it back would be a tenth
 * to a quarter. (hashlib, too, keeps it for small data.)
 */
#pragma once

#include <zstd.h>

#include "arguments.c"

enum { SHORT_MAX = 1 << 10 }; /* bytes, of input and of output */

/* Return whether there is a level at most, and what has no part in searching: others may ask for large tables. */
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

/* Return whether compressing takes no longer than the size suggests. */
static int is_short_compression(size_t size, const Parameter *parameters, int count)
{
    return size <= SHORT_MAX && has_level_alone(parameters, count);
}

/* In place of Py_BEGIN_ALLOW_THREADS and Py_END_ALLOW_THREADS. */
#define ALLOW_THREADS_UNLESS(is_short) \
    { \
        PyThreadState *released = (is_short) ? NULL : PyEval_SaveThread();
#define END_ALLOW_THREADS_UNLESS() \
    if (released != NULL) { \
        PyEval_RestoreThread(released); \
    } \
    }
