/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of typed decoding, and the values that are not containers: numbers, text, and values that Python reads.
 *
 * C only detects that a message is wrong. It raises `mismatch`, or `refused` if Python code refuses a value, or the
 * exception of a reader. Then Python reads the message again, and finds where and why it is wrong
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
#define TYPED_TICKS 0x3fff

/* A container of the message that is not empty. While it is skipped, `left` and `outer` are used; once its end is
   known, `end` and `next` are used. */
typedef struct {
    Py_ssize_t start;
    union {
        Py_ssize_t end;
        uint64_t left; /* number of values still to skip */
    } at;
    union {
        size_t next;  /* index of the entry after those of the containers inside */
        size_t outer; /* index of the entry of the container around it, or TYPED_NO_ENTRY */
    } entry;
} TypedEnd;

/* All containers in the part of the message that ends at `covered`, in the order of the message. */
typedef struct {
    TypedEnd *entries;
    size_t count, capacity, next; /* entries before `next` are no longer needed */
    Py_ssize_t covered;
} TypedEnds;

typedef struct {
    const unsigned char *p, *end, *data;
    const TypedTable *table;
    PyObject *source; /* the bytes object with the message */
    bool gc_held;
    unsigned ticks;
    Py_ssize_t max_depth;
    uintptr_t floor;   /* stack_floor() */
    int64_t room;      /* the bytes of memory that values may still take beyond those of untyped values */
    bool stopped;      /* an exception that the message did not cause has ended decoding */
    uint64_t reserved; /* number of items allocated in advance, for all open containers */
    KeyMeters meters;  /* the meters of open dicts and sets; the level of a meter is a depth */
    TypedEnds ends;    /* the ends of containers that were skipped to choose the object of a union */
    PyObject **values; /* the stack of the fields of open objects */
    size_t top, capacity;
    PyObject *inline_values[TYPED_VALUES];
} TypedDecoder;

static NEVER_INLINE PyObject *typed_mismatch(const TypedDecoder *d)
{
    PyErr_SetNone(d->table->mismatch);
    return NULL;
}

/* Turn the garbage collector on again, because Python code is about to run. */
static ALWAYS_INLINE void typed_python(TypedDecoder *d)
{
    if (UNLIKELY(d->gc_held)) {
        d->gc_held = false;
        gc_resume(true);
    }
}

/* Call this once per item. Now and then it runs signal handlers; it returns false if a handler raised. */
static ALWAYS_INLINE bool typed_tick(TypedDecoder *d)
{
    if (LIKELY(++d->ticks & TYPED_TICKS))
        return true;
    typed_python(d);
    d->stopped = PyErr_CheckSignals() != 0;
    return !d->stopped;
}

/* Raise `refused`, from which cpkg/typed/walker.py creates the error. `what` is an exception, or a text that describes
   the problem; the value begins at `offset`; `value` may be NULL. Returns NULL. */
static NEVER_INLINE PyObject *typed_refuse(const TypedDecoder *d, PyObject *what, Py_ssize_t offset, const char *role,
                                           PyObject *value)
{
    PyObject *refused = PyObject_CallFunction(d->table->refused, value ? "OnsO" : "Ons", what, offset, role, value);
    if (refused)
        PyErr_SetObject(d->table->refused, refused);
    Py_XDECREF(refused);
    return NULL;
}

/* Convert the exception that Python code raised for the value at an offset to `refused`. Returns NULL. */
static NEVER_INLINE PyObject *typed_refused(TypedDecoder *d, Py_ssize_t offset, const char *role, PyObject *value)
{
    PyObject *type, *exc, *traceback;
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) {
        d->stopped = true;
        return NULL;
    }
    PyErr_Fetch(&type, &exc, &traceback);
    PyErr_NormalizeException(&type, &exc, &traceback);
    if (traceback)
        PyException_SetTraceback(exc, traceback);
    typed_refuse(d, exc, offset, role, value);
    Py_XDECREF(type);
    Py_XDECREF(exc);
    Py_XDECREF(traceback);
    return NULL;
}

static ALWAYS_INLINE Py_ssize_t typed_offset(const TypedDecoder *d)
{
    return d->p - d->data;
}

/* Count bytes of memory beyond those of untyped values. Above the limit, return false with a LimitError set, which has
   no text yet: Python code adds it. */
