/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder: the state of a packing call, its limits, and values that consist of a header and bytes.
 *
 * max_total_bytes is checked where the output grows, and before any other operation that may fail or run Python code.
 * So the LimitError is raised before any other error.
 */
#pragma once

#include "../common/interpreter.c"
#include "../common/options.c"
#include "../common/state.c"
#include "../common/words.c"
#include "writer.c"

typedef struct {
    Writer w;
    const PackOptions *options;
    uint64_t items, max_items;
    bool plain_str;   /* str is strict UTF-8, and the str 8 format is allowed: use_bin_type without unicode_errors */
    bool plain_float; /* float is written as float 64 */
    bool typed;       /* objects with fields are packed by ../typed/encode.c */
    bool extensions;  /* dates, UUIDs and so on become extension types, and sets become arrays, as in `dumps` */
    bool value_types; /* an option or `extensions` needs value_types.c */
    int conversions;  /* the flags for convert() */
    PyObject *hook;   /* enc_hook, NULL for none */
    PyObject *after;  /* the function that converts the results of enc_hook */
    /* A container with at most this many remaining levels checks the levels and the C stack. With max_total_bytes all
       containers do so, because they check that limit in the same place. */
    Py_ssize_t check_depth;
} Encoder;

/* Levels that fit on every C stack: each takes up to 700 bytes. */
#define DEPTH_UNCHECKED 64

/* Flags of `stage`: the steps that may still be tried for a value of an unsupported type. */
#define MAY_CONVERT 1
#define MAY_DEFAULT 2

static unsigned char *encode_value(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth, int stage);

/* Return whether the message up to p is within max_total_bytes; false with LimitError set. */
static ALWAYS_INLINE bool within_limit(const Encoder *c, const unsigned char *p)
{
    return writer_check_limit(&c->w, (size_t)(p - c->w.start)) == 0;
}

/* Ensure room for n bytes at p; on failure, return NULL from the calling function. */
#define RESERVE(n) \
    do { \
        if (UNLIKELY((size_t)(c->w.end - p) < (size_t)(n)) && !(p = writer_grow(&c->w, p, (size_t)(n)))) \
            return NULL; \
    } while (0)

/* The flags of purepy.msgpack.conversions. */
enum {
    CONVERT_DATACLASS = 1,
    CONVERT_DATE = 2,
    CONVERT_UUID = 4,
    CONVERT_ENUM = 8,
    CONVERT_DECIMAL = 16,
    CONVERT_NUMPY = 32,
    CONVERT_LEAVE_ARRAYS = 64,
    CONVERT_UNKNOWN = 128, /* only in C: whether arrays are passed to `default` is not yet known */
};

static int encode_conversions(const PackOptions *o, bool extensions)
{
    const int arrays = extensions ? CONVERT_LEAVE_ARRAYS : o->default_ ? CONVERT_UNKNOWN : 0;
    return (o->dataclass ? CONVERT_DATACLASS : 0) | (o->date ? CONVERT_DATE : 0) | (o->uuid ? CONVERT_UUID : 0) |
           (o->enum_ ? CONVERT_ENUM : 0) | (o->decimal ? CONVERT_DECIMAL : 0) | (o->numpy ? CONVERT_NUMPY | arrays : 0);
}

static ALWAYS_INLINE unsigned char *encode_start(Encoder *c, const PackOptions *options, bool extensions)
{
    c->options = options;
    c->items = 0;
    c->max_items = options->max_total_items < 0 ? UINT64_MAX : (uint64_t)options->max_total_items;
    c->plain_str = options->use_bin_type && !options->unicode_errors;
    c->plain_float = !options->use_single_float;
    c->typed = false;
    c->hook = NULL;
    c->extensions = extensions;
    c->conversions = encode_conversions(options, extensions);
    c->value_types = extensions || options->datetime || c->conversions;
    c->check_depth = options->max_depth > DEPTH_UNCHECKED ? options->max_depth - DEPTH_UNCHECKED : 0;
    if (UNLIKELY(options->max_total_bytes >= 0))
        c->check_depth = options->max_depth;
    return writer_start(&c->w, options->max_total_bytes);
}

/* Count n values, which the header that ends at p declares; return 0, or -1 with LimitError set. */
static ALWAYS_INLINE int encode_count(Encoder *c, const unsigned char *p, uint64_t n)
{
    c->items += n;
    if (LIKELY(c->items <= c->max_items))
        return 0;
    if (!within_limit(c, p))
        return -1;
    PyErr_Format(S.LimitError, "%llu exceeds max_total_items(%llu)", (unsigned long long)c->items,
                 (unsigned long long)c->max_items);
    return -1;
}

/* Write an int in its shortest format. */
static ALWAYS_INLINE unsigned char *write_integer(unsigned char *p, uint64_t magnitude, bool negative)
{
    return negative ? write_int64(p, (int64_t)(0 - magnitude)) : write_uint64(p, magnitude);
}

static NEVER_INLINE unsigned char *encode_payload(Encoder *c, unsigned char *p, const char *data, size_t n)
{
    RESERVE(n);
    if (n)
        memcpy(p, data, n);
    return p + n;
}

static unsigned char *encode_float32(Encoder *c, unsigned char *p, double value)
{
    float narrow = (float)value;
    if (Py_IS_INFINITY(narrow) && !Py_IS_INFINITY(value)) {
        if (within_limit(c, p))
            PyErr_SetString(PyExc_OverflowError, "float too large to pack with f format");
        return NULL;
    }
    RESERVE(HEADER_MAX);
    return write_float(p, narrow);
}

