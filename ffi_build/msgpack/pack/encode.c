/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects to bytes.
 *
 * Exact types are told apart by pointer, the frequent ones first and inline in the loops over lists and dicts; all
 * that may run Python code (subclasses, conversions, `default`) is in encode_other(), out of the way. A container is
 * owned while it is walked and its size compared after each item, since such code may change it: the header that was
 * written first must stay true. An item that the container may lose meanwhile is owned by whoever runs that code
 * (encode_str, encode_big_int, encode_value for the rest).
 *
 * max_total_bytes is checked where the output grows, and before whatever else may fail or run Python code, so that no
 * later error or call comes first.
 */
#ifndef CPKG_MSGPACK_PACK_ENCODE
#define CPKG_MSGPACK_PACK_ENCODE

#include <Python.h>
#include <datetime.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../common/interpreter.c"
#include "../common/options.c"
#include "../common/state.c"
#include "../common/words.c"
#include "writer.c"

typedef struct {
    writer w;
    const pack_options *options;
    uint64_t items, max_items;
    bool plain_str;   /* str is written as UTF-8 with str8 headers: no unicode_errors, use_bin_type */
    bool plain_float; /* float is written as float 64 */
    int conversions;  /* the flags of convert() */
    /* Levels that remain are checked at each container from here down: none may be left, or too little C stack. With
       max_total_bytes, from the first one, since its check is there. */
    Py_ssize_t check_depth;
    uintptr_t stack_floor;
} encoder;

/* Levels that every stack has room for: they take up to 700 bytes each. */
#define DEPTH_UNCHECKED 64

/* What is still to be tried for the value at hand when no type matches. */
#define MAY_CONVERT 1
#define MAY_DEFAULT 2

static unsigned char *encode_value(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth, int stage);

/* Whether the message is within max_total_bytes so far; false with LimitError. */
static ALWAYS_INLINE bool within_limit(const encoder *c, const unsigned char *p)
{
    return writer_check_limit(&c->w, (size_t)(p - c->w.start)) == 0;
}

/* Make sure of n bytes at p; expects to be in a function that returns NULL on errors. */
#define RESERVE(n) \
    do { \
        if (UNLIKELY((size_t)(c->w.end - p) < (size_t)(n)) && !(p = writer_grow(&c->w, p, (size_t)(n)))) \
            return NULL; \
    } while (0)

/* The bits of purepy.msgpack.conversions. */
static int encode_conversions(const pack_options *o)
{
    return (o->dataclass ? 1 : 0) | (o->date ? 2 : 0) | (o->uuid ? 4 : 0) | (o->enum_ ? 8 : 0) | (o->decimal ? 16 : 0) |
           (o->numpy ? 32 : 0);
}

static ALWAYS_INLINE unsigned char *encode_start(encoder *c, const pack_options *options)
{
    c->options = options;
    c->items = 0;
    c->max_items = options->max_total_items < 0 ? UINT64_MAX : (uint64_t)options->max_total_items;
    c->plain_str = options->use_bin_type && !options->unicode_errors;
    c->plain_float = !options->use_single_float;
    c->conversions = encode_conversions(options);
    c->check_depth = options->max_depth > DEPTH_UNCHECKED ? options->max_depth - DEPTH_UNCHECKED : 0;
    if (UNLIKELY(options->max_total_bytes >= 0))
        c->check_depth = options->max_depth;
    c->stack_floor = UINTPTR_MAX;
    return writer_start(&c->w, options->max_total_bytes);
}

/* Count n more values of the message, which the header declares that ends at p. */
static ALWAYS_INLINE int encode_count(encoder *c, const unsigned char *p, uint64_t n)
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

/* Same object, same header form, in all places. */
static ALWAYS_INLINE unsigned char *write_integer(unsigned char *p, uint64_t magnitude, bool negative)
{
    return negative ? write_int64(p, (int64_t)(0 - magnitude)) : write_uint64(p, magnitude);
}

