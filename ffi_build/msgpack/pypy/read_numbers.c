/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of numbers for PyPy, which cffi makes of an array at once: a third to a fifth of the JIT's time. */
#pragma once

#include "../../common/base.h"
#include <msgpack/sysdep.h>

static inline uint64_t load_big_endian(const unsigned char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return _msgpack_be64(value);
}

/*
 * Read up to `n` numbers from data[*position:size): doubles if the first is one, with their bits in `values`, else ints of
 * 64 bits with a sign. Stops in front of anything else, and where fewer than 9 bytes are left; returns how many it read
 * and moves the position on. The ints are read without branches on their width, which cannot be predicted.
 */
static int64_t cpkg_read_numbers(const char *data, size_t size, int64_t *position, int64_t n, int64_t *values)
{
    const unsigned char *p = (const unsigned char *)data + *position, *end = (const unsigned char *)data + size;
    int64_t count = 0;
    if (end - p >= 9 && *p == 0xcb) {
        for (; count < n && end - p >= 9 && *p == 0xcb; p += 9)
            values[count++] = (int64_t)load_big_endian(p + 1);
    }
    else {
        while (count < n && end - p >= 9) {
            unsigned char byte = *p;
            bool fixint = (unsigned char)(byte + 0x20) < 0xa0, is_signed = byte >= 0xd0;
            if (!fixint && (byte < 0xcc || byte > 0xd3))
                break;
            int width = 1 << (byte & 3);
            uint64_t bits = load_big_endian(p + 1);
            if (byte == 0xcf && bits > INT64_MAX)
                break;
            int shift = 64 - 8 * width;
            int64_t value = is_signed ? (int64_t)bits >> shift : (int64_t)(bits >> shift);
            values[count++] = fixint ? (signed char)byte : value;
            p += fixint ? 1 : 1 + width;
        }
    }
    *position = p - (const unsigned char *)data;
    return count;
}
