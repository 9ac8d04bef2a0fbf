/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of an archive so far, in components each ended by NUL. */
#pragma once

#include "memory.c"

/* Hashes of paths, as a hash table; 0 is none. */
typedef struct {
    uint64_t *hashes;
    size_t count, slots;
} Seen;

static uint64_t path_hash(const char *path, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t at = 0; at < size; at++)
        hash = (hash ^ (unsigned char)path[at]) * 0x100000001B3u;
    hash ^= hash >> 32;
    return hash ? hash : 1;
}

static int seen_has(const Seen *seen, const char *path, size_t size)
{
    uint64_t hash = path_hash(path, size);
    for (size_t slot = (size_t)hash; seen->slots; slot++) {
        uint64_t there = seen->hashes[slot & (seen->slots - 1)];
        if (!there || there == hash)
            return there != 0;
    }
    return 0;
}

/* Note a path, in components each ended by NUL; 1 if it was there before, 0 if not, -1 for want of memory. */
static int seen_note(Seen *seen, const char *path, size_t size)
{
    if (2 * seen->count >= seen->slots) {
        size_t slots = seen->slots ? 2 * seen->slots : 4096;
        uint64_t *hashes = calloc(slots, sizeof *hashes);
        if (hashes == NULL)
            return -1;
        for (size_t old = 0; old < seen->slots; old++) {
            size_t slot = (size_t)seen->hashes[old] & (slots - 1);
            while (seen->hashes[old] && hashes[slot])
                slot = (slot + 1) & (slots - 1);
            if (seen->hashes[old])
                hashes[slot] = seen->hashes[old];
        }
        free(seen->hashes);
        seen->hashes = hashes;
        seen->slots = slots;
    }
    uint64_t hash = path_hash(path, size);
    size_t slot = (size_t)hash & (seen->slots - 1);
    for (; seen->hashes[slot]; slot = (slot + 1) & (seen->slots - 1))
        if (seen->hashes[slot] == hash)
            return 1;
    seen->hashes[slot] = hash;
    seen->count++;
    return 0;
}

static void seen_free(Seen *seen)
{
    free(seen->hashes);
    memset(seen, 0, sizeof *seen);
}
