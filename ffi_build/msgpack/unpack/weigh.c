/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimate from a message's headers how much memory its objects will take, before any object exists. An object's weight
 * is its memory in bytes. purepy/msgpack/weigher.py does the same, and explains the weights.
 */
#pragma once

#include <stdlib.h>

#include "../common/formats.c"
#include "../common/utf8.c"
#include "../common/words.c"

enum { WEIGH_KEYS = 1024, WEIGH_SLOTS = 4096 /* a power of two */, WEIGH_FRAMES = 64 };

static const int64_t WEIGH_NO_MEMORY = INT64_MIN;

typedef struct {
    uint64_t *frames; /* for each open container except the innermost: missing values << 1 | whether it is a map */
    size_t depth, capacity;
    uint32_t keys_used;
    struct {
        int64_t begin; /* position of a key in the message; no key begins at 0 */
        size_t size;
    } keys[WEIGH_SLOTS];
} WeighState;

/* Return whether a key is new, that is, not in the table of the message's keys; add a new key if there is room. */
static bool weigh_key_is_new(WeighState *w, const char *data, size_t size, size_t begin, size_t n)
{
    const char *text = data + begin;
    uint64_t hash = hash_text(text, n, size - begin);
    for (size_t i = hash & (WEIGH_SLOTS - 1);; i = (i + 1) & (WEIGH_SLOTS - 1)) {
        if (w->keys[i].begin == 0) {
            if (w->keys_used < WEIGH_KEYS) {
                w->keys_used++;
                w->keys[i].begin = (int64_t)begin;
                w->keys[i].size = n;
            }
            return true;
        }
        if (w->keys[i].size == n && memcmp(data + w->keys[i].begin, text, n) == 0)
            return false;
    }
}

static int64_t weigh_wide_text(const unsigned char *p, size_t n)
{
    unsigned char top;
    size_t characters = count_characters(p, n, &top);
    return 76 + (int64_t)(characters * (top >= 0xf0 ? 4 : top >= 0xc4 ? 2 : 1));
}

static bool weigh_push(WeighState *w, uint64_t frame)
{
    if (w->depth == w->capacity) {
        size_t capacity = w->capacity ? 4 * w->capacity : WEIGH_FRAMES;
        uint64_t *grown = realloc(w->frames, capacity * sizeof *grown);
        if (!grown)
            return false;
        w->frames = grown;
        w->capacity = capacity;
    }
    w->frames[w->depth++] = frame;
    return true;
}

/* Weigh consecutive numbers of the same format, at most `most`, from *position on; return how many there are. Moves
   *position to their end, or, if a number exceeds the limit, to where that number begins. */
static ALWAYS_INLINE size_t weigh_numbers(const char *data, size_t size, size_t *position, int64_t *room, uint64_t most)
{
    const unsigned char byte = (unsigned char)data[*position];
    const size_t each = byte < 0xcc ? (byte == 0xcb ? 9 : 5) : 1 + ((size_t)1 << (byte & 3));
    const int64_t weight = byte == 0xcc || byte == 0xd0 ? 0 : 32;
    size_t count = 0, at = *position;
    int64_t left = *room;
    while (count < most && left >= 0 && size - at >= each && (unsigned char)data[at] == byte) {
        at += each;
        left -= weight;
        count++;
    }
    *position = left < 0 && count ? at - each : at; /* `count` is 0 if the limit was exceeded before */
    *room = left;
    return count;
}

static NEVER_INLINE int64_t weigh_run(WeighState *w, const char *data, size_t size, int64_t room, uint64_t max_depth)
{
    size_t position = 0, key_level = SIZE_MAX;
    uint64_t left = 1;
    bool in_map = false;
    for (;;) {
        while (left == 0) {
            if (w->depth == 0)
                return ~room;
            uint64_t frame = w->frames[--w->depth];
            left = frame >> 1;
            in_map = frame & 1;
            if (w->depth == key_level)
                key_level = SIZE_MAX;
        }
        if (position >= size)
            return ~room;
        const unsigned char byte = (unsigned char)data[position];
        const bool is_key = in_map && !(left & 1);
        const size_t start = position;
        FormatHeader h;
        left--;
        if (is_fixint(byte)) {
            position++;
            continue;
        }
        if (byte >= 0xca && byte <= 0xd3) {
            const size_t count = weigh_numbers(data, size, &position, &room, left + 1);
            if (room < 0)
                return (int64_t)position;
            if (count) {
                left -= count - 1;
                continue;
            }
        }
        if (!read_header((const unsigned char *)data + position, size - position, &h))
            return ~room;
        position += h.size;
        if (is_container(h.kind)) {
            if (h.length == 0) {
                room -= is_key || key_level != SIZE_MAX ? 0 : 64;
            }
            else {
                if (w->depth >= max_depth)
                    return ~room;
                if (is_key && key_level == SIZE_MAX)
                    key_level = w->depth;
                if (!weigh_push(w, left << 1 | in_map))
                    return WEIGH_NO_MEMORY;
                in_map = h.kind == FORMAT_MAP;
                left = in_map ? 2 * (uint64_t)h.length : h.length;
                /* a header may declare more values, but no more can follow than there are bytes */
                int64_t believed = (int64_t)(left < size - position ? left : size - position);
                room -= in_map ? 152 + 20 * believed : 64 + 8 * believed;
            }
        }
        else {
            const size_t begin = position, payload = h.length + (h.kind == FORMAT_EXT);
            if (h.kind == FORMAT_WRONG || payload > size - position)
                return ~room;
            position += payload;
            if (h.kind == FORMAT_STR && h.length > 1) {
                if (!is_ascii_roomy(data + begin, h.length, size - begin))
                    room -= weigh_wide_text((const unsigned char *)data + begin, h.length);
                else if (!is_key || byte >= 0xc0 || weigh_key_is_new(w, data, size, begin, h.length))
                    room -= 56 + (int64_t)h.length;
            }
            else if (h.kind == FORMAT_BIN && h.length > 1)
                room -= 56 + (int64_t)h.length;
            else if (h.kind == FORMAT_EXT)
                room -= 128 + (int64_t)h.length;
            else if (h.kind == FORMAT_NUMBER && h.length && byte != 0xcc && byte != 0xd0)
                room -= 32;
        }
        if (room < 0)
            return (int64_t)start;
    }
}

/* Return the offset of the first value with which the message weighs more than `limit`. If the whole message is within
   the limit, return ~left, where `left` is the unused part of the limit. Return WEIGH_NO_MEMORY if there is no
   memory. */
static int64_t cpkg_weigh(const char *data, size_t size, int64_t limit, int64_t max_depth)
{
    WeighState *w = calloc(1, sizeof *w);
    if (!w)
        return WEIGH_NO_MEMORY;
    int64_t found = weigh_run(w, data, size, limit, max_depth < 0 ? 0 : (uint64_t)max_depth);
    free(w->frames);
    free(w);
    return found;
}
