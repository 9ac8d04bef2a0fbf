/* SPDX-License-Identifier: Apache-2.0 */
/* The capsule through which the MessagePack module calls the Zstandard module, for `dumps` and `loads`. */
#pragma once

#include "compat.c"

#define ZSTD_CALLS_NAME "cpkg._native.zstd.compiled._job_calls"

/* Both return new bytes, or NULL with an exception set, or NULL without one if Python code must handle the call. */
typedef struct {
    /* Return a frame, or None if the frame would not be smaller than `smaller_than`. */
    PyObject *(*compress)(const char *data, size_t size, int level, bool checksum, size_t smaller_than);
    /* Return the content of all frames, which may have at most `limit` bytes. */
    PyObject *(*decompress)(const char *data, size_t size, size_t limit);
} ZstdCalls;