static NEVER_INLINE unsigned char *encode_payload(encoder *c, unsigned char *p, const char *data, size_t n)
{
    RESERVE(n);
    if (n)
        memcpy(p, data, n);
    return p + n;
}

static unsigned char *too_large(const char *what)
{
    PyErr_Format(PyExc_ValueError, "%s is too large", what);
    return NULL;
}

static unsigned char *encode_str_bytes(encoder *c, unsigned char *p, const char *data, Py_ssize_t n)
{
    if ((size_t)n > PACK_LENGTH_MAX)
        return too_large("unicode string");
    RESERVE((size_t)n + HEADER_MAX);
    p = c->options->use_bin_type ? write_str(p, (size_t)n) : write_v4raw(p, (size_t)n);
    memcpy(p, data, (size_t)n);
    return p + n;
}

static unsigned char *encode_bin(encoder *c, unsigned char *p, const char *data, Py_ssize_t n, const char *what)
{
    if ((size_t)n > PACK_LENGTH_MAX)
        return too_large(what);
    RESERVE((size_t)n + HEADER_MAX);
    p = c->options->use_bin_type ? write_bin(p, (size_t)n) : write_v4raw(p, (size_t)n);
    if (n)
        memcpy(p, data, (size_t)n);
    return p + n;
}

static unsigned char *encode_ext(encoder *c, unsigned char *p, int code, const char *data, Py_ssize_t n)
{
    if ((size_t)n > PACK_LENGTH_MAX)
        return too_large("EXT data");
    RESERVE((size_t)n + HEADER_MAX);
    p = write_ext(p, (size_t)n, (int8_t)code);
    if (n)
        memcpy(p, data, (size_t)n);
    return p + n;
}

/* Any str: its UTF-8 is taken from the cache in the object, made there at the first time. */
static NEVER_INLINE unsigned char *encode_str(encoder *c, unsigned char *p, PyObject *o)
{
    Py_ssize_t n;
    if (!within_limit(c, p))
        return NULL;
    if (c->options->unicode_errors) {
        Py_INCREF(o); /* the codec reads it after the error handler, which may be Python code */
        PyObject *encoded = PyUnicode_AsEncodedString(o, "utf-8", PyUnicode_AsUTF8(c->options->unicode_errors));
        Py_DECREF(o);
        if (!encoded)
            return NULL;
        p = encode_str_bytes(c, p, PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded));
        Py_DECREF(encoded);
        return p;
    }
    const char *data = PyUnicode_AsUTF8AndSize(o, &n);
    return data ? encode_str_bytes(c, p, data, n) : NULL;
}

