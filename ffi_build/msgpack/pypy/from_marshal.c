/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convert the bytes from `marshal.dumps(object, 2)` to a message: the reverse of to_marshal.c, for packing before the
 * JIT has traced the packing loop.
 *
 * The bytes come directly from the interpreter's own marshal. The conversion refuses values that MessagePack does not
 * have (sets, complex numbers, code, ints of more than 64 bits), text with surrogates, and too deep nesting. The caller
 * then packs the object in the ordinary way, which succeeds or raises the error.
 *
 * marshal does not distinguish bytes from other buffers, such as an array.array, which MessagePack does not have. So
 * the path to each such value is recorded, and the caller checks the type of the object at the end of the path.
 */
#pragma once

#include <stdlib.h>

#include "../common/utf8.c"
#include "../common/words.c"
#include "marshal_buffer.c"

/* The steps of a path. Each step is a word: one of these codes, and a number in the bits above it. PATH_BACK: leave
   inner containers until this many are open. PATH_INTO: enter the container at this index. PATH_BYTES: expect bytes at
   this index. In a dict the values are numbered, not the keys. */
enum { PATH_BACK, PATH_INTO, PATH_BYTES, PATH_SHIFT = 2 };

typedef struct {
    int64_t left;   /* of a list, the items still to come; of a dict, -1 */
    int64_t count;  /* items or values so far, including the current one */
    size_t header;  /* position of the header in the message */
    bool wants_key; /* of a dict, whether a key or the end comes next */
} MarshalFrame;

struct cpkg_from_marshal {
    cpkg_marshal_buffer output, path;
    uint32_t at, known; /* number of containers at the end of the recorded path; how many of them are still open */
    MarshalFrame frames[MARSHAL_FRAMES + 1];
};

typedef struct cpkg_from_marshal cpkg_from_marshal;

static void cpkg_from_marshal_free(cpkg_from_marshal *m)
{
    marshal_close(&m->output);
    marshal_close(&m->path);
    free(m);
}

static cpkg_from_marshal *cpkg_from_marshal_new(void)
{
    cpkg_from_marshal *m = calloc(1, sizeof *m);
    if (m && (!marshal_open(&m->output) || !marshal_open(&m->path))) {
        cpkg_from_marshal_free(m);
        return NULL;
    }
    return m;
}

static cpkg_marshal_buffer *cpkg_from_marshal_output(cpkg_from_marshal *m)
{
    return &m->output;
}

static cpkg_marshal_buffer *cpkg_from_marshal_path(cpkg_from_marshal *m)
{
    return &m->path;
}

static bool path_step(cpkg_marshal_buffer *path, int step, int64_t number)
{
    int64_t word = number << PATH_SHIFT | step;
    unsigned char *to = marshal_room(path, path->bytes + path->used, sizeof word);
    if (!to)
        return false;
    memcpy(to, &word, sizeof word);
    path->used += sizeof word;
    return true;
}

/* Record the path to the current value, which is inside `depth` containers; frames[1] is the outermost. Return false
   without memory. */
static bool path_note(cpkg_from_marshal *m, uint32_t depth)
{
    if (m->known != depth || m->at != depth) {
        if (!path_step(&m->path, PATH_BACK, m->known))
            return false;
        for (uint32_t level = m->known; level < depth; level++)
            if (!path_step(&m->path, PATH_INTO, m->frames[level].count - 1))
                return false;
        m->at = m->known = depth;
    }
    return path_step(&m->path, PATH_BYTES, m->frames[depth].count - 1);
}

