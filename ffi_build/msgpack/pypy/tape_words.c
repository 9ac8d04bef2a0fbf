/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a token tape, its words, and the limits that a message is checked against (see tape.c). */
#ifndef CPKG_MSGPACK_PYPY_TAPE_WORDS
#define CPKG_MSGPACK_PYPY_TAPE_WORDS

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack/unpack.h>

#include "../common/utf8.c"
#include "../common/words.c"

/* msgpack-c fixes the depth of its frames when it is compiled. */
#define TAPE_FRAMES 1024
#undef MSGPACK_EMBED_STACK_SIZE
#define MSGPACK_EMBED_STACK_SIZE TAPE_FRAMES
#include <msgpack/unpack_define.h>

enum {
    TAPE_STEP = 4096,                                  /* bytes parsed between two looks at the room that is left */
    TAPE_STEP_WORDS = 2 * TAPE_STEP + TAPE_FRAMES + 2, /* words that so many bytes can give, see cpkg_tape_next() */
    TAPE_WORDS = 8 + 3 * TAPE_STEP_WORDS,
    TAPE_POOL_STRING = 1024, /* longest string that goes through the pool */
    TAPE_POOL = 4 * (TAPE_STEP + TAPE_POOL_STRING) + 16,
    TAPE_NAMES = 1024,
    TAPE_NAME_LENGTH = 48, /* longest key that is kept */
    TAPE_SLOTS = 4096,     /* of the hash table over the names; a power of two */
    TAPE_RUN = 4,          /* shortest array whose values are moved together */
};

/* The first words of a tape tell about the rest. */
enum { HEAD_POOL, HEAD_NEW_NAMES, HEAD_FORGET, HEAD_END, HEAD_KEY, HEAD_WORDS };

/* clang-format off */
enum {
    KIND_END, KIND_NIL, KIND_FALSE, KIND_TRUE,
    KIND_INT,                                  /* payload: the value */
    KIND_WIDE, KIND_UINT, KIND_FLOAT,          /* next word: the value as int64, uint64, double */
    KIND_ASCII,                                /* payload: where the string ends in the pool */
    KIND_STR, KIND_BIN, KIND_EXT,              /* payload: length; next word: offset in the message */
    KIND_ARRAY, KIND_MAP,                      /* payload: the declared count, above 0; KIND_END follows the items */
    KIND_EMPTY_ARRAY, KIND_EMPTY_MAP,
    KIND_INTS, KIND_FLOATS,                    /* payload: count; next words: the values of a whole array */
    KIND_OPEN_INTS, KIND_OPEN_FLOATS,          /* the same for an array's beginning; more follows */
    KIND_MORE,                                 /* nothing */
    KIND_MORE_INTS, KIND_MORE_FLOATS           /* payload: count; next words: further values of the open array */
};
/* clang-format on */

enum { KEY_ITEM = 0, KEY_IS_KEY = 0xfffe, KEY_PENDING = 0xffff };

enum { OF_INT = 1, OF_FLOAT = 2, OF_OTHER = 4 };

enum { TAPE_MORE = 0, TAPE_DONE = 1, TAPE_REFUSED = -1 };

enum { TAPE_CONTINUE = -1, TAPE_NEXT_PART = -2 };

typedef struct {
    uint32_t left;  /* container: items or pairs that are still to come */
    uint32_t token; /* container: its word in the stretch `stretch` */
    uint32_t stretch;
    uint16_t key; /* container: its own key */
    uint8_t mask; /* value: what it is; container: what all its items so far in this stretch are */
} TapeObject;

typedef struct {
    size_t length;
    char text[TAPE_NAME_LENGTH + 8];
} TapeName;

/* What a message is checked against. */
typedef struct {
    size_t max_str, max_bin, max_array, max_map, max_ext;
    uint32_t max_depth;
    bool strict_keys;
    bool exts; /* whether there may be extensions other than timestamps */
} TapeLimits;

struct cpkg_tape {
    int64_t words[TAPE_WORDS];
    int64_t new_names[2 * TAPE_NAMES]; /* offset and length of each key that is new to the table in this stretch */
    char pool[TAPE_POOL];
    const char *data;
    size_t size, offset;
    TapeLimits limits;
    uint32_t used, pool_used, new_used, stretch;
    uint32_t depth;
    uint32_t names_used, names_missed;
    uint16_t key, last_name;
    bool want_key;
    uint16_t following[TAPE_NAMES + 1]; /* the number that last came after each */
    uint16_t slots[TAPE_SLOTS];
    TapeName names[TAPE_NAMES + 1]; /* number 0 is no name, and its length that of none */
};

typedef struct cpkg_tape cpkg_tape;

#define msgpack_unpack_struct(name) struct tape_parser##name
#define msgpack_unpack_func(ret, name) static inline ret tape_parser##name
#define msgpack_unpack_callback(name) tape_on##name
#define msgpack_unpack_object TapeObject
#define msgpack_unpack_user cpkg_tape *

static inline void tape_put(cpkg_tape *t, int kind, int64_t payload)
{
    t->words[t->used++] = (int64_t)((uint64_t)payload << 24 | (uint64_t)t->key << 8 | (uint64_t)kind);
}

static inline void tape_put_word(cpkg_tape *t, int64_t word)
{
    t->words[t->used++] = word;
}

/* Before a scalar is put: in a map's key position it is marked as key, if keys of its type are allowed. */
static inline int tape_check_place(cpkg_tape *t, bool key_allowed)
{
    if (t->want_key) {
        if (!key_allowed)
            return TAPE_REFUSED;
        t->key = KEY_IS_KEY;
    }
    return 0;
}

/* After any value was put. */
static inline void tape_placed(cpkg_tape *t, TapeObject *o, uint8_t mask)
{
    *o = (TapeObject){.mask = mask};
    t->key = t->want_key ? KEY_PENDING : KEY_ITEM;
    t->want_key = false;
}

#endif
