/* SPDX-License-Identifier: Apache-2.0 */
/* Copy, load and hash short texts in words of 8 bytes, in less time than a call of memcpy takes. */
#pragma once

#include <msgpack/sysdep.h>

#include "../../common/base.h"

static ALWAYS_INLINE uint64_t load8(const void *s)
{
    uint64_t word;
    memcpy(&word, s, 8);
    return word;
}

/* Copy a short text as two overlapping halves: for an unknown size, memcpy would be a call. */
#define COPY_INLINE_MAX 128

static ALWAYS_INLINE void copy_short(unsigned char *to, const unsigned char *from, size_t n)
{
    if (n >= 16) {
        if (UNLIKELY(n > COPY_INLINE_MAX)) {
            memcpy(to, from, n);
            return;
        }
        for (size_t i = 0; i + 16 < n; i += 16)
            memcpy(to + i, from + i, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    }
    else if (n >= 8) {
        memcpy(to, from, 8);
        uint64_t tail;
        memcpy(&tail, from + n - 8, 8);
        memcpy(to + n - 8, &tail, 8);
    }
    else if (n >= 4) {
        uint32_t tail;
        memcpy(to, from, 4);
        memcpy(&tail, from + n - 4, 4);
        memcpy(to + n - 4, &tail, 4);
    }
    else if (n) {
        to[0] = from[0];
        to[n >> 1] = from[n >> 1];
        to[n - 1] = from[n - 1];
    }
}

static const uint64_t tail_masks[8] = {
#if MSGPACK_ENDIAN_LITTLE_BYTE
    0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
#else
    0,
    0xff00000000000000,
    0xffff000000000000,
    0xffffff0000000000,
    0xffffffff00000000,
    0xffffffffff000000,
    0xffffffffffff0000,
    0xffffffffffffff00,
#endif
};

/* Return the last n (0 to 7) bytes of a text as a word, padded with zeros; `spare` bytes may be read from p. */
static inline uint64_t load_tail(const char *p, size_t n, size_t spare)
{
    uint64_t word = 0;
    if (spare >= 8) {
        memcpy(&word, p, 8);
        return word & tail_masks[n];
    }
    memcpy(&word, p, n);
    return word;
}

/* Return a hash of a text of n bytes; `spare` bytes may be read from p. */
static inline uint64_t hash_text(const char *p, size_t n, size_t spare)
{
    uint64_t hash = n * 0x9e3779b97f4a7c15u;
    for (; n >= 8; p += 8, n -= 8, spare -= 8) {
        hash = (hash ^ load8(p)) * 0x9fb21c651e98df25u;
        hash ^= hash >> 32;
    }
    hash = (hash ^ load_tail(p, n, spare)) * 0x9fb21c651e98df25u;
    return hash ^ hash >> 29;
}