static unsigned char *too_large(const char *what)
{
    PyErr_Format(PyExc_ValueError, "%s is too large", what);
    return NULL;
}

static unsigned char *encode_str_bytes(Encoder *c, unsigned char *p, const char *data, Py_ssize_t n)
{
    if ((size_t)n > PACK_LENGTH_MAX)
        return too_large("unicode string");
    RESERVE((size_t)n + HEADER_MAX);
    p = c->options->use_bin_type ? write_str(p, (size_t)n) : write_v4raw(p, (size_t)n);
    memcpy(p, data, (size_t)n);
    return p + n;
}

static unsigned char *encode_bin(Encoder *c, unsigned char *p, const char *data, Py_ssize_t n, const char *what)
{
    if ((size_t)n > PACK_LENGTH_MAX)
        return too_large(what);
    RESERVE((size_t)n + HEADER_MAX);
    p = c->options->use_bin_type ? write_bin(p, (size_t)n) : write_v4raw(p, (size_t)n);
    if (n)
        memcpy(p, data, (size_t)n);
    return p + n;
}

static unsigned char *encode_ext(Encoder *c, unsigned char *p, int code, const char *data, Py_ssize_t n)
{
    if ((size_t)n > PACK_LENGTH_MAX)
        return too_large("EXT data");
    RESERVE((size_t)n + HEADER_MAX);
    p = write_ext(p, (size_t)n, (int8_t)code);
    if (n)
        memcpy(p, data, (size_t)n);
    return p + n;
}

/* Pack any str. The first call stores the UTF-8 in the object. */
static NEVER_INLINE unsigned char *encode_str(Encoder *c, unsigned char *p, PyObject *o)
{
    Py_ssize_t n;
    if (!within_limit(c, p))
        return NULL;
    Py_INCREF(o); /* both ways continue to read the str after Python code has run, or after waiting for a lock */
    if (c->options->unicode_errors) {
        PyObject *encoded = PyUnicode_AsEncodedString(o, "utf-8", PyUnicode_AsUTF8(c->options->unicode_errors));
        p = encoded ? encode_str_bytes(c, p, PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded)) : NULL;
        Py_XDECREF(encoded);
    }
    else {
        const char *data = PyUnicode_AsUTF8AndSize(o, &n);
        p = data ? encode_str_bytes(c, p, data, n) : NULL;
    }
    Py_DECREF(o);
    return p;
}

/* Pack an exact str. */
static ALWAYS_INLINE unsigned char *encode_exact_str(Encoder *c, unsigned char *p, PyObject *o)
{
    const unsigned char *data;
    size_t n;
    if (UNLIKELY(!c->plain_str))
        return encode_str(c, p, o);
    if (LIKELY(PyUnicode_IS_COMPACT_ASCII(o))) {
        data = (const unsigned char *)((PyASCIIObject *)o + 1);
        n = (size_t)((PyASCIIObject *)o)->length;
    }
    else if (PyUnicode_IS_COMPACT(o) && KEPT_AT(((PyCompactUnicodeObject *)o)->utf8)) {
        data = (const unsigned char *)((PyCompactUnicodeObject *)o)->utf8;
        n = (size_t)((PyCompactUnicodeObject *)o)->utf8_length;
    }
    else
        return encode_str(c, p, o);
    if (LIKELY(n < 32)) {
        RESERVE(32);
        *p++ = (unsigned char)(0xa0 | n);
        copy_short(p, data, n);
        return p + n;
    }
    if (UNLIKELY(n > PACK_LENGTH_MAX))
        return too_large("unicode string");
    RESERVE(n + HEADER_MAX);
    p = write_str(p, n);
    copy_short(p, data, n);
    return p + n;
}

static unsigned char *encode_timestamp(Encoder *c, unsigned char *p, int64_t seconds, uint32_t nanoseconds)
{
    unsigned char payload[12];
    if ((uint64_t)seconds >> 34 == 0) {
        uint64_t both = (uint64_t)nanoseconds << 34 | (uint64_t)seconds;
        if (both <= UINT32_MAX) {
            _msgpack_store32(payload, (uint32_t)both);
            return encode_ext(c, p, -1, (const char *)payload, 4);
        }
        _msgpack_store64(payload, both);
        return encode_ext(c, p, -1, (const char *)payload, 8);
    }
    _msgpack_store32(payload, nanoseconds);
    _msgpack_store64(payload + 4, (uint64_t)seconds);
    return encode_ext(c, p, -1, (const char *)payload, 12);
}

/* Return whether another level may be opened and fits on the C stack; false with ValueError set. */
static NEVER_INLINE bool stack_left(Py_ssize_t depth)
{
    if (depth > 0 && STACK_POSITION() >= stack_floor())
        return true;
    PyErr_SetString(PyExc_ValueError, "recursion limit exceeded.");
    return false;
}

static NEVER_INLINE bool depth_left(Encoder *c, const unsigned char *p, Py_ssize_t depth)
{
    return within_limit(c, p) && stack_left(depth);
}

/* Check this before entering a container; false with an exception set. */
static ALWAYS_INLINE bool may_nest(Encoder *c, const unsigned char *p, Py_ssize_t depth)
{
    return LIKELY(depth > c->check_depth) || depth_left(c, p, depth);
}

static NEVER_INLINE unsigned char *size_changed(const Encoder *c, const unsigned char *p, const char *what)
{
    if (within_limit(c, p))
        PyErr_Format(PyExc_RuntimeError, "%s changed size during packing", what);
    return NULL;
}
