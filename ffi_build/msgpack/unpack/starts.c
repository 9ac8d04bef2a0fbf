/* SPDX-License-Identifier: Apache-2.0 */
/* Find where consecutive messages begin, for readers of record files. The functions may run in any thread, without the
   GIL. */
#pragma once

#include "../common/formats.c"
#include "../common/words.c"

/* Return the end of the value at p if it is a number, a constant or a short str; NULL for any other value, or if it is
   cut. */
static ALWAYS_INLINE const unsigned char *value_pass_plain(const unsigned char *p, const unsigned char *end)
{
    if (p >= end)
        return NULL;
    const unsigned char byte = *p++;
    if (is_fixint(byte))
        return p;
    size_t n = 0;
    if (byte >= 0xa0 && byte < 0xc0)
        n = byte & 0x1f;
    else if (byte >= 0xc0 && formats[byte - 0xc0].kind == FORMAT_NUMBER)
        n = formats[byte - 0xc0].length;
    else if (byte == 0xd9 && p < end)
        n = *p++;
    else
        return NULL;
    return n <= (size_t)(end - p) ? p + n : NULL;
}

/* Return the end of the value at p, including all containers in it; NULL if it is cut or wrong. */
static const unsigned char *value_pass(const unsigned char *p, const unsigned char *end)
{
    FormatHeader h;
    for (uint64_t values = 1; values; values--) {
        const unsigned char *next = value_pass_plain(p, end);
        if (next) {
            p = next;
            continue;
        }
        if (p >= end || !read_header(p, (size_t)(end - p), &h) || h.kind == FORMAT_WRONG)
            return NULL;
        p += h.size;
        if (is_container(h.kind)) {
            /* each value takes at least one byte, so the number of values cannot overflow */
            if (h.length > (size_t)(end - p))
                return NULL;
            values += h.kind == FORMAT_MAP ? 2 * (uint64_t)h.length : h.length;
            continue;
        }
        size_t length = h.length + (h.kind == FORMAT_EXT);
        if (length > (size_t)(end - p))
            return NULL;
        p += length;
    }
    return p;
}

/* Store where each of up to `count` messages begins, and where the last of them ends; return the number of complete
   messages. `starts` has room for `count` + 1 positions. */
static int64_t cpkg_message_starts(const char *bytes, size_t size, int64_t *starts, int64_t count)
{
    const unsigned char *data = (const unsigned char *)bytes, *p = data, *end = data + size;
    int64_t done = 0;
    for (; done < count && p != NULL && p < end; done++) {
        starts[done] = p - data;
        p = value_pass(p, end);
    }
    if (p == NULL)
        return done - 1;
    starts[done] = p - data;
    return done;
}
