/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of MessagePack values: the first byte and the length field after it (specification, "Formats"). */
#pragma once

#include "../../common/base.h"

enum { FORMAT_NUMBER, FORMAT_STR, FORMAT_BIN, FORMAT_EXT, FORMAT_ARRAY, FORMAT_MAP, FORMAT_WRONG };

/* The formats 0xc0 to 0xdf: kind, size of the length field, and, for formats without this field, the length (of numbers
   and constants, the bytes after the first). The type byte of an ext does not count. */
/* clang-format off */
static const struct {
    uint8_t kind, field, length;
} formats[32] = {
    {FORMAT_NUMBER, 0, 0}, {FORMAT_WRONG, 0, 0},  {FORMAT_NUMBER, 0, 0}, {FORMAT_NUMBER, 0, 0},
    {FORMAT_BIN, 1, 0},    {FORMAT_BIN, 2, 0},    {FORMAT_BIN, 4, 0},    {FORMAT_EXT, 1, 0},
    {FORMAT_EXT, 2, 0},    {FORMAT_EXT, 4, 0},    {FORMAT_NUMBER, 0, 4}, {FORMAT_NUMBER, 0, 8},
    {FORMAT_NUMBER, 0, 1}, {FORMAT_NUMBER, 0, 2}, {FORMAT_NUMBER, 0, 4}, {FORMAT_NUMBER, 0, 8},
    {FORMAT_NUMBER, 0, 1}, {FORMAT_NUMBER, 0, 2}, {FORMAT_NUMBER, 0, 4}, {FORMAT_NUMBER, 0, 8},
    {FORMAT_EXT, 0, 1},    {FORMAT_EXT, 0, 2},    {FORMAT_EXT, 0, 4},    {FORMAT_EXT, 0, 8},
    {FORMAT_EXT, 0, 16},   {FORMAT_STR, 1, 0},    {FORMAT_STR, 2, 0},    {FORMAT_STR, 4, 0},
    {FORMAT_ARRAY, 2, 0},  {FORMAT_ARRAY, 4, 0},  {FORMAT_MAP, 2, 0},    {FORMAT_MAP, 4, 0},
};
/* clang-format on */

static inline size_t big_endian(const unsigned char *p, size_t n)
{
    size_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | p[i];
    return value;
}

/* Return whether a byte is a complete value: an int from -32 to 127. */
static ALWAYS_INLINE bool is_fixint(unsigned char byte)
{
    return byte < 0x80 || byte >= 0xe0;
}

/*
 * Decode the first byte of a header: kind, size of the length field, and, for formats without this field, the length.
 * The macro stores them in variables of the loops over messages: with read_header(), the loops would take up to a
 * seventh longer.
 */
#define TELL_FORMAT(byte, to_kind, to_field, to_length) \
    do { \
        (to_field) = 0; \
        if ((byte) < 0x80 || (byte) >= 0xe0) { \
            (to_kind) = FORMAT_NUMBER; \
            (to_length) = 0; \
        } \
        else if ((byte) < 0xa0) { \
            (to_kind) = (byte) < 0x90 ? FORMAT_MAP : FORMAT_ARRAY; \
            (to_length) = (byte) & 0x0f; \
        } \
        else if ((byte) < 0xc0) { \
            (to_kind) = FORMAT_STR; \
            (to_length) = (byte) & 0x1f; \
        } \
        else { \
            (to_kind) = formats[(byte) - 0xc0].kind; \
            (to_field) = formats[(byte) - 0xc0].field; \
            (to_length) = formats[(byte) - 0xc0].length; \
        } \
    } while (0)

typedef struct {
    int kind;
    size_t size;   /* size of the header in bytes; the type of an ext follows the header */
    size_t length; /* bytes that follow (without the type of an ext), items of an array, or pairs of a map */
} FormatHeader;

/* Read the header at p, where `left` (at least 1) bytes are available; return false and no length if it is cut. */
static ALWAYS_INLINE bool read_header(const unsigned char *p, size_t left, FormatHeader *h)
{
    size_t field;
    const unsigned char byte = *p; /* read once: another thread or process may change it */
    TELL_FORMAT(byte, h->kind, field, h->length);
    h->size = 1 + field;
    if (left <= field)
        return false;
    if (field)
        h->length = big_endian(p + 1, field);
    return true;
}

static ALWAYS_INLINE bool is_container(int kind)
{
    return kind == FORMAT_ARRAY || kind == FORMAT_MAP;
}