/* A str of the exact type. */
static ALWAYS_INLINE unsigned char *encode_exact_str(encoder *c, unsigned char *p, PyObject *o)
{
    const unsigned char *data;
    size_t n;
    if (UNLIKELY(!c->plain_str))
        return encode_str(c, p, o);
    if (LIKELY(PyUnicode_IS_COMPACT_ASCII(o))) {
        data = (const unsigned char *)((PyASCIIObject *)o + 1);
        n = (size_t)((PyASCIIObject *)o)->length;
    }
#ifndef Py_GIL_DISABLED
    else if (PyUnicode_IS_COMPACT(o) && ((PyCompactUnicodeObject *)o)->utf8) {
        data = (const unsigned char *)((PyCompactUnicodeObject *)o)->utf8;
        n = (size_t)((PyCompactUnicodeObject *)o)->utf8_length;
    }
#endif
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

static unsigned char *encode_timestamp(encoder *c, unsigned char *p, int64_t seconds, uint32_t nanoseconds)
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

static NEVER_INLINE bool depth_left(encoder *c, const unsigned char *p, Py_ssize_t depth)
{
    if (!within_limit(c, p))
        return false;
    if (depth > 0) {
        if (c->stack_floor == UINTPTR_MAX)
            c->stack_floor = stack_floor();
        if (STACK_POSITION() >= c->stack_floor)
            return true;
    }
    PyErr_SetString(PyExc_ValueError, "recursion limit exceeded.");
    return false;
}

/* To be asked before a container is entered; false with an exception set. */
static ALWAYS_INLINE bool may_nest(encoder *c, const unsigned char *p, Py_ssize_t depth)
{
    return LIKELY(depth > c->check_depth) || depth_left(c, p, depth);
}

static NEVER_INLINE unsigned char *size_changed(const encoder *c, const unsigned char *p, const char *what)
{
    if (within_limit(c, p))
        PyErr_Format(PyExc_RuntimeError, "%s changed size during packing", what);
    return NULL;
}

/* One item of a list or dict: the leaves inline, the rest by call. */
static ALWAYS_INLINE unsigned char *encode_item(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
{
    PyTypeObject *type = Py_TYPE(o);
    if (type == &PyUnicode_Type)
        return encode_exact_str(c, p, o);
    if (type == &PyLong_Type) {
        uint64_t magnitude;
        bool negative;
        if (LIKELY(int_parts(o, &magnitude, &negative) && (!negative || magnitude <= (uint64_t)1 << 63))) {
            RESERVE(HEADER_MAX);
            return write_integer(p, magnitude, negative);
        }
    }
    else if (type == &PyFloat_Type && LIKELY(c->plain_float)) {
        RESERVE(HEADER_MAX);
        return write_double(p, PyFloat_AS_DOUBLE(o));
    }
    return encode_value(c, p, o, depth, MAY_CONVERT | MAY_DEFAULT);
}

static unsigned char *encode_owned_item(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
{
    Py_INCREF(o);
    p = encode_item(c, p, o, depth);
    Py_DECREF(o);
    return p;
}

/* The items of an exact list or tuple, or of a subclass that iterates as they do; `depth` is what its items may use. */
static ALWAYS_INLINE unsigned char *encode_items(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth,
                                                 bool is_list)
{
    Py_ssize_t n = Py_SIZE(o);
    if (UNLIKELY((size_t)n > PACK_LENGTH_MAX))
        return too_large("list");
    RESERVE(HEADER_MAX);
    p = write_array(p, (size_t)n);
    if (UNLIKELY(encode_count(c, p, (uint64_t)n) < 0))
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_list && UNLIKELY(PyList_GET_SIZE(o) != n))
            return size_changed(c, p, "list");
        PyObject *item = is_list ? PyList_GET_ITEM(o, i) : PyTuple_GET_ITEM(o, i);
        p = OWN_ITEMS ? encode_owned_item(c, p, item, depth) : encode_item(c, p, item, depth);
        if (UNLIKELY(!p))
            return NULL;
    }
    if (is_list && UNLIKELY(PyList_GET_SIZE(o) != n))
        return size_changed(c, p, "list");
    return p;
}

static ALWAYS_INLINE unsigned char *encode_pairs_of_dict(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
{
    Py_ssize_t n = PyDict_GET_SIZE(o), position = 0, count = 0;
    PyObject *key, *value;
    if (UNLIKELY((size_t)n > PACK_LENGTH_MAX))
        return too_large("dict");
    RESERVE(HEADER_MAX);
    p = write_map(p, (size_t)n);
    if (UNLIKELY(encode_count(c, p, 2 * (uint64_t)n) < 0))
        return NULL;
    while (PyDict_Next(o, &position, &key, &value)) {
        if (UNLIKELY(count == n))
            return size_changed(c, p, "dictionary");
        if (!OWN_ITEMS && LIKELY(Py_TYPE(key) == &PyUnicode_Type) && LIKELY(c->plain_str)) {
            if (UNLIKELY(!(p = encode_exact_str(c, p, key)) || !(p = encode_item(c, p, value, depth))))
                return NULL;
        }
        else {
            /* packing the key may run code that takes the pair out of the dict */
            Py_INCREF(key);
            Py_INCREF(value);
            p = encode_item(c, p, key, depth);
            if (p)
                p = encode_item(c, p, value, depth);
            Py_DECREF(key);
            Py_DECREF(value);
            if (!p)
                return NULL;
        }
        count++;
        if (UNLIKELY(PyDict_GET_SIZE(o) != n))
            return size_changed(c, p, "dictionary");
    }
    if (UNLIKELY(count != n))
        return size_changed(c, p, "dictionary");
    return p;
}

/* ---- sorted maps ---- */

typedef struct {
    size_t start, key_size, size; /* of a packed pair, from the first pair */
    const unsigned char *base;
} packed_pair;

/* By the packed keys; equal keys (b"a" and "a" without use_bin_type) by the packed values. */
static int packed_pair_compare(const void *left, const void *right)
{
    const packed_pair *a = left, *b = right;
    size_t shorter = a->key_size < b->key_size ? a->key_size : b->key_size;
    int order = memcmp(a->base + a->start, b->base + b->start, shorter);
    if (order)
        return order;
    if (a->key_size != b->key_size)
        return a->key_size < b->key_size ? -1 : 1;
    size_t a_size = a->size - a->key_size, b_size = b->size - b->key_size;
    shorter = a_size < b_size ? a_size : b_size;
    order = memcmp(a->base + a->start + a->key_size, b->base + b->start + b->key_size, shorter);
    if (order)
        return order;
    return a_size < b_size ? -1 : a_size > b_size;
}

/* Pairs from a sequence of (key, value) tuples or two-item sequences: dict subclasses, pack_map_pairs, sorted maps. */
static unsigned char *encode_pairs(encoder *c, unsigned char *p, PyObject *pairs, Py_ssize_t n, Py_ssize_t depth)
{
    const bool sorted = c->options->sort_keys;
    packed_pair *order = NULL;
    unsigned char *copy = NULL;
    size_t first = 0;

    if ((size_t)n > PACK_LENGTH_MAX)
        return too_large("map");
    RESERVE(HEADER_MAX);
    p = write_map(p, (size_t)n);
    if (encode_count(c, p, 2 * (uint64_t)n) < 0)
        return NULL;
    if (sorted && n > 1) {
        order = PyMem_Malloc((size_t)n * sizeof *order);
        if (!order) {
            PyErr_NoMemory();
            return NULL;
        }
    }
    first = (size_t)(p - c->w.start);

    for (Py_ssize_t i = 0; i < n; i++) {
        if (!within_limit(c, p)) {
            p = NULL;
            goto done;
        }
        PyObject *pair = PySequence_GetItem(pairs, i);
        PyObject *two = pair ? PySequence_Tuple(pair) : NULL;
        Py_XDECREF(pair);
        if (two && PyTuple_GET_SIZE(two) != 2) {
            PyErr_Format(PyExc_ValueError, "a pair has a key and a value, not %zd items", PyTuple_GET_SIZE(two));
            Py_CLEAR(two);
        }
        if (!two) {
            p = NULL;
            goto done;
        }
        size_t start = (size_t)(p - c->w.start) - first;
        p = encode_item(c, p, PyTuple_GET_ITEM(two, 0), depth);
        if (p) {
            size_t value_start = (size_t)(p - c->w.start) - first;
            p = encode_item(c, p, PyTuple_GET_ITEM(two, 1), depth);
            if (p && order)
                order[i] = (packed_pair){start, value_start - start, (size_t)(p - c->w.start) - first - start, NULL};
        }
        Py_DECREF(two);
        if (!p)
            goto done;
    }

    if (order) {
        size_t size = (size_t)(p - c->w.start) - first;
        copy = PyMem_Malloc(size);
        if (!copy) {
            PyErr_NoMemory();
            p = NULL;
            goto done;
        }
        memcpy(copy, c->w.start + first, size);
        for (Py_ssize_t i = 0; i < n; i++)
            order[i].base = copy;
        qsort(order, (size_t)n, sizeof *order, packed_pair_compare);
        p = c->w.start + first;
        for (Py_ssize_t i = 0; i < n; i++) {
            memcpy(p, copy + order[i].start, order[i].size);
            p += order[i].size;
        }
    }
done:
    PyMem_Free(order);
    PyMem_Free(copy);
    return p;
}

/* A mapping by its items(): what a subclass overrides counts. */
static NEVER_INLINE unsigned char *encode_mapping(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
{
    PyObject *items = PyMapping_Items(o);
    if (!items)
        return NULL;
    Py_ssize_t n = PyList_GET_SIZE(items);
    p = encode_pairs(c, p, items, n, depth);
    Py_DECREF(items);
    if (p) {
        Py_ssize_t now = PyObject_Size(o);
        if (now != n)
            return now < 0 ? NULL : size_changed(c, p, "dictionary");
    }
    return p;
}

/* A list or tuple subclass with an iterator of its own. */
static NEVER_INLINE unsigned char *encode_iterated(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
{
    PyObject *items = PySequence_List(o);
    if (!items)
        return NULL;
    p = encode_items(c, p, items, depth, true);
    Py_DECREF(items);
    return p;
}

static unsigned char *encode_float32(encoder *c, unsigned char *p, double value)
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

static unsigned char *encode_ext_type(encoder *c, unsigned char *p, PyObject *o)
{
    long code = -129;
    PyObject *data = NULL;
    if (PyTuple_GET_SIZE(o) == 2) {
        data = PyTuple_GET_ITEM(o, 1);
        code = PyLong_AsLong(PyTuple_GET_ITEM(o, 0));
        if (code == -1 && PyErr_Occurred())
            return NULL;
    }
    if (code < -128 || code > 127) {
        PyErr_SetString(PyExc_ValueError, "code must be 0~127");
        return NULL;
    }
    if (!PyBytes_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "data must be bytes");
        return NULL;
    }
    return encode_ext(c, p, (int)code, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data));
}

static unsigned char *encode_timestamp_object(encoder *c, unsigned char *p, PyObject *o)
{
    PyObject *seconds = slot_get(o, S.timestamp_seconds), *nanoseconds = slot_get(o, S.timestamp_nanoseconds);
    if (!seconds || !nanoseconds || !PyLong_Check(seconds) || !PyLong_Check(nanoseconds)) {
        PyErr_SetString(PyExc_TypeError, "seconds and nanoseconds must be integers");
        return NULL;
    }
    int overflow;
    int64_t s = PyLong_AsLongLongAndOverflow(seconds, &overflow);
    if (overflow) {
        PyErr_SetString(PyExc_OverflowError, "Timestamp seconds do not fit in 64 bits");
        return NULL;
    }
    unsigned long ns = PyLong_AsUnsignedLong(nanoseconds);
    if (ns == (unsigned long)-1 && PyErr_Occurred())
        return NULL;
    if (ns > 999999999) {
        PyErr_SetString(PyExc_ValueError, "nanoseconds must be a non-negative integer not greater than 999999999.");
        return NULL;
    }
    return encode_timestamp(c, p, s, (uint32_t)ns);
}

static unsigned char *encode_raw_object(encoder *c, unsigned char *p, PyObject *o)
{
    PyObject *data = slot_get(o, S.raw_data);
    if (!data || !PyBytes_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "the data of a Raw must be bytes");
        return NULL;
    }
    return encode_payload(c, p, PyBytes_AS_STRING(data), (size_t)PyBytes_GET_SIZE(data));
}

static unsigned char *encode_datetime(encoder *c, unsigned char *p, PyObject *o)
{
    PyObject *delta = PyNumber_Subtract(o, S.epoch);
    if (!delta)
        return NULL;
    if (!PyDelta_CheckExact(delta)) {
        Py_DECREF(delta);
        PyErr_SetString(PyExc_ValueError, "failed to calculate delta");
        return NULL;
    }
    int64_t seconds = (int64_t)PyDateTime_DELTA_GET_DAYS(delta) * 86400 + PyDateTime_DELTA_GET_SECONDS(delta);
    uint32_t nanoseconds = (uint32_t)PyDateTime_DELTA_GET_MICROSECONDS(delta) * 1000;
    Py_DECREF(delta);
    return encode_timestamp(c, p, seconds, nanoseconds);
}

static bool datetime_is_aware(PyObject *o)
{
    return ((PyDateTime_DateTime *)o)->hastzinfo && ((PyDateTime_DateTime *)o)->tzinfo != Py_None;
}

/* convert(), then default(), then the error; `o` is none of the types that have a form of their own. */
static unsigned char *encode_foreign(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth, int stage)
{
    if (c->conversions && stage & MAY_CONVERT) {
        PyObject *flags = conversions_ready() < 0 ? NULL : PyLong_FromLong(c->conversions);
        PyObject *converted = flags ? PyObject_CallFunctionObjArgs(S.convert, flags, o, NULL) : NULL;
        Py_XDECREF(flags);
        if (!converted)
            return NULL;
        if (converted != S.NOT_CONVERTED) {
            p = encode_value(c, p, converted, depth, stage & ~MAY_CONVERT);
            Py_DECREF(converted);
            return p;
        }
        Py_DECREF(converted);
    }
    if (c->options->default_ && stage & MAY_DEFAULT) {
        PyObject *replaced = PyObject_CallFunctionObjArgs(c->options->default_, o, NULL);
        if (!replaced)
            return NULL;
        p = encode_value(c, p, replaced, depth, MAY_CONVERT);
        Py_DECREF(replaced);
        return p;
    }
    if (c->options->datetime && datetime_ready() == 0 && PyDateTime_CheckExact(o))
        PyErr_Format(PyExc_ValueError, "can not serialize '%.200s' object where tzinfo=None", Py_TYPE(o)->tp_name);
    else
        PyErr_Format(PyExc_TypeError, "can not serialize '%.200s' object", Py_TYPE(o)->tp_name);
    return NULL;
}

static unsigned char *encode_big_int(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth, int stage)
{
    if (!within_limit(c, p))
        return NULL;
    if (c->options->default_ && stage & MAY_DEFAULT) {
        Py_INCREF(o); /* `default` may take it out of its container */
        p = encode_foreign(c, p, o, depth, MAY_DEFAULT);
        Py_DECREF(o);
        return p;
    }
    PyErr_SetString(PyExc_OverflowError, "Integer value out of range");
    return NULL;
}

/* What is not exactly None, bool, int, float, str, bytes, list, dict or (without strict_types) tuple. */
static NEVER_INLINE unsigned char *encode_other(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth, int stage)
{
    const bool strict = c->options->strict_types;
    PyTypeObject *type = Py_TYPE(o);

    if (!within_limit(c, p))
        return NULL;
    if (PyByteArray_CheckExact(o) || (!strict && PyByteArray_Check(o))) {
        unsigned char *result;
        WITH_LOCKED(o)
        result = encode_bin(c, p, PyByteArray_AS_STRING(o), PyByteArray_GET_SIZE(o), type->tp_name);
        END_LOCKED()
        return result;
    }
    if (!strict) {
        if (PyLong_Check(o)) {
            uint64_t magnitude;
            bool negative;
            if (!int_parts(o, &magnitude, &negative) || (negative && magnitude > (uint64_t)1 << 63))
                return encode_big_int(c, p, o, depth, stage);
            RESERVE(HEADER_MAX);
            return write_integer(p, magnitude, negative);
        }
        if (PyFloat_Check(o)) {
            if (!c->plain_float)
                return encode_float32(c, p, PyFloat_AS_DOUBLE(o));
            RESERVE(HEADER_MAX);
            return write_double(p, PyFloat_AS_DOUBLE(o));
        }
        if (PyBytes_Check(o))
            return encode_bin(c, p, PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o), type->tp_name);
        if (PyUnicode_Check(o))
            return encode_str(c, p, o);
    }
    if ((!strict && PyDict_Check(o)) ||
        (S.frozendict &&
         (type == (PyTypeObject *)S.frozendict || (!strict && PyType_IsSubtype(type, (PyTypeObject *)S.frozendict))))) {
        return may_nest(c, p, depth) ? encode_mapping(c, p, o, depth - 1) : NULL;
    }
    if (type == (PyTypeObject *)S.ExtType || (!strict && PyType_IsSubtype(type, (PyTypeObject *)S.ExtType)))
        return encode_ext_type(c, p, o);
    if (type == (PyTypeObject *)S.Timestamp || type == (PyTypeObject *)S.Raw) {
        unsigned char *result;
        WITH_LOCKED(o)
        result = type == (PyTypeObject *)S.Raw ? encode_raw_object(c, p, o) : encode_timestamp_object(c, p, o);
        END_LOCKED()
        return result;
    }
    if (!strict && PyTuple_Check(o)) {
        if (!may_nest(c, p, depth))
            return NULL;
        return type->tp_iter == PyTuple_Type.tp_iter ? encode_items(c, p, o, depth - 1, false)
                                                     : encode_iterated(c, p, o, depth - 1);
    }
    if (!strict && PyList_Check(o)) {
        if (!may_nest(c, p, depth))
            return NULL;
        unsigned char *result;
        WITH_LOCKED(o)
        result = type->tp_iter == PyList_Type.tp_iter ? encode_items(c, p, o, depth - 1, true)
                                                      : encode_iterated(c, p, o, depth - 1);
        END_LOCKED()
        return result;
    }
    if (PyMemoryView_Check(o)) {
        Py_buffer view;
        if (PyObject_GetBuffer(o, &view, PyBUF_SIMPLE) < 0)
            return NULL;
        p = encode_bin(c, p, view.buf, view.len, "memoryview");
        PyBuffer_Release(&view);
        return p;
    }
    if (c->options->datetime) {
        if (datetime_ready() < 0)
            return NULL;
        if (PyDateTime_CheckExact(o) && datetime_is_aware(o))
            return encode_datetime(c, p, o);
    }
    return encode_foreign(c, p, o, depth, stage);
}

