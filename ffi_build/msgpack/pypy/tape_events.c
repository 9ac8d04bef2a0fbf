/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of msgpack-c's parser: each puts what was parsed on the token tape (see tape.c). */
#ifndef CPKG_MSGPACK_PYPY_TAPE_EVENTS
#define CPKG_MSGPACK_PYPY_TAPE_EVENTS

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape_names.c"

static inline TapeObject tape_on_root(cpkg_tape **user)
{
    (void)user;
    return (TapeObject){0};
}

static inline int tape_int(cpkg_tape *t, int64_t value, TapeObject *o)
{
    if (tape_check_place(t, !t->limits.strict_keys) < 0)
        return TAPE_REFUSED;
    if (value >= -((int64_t)1 << 39) && value < (int64_t)1 << 39) {
        tape_put(t, KIND_INT, value);
    }
    else {
        tape_put(t, KIND_WIDE, 0);
        tape_put_word(t, value);
    }
    tape_placed(t, o, OF_INT);
    return 0;
}

#define TAPE_ON_INT(name, type) \
    static inline int tape_on##name(cpkg_tape **user, type value, TapeObject *o) \
    { \
        return tape_int(*user, (int64_t)value, o); \
    }
TAPE_ON_INT(_uint8, uint8_t)
TAPE_ON_INT(_uint16, uint16_t)
TAPE_ON_INT(_uint32, uint32_t)
TAPE_ON_INT(_int8, int8_t)
TAPE_ON_INT(_int16, int16_t)
TAPE_ON_INT(_int32, int32_t)
TAPE_ON_INT(_int64, int64_t)
#undef TAPE_ON_INT

static inline int tape_on_uint64(cpkg_tape **user, uint64_t value, TapeObject *o)
{
    cpkg_tape *t = *user;
    if (value <= INT64_MAX)
        return tape_int(t, (int64_t)value, o);
    if (tape_check_place(t, !t->limits.strict_keys) < 0)
        return TAPE_REFUSED;
    tape_put(t, KIND_UINT, 0);
    tape_put_word(t, (int64_t)value);
    tape_placed(t, o, OF_OTHER);
    return 0;
}

static inline int tape_on_double(cpkg_tape **user, double value, TapeObject *o)
{
    cpkg_tape *t = *user;
    int64_t word;
    if (tape_check_place(t, !t->limits.strict_keys) < 0)
        return TAPE_REFUSED;
    memcpy(&word, &value, sizeof word);
    tape_put(t, KIND_FLOAT, 0);
    tape_put_word(t, word);
    tape_placed(t, o, OF_FLOAT);
    return 0;
}

static inline int tape_on_float(cpkg_tape **user, float value, TapeObject *o)
{
    return tape_on_double(user, value, o);
}

static inline int tape_constant(cpkg_tape *t, int kind, TapeObject *o)
{
    if (tape_check_place(t, !t->limits.strict_keys) < 0)
        return TAPE_REFUSED;
    tape_put(t, kind, 0);
    tape_placed(t, o, OF_OTHER);
    return 0;
}

static inline int tape_on_nil(cpkg_tape **user, TapeObject *o)
{
    return tape_constant(*user, KIND_NIL, o);
}

static inline int tape_on_true(cpkg_tape **user, TapeObject *o)
{
    return tape_constant(*user, KIND_TRUE, o);
}

static inline int tape_on_false(cpkg_tape **user, TapeObject *o)
{
    return tape_constant(*user, KIND_FALSE, o);
}

static inline int tape_open(cpkg_tape *t, size_t count, size_t limit, bool map, TapeObject *o)
{
    if (t->want_key || t->depth >= t->limits.max_depth || count > limit)
        return TAPE_REFUSED;
    if (count == 0) {
        tape_put(t, map ? KIND_EMPTY_MAP : KIND_EMPTY_ARRAY, 0);
        tape_placed(t, o, OF_OTHER);
        return 0;
    }
    *o = (TapeObject){.left = (uint32_t)count, .token = t->used, .stretch = t->stretch, .key = t->key};
    t->depth++;
    tape_put(t, map ? KIND_MAP : KIND_ARRAY, (int64_t)count);
    t->key = KEY_ITEM;
    t->want_key = map;
    return 0;
}

static inline int tape_on_array(cpkg_tape **user, size_t count, TapeObject *o)
{
    return tape_open(*user, count, (*user)->limits.max_array, false, o);
}

static inline int tape_on_map(cpkg_tape **user, size_t count, TapeObject *o)
{
    return tape_open(*user, count, (*user)->limits.max_map, true, o);
}

/* Move the values of the array `c` together, if this stretch has enough of them and they are of one type; true if it
   was done and the array is now a token of its own, without an end. */
