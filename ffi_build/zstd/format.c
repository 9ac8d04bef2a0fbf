/* SPDX-License-Identifier: Apache-2.0 */
/* The frame format (RFC 8878, 3.1.1) as far as the builtins read it: headers of frames and blocks, never content. */
#pragma once

#include "../common/base.h"

enum { BLOCK_MAX = 128 << 10 };

#define FRAME_MAGIC 0xFD2FB528u
#define SKIPPABLE_MAGIC 0x184D2A50u /* the first of sixteen consecutive numbers */
#define SKIPPABLE_MAGIC_MASK 0xFFFFFFF0u

#define WINDOW_LOG_MAX_DEFAULT 27
/* The window that ZSTD_decompressStream() accepts by default. */
#define WINDOW_SIZE_MAX_DEFAULT (((uint64_t)1 << WINDOW_LOG_MAX_DEFAULT) + 1)
/* Up to these sizes, a declared size or an upper bound is allocated at once, however small the input is. */
#define DECLARED_SIZE_TRUST ((uint64_t)1 << 30)
#define UNKNOWN_SIZE_TRUST ((uint64_t)64 << 20)

static uint64_t little_endian(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;
    while (size > 0)
        value = value << 8 | bytes[--size];
    return value;
}

/* The header of a frame that is not skippable (RFC 8878, 3.1.1.1). */
typedef struct {
    size_t size; /* including the magic number */
    uint64_t window;
    uint64_t content;
    int is_declared; /* if false, `content` is 0 */
    int has_dictionary_id;
    int has_checksum;
} Header;

/* Read a header; return 0, or -1 if the header is incomplete or malformed, or belongs to a skippable frame. */
static ALWAYS_INLINE int read_header(const unsigned char *src, const unsigned char *end, int has_magic, Header *header)
{
    static const unsigned char size_bytes[4] = {0, 2, 4, 8}, id_bytes[4] = {0, 1, 2, 4};
    const unsigned char *start = src;
    if (has_magic) {
        if (end - src < 4 || little_endian(src, 4) != FRAME_MAGIC)
            return -1;
        src += 4;
    }
    if (end == src)
        return -1;
    unsigned descriptor = *src++;
    size_t single_segment = descriptor >> 5 & 1;
    size_t id_size = id_bytes[descriptor & 3];
    size_t content_size = size_bytes[descriptor >> 6];
    if (content_size == 0 && single_segment)
        content_size = 1;
    size_t rest = !single_segment + id_size + content_size;
    if ((descriptor & 8) != 0 || (size_t)(end - src) < rest)
        return -1;
    header->size = (size_t)(src - start) + rest;
    header->content = little_endian(src + rest - content_size, content_size);
    if (content_size == 2)
        header->content += 256;
    header->is_declared = content_size != 0;
    header->window = header->content;
    if (!single_segment) {
        uint64_t base = (uint64_t)1 << (10 + (*src >> 3));
        header->window = base + (base >> 3) * (*src & 7);
    }
    header->has_dictionary_id = id_size != 0;
    header->has_checksum = descriptor >> 2 & 1;
    return 0;
}

/* The sizes of a frame, from its header and the headers of its blocks. */
typedef struct {
    size_t size;      /* the size of the frame, including the checksum */
    uint64_t content; /* the declared size of the content; if none is declared, the most that the blocks can hold */
    int is_declared;
} Frame;

/*
 * Read the headers of a frame and its blocks (RFC 8878, 3.1.1) without decoding anything.
 *
 * Return 0, or -1 for input that takes the slow path: truncated or malformed input, a dictionary id without a
 * dictionary, a window above the limit, or a declared size that is larger than the blocks can hold.
 */
static int measure_frame(const unsigned char *src, const unsigned char *end, uint64_t window_max, int has_dictionary,
                         Frame *frame)
{
    const unsigned char *start = src;
    if (end - src < 8)
        return -1;
    if ((little_endian(src, 4) & SKIPPABLE_MAGIC_MASK) == SKIPPABLE_MAGIC) {
        uint64_t length = little_endian(src + 4, 4);
        if ((uint64_t)(end - src) - 8 < length)
            return -1;
        frame->size = 8 + (size_t)length;
        frame->content = 0;
        frame->is_declared = 1;
        return 0;
    }
    Header header;
    if (read_header(src, end, 1, &header) < 0 || (header.has_dictionary_id && !has_dictionary) ||
        header.window > window_max) {
        return -1;
    }
    uint64_t block_max = header.window < BLOCK_MAX ? header.window : BLOCK_MAX;
    uint64_t reach = 0;
    int is_last = 0;
    src += header.size;
    while (!is_last) {
        if (end - src < 3)
            return -1;
        uint64_t block = little_endian(src, 3);
        unsigned type = block >> 1 & 3;
        uint64_t length = block >> 3;
        is_last = block & 1;
        if (type == 3 ||
            length > block_max) { /* libzstd accepts larger blocks if it decompresses at once, but not in parts */
            return -1;
        }
        reach += type == 2 ? block_max : length;
        if (type == 1)
            length = 1;
        src += 3;
        if ((uint64_t)(end - src) < length)
            return -1;
        src += length;
    }
    if (header.has_checksum) {
        if (end - src < 4)
            return -1;
        src += 4;
    }
    if (header.is_declared && header.content > reach)
        return -1;
    frame->size = (size_t)(src - start);
    frame->content = header.is_declared ? header.content : reach;
    frame->is_declared = header.is_declared;
    return 0;
}

/* Return whether to allocate a declared size, or an upper bound, at once: if it is small, or plausible for the
   input. */
static int is_trusted(uint64_t content, int is_declared, size_t input)
{
    return is_declared ? content <= DECLARED_SIZE_TRUST || content / 64 <= input
                       : content <= UNKNOWN_SIZE_TRUST || content / 32 <= input;
}

/* Measure all frames in `all->size` bytes as if they were one; return 0, or -1 if they cannot be decompressed at
   once. */
static int measure_all_frames(const unsigned char *src, uint64_t window_max, int has_dictionary, Frame *all)
{
    const unsigned char *end = src + all->size;
    all->content = 0;
    all->is_declared = 1;
    if (all->size == 0)
        return -1;
    while (src < end) {
        Frame frame;
        if (measure_frame(src, end, window_max, has_dictionary, &frame) < 0)
            return -1;
        all->content += frame.content;
        all->is_declared &= frame.is_declared;
        src += frame.size;
    }
    return is_trusted(all->content, all->is_declared, all->size) ? 0 : -1;
}
