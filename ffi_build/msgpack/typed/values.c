/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding to types: where it is in a message, and values without others in them: numbers, text, what Python reads.
 *
 * It finds out that a message is wrong, not where or why: that raises `mismatch`, and Python goes over the message once more
 * (cpkg/typed/walker.py).
 */
#pragma once

#include <limits.h>

#include "../common/numbers.c"
#include "../common/interpreter.c"
#include "../common/state.c"
#include "../unpack/parse_loop.c"
#include "../unpack/text.c"
#include "../unpack/values.c"
#include "table.c"

#define TYPED_VALUES 128
#define TYPED_DEPTH_UNCHECKED 64
#define TYPED_TICKS 0x3fff

typedef struct {
    const unsigned char *p, *end, *data;
    const TypedTable *table;
    PyObject *source; /* the bytes object */
    bool gc_held;
    unsigned ticks;
    Py_ssize_t max_depth;
    uintptr_t floor;
    uint64_t reserved; /* items of open containers that are allocated in advance */
    PyObject **values; /* of the fields of objects that are open */
    size_t top, capacity;
    PyObject *inline_values[TYPED_VALUES];
} TypedDecoder;

static NEVER_INLINE PyObject *typed_mismatch(const TypedDecoder *d)
{
    PyErr_SetNone(d->table->mismatch);
    return NULL;
}

/* Python code is about to run. */
static ALWAYS_INLINE void typed_python(TypedDecoder *d)
{
    if (UNLIKELY(d->gc_held)) {
        d->gc_held = false;
        gc_resume(true);
    }
}

/* Once per item: a handler of signals runs now and then. */
static ALWAYS_INLINE bool typed_tick(TypedDecoder *d)
{
    if (LIKELY(++d->ticks & TYPED_TICKS))
        return true;
    typed_python(d);
    return PyErr_CheckSignals() == 0;
}

/* Whether one more container may be opened. */
static ALWAYS_INLINE bool typed_may_nest(TypedDecoder *d, Py_ssize_t depth)
{
    if (UNLIKELY(depth < 1))
        return false;
    if (UNLIKELY(d->max_depth - depth > TYPED_DEPTH_UNCHECKED)) {
        if (!d->floor)
            d->floor = stack_floor() + 1;
        return STACK_POSITION() >= d->floor;
    }
    return true;
}

/* The length that the header at d->p declares, whose shortest form is `fix` to `fix` + `most`, and whose others follow `next`
   in the sizes that `forms` has; d->p moves past it. False for any other header. */
static ALWAYS_INLINE bool typed_length(TypedDecoder *d, unsigned fix, unsigned most, unsigned next, bool from_1,
                                       uint64_t *n)
{
    const unsigned char *p = d->p;
    if (UNLIKELY(p == d->end))
        return false;
    const unsigned byte = *p;
    if (LIKELY(byte - fix <= most)) {
        *n = byte - fix;
        d->p = p + 1;
        return true;
    }
    if (byte < next || byte > next + 1 + from_1)
        return false;
    const int size = 1 << (byte - next + !from_1);
    if (d->end - p <= size)
        return false;
    *n = big_endian(p + 1, (size_t)size);
    d->p = p + 1 + size;
    return true;
}

#define ARRAY_LENGTH(d, n) typed_length(d, 0x90, 15, 0xdc, false, n)
#define MAP_LENGTH(d, n) typed_length(d, 0x80, 15, 0xde, false, n)
#define STR_LENGTH(d, n) typed_length(d, 0xa0, 31, 0xd9, true, n)

/* ---- numbers and text ---- */

static NEVER_INLINE PyObject *typed_int(TypedDecoder *d)
{
    const unsigned char *p = d->p;
    const unsigned byte = *p;
    if (byte < 0x80 || byte >= 0xe0) {
        d->p = p + 1;
        return small_int(byte < 0x80 ? (long)byte : (long)byte - 256);
    }
    if (byte < 0xcc || byte > 0xd3)
        return typed_mismatch(d);
    const int size = 1 << ((byte - 0xcc) & 3);
    if (d->end - p <= size)
        return typed_mismatch(d);
    const int64_t value = read_int(p, (size_t)(d->end - p));
    d->p = p + 1 + size;
    return byte == 0xcf ? value_uint((uint64_t)value) : value_int(value);
}

static ALWAYS_INLINE PyObject *typed_double(TypedDecoder *d)
{
    if (UNLIKELY(d->end - d->p < 9))
        return typed_mismatch(d);
    d->p += 9;
    return PyFloat_FromDouble(read_double(d->p - 8));
}

static NEVER_INLINE PyObject *typed_float(TypedDecoder *d)
{
    if (*d->p == 0xcb)
        return typed_double(d);
    if (*d->p == 0xca) {
        if (d->end - d->p < 5)
            return typed_mismatch(d);
        d->p += 5;
        return PyFloat_FromDouble(read_float(d->p - 4));
    }
    PyObject *whole = typed_int(d);
    if (!whole)
        return NULL;
    PyObject *value = PyFloat_FromDouble(PyLong_AsDouble(whole));
    Py_DECREF(whole);
    return value;
}

static ALWAYS_INLINE PyObject *typed_str(TypedDecoder *d)
{
    uint64_t n;
    if (UNLIKELY(!STR_LENGTH(d, &n)) || UNLIKELY((uint64_t)(d->end - d->p) < n))
        return typed_mismatch(d);
    PyObject *text = text_new(d->p, (size_t)n);
    d->p += n;
    return text;
}

