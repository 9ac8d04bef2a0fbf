/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of MessagePack that a leading byte alone does not tell (specification, "Formats"). */
#ifndef CPKG_MSGPACK_COMMON_FORMATS
#define CPKG_MSGPACK_COMMON_FORMATS

#include <stddef.h>
#include <stdint.h>

enum { FORMAT_NUMBER, FORMAT_STR, FORMAT_BIN, FORMAT_EXT, FORMAT_ARRAY, FORMAT_MAP, FORMAT_WRONG };

/* The formats 0xc0 to 0xdf: kind, size of the length field, and without one the length (of numbers and constants too).
   The byte of an ext type is not counted. */
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

#endif
