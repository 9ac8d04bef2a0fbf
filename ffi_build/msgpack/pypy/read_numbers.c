/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of numbers for PyPy, which cffi makes of an array at once: a third to a fifth of the JIT's time. */
#pragma once

#include "../common/numbers.c"
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
            values[count++] = (int64_t)read64(p + 1);
    }
    else {
        while (count < n && end - p >= 9) {
            unsigned char byte = *p;
            bool fixint = (unsigned char)(byte + 0x20) < 0xa0;
            if (!fixint && (byte < 0xcc || byte > 0xd3))
                break;
            int64_t value = read_int(p, 9);
            if (byte == 0xcf && value < 0)
                break;
            values[count++] = fixint ? (signed char)byte : value;
            p += fixint ? 1 : 1 + (1 << (byte & 3));
        }
    }
    *position = p - (const unsigned char *)data;
    return count;
}
