/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing for PyPy: the lists that it keeps as plain int64s or doubles, which is where C is faster than the JIT, and the
 * search for surrogates in text that is packed.
 */
#pragma once

#include <msgpack/sysdep.h>

#include "../common/formats.c"
#include "../common/utf8.c"

/* Write n ints to `output`, which has room for 9 bytes each; returns the number of bytes. Without branches: the widths
   of ints that differ cannot be predicted, and a wrong guess costs more than the int. */
static int64_t cpkg_write_ints(const int64_t *values, int64_t n, unsigned char *output)
{
    unsigned char *end = output;
    for (int64_t i = 0; i < n; i++) {
        int64_t value = values[i];
        uint64_t bits = value < 0 ? (uint64_t)~value << 1 : (uint64_t)value; /* a sign takes one */
        int width = (bits > 0xff) + (bits > 0xffff) + (bits > 0xffffffff);
        bool fixint = (uint64_t)value + 0x20 < 0xa0;
        int size = fixint ? 0 : 1 << width;
        end[0] = (unsigned char)(fixint ? value : (value < 0 ? 0xd0 : 0xcc) + width);
        _msgpack_store64(end + 1, (uint64_t)value << (-8 * size & 63));
        end += 1 + size;
    }
    return end - output;
}

/* The same for doubles. */
static int64_t cpkg_write_doubles(const double *values, int64_t n, unsigned char *output)
{
    for (int64_t i = 0; i < n; i++, output += 9) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        *output = 0xcb;
        _msgpack_store64(output + 1, bits);
    }
    return 9 * n;
}

/* Find the first str that has a surrogate in `size` bytes of whole values as cpkg/_native/msgpack/pypy/pack.py packs them
   (no extensions, nothing longer than 64 KiB). Returns the offset of its bytes and sets their number, or returns -1. */
static int64_t cpkg_find_surrogate(const unsigned char *data, int64_t size, int64_t *length)
{
    const unsigned char *at = data, *end = data + size;
    if (!find_surrogate(at, end))
        return -1;
    while (at < end) {
        FormatHeader h;
        read_header(at, (size_t)(end - at), &h);
        at += h.size;
        if (is_container(h.kind))
            continue;
        if (h.kind == FORMAT_STR && find_surrogate(at, at + h.length)) {
            *length = (int64_t)h.length;
            return at - data;
        }
        at += h.length;
    }
    return -1;
}