static NEVER_INLINE bool typed_weigh(TypedDecoder *d, int64_t bytes, Py_ssize_t offset)
{
    d->room -= bytes;
    if (LIKELY(d->room >= 0))
        return true;
    PyErr_SetNone(S.LimitError);
    error_set_offset((uint64_t)offset);
    d->stopped = true;
    return false;
}

static NEVER_INLINE bool typed_too_deep(TypedDecoder *d, Py_ssize_t depth)
{
    if (depth < 1)
        return typed_mismatch(d) != NULL;
    PyErr_SetString(S.StackError, "the data is nested deeper than the interpreter's stack allows, "
                                  "or a constructor or hook recurses without end");
    error_set_offset((uint64_t)typed_offset(d));
    d->stopped = true;
    return false;
}

/* Return whether another container may be opened; false with an exception set. */
static ALWAYS_INLINE bool typed_may_nest(TypedDecoder *d, Py_ssize_t depth)
{
    return (LIKELY(depth >= 1) && LIKELY(STACK_POSITION() >= d->floor)) || typed_too_deep(d, depth);
}

/* Read the length in the header at d->p, and move past the header; return false for any other header. The first byte is
   `fix` to `fix` + `most` if it contains the length. The formats from `next` on have length fields of 1 (only with
   `from_1`), 2 and 4 bytes. */
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
    PyObject *text = text_new(d->p, (size_t)n, false);
    d->p += n;
    return text;
}

/* Return whether the value at d->p is this text. */
static ALWAYS_INLINE bool typed_text_is(const TypedDecoder *d, const PackedText *text)
{
    const Py_ssize_t left = d->end - d->p, size = text->size;
    if (UNLIKELY(left < 8))
        return left >= size && memcmp(d->p, text->bytes, (size_t)size) == 0;
    if ((load8(d->p) & text->mask) != text->word)
        return false;
    return size <= 8 || (left >= size && load8(d->p + size - 8) == text->last &&
                         (size <= 16 || memcmp(d->p + 8, text->bytes + 8, (size_t)size - 16) == 0));
}

/* Read a str that is likely to be repeated, like the keys of a dict. */
static ALWAYS_INLINE PyObject *typed_key_str(TypedDecoder *d)
{
    if (LIKELY((*d->p & 0xe0) == 0xa0)) {
        const size_t n = *d->p & 0x1f;
        if (UNLIKELY((size_t)(d->end - d->p) <= n))
            return typed_mismatch(d);
        PyObject *text = key_new(d->p + 1, n, false);
        d->p += n + 1;
        return text;
    }
    return typed_str(d);
}

static NEVER_INLINE PyObject *typed_bytes(TypedDecoder *d, const TypedNode *node)
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

/* ---- values that Python reads ---- */

