/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that C checks when it reads a message for PyPy. */
#pragma once

#include "../../common/base.h"

typedef struct {
    size_t max_str, max_bin, max_array, max_map, max_ext;
    uint32_t max_depth;
    bool strict_keys;
} MessageLimits;

static inline size_t limit_of(int64_t limit)
{
    return limit < 0 ? SIZE_MAX : (size_t)limit;
}

/* Set the limits. -1 means no limit; `frames` is the deepest nesting that the caller supports. */
static void limits_set(MessageLimits *l, uint32_t frames, int strict_keys, int64_t max_depth, int64_t max_str,
                       int64_t max_bin, int64_t max_array, int64_t max_map, int64_t max_ext)
{
    l->strict_keys = strict_keys != 0;
    l->max_depth = max_depth < frames ? (uint32_t)max_depth : frames;
    l->max_str = limit_of(max_str);
    l->max_bin = limit_of(max_bin);
    l->max_array = limit_of(max_array);
    l->max_map = limit_of(max_map);
    l->max_ext = limit_of(max_ext);
}
