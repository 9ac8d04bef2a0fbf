/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that a token tape has met and numbered (see tape.c). */
#ifndef CPKG_MSGPACK_PYPY_TAPE_NAMES
#define CPKG_MSGPACK_PYPY_TAPE_NAMES

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tape_words.c"

static inline size_t tape_spare(const cpkg_tape *t, const char *p)
{
    return (size_t)(t->data + t->size - p);
}

/* A name is kept with zeros behind it, so that whole words of it compare. */
static inline bool tape_is_name(const TapeName *name, const char *p, size_t n, size_t spare)
{
    const char *text = name->text;
    if (name->length != n)
        return false;
    for (; n >= 8; p += 8, text += 8, n -= 8, spare -= 8)
        if (load8(p) != load8(text))
            return false;
    return load_tail(p, n, spare) == load8(text);
}

/* The number of a key in the table, new or old; 0 if it has none and gets none. */
static uint16_t tape_find_name(cpkg_tape *t, const char *text, size_t length, size_t spare)
{
    uint64_t hash = hash_text(text, length, spare);
    /* a run of taken slots always ends: the table has four slots for each name */
    for (uint32_t slot = hash & (TAPE_SLOTS - 1);; slot = (slot + 1) & (TAPE_SLOTS - 1)) {
        uint16_t number = t->slots[slot];
        if (number == 0) {
            if (t->names_used == TAPE_NAMES) {
                t->names_missed++;
                return 0;
            }
            number = (uint16_t)++t->names_used;
            t->slots[slot] = number;
            TapeName *name = &t->names[number];
            name->length = length;
            memset(name->text, 0, sizeof name->text);
            memcpy(name->text, text, length);
            t->new_names[2 * t->new_used] = text - t->data;
            t->new_names[2 * t->new_used++ + 1] = (int64_t)length;
            return number;
        }
        if (tape_is_name(&t->names[number], text, length, spare))
            return number;
    }
}

/* Maps of one shape repeat their keys in order: the key that followed the last one before is tried first. */
static inline uint16_t tape_name_number(cpkg_tape *t, const char *text, size_t length)
{
    size_t spare = tape_spare(t, text);
    uint16_t number = t->following[t->last_name];
    if (!tape_is_name(&t->names[number], text, length, spare)) {
        number = tape_find_name(t, text, length, spare);
        t->following[t->last_name] = number;
    }
    t->last_name = number;
    return number;
}

#endif
