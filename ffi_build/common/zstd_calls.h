/* SPDX-License-Identifier: Apache-2.0 */
/* The capsule that the Zstandard module lends to the MessagePack one: a frame for `dumps`, content for `loads`. */
#pragma once

#include "compat.c"

#define ZSTD_CALLS_NAME "cpkg._native.zstd.compiled._job_calls"

/* Return new bytes, or NULL with an exception, or without one for a call that is left to Python. */
typedef struct {
    /* A frame; None if it would not be smaller than `smaller_than`. */
    PyObject *(*compress)(const char *data, size_t size, int level, bool checksum, size_t smaller_than);
    /* The content of all frames, if it is at most `limit` bytes. */
    PyObject *(*decompress)(const char *data, size_t size, size_t limit);
} ZstdCalls;
