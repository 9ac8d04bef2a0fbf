/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of messages: big-endian, after the first byte. */
#pragma once

#include <msgpack/sysdep.h>

#include "formats.c"

static ALWAYS_INLINE uint16_t read16(const unsigned char *from)
{
    uint16_t value;
    _msgpack_load16(uint16_t, from, &value);
    return value;
}

static ALWAYS_INLINE uint32_t read32(const unsigned char *from)
{
    uint32_t value;
    _msgpack_load32(uint32_t, from, &value);
    return value;
}

static ALWAYS_INLINE uint64_t read64(const unsigned char *from)
{
    uint64_t value;
    _msgpack_load64(uint64_t, from, &value);
    return value;
}

static ALWAYS_INLINE double read_float(const unsigned char *from)
{
    const uint32_t bits = read32(from);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static ALWAYS_INLINE double read_double(const unsigned char *from)
{
    const uint64_t bits = read64(from);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Read the int whose first byte (0xcc to 0xd3) is at p, where `left` bytes are available. Of a uint64 (0xcf), the 64
   bits are returned unchanged. */
static ALWAYS_INLINE int64_t read_int(const unsigned char *p, size_t left)
{
    const size_t size = (size_t)1 << (*p & 3), shift = 64 - 8 * size;
    const uint64_t bits = left > 8 ? read64(p + 1) : (uint64_t)big_endian(p + 1, size) << shift;
    return *p >= 0xd0 ? (int64_t)bits >> shift : (int64_t)(bits >> shift);
}
