/* SPDX-License-Identifier: Apache-2.0 */
/* The capsule with functions of the Zstandard module for the MessagePack module: frames for `dumps` and `loads`. */
#pragma once

#include "compat.c"

#define ZSTD_CALLS_NAME "cpkg._native.zstd.compiled._job_calls"

/* Functions that return new bytes, NULL with an exception, or NULL without one if Python code must handle the call. */
typedef struct {
    /* Return a frame; None if the frame would not be smaller than `smaller_than`. */
    PyObject *(*compress)(const char *data, size_t size, int level, bool checksum, size_t smaller_than);
    /* Return the content of all frames, if it has at most `limit` bytes. */
    PyObject *(*decompress)(const char *data, size_t size, size_t limit);
} ZstdCalls;
