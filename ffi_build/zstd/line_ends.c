/* SPDX-License-Identifier: Apache-2.0 */
/* The search for line ends, 64 bytes at a time where the processor has vector instructions. */
#pragma once

#if defined(__SSE2__) && defined(__GNUC__)
#include "../common/base.h"
#include <emmintrin.h>
#define HAVE_LINE_SIMD
#endif

/* Properties of a line that line_end() reports. */
enum { LINE_IS_ASCII = 1, LINE_HAS_RETURN = 2 };

#ifdef HAVE_LINE_SIMD
/* 64 bytes of text, or a mask with 0 or 0xff for each byte. */
typedef struct {
    __m128i a, b, c, d;
} Line64;

static inline Line64 line_load(const char *start)
{
    const __m128i *at = (const __m128i *)(const void *)start;
    return (Line64){_mm_loadu_si128(at), _mm_loadu_si128(at + 1), _mm_loadu_si128(at + 2), _mm_loadu_si128(at + 3)};
}

static inline Line64 line_equal(Line64 x, __m128i byte)
{
    return (Line64){_mm_cmpeq_epi8(x.a, byte), _mm_cmpeq_epi8(x.b, byte), _mm_cmpeq_epi8(x.c, byte),
                    _mm_cmpeq_epi8(x.d, byte)};
}

static inline Line64 line_or(Line64 x, Line64 y)
{
    return (Line64){_mm_or_si128(x.a, y.a), _mm_or_si128(x.b, y.b), _mm_or_si128(x.c, y.c), _mm_or_si128(x.d, y.d)};
}

/* Return the highest bits of the 64 bytes, as a mask. */
static inline uint64_t line_signs(Line64 x)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(x.a) | (uint64_t)(unsigned)_mm_movemask_epi8(x.b) << 16 |
           (uint64_t)(unsigned)_mm_movemask_epi8(x.c) << 32 | (uint64_t)(unsigned)_mm_movemask_epi8(x.d) << 48;
}
#endif

/* Return the position of the next "\n", or NULL if there is none. `what` gets the properties of the bytes before it. */
static inline const char *line_end(const char *start, const char *end, int *what)
{
#ifdef HAVE_LINE_SIMD
    const __m128i newline = _mm_set1_epi8('\n');
    const __m128i returned = _mm_set1_epi8('\r');
    uint64_t high = 0;
    uint64_t has_return = 0;
    /* 64 bytes at once: the processor can predict that most lines end within 64 bytes, but not in which 16 of them */
    for (; end - start >= 64; start += 64) {
        Line64 text = line_load(start);
        uint64_t found = line_signs(line_equal(text, newline));
        uint64_t before = (found - 1) & ~found; /* the bits below the lowest set bit; all bits if there is none */
        Line64 returns = line_equal(text, returned);
        /* test for non-ASCII bytes and returns together, because most lines have neither */
        if ((line_signs(line_or(text, returns)) & before) != 0) {
            high |= line_signs(text) & before;
            has_return |= line_signs(returns) & before;
        }
        if (found != 0) {
            *what = (high == 0 ? LINE_IS_ASCII : 0) | (has_return != 0 ? LINE_HAS_RETURN : 0);
            return start + __builtin_ctzll(found);
        }
    }
    for (; start < end && *start != '\n'; start++) {
        high |= (unsigned char)*start & 0x80u;
        has_return |= *start == '\r';
    }
    *what = (high == 0 ? LINE_IS_ASCII : 0) | (has_return != 0 ? LINE_HAS_RETURN : 0);
    return start < end ? start : NULL;
#else
    const char *newline = memchr(start, '\n', (size_t)(end - start));
    end = newline != NULL ? newline : end;
    *what = memchr(start, '\r', (size_t)(end - start)) != NULL ? LINE_HAS_RETURN : 0;
    while (start < end && (unsigned char)*start < 0x80)
        start++;
    *what |= start == end ? LINE_IS_ASCII : 0;
    return newline;
#endif
}

#ifdef HAVE_LINE_SIMD
/* Store the positions of the set bits, plus `at`, and return the end of the output. Storing up to four positions takes
   no branches, because the processor could not predict how many there are. */
static inline uint16_t *line_note_ends(uint16_t *to, uint64_t found, size_t at)
{
    const uint64_t last = (uint64_t)1 << 63; /* __builtin_ctzll(0) is not defined */
    for (int i = 0; i < 4; i++) {
        *to = (uint16_t)(at + (size_t)__builtin_ctzll(found | last));
        to += found != 0;
        found &= found - 1;
    }
    for (; found != 0; found &= found - 1)
        *to++ = (uint16_t)(at + (size_t)__builtin_ctzll(found));
    return to;
}

#endif
