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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tape_events.c"

#include <msgpack/unpack_template.h>

typedef struct {
    cpkg_tape tape;
    struct tape_parser_context parser;
} TapeState;

static cpkg_tape *cpkg_tape_new(void)
{
    cpkg_tape *t = calloc(1, sizeof(TapeState)); /* the tape is its first member */
    if (t)
        t->names[0].length = SIZE_MAX;
    return t;
}

/* What one tape takes, for the garbage collector. */
static size_t cpkg_tape_size(void)
{
    return sizeof(TapeState);
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

static inline size_t tape_size_max(int64_t limit)
{
    return limit < 0 ? SIZE_MAX : (size_t)limit;
}

/* Set them; -1 is no limit, and `frames` the deepest nesting that there is room for. */
static void tape_limits_set(TapeLimits *l, uint32_t frames, int strict_keys, int64_t max_depth, int64_t max_str,
                            int64_t max_bin, int64_t max_array, int64_t max_map, int64_t max_ext, int exts)
{
    l->strict_keys = strict_keys != 0;
    l->exts = exts != 0;
    l->max_depth = max_depth < frames ? (uint32_t)max_depth : frames;
    l->max_str = tape_size_max(max_str);
    l->max_bin = tape_size_max(max_bin);
    l->max_array = tape_size_max(max_array);
    l->max_map = tape_size_max(max_map);
    l->max_ext = tape_size_max(max_ext);
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
static TapeObject *tape_open_array(TapeState *s)
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
    TapeState *s = (TapeState *)t;
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
    TapeObject *array = tape_open_array(s);
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

#endif
