/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convert a message to the bytes that Python's `marshal` reads. PyPy's marshal is compiled ahead of time, and creates
 * objects at full speed from the first call of a process, when the JIT has not yet traced the pure codec's loop.
 *
 * The whole message is checked here, before marshal sees any of it: completeness, limits, text, and the types of keys.
 * So marshal gets no count of items that do not exist. A message is refused, without a reason, if it contains
 * extensions, containers as keys, nesting deeper than MARSHAL_FRAMES (marshal recurses), or any error. Messages with
 * long arrays that begin with a number are also refused, because number_lists.c reads such arrays faster.
 *
 * The output is version 4 of marshal's format: a type code, then its data, with little-endian numbers. CPython's
 * Python/marshal.c and PyPy's module marshal read the same format.
 */
#pragma once

#include <stdlib.h>

#include "../common/numbers.c"
#include "../common/utf8.c"
#include "../common/words.c"
#include "marshal_buffer.c"
#include "limits.c"

enum {
    MARSHAL_REF =
        0x80, /* flag in a type code: references may refer to this value, by its number among the flagged values */
    MARSHAL_TEXT = 32,   /* the longest text, in bytes, that is searched for among earlier texts */
    MARSHAL_SLOTS = 512, /* size of a table of texts; a power of two */
    MARSHAL_SCALAR = 16, /* the most bytes of a number in the output, or of any other value without its payload */
    MARSHAL_KEYS = 8,    /* from this many pairs on, maps with number keys are refused: the decoder counts collisions */
    MARSHAL_RUN = 256,   /* longer arrays of numbers are left to number_lists.c */
};

/* An earlier text: its position and its reference number. An entry with the `turn` of another call is not valid. */
typedef struct {
    const char *text;
    uint32_t length, turn, number;
} MarshalText;

/* Recent texts, separately for keys and values. Equal texts become one object. */
typedef struct {
    uint32_t turn, numbers;
    MarshalText keys[MARSHAL_SLOTS], values[MARSHAL_SLOTS];
} RecentTexts;

static void recent_texts_begin(RecentTexts *t)
{
    t->numbers = 0;
    if (++t->turn == 0) {
        memset(t, 0, sizeof *t);
        t->turn = 1;
    }
}

static unsigned char *marshal_u32(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

static unsigned char *marshal_u64(unsigned char *to, uint64_t value)
{
    return marshal_u32(marshal_u32(to, (uint32_t)value), (uint32_t)(value >> 32));
}

static unsigned char *marshal_int(unsigned char *to, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX) {
        *to++ = 'i';
        return marshal_u32(to, (uint32_t)value);
    }
    *to++ = 'I';
    return marshal_u64(to, (uint64_t)value);
}

/* Write an int of more than 63 bits, as five digits of 15 bits. */
static unsigned char *marshal_large(unsigned char *to, uint64_t value)
{
    *to++ = 'l';
    to = marshal_u32(to, 5);
    for (int i = 0; i < 5; i++, value >>= 15) {
        *to++ = (unsigned char)value;
        *to++ = (unsigned char)(value >> 8 & 0x7f);
    }
    return to;
}

static unsigned char *marshal_double(unsigned char *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    *to++ = 'g';
    return marshal_u64(to, bits);
}

/* Convert a constant or number, whose first byte is at p, where `left` bytes are available. */
static unsigned char *marshal_number(unsigned char *to, const unsigned char *p, size_t left)
{
    unsigned char byte = *p;
    if (is_fixint(byte))
        return marshal_int(to, (signed char)byte);
    switch (byte) {
    case 0xc0:
        *to++ = 'N';
        return to;
    case 0xc2:
        *to++ = 'F';
        return to;
    case 0xc3:
        *to++ = 'T';
        return to;
    case 0xca:
        return marshal_double(to, read_float(p + 1));
    case 0xcb:
        return marshal_double(to, read_double(p + 1));
    default: {
        int64_t value = read_int(p, left);
        return byte == 0xcf && value < 0 ? marshal_large(to, (uint64_t)value) : marshal_int(to, value);
    }
    }
}

/* Write the text of n bytes at p, where `spare` bytes may be read; return NULL if it is not UTF-8. */
static unsigned char *marshal_str(RecentTexts *t, unsigned char *to, const char *p, size_t n, size_t spare, bool is_key)
{
    unsigned char mark = 0;
    if (n <= MARSHAL_TEXT) {
        MarshalText *text = &(is_key ? t->keys : t->values)[hash_text(p, n, spare) & (MARSHAL_SLOTS - 1)];
        if (text->turn == t->turn && text->length == n && memcmp(text->text, p, n) == 0) {
            *to++ = 'r';
            return marshal_u32(to, text->number);
        }
        *text = (MarshalText){.text = p, .length = (uint32_t)n, .turn = t->turn, .number = t->numbers++};
        mark = MARSHAL_REF;
    }
    if (is_ascii_roomy(p, n, spare)) {
        *to++ = (unsigned char)((n <= 0xff ? 'z' : 'a') | mark);
        if (n <= 0xff)
            *to++ = (unsigned char)n;
        else
            to = marshal_u32(to, (uint32_t)n);
    }
    else {
        if (!is_utf8((const unsigned char *)p, n))
            return NULL;
        *to++ = 'u' | mark;
        to = marshal_u32(to, (uint32_t)n);
    }
    memcpy(to, p, n);
    return to + n;
}

