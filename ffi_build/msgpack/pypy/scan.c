/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner: find the end of a message that arrives in pieces. It reads each value once, at the speed of memory. So
 * PyPy's Unpacker (cpkg/_native/msgpack/pypy/stream.py) can create the objects later, when it has most of the message.
 *
 * There are three results. After SCAN_UNSURE the pure decoder continues, which is slow but always correct. This is the
 * result for everything that the pure decoder might refuse: a wrong byte, a length or depth above its limit, text that
 * is not UTF-8, a key of a forbidden type, and an extension that its type may refuse. For simplicity, it is also the
 * result for some valid messages: with more than SCAN_FRAMES open containers, a container or an extension as a key, or
 * a timestamp of 96 bits. So after SCAN_CUT and SCAN_DONE, everything that was read is valid.
 *
 * The scanner stops before a value that is cut, so that it need not remember a part of a value.
 */
#pragma once

#include "../common/formats.c"
#include "../common/utf8.c"
#include "limits.c"

enum { SCAN_FRAMES = 64 };

enum { SCAN_CUT = 0, SCAN_DONE = 1, SCAN_UNSURE = -1 };

typedef struct {
    /* The position of the value at which the scan stopped, or, after SCAN_DONE, the end of the message. Of a value that
       is cut: how many of its bytes count as read, and how many it needs at least to continue (both as in the pure
       decoder). */
    int64_t position, consumed, needed;
    MessageLimits limits;
    uint32_t depth;
    /* For each open container: the number of values still to come, including a map's keys, << 1 | whether it is a map.
       The first frame is for the message itself. */
    uint64_t frames[SCAN_FRAMES + 1];
} cpkg_scan;

/* Return whether ExtType or Timestamp certainly accepts a payload of n bytes at p, which the type byte precedes. */
static bool scan_is_ext(const unsigned char *p, size_t n)
{
    if (p[-1] < 0x80 || (p[-1] == 0xff && n == 4))
        return true;
    return p[-1] == 0xff && n == 8 && big_endian(p, 4) >> 2 <= 999999999;
}

/* Set the limits for the next messages; -1 means no limit. */
static void cpkg_scan_configure(cpkg_scan *s, int strict_keys, int64_t max_depth, int64_t max_str, int64_t max_bin,
                                int64_t max_array, int64_t max_map, int64_t max_ext)
{
    limits_set(&s->limits, SCAN_FRAMES, strict_keys, max_depth, max_str, max_bin, max_array, max_map, max_ext);
}

/*
 * Scan data[start..size): if `fresh`, from the start of a message; otherwise continue with the value that was cut,
 * which must now be at `start`. Returns a result explained above.
 */
static int cpkg_scan_run(cpkg_scan *s, const char *data, size_t size, size_t start, int fresh)
{
    const unsigned char *base = (const unsigned char *)data, *p = base + start, *end = base + size;
    if (fresh) {
        s->depth = 0;
        s->frames[0] = 1 << 1;
    }
    uint32_t depth = s->depth;
    uint64_t frame = s->frames[depth];
    size_t consumed, needed;
    int found = SCAN_CUT;
    for (;;) {
        consumed = 0;
        needed = 1;
        if (p == end)
            goto cut;
        unsigned char byte = *p;
        size_t left = (size_t)(end - p), length, field;
        int kind;
        /* with an even number of values to come, a map reads a key */
        bool is_key = frame & ~(frame >> 1) & 1;
        TELL_FORMAT(byte, kind, field, length);
        size_t header = 1 + field;
        if (field) {
            if (left < header) {
                consumed = 1;
                needed = header;
                goto cut;
            }
            length = big_endian(p + 1, field);
        }
        switch (kind) {
        case FORMAT_NUMBER:
            if (is_key && s->limits.strict_keys)
                goto unsure;
            break;
        case FORMAT_STR:
            if (length > s->limits.max_str)
                goto unsure;
            break;
        case FORMAT_BIN:
            if (length > s->limits.max_bin)
                goto unsure;
            break;
        case FORMAT_EXT:
            if (is_key || length > s->limits.max_ext)
                goto unsure;
            header++; /* the type byte */
            break;
        case FORMAT_ARRAY:
        case FORMAT_MAP:
            if (is_key || depth >= s->limits.max_depth ||
                length > (kind == FORMAT_MAP ? s->limits.max_map : s->limits.max_array))
                goto unsure;
            p += header;
            if (length) {
                s->frames[depth++] = frame;
                frame = kind == FORMAT_MAP ? (uint64_t)length << 2 | 1 : (uint64_t)length << 1;
                continue;
            }
            goto passed;
        default:
            goto unsure;
        }
        if (left < header || left - header < length) {
            consumed = 1 + field;
            needed = header + length;
            goto cut;
        }
        if (kind == FORMAT_STR) {
            if (!is_ascii_roomy((const char *)p + header, length, left - header) && !is_utf8(p + header, length))
                goto unsure;
        }
        else if (kind == FORMAT_EXT && !scan_is_ext(p + header, length)) {
            goto unsure;
        }
        p += header + length;
    passed:
        for (frame -= 2; frame < 2; frame = s->frames[--depth] - 2) {
            if (depth == 0) {
                s->position = p - base;
                return SCAN_DONE;
            }
        }
    }
unsure:
    found = SCAN_UNSURE;
cut:
    s->depth = depth;
    s->frames[depth] = frame;
    s->position = p - base;
    s->consumed = (int64_t)consumed;
    s->needed = (int64_t)needed;
    return found;
}