static inline int32_t little_i32(const unsigned char *p)
{
    return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

static inline unsigned char *message_field(unsigned char *to, unsigned char format, uint64_t value, int bytes)
{
    *to++ = format;
    for (int i = bytes - 1; i >= 0; i--)
        *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

static unsigned char *message_int(unsigned char *to, int64_t value)
{
    if (value >= -0x20 && value < 0x80) {
        *to++ = (unsigned char)value;
        return to;
    }
    uint64_t bits = value < 0 ? (uint64_t)~value << 1 : (uint64_t)value; /* the sign takes one bit */
    int width = (bits > 0xff) + (bits > 0xffff) + (bits > 0xffffffff);
    return message_field(to, (unsigned char)((value < 0 ? 0xd0 : 0xcc) + width), (uint64_t)value, 1 << width);
}

/* Write a header with a length, in the shortest format. `fix` holds lengths below `fix_end` in the first byte; `bits8`
   and `bits16` are the formats with 8 and 16 bits, and the format after `bits16` has 32 bits. A `fix_end`
   or `bits8` of 0 means that there is no such format. */
static unsigned char *message_header(unsigned char *to, size_t length, unsigned char fix, size_t fix_end,
                                     unsigned char bits8, unsigned char bits16)
{
    if (length < fix_end) {
        *to++ = (unsigned char)(fix | length);
        return to;
    }
    if (bits8 && length <= 0xff)
        return message_field(to, bits8, length, 1);
    if (length <= 0xffff)
        return message_field(to, bits16, length, 2);
    return message_field(to, (unsigned char)(bits16 + 1), length, 4);
}

/* Write a long int of marshal, which has `digits` digits of 15 bits at p (negative for a negative int). Return NULL if
   the int is out of MessagePack's range. */
static unsigned char *message_long(unsigned char *to, const unsigned char *p, int32_t digits)
{
    int32_t n = digits < 0 ? -digits : digits;
    if (n > 5 || (n == 5 && (p[8] | p[9] << 8) > 0xf))
        return NULL;
    uint64_t value = 0;
    for (int32_t i = n - 1; i >= 0; i--)
        value = value << 15 | (uint64_t)(p[2 * i] | p[2 * i + 1] << 8);
    if (digits < 0)
        return value > (uint64_t)1 << 63 ? NULL : message_int(to, (int64_t)(0 - value));
    return value > INT64_MAX ? message_field(to, 0xcf, value, 8) : message_int(to, (int64_t)value);
}

/* Write the number of a dict's values into its header, and move the following bytes if the header grows. There is room,
   because a pair takes at least two bytes of marshal's data. */
static unsigned char *message_close_map(cpkg_from_marshal *m, unsigned char *to, const MarshalFrame *frame)
{
    unsigned char header[5], *at = m->output.bytes + frame->header;
    size_t n = (size_t)(message_header(header, (size_t)frame->count, 0x80, 16, 0, 0xde) - header);
    if (n > 1)
        memmove(at + n, at + 1, (size_t)(to - at - 1));
    memcpy(at, header, n);
    return to + n - 1;
}

static int marshal_object(cpkg_from_marshal *m, const char *data, size_t size, int64_t max_depth)
{
    const unsigned char *p = (const unsigned char *)data, *end = p + size;
    uint32_t depth = 0, deepest = max_depth < MARSHAL_FRAMES ? (uint32_t)max_depth : MARSHAL_FRAMES;
    unsigned char *to = marshal_room(&m->output, m->output.bytes, size);
    if (!to)
        return 0;
    m->path.used = 0;
    m->at = m->known = 1;
    MarshalFrame *frame = m->frames;
    *frame = (MarshalFrame){.left = 1};
    while (p < end) {
        unsigned char code = *p++;
        size_t n = 0;
        bool map = false;
        if (frame->left < 0) {
            if (frame->wants_key && code == '0')
                goto passed;
            frame->count += frame->wants_key;
            frame->wants_key = !frame->wants_key;
        }
        else {
            frame->count++;
            frame->left--;
        }
        switch (code) {
        case 'N':
            *to++ = 0xc0;
            break;
        case 'F':
            *to++ = 0xc2;
            break;
        case 'T':
            *to++ = 0xc3;
            break;
        case 'i':
            if (end - p < 4)
                return 0;
            to = message_int(to, little_i32(p));
            p += 4;
            break;
        case 'l': {
            if (end - p < 4)
                return 0;
            int32_t digits = little_i32(p);
            p += 4;
            n = 2 * (size_t)(digits < 0 ? -(int64_t)digits : digits);
            if ((size_t)(end - p) < n || !(to = message_long(to, p, digits)))
                return 0;
            p += n;
            break;
        }
        case 'g': {
            if (end - p < 8)
                return 0;
            uint64_t bits = (uint64_t)(uint32_t)little_i32(p) | (uint64_t)(uint32_t)little_i32(p + 4) << 32;
            to = message_field(to, 0xcb, bits, 8);
            p += 8;
            break;
        }
        case 'u':
        case 's':
            if (end - p < 4)
                return 0;
            n = (uint32_t)little_i32(p);
            p += 4;
            if ((size_t)(end - p) < n)
                return 0;
            if (code == 'u') {
                if (!is_ascii_roomy((const char *)p, n, (size_t)(end - p)) && find_surrogate(p, p + n))
                    return 0;
                to = message_header(to, n, 0xa0, 32, 0xd9, 0xda);
            }
            else {
                /* no path leads to a key or to the whole object */
                if (depth == 0 || (frame->left < 0 && !frame->wants_key) || !path_note(m, depth))
                    return 0;
                to = message_header(to, n, 0, 0, 0xc4, 0xc5);
            }
            memcpy(to, p, n);
            to += n;
            p += n;
            break;
        case '{':
            map = true;
            n = 1;
            /* fall through */
        case '[':
        case '(':
            if (depth >= deepest || (frame->left < 0 && !frame->wants_key))
                return 0;
            if (!map) {
                if (end - p < 4)
                    return 0;
                n = (uint32_t)little_i32(p);
                p += 4;
            }
            depth++;
            *++frame = (MarshalFrame){
                .left = map ? -1 : (int64_t)n, .header = (size_t)(to - m->output.bytes), .wants_key = map};
            if (map)
                to++; /* the header; message_close_map() writes it */
            else
                to = message_header(to, n, 0x90, 16, 0, 0xdc);
            if (n)
                continue;
            break;
        default:
            return 0;
        }
    passed:
        while (frame->left == 0 || (frame->left < 0 && code == '0')) {
            if (depth == 0) {
                m->output.used = (size_t)(to - m->output.bytes);
                return p == end;
            }
            if (frame->left < 0)
                to = message_close_map(m, to, frame);
            code = 0;
            frame--;
            depth--;
            if (m->known > depth)
                m->known = depth ? depth : 1;
        }
    }
    return 0;
}

/*
 * Convert marshal's bytes data[0..size) to a message in the output. Nesting deeper than max_depth is refused.
 * Containers and bytes as keys are also refused, because no path leads to a key. Returns 1, or 0 if anything was
 * refused.
 *
 * The message is never longer than marshal's bytes.
 */
static int cpkg_from_marshal_run(cpkg_from_marshal *m, const char *data, size_t size, int64_t max_depth)
{
    int done = size <= MARSHAL_LARGEST ? marshal_object(m, data, size, max_depth) : 0;
    if (!done) {
        cpkg_marshal_trim(&m->output);
        cpkg_marshal_trim(&m->path);
    }
    return done;
}
