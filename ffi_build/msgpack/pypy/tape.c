/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token tape: one C call parses a stretch of a message with msgpack-c's template into a flat array of words, which
 * a jitted Python loop (cpkg/_native/msgpack/pypy_unpack.py) turns into objects. Made for PyPy, where a C call per object
 * would cost more than the object and where C cannot make objects at all.
 *
 * A word is `kind | key << 8 | payload << 24` (the payload is signed, 40 bits); some kinds put a whole word after it.
 * `key` says where the value goes: 0 is the next item of an array, 1..KEY_NAMES the key of that number in the table of
 * names, KEY_PENDING the key that came just before, and KEY_IS_KEY marks a value that is itself such a key.
 *
 * What makes it pay: keys that were seen before (in earlier messages too) are numbers; short ASCII strings stand in
 * one pool, from which Python takes slices without checking them again; and the values of an array that holds ints
 * alone, or floats alone, are moved together, so that cffi makes the whole list at once.
 *
 * A tape holds a stretch of the message, not all of it: it stays in the cache, and memory does not grow with the
 * message. msgpack-c's parser can stop and go on, so that the next call continues where the last one stopped.
 *
 * Whatever the tape does not serve (a wrong byte, a cut message, a limit, nesting deeper than the frames, a map or an
 * array as key) is refused with one code: the caller then gives the message to the pure codec, which serves it or
 * raises the error with its offset. So there is one place that knows the errors.
 */
#ifndef CPKG_MSGPACK_PYPY_TAPE
#define CPKG_MSGPACK_PYPY_TAPE

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
} tape_object;

typedef struct {
    size_t length;
    char text[TAPE_NAME_LENGTH + 8];
} tape_name;

/* What a message is checked against. */
typedef struct {
    size_t max_str, max_bin, max_array, max_map, max_ext;
    uint32_t max_depth;
    bool strict_keys;
    bool exts; /* whether there may be extensions other than timestamps */
} tape_limits;

struct cpkg_tape {
    int64_t words[TAPE_WORDS];
    int64_t new_names[2 * TAPE_NAMES]; /* offset and length of each key that is new to the table in this stretch */
    char pool[TAPE_POOL];
    const char *data;
    size_t size, offset;
    tape_limits limits;
    uint32_t used, pool_used, new_used, stretch;
    uint32_t depth;
    uint32_t names_used, names_missed;
    uint16_t key, last_name;
    bool want_key;
    uint16_t following[TAPE_NAMES + 1]; /* the number that last came after each */
    uint16_t slots[TAPE_SLOTS];
    tape_name names[TAPE_NAMES + 1]; /* number 0 is no name, and its length that of none */
};

typedef struct cpkg_tape cpkg_tape;

#define msgpack_unpack_struct(name) struct tape_parser##name
#define msgpack_unpack_func(ret, name) static inline ret tape_parser##name
#define msgpack_unpack_callback(name) tape_on##name
#define msgpack_unpack_object tape_object
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
static inline int tape_place(cpkg_tape *t, bool key_allowed)
{
    if (t->want_key) {
        if (!key_allowed)
            return TAPE_REFUSED;
        t->key = KEY_IS_KEY;
    }
    return 0;
}

/* After any value was put. */
static inline void tape_placed(cpkg_tape *t, tape_object *o, uint8_t mask)
{
    *o = (tape_object){.mask = mask};
    t->key = t->want_key ? KEY_PENDING : KEY_ITEM;
    t->want_key = false;
}

static inline tape_object tape_on_root(cpkg_tape **user)
{
    (void)user;
    return (tape_object){0};
}