static bool tape_gather(cpkg_tape *t, TapeObject *c, bool whole)
{
    bool ints = c->mask == OF_INT;
    if ((!ints && c->mask != OF_FLOAT) || c->stretch != t->stretch)
        return false;
    int64_t *head = t->words + c->token, *to = head + 1;
    const int64_t *from = to, *end = t->words + t->used;
    if (end - from < TAPE_RUN)
        return false;
    /* a value takes one or two words here and one there: `to` never passes `from` */
    while (from < end) {
        int64_t word = *from++;
        *to++ = (word & 0xff) == KIND_INT ? word >> 24 : *from++;
    }
    int kind;
    bool fresh = (*head & 0xff) == KIND_ARRAY;
    if (!fresh)
        kind = ints ? KIND_MORE_INTS : KIND_MORE_FLOATS;
    else if (whole)
        kind = ints ? KIND_INTS : KIND_FLOATS;
    else
        kind = ints ? KIND_OPEN_INTS : KIND_OPEN_FLOATS;
    *head = (int64_t)((uint64_t)(to - head - 1) << 24 | (*head & 0xffff00) | kind);
    t->used = (uint32_t)(to - t->words);
    return fresh && whole;
}

static inline void tape_close(cpkg_tape *t, TapeObject *c)
{
    t->key = c->key;
    tape_put(t, KIND_END, 0);
    t->key = KEY_ITEM;
}

static inline int tape_on_array_item(cpkg_tape **user, TapeObject *c, TapeObject item)
{
    cpkg_tape *t = *user;
    c->mask |= item.mask;
    if (--c->left == 0) {
        t->depth--;
        if (!tape_gather(t, c, true))
            tape_close(t, c);
        c->mask = OF_OTHER; /* from here on this object is an item of the container around it */
    }
    t->want_key = false;
    return 0;
}

static inline int tape_on_map_item(cpkg_tape **user, TapeObject *c, TapeObject key, TapeObject value)
{
    cpkg_tape *t = *user;
    (void)key;
    (void)value;
    if (--c->left == 0) {
        t->depth--;
        tape_close(t, c);
        c->mask = OF_OTHER;
        t->want_key = false;
        return 0;
    }
    t->want_key = true;
    return 0;
}

static inline void tape_put_span(cpkg_tape *t, int kind, const char *p, size_t n)
{
    tape_put(t, kind, (int64_t)n);
    tape_put_word(t, p - t->data);
}

static inline int tape_on_str(cpkg_tape **user, const char *base, const char *p, size_t n, TapeObject *o)
{
    cpkg_tape *t = *user;
    if (n == 0)
        p = base; /* the template has no position for an empty payload */
    if (n > t->limits.max_str)
        return TAPE_REFUSED;
    if (t->want_key && n <= TAPE_NAME_LENGTH) {
        uint16_t number = tape_name_number(t, p, n);
        if (number) {
            *o = (TapeObject){0};
            t->key = number;
            t->want_key = false;
            return 0;
        }
    }
    tape_check_place(t, true);
    size_t spare = tape_spare(t, p);
    if (n <= TAPE_POOL_STRING && is_ascii_roomy(p, n, spare)) {
        char *to = t->pool + t->pool_used;
        if (n <= 16 && spare >= 16)
            memcpy(to, p, 16); /* a fixed size is one load and one store */
        else
            memcpy(to, p, n);
        t->pool_used += (uint32_t)n;
        tape_put(t, KIND_ASCII, t->pool_used);
    }
    else {
        tape_put_span(t, KIND_STR, p, n);
    }
    tape_placed(t, o, OF_OTHER);
    return 0;
}

static inline int tape_on_bin(cpkg_tape **user, const char *base, const char *p, size_t n, TapeObject *o)
{
    cpkg_tape *t = *user;
    if (n == 0)
        p = base;
    if (n > t->limits.max_bin)
        return TAPE_REFUSED;
    tape_check_place(t, true);
    tape_put_span(t, KIND_BIN, p, n);
    tape_placed(t, o, OF_OTHER);
    return 0;
}

/* The type byte stands before the payload and is counted. A length of 0 is an ext 32 whose length overflowed. */
static inline int tape_on_ext(cpkg_tape **user, const char *base, const char *p, size_t n, TapeObject *o)
{
    cpkg_tape *t = *user;
    (void)base;
    if (n == 0 || n - 1 > t->limits.max_ext || (!t->limits.exts && (unsigned char)*p != 0xff) ||
        tape_check_place(t, !t->limits.strict_keys) < 0)
        return TAPE_REFUSED;
    tape_put_span(t, KIND_EXT, p, n);
    tape_placed(t, o, OF_OTHER);
    return 0;
}

#endif
