/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read and write lists of numbers for PyPy, which stores such lists as plain int64s or doubles. C takes a fifth to a
 * third of the JIT's time. Also find surrogates in text that was packed.
 */
#pragma once

#include "../common/numbers.c"
#include "../common/utf8.c"

/*
 * Read up to `n` numbers from data[*position..size) into `values`. If the first one is a double, all are doubles, and
 * `values` receives their bits; otherwise all are signed 64-bit ints. Stops before any other value, and when fewer than
 * 9 bytes are left. Returns the count and moves the position. Ints are read without branches on their width, which the
 * processor could not predict.
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

/* Write n ints to `output`, which has room for 9 bytes each; return the number of bytes. There are no branches on the
   width, because a misprediction costs more than writing the int. */
static int64_t cpkg_write_ints(const int64_t *values, int64_t n, unsigned char *output)
{
    unsigned char *end = output;
    for (int64_t i = 0; i < n; i++) {
        int64_t value = values[i];
        uint64_t bits = value < 0 ? (uint64_t)~value << 1 : (uint64_t)value; /* the sign takes one bit */
        int width = (bits > 0xff) + (bits > 0xffff) + (bits > 0xffffffff);
        bool fixint = (uint64_t)value + 0x20 < 0xa0;
        int size = fixint ? 0 : 1 << width;
        end[0] = (unsigned char)(fixint ? value : (value < 0 ? 0xd0 : 0xcc) + width);
        _msgpack_store64(end + 1, (uint64_t)value << (-8 * size & 63));
        end += 1 + size;
    }
    return end - output;
}

/* Write n doubles to `output`, which has room for 9 bytes each; return the number of bytes. */
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

/* Find the first str with a surrogate in `size` bytes of complete values, which cpkg/_native/msgpack/pypy/pack.py has
   packed (no str is longer than 64 KiB). Returns the offset of the str's bytes and sets `length` to their number, or
   returns -1. */
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
        at += h.length + (h.kind == FORMAT_EXT); /* an ext also has a type byte */
    }
    return -1;
}