static inline int tape_int(cpkg_tape *t, int64_t value, tape_object *o)
{
    if (tape_place(t, !t->limits.strict_keys) < 0)
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
    static inline int tape_on##name(cpkg_tape **user, type value, tape_object *o) \
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

static inline int tape_on_uint64(cpkg_tape **user, uint64_t value, tape_object *o)
{
    cpkg_tape *t = *user;
    if (value <= INT64_MAX)
        return tape_int(t, (int64_t)value, o);
    if (tape_place(t, !t->limits.strict_keys) < 0)
        return TAPE_REFUSED;
    tape_put(t, KIND_UINT, 0);
    tape_put_word(t, (int64_t)value);
    tape_placed(t, o, OF_OTHER);
    return 0;
}

static inline int tape_on_double(cpkg_tape **user, double value, tape_object *o)
{
    cpkg_tape *t = *user;
    int64_t word;
    if (tape_place(t, !t->limits.strict_keys) < 0)
        return TAPE_REFUSED;
    memcpy(&word, &value, sizeof word);
    tape_put(t, KIND_FLOAT, 0);
    tape_put_word(t, word);
    tape_placed(t, o, OF_FLOAT);
    return 0;
}

static inline int tape_on_float(cpkg_tape **user, float value, tape_object *o)
{
    return tape_on_double(user, value, o);
}

static inline int tape_constant(cpkg_tape *t, int kind, tape_object *o)
{
    if (tape_place(t, !t->limits.strict_keys) < 0)
        return TAPE_REFUSED;
    tape_put(t, kind, 0);
    tape_placed(t, o, OF_OTHER);
    return 0;
}

static inline int tape_on_nil(cpkg_tape **user, tape_object *o)
{
    return tape_constant(*user, KIND_NIL, o);
}

static inline int tape_on_true(cpkg_tape **user, tape_object *o)
{
    return tape_constant(*user, KIND_TRUE, o);
}

static inline int tape_on_false(cpkg_tape **user, tape_object *o)
{
    return tape_constant(*user, KIND_FALSE, o);
}

static inline int tape_open(cpkg_tape *t, size_t count, size_t limit, bool map, tape_object *o)
{
    if (t->want_key || t->depth >= t->limits.max_depth || count > limit)
        return TAPE_REFUSED;
    if (count == 0) {
        tape_put(t, map ? KIND_EMPTY_MAP : KIND_EMPTY_ARRAY, 0);
        tape_placed(t, o, OF_OTHER);
        return 0;
    }
    *o = (tape_object){.left = (uint32_t)count, .token = t->used, .stretch = t->stretch, .key = t->key};
    t->depth++;
    tape_put(t, map ? KIND_MAP : KIND_ARRAY, (int64_t)count);
    t->key = KEY_ITEM;
    t->want_key = map;
    return 0;
}

static inline int tape_on_array(cpkg_tape **user, size_t count, tape_object *o)
{
    return tape_open(*user, count, (*user)->limits.max_array, false, o);
}

static inline int tape_on_map(cpkg_tape **user, size_t count, tape_object *o)
{
    return tape_open(*user, count, (*user)->limits.max_map, true, o);
}

/* Move the values of the array `c` together, if this stretch has enough of them and they are of one type; true if it
   was done and the array is now a token of its own, without an end. */
static bool tape_gather(cpkg_tape *t, tape_object *c, bool whole)
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

static inline void tape_close(cpkg_tape *t, tape_object *c)
{
    t->key = c->key;
    tape_put(t, KIND_END, 0);
    t->key = KEY_ITEM;
}

static inline int tape_on_array_item(cpkg_tape **user, tape_object *c, tape_object item)
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

static inline int tape_on_map_item(cpkg_tape **user, tape_object *c, tape_object key, tape_object value)
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

static inline size_t tape_spare(const cpkg_tape *t, const char *p)
{
    return (size_t)(t->data + t->size - p);
}

/* A name is kept with zeros behind it, so that whole words of it compare. */
static inline bool tape_is_name(const tape_name *name, const char *p, size_t n, size_t spare)
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
            tape_name *name = &t->names[number];
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

static inline void tape_put_span(cpkg_tape *t, int kind, const char *p, size_t n)
{
    tape_put(t, kind, (int64_t)n);
    tape_put_word(t, p - t->data);
}

static inline int tape_on_str(cpkg_tape **user, const char *base, const char *p, size_t n, tape_object *o)
{
    cpkg_tape *t = *user;
    if (n == 0)
        p = base; /* the template has no position for an empty payload */
    if (n > t->limits.max_str)
        return TAPE_REFUSED;
    if (t->want_key && n <= TAPE_NAME_LENGTH) {
        uint16_t number = tape_name_number(t, p, n);
        if (number) {
            *o = (tape_object){0};
            t->key = number;
            t->want_key = false;
            return 0;
        }
    }
    tape_place(t, true);
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

static inline int tape_on_bin(cpkg_tape **user, const char *base, const char *p, size_t n, tape_object *o)
{
    cpkg_tape *t = *user;
    if (n == 0)
        p = base;
    if (n > t->limits.max_bin)
        return TAPE_REFUSED;
    tape_place(t, true);
    tape_put_span(t, KIND_BIN, p, n);
    tape_placed(t, o, OF_OTHER);
    return 0;
}

/* The type byte stands before the payload and is counted. A length of 0 is an ext 32 whose length overflowed. */
static inline int tape_on_ext(cpkg_tape **user, const char *base, const char *p, size_t n, tape_object *o)
{
    cpkg_tape *t = *user;
    (void)base;
    if (n == 0 || n - 1 > t->limits.max_ext || (!t->limits.exts && (unsigned char)*p != 0xff) ||
        tape_place(t, !t->limits.strict_keys) < 0)
        return TAPE_REFUSED;
    tape_put_span(t, KIND_EXT, p, n);
    tape_placed(t, o, OF_OTHER);
    return 0;
}

#include <msgpack/unpack_template.h>

typedef struct {
    cpkg_tape tape;
    struct tape_parser_context parser;
} tape_state;

static cpkg_tape *cpkg_tape_new(void)
{
    cpkg_tape *t = calloc(1, sizeof(tape_state)); /* the tape is its first member */
    if (t)
        t->names[0].length = SIZE_MAX;
    return t;
}

/* What one tape takes, for the garbage collector. */
static size_t cpkg_tape_size(void)
{
    return sizeof(tape_state);
}

static void cpkg_tape_free(cpkg_tape *t)
{
    free(t);
}

static int64_t *cpkg_tape_words(cpkg_tape *t)
{
    return t->words;
}

static int64_t *cpkg_tape_new_names(cpkg_tape *t)
{
    return t->new_names;
}

static char *cpkg_tape_pool(cpkg_tape *t)
{
    return t->pool;
}

static inline size_t tape_limit(int64_t limit)
{
    return limit < 0 ? SIZE_MAX : (size_t)limit;
}

/* Set them; -1 is no limit, and `frames` the deepest nesting that there is room for. */
static void tape_limits_set(tape_limits *l, uint32_t frames, int strict_keys, int64_t max_depth, int64_t max_str,
                            int64_t max_bin, int64_t max_array, int64_t max_map, int64_t max_ext, int exts)
{
    l->strict_keys = strict_keys != 0;
    l->exts = exts != 0;
    l->max_depth = max_depth < frames ? (uint32_t)max_depth : frames;
    l->max_str = tape_limit(max_str);
    l->max_bin = tape_limit(max_bin);
    l->max_array = tape_limit(max_array);
    l->max_map = tape_limit(max_map);
    l->max_ext = tape_limit(max_ext);
}

static void cpkg_tape_configure(cpkg_tape *t, int strict_keys, int64_t max_depth, int64_t max_str, int64_t max_bin,
                                int64_t max_array, int64_t max_map, int64_t max_ext, int exts)
{
    tape_limits_set(&t->limits, TAPE_FRAMES, strict_keys, max_depth, max_str, max_bin, max_array, max_map, max_ext,
                    exts);
}

/* Forget a table of names that is full and no longer fits what comes: else one odd message would disable it forever. */
static bool tape_forget(cpkg_tape *t)
{
    if (t->names_missed < 4 * TAPE_NAMES)
        return false;
    memset(t->slots, 0, sizeof t->slots);
    memset(t->following, 0, sizeof t->following);
    t->last_name = 0;
    t->names_used = t->names_missed = 0;
    return true;
}

/* The innermost open container, if it is an array. */
static tape_object *tape_open_array(tape_state *s)
{
    if (s->parser.top == 0)
        return NULL;
    struct tape_parser_stack *frame = &s->parser.stack[s->parser.top - 1];
    return frame->ct == MSGPACK_CT_ARRAY_ITEM ? &frame->obj : NULL;
}

/*
 * Parse the next stretch of data[0..size): a new message from `start` if it is not negative, with TAPE_CONTINUE from where
 * the last call stopped. Returns the number of words on the tape, negative if the message ends with them, or 0 if the
 * message was refused. It is when it goes on behind the data; but where the data end between two values, that is told by
 * the next call only, which may instead bring the data that follow, with TAPE_NEXT_PART minus the offset in them.
 *
 * The room: a byte gives at most two words (a container that opens and closes; longer values give no more words than
 * they have bytes), a step of bytes may close each frame that is open and end with one longer payload.
 */
static int64_t cpkg_tape_next(cpkg_tape *t, const char *data, size_t size, int64_t start)
{
    tape_state *s = (tape_state *)t;
    bool forget = false;
    if (start >= 0) {
        forget = tape_forget(t);
        s->parser.user = t;
        tape_parser_init(&s->parser);
        t->offset = (size_t)start;
        t->depth = 0;
        t->key = KEY_ITEM;
        t->want_key = false;
    }
    else if (start <= TAPE_NEXT_PART) {
        t->offset = (size_t)(TAPE_NEXT_PART - start);
    }
    t->data = data;
    t->size = size;
    t->used = HEAD_WORDS;
    t->pool_used = t->new_used = 0;
    t->stretch++;
    tape_object *array = tape_open_array(s);
    if (array) {
        array->token = t->used;
        array->stretch = t->stretch;
        array->mask = 0;
        uint16_t key = t->key;
        t->key = KEY_ITEM;
        tape_put(t, KIND_MORE, 0);
        t->key = key;
    }
    int result;
    for (;;) {
        /* a payload that is cut at the end of the last step is taken whole, however long it is */
        size_t left = size - t->offset, step = TAPE_STEP;
        if (s->parser.cs != MSGPACK_CS_HEADER)
            step += s->parser.trail;
        result = tape_parser_execute(&s->parser, data, t->offset + (left < step ? left : step), &t->offset);
        if (result != TAPE_MORE)
            break;
        if (left <= step) {
            if (left == 0 || s->parser.cs != MSGPACK_CS_HEADER)
                result = TAPE_REFUSED; /* the message is cut, and this is not the end of a part either */
            break;
        }
        if (TAPE_WORDS - t->used < TAPE_STEP_WORDS || TAPE_POOL - t->pool_used < TAPE_STEP + TAPE_POOL_STRING + 16)
            break;
    }
    array = tape_open_array(s);
    if (result == TAPE_MORE && array)
        tape_gather(t, array, false);
    t->words[HEAD_POOL] = t->pool_used;
    t->words[HEAD_NEW_NAMES] = t->new_used;
    t->words[HEAD_FORGET] = forget;
    t->words[HEAD_END] = (int64_t)t->offset;
    t->words[HEAD_KEY] = t->key; /* that of the next value, if it has one */
    if (result < 0)
        return 0;
    return result == TAPE_DONE ? -(int64_t)t->used : (int64_t)t->used;
}

/* ---- Packing: the lists that PyPy keeps as plain int64s or doubles, which is where C is faster than the JIT ---- */

typedef struct {
    unsigned char *end;
} tape_output;

#define msgpack_pack_inline_func(name) static inline void tape_write##name
#define msgpack_pack_inline_func_cint(name) static inline void tape_write##name
#define msgpack_pack_inline_func_fixint(name) static inline void tape_write_fix##name
#define msgpack_pack_user tape_output *
#define msgpack_pack_append_buffer(user, buffer, length) \
    do { \
        memcpy((user)->end, buffer, length); \
        (user)->end += (length); \
        return; \
    } while (0)
/* the template's timestamp writer calls this by its name in the library */
#define msgpack_pack_ext(user, length, type) tape_write_ext(user, length, type)
#include <msgpack/timestamp.h>
#include <msgpack/pack_template.h>
#undef msgpack_pack_ext

/* Write n ints to `output`, which has room for 9 bytes each; returns the number of bytes. Without branches: the widths
   of ints that differ cannot be predicted, and a wrong guess costs more than the int. */
static int64_t cpkg_tape_write_ints(const int64_t *values, int64_t n, unsigned char *output)
{
    unsigned char *end = output;
    for (int64_t i = 0; i < n; i++) {
        int64_t value = values[i];
        uint64_t bits = value < 0 ? (uint64_t)~value << 1 : (uint64_t)value; /* a sign takes one */
        int width = (bits > 0xff) + (bits > 0xffff) + (bits > 0xffffffff);
        bool fixint = (uint64_t)value + 0x20 < 0xa0;
        int size = fixint ? 0 : 1 << width;
        end[0] = (unsigned char)(fixint ? value : (value < 0 ? 0xd0 : 0xcc) + width);
        _msgpack_store64(end + 1, (uint64_t)value << (-8 * size & 63));
        end += 1 + size;
    }
    return end - output;
}

/* The same for doubles. */
static int64_t cpkg_tape_write_doubles(const double *values, int64_t n, unsigned char *output)
{
    tape_output o = {output};
    for (int64_t i = 0; i < n; i++)
        tape_write_double(&o, values[i]);
    return o.end - output;
}

/* Find the first str that has a surrogate in `size` bytes of whole values as cpkg/_native/msgpack/pypy_pack.py packs them
   (no extensions, nothing longer than 64 KiB). Returns the offset of its bytes and sets their number, or returns -1. */
static int64_t cpkg_tape_find_surrogate(const unsigned char *data, int64_t size, int64_t *length)
{
    const unsigned char *at = data, *end = data + size;
    if (!find_surrogate(at, end))
        return -1;
    while (at < end) {
        unsigned char head = *at++;
        int64_t n = 0;
        bool text = false;
        if (head >= 0xa0 && head <= 0xbf) {
            n = head & 0x1f;
            text = true;
        }
        else if (head == 0xd9 || head == 0xc4) {
            n = *at++;
            text = head == 0xd9;
        }
        else if (head == 0xda || head == 0xc5) {
            n = at[0] << 8 | at[1];
            at += 2;
            text = head == 0xda;
        }
        else if (head >= 0xca && head <= 0xd3) { /* float 32 and 64, uint and int of 1, 2, 4, 8 bytes */
            n = head < 0xcc ? 4 << (head - 0xca) : 1 << (head & 3);
        }
        else if (head == 0xdc || head == 0xde) {
            n = 2;
        }
        if (text && find_surrogate(at, at + n)) {
            *length = n;
            return at - data;
        }
        at += n;
    }
    return -1;
}

#endif