/* A str that is likely to come again, as a key of a dict. */
static ALWAYS_INLINE PyObject *typed_key_str(TypedDecoder *d)
{
    if (LIKELY((*d->p & 0xe0) == 0xa0)) {
        const size_t n = *d->p & 0x1f;
        if (UNLIKELY((size_t)(d->end - d->p) <= n))
            return typed_mismatch(d);
        PyObject *text = key_new(d->p + 1, n);
        d->p += n + 1;
        return text;
    }
    return typed_str(d);
}

static PyObject *typed_bytes(TypedDecoder *d, const TypedNode *node)
{
    uint64_t n;
    if (!typed_length(d, 0x100, 0, 0xc4, true, &n) || (uint64_t)(d->end - d->p) < n)
        return typed_mismatch(d);
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)d->p, (Py_ssize_t)n);
    d->p += n;
    if (bytes && node->made) {
        PyObject *made = PyObject_CallFunctionObjArgs(node->made, bytes, NULL);
        Py_DECREF(bytes);
        return made;
    }
    return bytes;
}

/* ---- what Python does ---- */

static NEVER_INLINE PyObject *typed_slow(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    if (!node->slow)
        return typed_mismatch(d);
    typed_python(d);
    PyObject *pair = PyObject_CallFunction(node->slow, "Onn", d->source, (Py_ssize_t)(d->p - d->data), depth);
    if (!pair)
        return NULL;
    Py_ssize_t end =
        PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2 ? PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 1)) : -1;
    PyObject *value = NULL;
    if (end > d->p - d->data && end <= d->end - d->data) {
        value = new_ref(PyTuple_GET_ITEM(pair, 0));
        d->p = d->data + end;
    }
    else if (!PyErr_Occurred())
        typed_mismatch(d);
    Py_DECREF(pair);
    return value;
}

static NEVER_INLINE PyObject *typed_any(TypedDecoder *d, Py_ssize_t depth)
{
    UnpackOptions options = d->table->untyped;
    Parser ps;
    PyObject *o = NULL;
    Py_ssize_t position = d->p - d->data;
    options.max_depth = depth < 0 ? 0 : depth;
    parser_init(&ps, &options, d->end - d->p);
    ps.source = d->source;
    ps.gc_held = d->gc_held;
    ps.guard = GUARD_HIDE;
    enum parse_result outcome = parser_run_plain(&ps, d->data, d->end - d->data, &position, &o);
    d->gc_held = ps.gc_held;
    parser_free(&ps);
    if (outcome == PARSE_DONE)
        d->p = d->data + position;
    else if (outcome == PARSE_MORE)
        return typed_mismatch(d);
    return o;
}

static NEVER_INLINE PyObject *typed_datetime(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const unsigned char *p = d->p;
    const Py_ssize_t left = d->end - p;
    Py_ssize_t header = 2, size = *p == 0xd6 ? 4 : *p == 0xd7 ? 8 : 0;
    if (*p == 0xc7 && left > 3) {
        header = 3;
        size = p[1];
    }
    if (!size || left < header + size || p[header - 1] != 0xff)
        return typed_slow(d, node, depth);
    Parser ps;
    parser_init(&ps, &d->table->untyped, left);
    ps.gc_held = d->gc_held;
    PyObject *value = timestamp_value(&ps, p + header, (size_t)size);
    d->gc_held = ps.gc_held;
    parser_free(&ps);
    d->p = p + header + size;
    return value;
}

/* ---- constraints ---- */

static bool typed_bounds_hold(const TypedNode *node, PyObject *value)
{
    int overflow = 0;
    const bool real = PyFloat_CheckExact(value);
    long long whole = real ? 0 : PyLong_AsLongLongAndOverflow(value, &overflow);
    const double number = real ? PyFloat_AS_DOUBLE(value) : 0;
    if (overflow) /* up to 2**64 - 1; bounds are smaller */
        whole = LLONG_MAX;
    for (int i = 0; i < node->bounds_count; i++) {
        const TypedBound *bound = &node->bounds[i];
        bool holds;
        switch (bound->sign) {
        case '>':
            holds = real ? number > bound->real : whole > bound->whole;
            break;
        case 'g':
            holds = real ? number >= bound->real : whole >= bound->whole;
            break;
        case '<':
            holds = real ? number < bound->real : whole < bound->whole;
            break;
        default:
            holds = real ? number <= bound->real : whole <= bound->whole;
        }
        if (!holds)
            return false;
    }
    return true;
}

/* The value, or NULL if it breaks a constraint. */
static NEVER_INLINE PyObject *typed_check(TypedDecoder *d, const TypedNode *node, PyObject *value)
{
    bool holds = true;
    if (node->bounds_count)
        holds = typed_bounds_hold(node, value);
    if (holds && (node->min_len >= 0 || node->max_len >= 0)) {
        const Py_ssize_t length = PyObject_Size(value);
        holds = length >= node->min_len && (node->max_len < 0 || length <= node->max_len);
    }
    if (holds && node->search) {
        typed_python(d);
        PyObject *match = PyObject_CallFunctionObjArgs(node->search, value, NULL);
        holds = match && match != Py_None;
        Py_XDECREF(match);
    }
    if (holds && node->problem) {
        typed_python(d);
        PyObject *problem = PyObject_CallFunctionObjArgs(node->problem, value, NULL);
        holds = problem == Py_None;
        Py_XDECREF(problem);
    }
    if (LIKELY(holds))
        return value;
    Py_DECREF(value);
    return PyErr_Occurred() ? NULL : typed_mismatch(d);
}