/* Any object; `depth` is how many levels of containers may still be opened. */
static unsigned char *encode_value(encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth, int stage)
{
    PyTypeObject *type = Py_TYPE(o);
    unsigned char *result;

    if (type == &PyDict_Type) {
        if (!may_nest(c, p, depth))
            return NULL;
        Py_INCREF(o);
        if (UNLIKELY(c->options->sort_keys))
            result = encode_mapping(c, p, o, depth - 1);
        else {
            WITH_LOCKED(o)
            result = encode_pairs_of_dict(c, p, o, depth - 1);
            END_LOCKED()
        }
        Py_DECREF(o);
        return result;
    }
    if (type == &PyList_Type) {
        if (!may_nest(c, p, depth))
            return NULL;
        Py_INCREF(o);
        WITH_LOCKED(o)
        result = encode_items(c, p, o, depth - 1, true);
        END_LOCKED()
        Py_DECREF(o);
        return result;
    }
    if (type == &PyUnicode_Type)
        return encode_exact_str(c, p, o);
    if (type == &PyLong_Type) {
        uint64_t magnitude;
        bool negative;
        if (UNLIKELY(!int_parts(o, &magnitude, &negative) || (negative && magnitude > (uint64_t)1 << 63)))
            return encode_big_int(c, p, o, depth, stage);
        RESERVE(HEADER_MAX);
        return write_integer(p, magnitude, negative);
    }
    if (o == Py_None || type == &PyBool_Type) {
        RESERVE(HEADER_MAX);
        return o == Py_None ? write_nil(p) : o == Py_True ? write_true(p) : write_false(p);
    }
    if (type == &PyFloat_Type) {
        if (UNLIKELY(!c->plain_float))
            return encode_float32(c, p, PyFloat_AS_DOUBLE(o));
        RESERVE(HEADER_MAX);
        return write_double(p, PyFloat_AS_DOUBLE(o));
    }
    if (type == &PyBytes_Type)
        return encode_bin(c, p, PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o), "bytes object");
    if (type == &PyTuple_Type && !c->options->strict_types) {
        if (!may_nest(c, p, depth))
            return NULL;
        Py_INCREF(o);
        result = encode_items(c, p, o, depth - 1, false);
        Py_DECREF(o);
        return result;
    }
    Py_INCREF(o);
    result = encode_other(c, p, o, depth, stage);
    Py_DECREF(o);
    return result;
}

#endif
