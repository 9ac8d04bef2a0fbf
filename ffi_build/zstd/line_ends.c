/* SPDX-License-Identifier: Apache-2.0 */
/* Where lines end, 64 bytes at a time where the processor has vector instructions. */
#ifndef CPKG_ZSTD_LINE_ENDS
#define CPKG_ZSTD_LINE_ENDS

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#define HAVE_LINE_SIMD
#endif

/* The findings of line_end() about a line. */
enum { LINE_IS_ASCII = 1, LINE_HAS_RETURN = 2 };

#ifdef HAVE_LINE_SIMD
/* A bit for each of 64 bytes: the sign bits of four vectors. */
static inline uint64_t line_signs(__m128i a, __m128i b, __m128i c, __m128i d)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(a) | (uint64_t)(unsigned)_mm_movemask_epi8(b) << 16 |
           (uint64_t)(unsigned)_mm_movemask_epi8(c) << 32 | (uint64_t)(unsigned)_mm_movemask_epi8(d) << 48;
}
#endif

/* Find a line's end (NULL: there is none) and tell what is in front of it, or in all. */
static inline const char *line_end(const char *start, const char *end, int *what)
{
#ifdef HAVE_LINE_SIMD
    const __m128i newline = _mm_set1_epi8('\n');
    const __m128i returned = _mm_set1_epi8('\r');
    uint64_t high = 0;
    uint64_t has_return = 0;
    /* 64 bytes at once: that most lines end in them can be predicted, unlike in which 16 */
    for (; end - start >= 64; start += 64) {
        const __m128i *at = (const __m128i *)(const void *)start;
        __m128i a = _mm_loadu_si128(at);
        __m128i b = _mm_loadu_si128(at + 1);
        __m128i c = _mm_loadu_si128(at + 2);
        __m128i d = _mm_loadu_si128(at + 3);
        uint64_t found = line_signs(_mm_cmpeq_epi8(a, newline), _mm_cmpeq_epi8(b, newline), _mm_cmpeq_epi8(c, newline),
                                    _mm_cmpeq_epi8(d, newline));
        uint64_t before = (found - 1) & ~found; /* the bits below the first one set; all of them if there is none */
        __m128i ra = _mm_cmpeq_epi8(a, returned);
        __m128i rb = _mm_cmpeq_epi8(b, returned);
        __m128i rc = _mm_cmpeq_epi8(c, returned);
        __m128i rd = _mm_cmpeq_epi8(d, returned);
        /* both at once first, since neither is what most lines have */
        if ((line_signs(_mm_or_si128(a, ra), _mm_or_si128(b, rb), _mm_or_si128(c, rc), _mm_or_si128(d, rd)) & before) !=
            0) {
            high |= line_signs(a, b, c, d) & before;
            has_return |= line_signs(ra, rb, rc, rd) & before;
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
    while (start < end && (unsigned char)*start < 0x80) {
        start++;
    }
    *what |= start == end ? LINE_IS_ASCII : 0;
    return newline;
#endif
}

#ifdef HAVE_LINE_SIMD
/* Note where the bits set in `found` are. Without branches for up to four: how many there are cannot be predicted. */
static inline uint16_t *line_note_ends(uint16_t *to, uint64_t found, size_t at)
{
    const uint64_t last = (uint64_t)1 << 63; /* for a count of zeros that is defined */
    for (int i = 0; i < 4; i++) {
        *to = (uint16_t)(at + (size_t)__builtin_ctzll(found | last));
        to += found != 0;
        found &= found - 1;
    }
    for (; found != 0; found &= found - 1) {
        *to++ = (uint16_t)(at + (size_t)__builtin_ctzll(found));
    }
    return to;
}

#endif

#endif
