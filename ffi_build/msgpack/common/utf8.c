/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 and ASCII: checks and measures of text that packing, unpacking and the parts for PyPy share. */
#pragma once

#include "../../common/is_utf8.c"
#include "words.c"

#define ASCII_MASK 0x8080808080808080u

static ALWAYS_INLINE bool is_ascii(const unsigned char *s, size_t n)
{
    if (n >= 8) {
        uint64_t bits = load8(s + n - 8);
        size_t i = 0;
        for (; i + 32 <= n; i += 32)
            if ((load8(s + i) | load8(s + i + 8) | load8(s + i + 16) | load8(s + i + 24)) & ASCII_MASK)
                return false;
        for (; i + 8 < n; i += 8)
            bits |= load8(s + i);
        return !(bits & ASCII_MASK);
    }
    if (n >= 4) {
        uint32_t head, tail;
        memcpy(&head, s, 4);
        memcpy(&tail, s + n - 4, 4);
        return !((head | tail) & (uint32_t)ASCII_MASK);
    }
    return !((n > 0 ? s[0] | s[n >> 1] | s[n - 1] : 0) & 0x80);
}

/* Measure bytes before they are known to be UTF-8. Return the number of bytes that are not continuation bytes, which is
   the most characters they can have. `largest` receives the largest byte, which determines the width of the str's
   characters. */
static ALWAYS_INLINE size_t count_characters(const unsigned char *s, size_t n, unsigned char *largest)
{
    size_t count = 0;
    unsigned char top = 0;
    while (n) {
        /* each lane of a vector counts in one byte, so a block has fewer than 256 bytes */
        size_t block = n < 192 ? n : 192;
        unsigned char in_block = 0;
        for (size_t i = 0; i < block; i++) {
            in_block = (unsigned char)(in_block + ((signed char)s[i] >= -0x40));
            top = s[i] > top ? s[i] : top;
        }
        count += in_block;
        s += block;
        n -= block;
    }
    *largest = top;
    return count;
}

/* Do the same as is_ascii(), without a branch on the size of a short text; n or more (`spare`) bytes may be read at
   p. */
static inline bool is_ascii_roomy(const char *p, size_t n, size_t spare)
{
    uint64_t all = 0;
    for (; n >= 8; p += 8, n -= 8, spare -= 8)
        all |= load8(p);
    all |= load_tail(p, n, spare);
    return !(all & ASCII_MASK);
}

/* Find the first surrogate in text that is UTF-8 except for surrogates; NULL if there is none. Surrogates are ED A0 80
   to ED BF BF. In all other characters that begin with ED, the second byte is below A0. */
static inline const unsigned char *find_surrogate(const unsigned char *at, const unsigned char *end)
{
    while (at < end && (at = memchr(at, 0xed, (size_t)(end - at))) && ++at < end)
        if ((*at & 0xe0) == 0xa0)
            return at - 1;
    return NULL;
}
