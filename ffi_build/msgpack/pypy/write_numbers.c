/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing for PyPy: the lists that it keeps as plain int64s or doubles, which is where C is faster than the JIT, and the
 * search for surrogates in text that is packed.
 */
#pragma once

#include <limits.h>

#include <msgpack/sysdep.h>

#include "../common/utf8.c"

typedef struct {
    unsigned char *end;
} NumbersOutput;

#define msgpack_pack_inline_func(name) static inline void numbers_write##name
#define msgpack_pack_inline_func_cint(name) static inline void numbers_write##name
#define msgpack_pack_inline_func_fixint(name) static inline void numbers_write_fix##name
#define msgpack_pack_user NumbersOutput *
#define msgpack_pack_append_buffer(user, buffer, length) \
    do { \
        memcpy((user)->end, buffer, length); \
        (user)->end += (length); \
        return; \
    } while (0)
/* the template's timestamp writer calls this by its name in the library */
#define msgpack_pack_ext(user, length, type) numbers_write_ext(user, length, type)
#include <msgpack/timestamp.h>
#include <msgpack/pack_template.h>
#undef msgpack_pack_ext

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
    NumbersOutput o = {output};
    for (int64_t i = 0; i < n; i++)
        numbers_write_double(&o, values[i]);
    return o.end - output;
}

/* Find the first str that has a surrogate in `size` bytes of whole values as cpkg/_native/msgpack/pypy/pack.py packs them
   (no extensions, nothing longer than 64 KiB). Returns the offset of its bytes and sets their number, or returns -1. */
static int64_t cpkg_find_surrogate(const unsigned char *data, int64_t size, int64_t *length)
{
    const unsigned char *at = data, *end = data + size;
    if (!find_surrogate(at, end))
        return -1;
    while (at < end) {
        unsigned char head = *at++;
        int64_t n = 0;
        bool text = false;
        if (head >= 0xa0 && head <= 0xbf) {
            n = head & 0x1f;
            text = true;
        }
        else if (head == 0xd9 || head == 0xc4) {
            n = *at++;
            text = head == 0xd9;
        }
        else if (head == 0xda || head == 0xc5) {
            n = at[0] << 8 | at[1];
            at += 2;
            text = head == 0xda;
        }
        else if (head >= 0xca && head <= 0xd3) { /* float 32 and 64, uint and int of 1, 2, 4, 8 bytes */
            n = head < 0xcc ? 4 << (head - 0xca) : 1 << (head & 3);
        }
        else if (head == 0xdc || head == 0xde) {
            n = 2;
        }
        if (text && find_surrogate(at, at + n)) {
            *length = n;
            return at - data;
        }
        at += n;
    }
    return -1;
}