static NEVER_INLINE PyObject *typed_slow(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    if (!node->slow)
        return typed_mismatch(d);
    typed_python(d);
    /* `slow` raises the final exceptions itself: the message need not be read again */
    d->stopped = true;
    PyObject *pair = PyObject_CallFunction(node->slow, "Onn", d->source, (Py_ssize_t)(d->p - d->data), depth);
    if (!pair)
        return NULL;
    d->stopped = false;
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

/* Return the data of the ext value at d->p, and get its code and size; NULL, without an exception, for any other
   value. */
static ALWAYS_INLINE const unsigned char *typed_ext(const TypedDecoder *d, int *code, size_t *size)
{
    const unsigned char *content = d->p;
    const size_t left = (size_t)(d->end - content);
    const unsigned fixed = *content - 0xd4u;
    if (LIKELY(left > 2) &&
        (fixed <= 4 || LIKELY(*content == 0xc7))) { /* the first or the second byte has the length */
        *size = fixed <= 4 ? (size_t)1 << fixed : content[1];
        content += fixed <= 4 ? 1 : 2;
    }
    else {
        FormatHeader h;
        if (!read_header(content, left, &h) || h.kind != FORMAT_EXT)
            return NULL;
        content += h.size;
        *size = h.length;
    }
    if (UNLIKELY((size_t)(d->end - content) < *size + 1))
        return NULL;
    *code = (signed char)*content;
    return content + 1;
}

static NEVER_INLINE PyObject *typed_ext_type(TypedDecoder *d)
{
    int code;
    size_t size;
    const unsigned char *content = typed_ext(d, &code, &size);
    if (!content || code < 0)
        return typed_mismatch(d);
    d->p = content + size;
    return ext_value(S.ExtType, code, PyBytes_FromStringAndSize((const char *)content, (Py_ssize_t)size));
}

/* Read a value of an extension type, or text that represents such a value. The code of a Timestamp is -1. */
static NEVER_INLINE PyObject *typed_extension(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const unsigned char *const start = d->p;
    PyObject *value;
    int code;
    size_t size;
    uint64_t n;
    const unsigned char *content = typed_ext(d, &code, &size);
    if (content && code == -1 && (node->code == EXTENSION_DATETIME || node->code == -1)) {
        int64_t seconds;
        uint32_t nanoseconds;
        if (!read_timestamp(content, size, &seconds, &nanoseconds))
            return NULL;
        d->p = content + size;
        if (node->code == -1)
            return timestamp_object(seconds, nanoseconds);
        if (UNLIKELY(!KEPT(epoch))) {
            typed_python(d);
            if (datetime_ready() < 0)
                return NULL;
        }
        return timestamp_datetime(seconds, nanoseconds);
    }
    if (content && code == node->code && read_extension(code, content, size, &value)) {
        d->p = content + size;
        return value;
    }
    if (STR_LENGTH(d, &n) && (uint64_t)(d->end - d->p) >= n &&
        read_extension_text(node->code, d->p, (size_t)n, &value)) {
        d->p += n;
        return value;
    }
    d->p = start;
    return typed_slow(d, node, depth);
}

/* Read an untyped value, and let dec_hook convert it to the node's class. */
static NEVER_INLINE PyObject *typed_hooked(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const Py_ssize_t offset = typed_offset(d);
    PyObject *value = typed_any(d, depth);
    if (!value)
        return NULL;
    typed_python(d);
    PyObject *made = PyObject_CallFunctionObjArgs(node->hook, node->cls, value, NULL);
    Py_DECREF(value);
    if (!made)
        return typed_refused(d, offset, "hook", NULL);
    const int is_one = PyObject_IsInstance(made, node->cls);
    if (LIKELY(is_one > 0))
        return made;
    if (is_one < 0)
        d->stopped = true;
    else {
        PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(made), "__name__");
        PyObject *text = name ? PyUnicode_FromFormat("%S from dec_hook", name) : NULL;
        if (text)
            typed_refuse(d, text, offset, "hook", NULL);
        Py_XDECREF(text);
        Py_XDECREF(name);
    }
    Py_DECREF(made);
    return NULL;
}

/* ---- constraints ---- */

static bool typed_numbers_hold(const TypedNode *node, PyObject *value)
{
    int overflow = 0;
    const bool real = PyFloat_CheckExact(value);
    long long whole = real ? 0 : PyLong_AsLongLongAndOverflow(value, &overflow);
    const double number = real ? PyFloat_AS_DOUBLE(value) : 0;
    if (overflow) /* the value is from 2**63 to 2**64 - 1, and bounds are at most 2**53 */
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

/* Return whether a value is within the bounds; false with an exception set if comparing fails. */
static bool typed_bounds_hold(const TypedNode *node, PyObject *value)
{
    if (LIKELY(node->by_number))
        return typed_numbers_hold(node, value);
    bool holds = true;
    for (int i = 0; holds && i < node->bounds_count; i++) {
        const char sign = node->bounds[i].sign;
        const int operation = sign == '>' ? Py_GT : sign == 'g' ? Py_GE : sign == '<' ? Py_LT : Py_LE;
        holds = PyObject_RichCompareBool(value, node->bounds[i].object, operation) > 0;
    }
    return holds;
}

/* Return the value that begins at an offset; NULL with an exception set if it violates a constraint. */
static NEVER_INLINE PyObject *typed_check(TypedDecoder *d, const TypedNode *node, PyObject *value, Py_ssize_t offset)
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
        d->stopped = !match;
        Py_XDECREF(match);
    }
    if (holds && node->is_aware) {
        PyObject *zone = PyObject_GetAttr(value, S.str_tzinfo);
        holds = zone && (zone != Py_None) == (node->is_aware == Py_True);
        Py_XDECREF(zone);
    }
    if (holds && node->problem) {
        typed_python(d);
        PyObject *problem = PyObject_CallFunctionObjArgs(node->problem, value, NULL);
        holds = problem == Py_None;
        if (!problem)
            typed_refused(d, offset, "check", value);
        else if (!holds)
            typed_refuse(d, problem, offset, "check", value);
        Py_XDECREF(problem);
    }
    if (LIKELY(holds))
        return value;
    Py_DECREF(value);
    return PyErr_Occurred() ? NULL : typed_mismatch(d);
}