struct cpkg_to_marshal {
    cpkg_marshal_buffer output;
    MessageLimits limits;
    RecentTexts texts;
    uint64_t frames[MARSHAL_FRAMES + 1]; /* as in scan.c */
};

typedef struct cpkg_to_marshal cpkg_to_marshal;

static void cpkg_to_marshal_free(cpkg_to_marshal *m)
{
    marshal_close(&m->output);
    free(m);
}

static cpkg_to_marshal *cpkg_to_marshal_new(void)
{
    cpkg_to_marshal *m = calloc(1, sizeof *m);
    if (m && !marshal_open(&m->output)) {
        free(m);
        return NULL;
    }
    return m;
}

static cpkg_marshal_buffer *cpkg_to_marshal_output(cpkg_to_marshal *m)
{
    return &m->output;
}

/* Set the limits for the next messages; -1 means no limit. */
static void cpkg_to_marshal_configure(cpkg_to_marshal *m, int strict_keys, int64_t max_depth, int64_t max_str,
                                      int64_t max_bin, int64_t max_array, int64_t max_map, int64_t max_ext)
{
    limits_set(&m->limits, MARSHAL_FRAMES, strict_keys, max_depth, max_str, max_bin, max_array, max_map, max_ext);
}

/* Return whether the value at p is a number. */
static bool marshal_is_number(const unsigned char *p, const unsigned char *end)
{
    return p < end && (is_fixint(*p) || (*p >= 0xca && *p <= 0xd3));
}

static size_t marshal_message(cpkg_to_marshal *m, const char *data, size_t size, size_t start)
{
    const unsigned char *base = (const unsigned char *)data, *p = base + start, *end = base + size;
    const MessageLimits *limits = &m->limits;
    recent_texts_begin(&m->texts);
    unsigned char *to = marshal_room(&m->output, m->output.bytes, size - start + MARSHAL_SCALAR);
    if (!to)
        return 0;
    uint32_t depth = 0;
    uint64_t frame = 1 << 1;
    while (p < end) {
        unsigned char byte = *p;
        size_t left = (size_t)(end - p), length, field;
        int kind;
        bool is_key = frame & ~(frame >> 1) & 1;
        TELL_FORMAT(byte, kind, field, length);
        size_t header = 1 + field;
        if (left < header)
            return 0;
        if (field)
            length = big_endian(p + 1, field);
        /* each item takes at least one byte, like each byte of a payload */
        if (length > left - header)
            return 0;
        size_t most = MARSHAL_SCALAR + (kind == FORMAT_STR || kind == FORMAT_BIN ? length : 0);
        if ((size_t)(m->output.end - to) < most && !(to = marshal_room(&m->output, to, most)))
            return 0;
        switch (kind) {
        case FORMAT_NUMBER:
            if (is_key && (limits->strict_keys || frame >> 2 >= MARSHAL_KEYS))
                return 0;
            to = marshal_number(to, p, left);
            break;
        case FORMAT_STR:
            if (length > limits->max_str)
                return 0;
            to = marshal_str(&m->texts, to, (const char *)p + header, length, left - header, is_key);
            if (!to)
                return 0;
            break;
        case FORMAT_BIN:
            if (length > limits->max_bin)
                return 0;
            *to++ = 's';
            to = marshal_u32(to, (uint32_t)length);
            memcpy(to, p + header, length);
            to += length;
            break;
        case FORMAT_ARRAY:
        case FORMAT_MAP:
            if (is_key || depth >= limits->max_depth ||
                length > (kind == FORMAT_MAP ? limits->max_map : limits->max_array))
                return 0;
            p += header;
            if (kind == FORMAT_MAP) {
                *to++ = '{';
            }
            else {
                if (length > MARSHAL_RUN && marshal_is_number(p, end))
                    return 0;
                *to++ = '[';
                to = marshal_u32(to, (uint32_t)length);
            }
            if (length) {
                m->frames[depth++] = frame;
                frame = kind == FORMAT_MAP ? (uint64_t)length << 2 | 1 : (uint64_t)length << 1;
                continue;
            }
            if (kind == FORMAT_MAP)
                *to++ = '0';
            goto passed;
        default:
            return 0;
        }
        p += header + length;
    passed:
        for (frame -= 2; frame < 2; frame = m->frames[--depth] - 2) {
            if (depth == 0) {
                m->output.used = (size_t)(to - m->output.bytes);
                return (size_t)(p - base);
            }
            if (!(frame & 1))
                continue;
            if (to == m->output.end && !(to = marshal_room(&m->output, to, MARSHAL_SCALAR)))
                return 0;
            *to++ = '0';
        }
    }
    return 0;
}

/* Convert the message that begins at `start` in data[0..size) to marshal's bytes in the output. Returns the offset of
   the message's end, or 0 if the message was refused. The offset is negative if the output is not in the kept
   memory. */
static int64_t cpkg_to_marshal_run(cpkg_to_marshal *m, const char *data, size_t size, size_t start)
{
    int64_t end = size <= MARSHAL_LARGEST ? (int64_t)marshal_message(m, data, size, start) : 0;
    if (!end)
        cpkg_marshal_trim(&m->output);
    return m->output.bytes == m->output.kept ? end : -end;
}
