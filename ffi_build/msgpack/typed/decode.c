/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to objects of a type: the bytes are read by the table, slots filled by their offsets, no dict in between.
 *
 * It finds out that a message is wrong, not where or why: that raises `mismatch`, and Python goes over the message once more
 * (cpkg/typed/walker.py). An object is made when its fields are complete; until then they are on a stack of ours. Lists and
 * tuples that are being filled are not tracked by the collector: nobody can find them.
 */
#pragma once

#include <limits.h>

#include "../common/numbers.c"
#include "../common/interpreter.c"
#include "../common/state.c"
#include "../unpack/huge_pages.c"
#include "../unpack/parse_loop.c"
#include "../unpack/starts.c"
#include "../unpack/text.c"
#include "../unpack/values.c"
#include "table.c"

#define TYPED_VALUES 128
#define TYPED_DEPTH_UNCHECKED 64
#define TYPED_TICKS 0x3fff

/* Whether somebody may look for an object while its attributes are set; see guard_of(). */
#if defined(Py_GIL_DISABLED) || PY_VERSION_HEX < 0x030C0000
#define TYPED_HIDE true
#else
#define TYPED_HIDE false
#endif

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

static PyObject *typed_value(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth);

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
   in the sizes that `forms` has; d->p goes behind it. False if it is no such header. */
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

/* Go to the end of the value at hand; false with an exception set if it is cut or none. */
static bool typed_skip(TypedDecoder *d)
{
    const unsigned char *end = typed_tick(d) ? value_pass(d->p, d->end) : NULL;
    if (end)
        d->p = end;
    else if (!PyErr_Occurred())
        typed_mismatch(d);
    return end != NULL;
}

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

/* ---- values ---- */

/* A value; the frequent ones without a call. */
static ALWAYS_INLINE PyObject *typed_quick(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    PyObject *value;
    if (UNLIKELY(d->p == d->end))
        return typed_mismatch(d);
    const unsigned byte = *d->p;
    if (node->nullable && byte == 0xc0) {
        d->p++;
        return new_ref(Py_None);
    }
    switch (node->kind) {
    case TYPED_INT:
        if (LIKELY(byte < 0x80)) {
            d->p++;
            value = small_int((long)byte);
        }
        else
            value = typed_int(d);
        break;
    case TYPED_STR:
        value = typed_str(d);
        break;
    case TYPED_FLOAT:
        value = LIKELY(byte == 0xcb) ? typed_double(d) : typed_float(d);
        break;
    case TYPED_BOOL:
        if (UNLIKELY((byte & 0xfe) != 0xc2))
            return typed_mismatch(d);
        d->p++;
        value = new_ref(byte == 0xc3 ? Py_True : Py_False);
        break;
    default:
        value = typed_value(d, node, depth);
    }
    if (UNLIKELY(node->checked) && LIKELY(value != NULL))
        return typed_check(d, node, value);
    return value;
}

/* ---- containers ---- */

/* How many of n items to allocate in advance: no more than the open containers of a sound message can have together. */
static ALWAYS_INLINE Py_ssize_t typed_reserve(TypedDecoder *d, uint64_t n)
{
    const uint64_t left = (uint64_t)(d->end - d->p), all = (uint64_t)(d->end - d->data);
    const uint64_t room = all > d->reserved ? all - d->reserved : 0;
    n = n < left ? n : left;
    n = n < room ? n : room;
    d->reserved += n;
    return (Py_ssize_t)n;
}

static PyObject *typed_array(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    uint64_t n;
    if (UNLIKELY(!typed_may_nest(d, depth)) || UNLIKELY(!ARRAY_LENGTH(d, &n)))
        return typed_mismatch(d);
    const TypedNode *item = node->item;
    if (node->kind == TYPED_SET || node->kind == TYPED_FROZENSET) {
        PyObject *set = node->kind == TYPED_SET ? PySet_New(NULL) : PyFrozenSet_New(NULL);
        for (; set && n; n--) {
            PyObject *value = typed_tick(d) ? typed_quick(d, item, depth - 1) : NULL;
            if (value && node->runs_python)
                typed_python(d);
            if (!value || PySet_Add(set, value) < 0)
                Py_CLEAR(set);
            Py_XDECREF(value);
        }
        return set;
    }
    const Py_ssize_t reserved = typed_reserve(d, n);
    const bool tuple = node->kind == TYPED_TUPLE && (uint64_t)reserved == n;
    if (tuple && !reserved)
        return new_ref(S.empty_tuple);
    PyObject *made = tuple ? PyTuple_New(reserved) : PyList_New(reserved);
    if (!made)
        return NULL;
    PyObject_GC_UnTrack(made);
    PyObject **slot = tuple ? &PyTuple_GET_ITEM(made, 0) : ((PyListObject *)made)->ob_item;
    for (Py_ssize_t i = 0; i < reserved; i++) {
        PyObject *value = LIKELY(typed_tick(d)) ? typed_quick(d, item, depth - 1) : NULL;
        if (UNLIKELY(!value)) {
            Py_DECREF(made);
            return NULL;
        }
        slot[i] = value;
    }
    for (uint64_t i = (uint64_t)reserved; i < n; i++) { /* more than were allocated: the list moves */
        PyObject *value = typed_tick(d) ? typed_quick(d, item, depth - 1) : NULL;
        if (!value || PyList_Append(made, value) < 0) {
            Py_XDECREF(value);
            Py_DECREF(made);
            return NULL;
        }
        Py_DECREF(value);
    }
    d->reserved -= (uint64_t)reserved;
    PyObject_GC_Track(made);
    if (UNLIKELY(node->made || (node->kind == TYPED_TUPLE && !tuple))) {
        typed_python(d);
        PyObject *result = node->made ? PyObject_CallFunctionObjArgs(node->made, made, NULL) : PyList_AsTuple(made);
        Py_DECREF(made);
        return result;
    }
    return made;
}

static PyObject *typed_fixed_tuple(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    uint64_t n;
    if (!typed_may_nest(d, depth) || !ARRAY_LENGTH(d, &n) || n != (uint64_t)node->parts_count)
        return typed_mismatch(d);
    PyObject *made = PyTuple_New(node->parts_count);
    if (!made || !n)
        return made;
    PyObject_GC_UnTrack(made);
    for (Py_ssize_t i = 0; i < node->parts_count; i++) {
        PyObject *value = typed_quick(d, node->parts[i], depth - 1);
        if (!value) {
            Py_DECREF(made);
            return NULL;
        }
        PyTuple_SET_ITEM(made, i, value);
    }
    PyObject_GC_Track(made);
    return made;
}

static PyObject *typed_dict(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    uint64_t n;
    if (!typed_may_nest(d, depth) || !MAP_LENGTH(d, &n))
        return typed_mismatch(d);
    const bool text = node->key->kind == TYPED_STR && !node->key->checked && !node->key->nullable;
    const Py_ssize_t reserved = typed_reserve(d, n);
    PyObject *made = dict_new(reserved / 2);
    for (; made && n; n--) {
        PyObject *key = d->p == d->end ? typed_mismatch(d)
                        : text         ? typed_key_str(d)
                                       : typed_quick(d, node->key, depth - 1);
        PyObject *value = key && typed_tick(d) ? typed_quick(d, node->item, depth - 1) : NULL;
        if (value && node->runs_python)
            typed_python(d);
        if (!value || PyDict_SetItem(made, key, value) < 0)
            Py_CLEAR(made);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    d->reserved -= (uint64_t)reserved;
    if (made && node->made) {
        typed_python(d);
        PyObject *result = PyObject_CallFunctionObjArgs(node->made, made, NULL);
        Py_DECREF(made);
        return result;
    }
    return made;
}

/* ---- objects ---- */

/* Room for n values, NULL at first; false with MemoryError. */
static ALWAYS_INLINE bool typed_push(TypedDecoder *d, Py_ssize_t n, size_t *base)
{
    const size_t top = d->top + (size_t)n;
    if (UNLIKELY(top > d->capacity)) {
        const bool inside = d->values == d->inline_values;
        PyObject **grown = PyMem_Realloc(inside ? NULL : d->values, 2 * top * sizeof *grown);
        if (!grown) {
            PyErr_NoMemory();
            return false;
        }
        if (inside)
            memcpy(grown, d->inline_values, d->top * sizeof *grown);
        d->values = grown;
        d->capacity = 2 * top;
    }
    *base = d->top;
    for (size_t i = d->top; i < top; i++)
        d->values[i] = NULL;
    d->top = top;
    return true;
}

static void typed_pop(TypedDecoder *d, size_t base)
{
    while (d->top > base) {
        PyObject *value = d->values[--d->top];
        Py_XDECREF(value);
    }
}

/* The number of the field whose key is next, -1 for none; -2 if it is no str. d->p goes behind the key. */
static NEVER_INLINE Py_ssize_t typed_find(TypedDecoder *d, const TypedNode *node)
{
    uint64_t n;
    if (!STR_LENGTH(d, &n) || (uint64_t)(d->end - d->p) < n)
        return -2;
    const unsigned char *text = d->p;
    d->p += n;
    for (Py_ssize_t i = 0; i < node->fields_count; i++) {
        const TypedField *field = &node->fields[i];
        if ((uint64_t)field->text_size == n &&
            memcmp(field->packed + field->packed_size - field->text_size, text, (size_t)n) == 0)
            return i;
    }
    if (is_utf8(text, (size_t)n))
        return -1;
    return -2;
}

static ALWAYS_INLINE bool typed_key_is(const TypedDecoder *d, const TypedField *field)
{
    const Py_ssize_t left = d->end - d->p;
    if (LIKELY(field->packed_size <= 8) && LIKELY(left >= 8))
        return (load8(d->p) & field->mask) == field->word;
    return left >= field->packed_size && memcmp(d->p, field->packed, (size_t)field->packed_size) == 0;
}

/* Values for fields that the message does not have; false with an exception if one is required. */
static ALWAYS_INLINE bool typed_defaults(TypedDecoder *d, const TypedNode *node, size_t base)
{
    for (Py_ssize_t i = 0; i < node->fields_count; i++) {
        if (LIKELY(d->values[base + (size_t)i] != NULL))
            continue;
        const TypedField *field = &node->fields[i];
        PyObject *value = NULL;
        switch (field->how) {
        case DEFAULT_NONE:
            typed_mismatch(d);
            return false;
        case DEFAULT_VALUE:
            value = new_ref(field->fallback);
            break;
        case DEFAULT_LIST:
            value = PyList_New(0);
            break;
        case DEFAULT_DICT:
            value = PyDict_New();
            break;
        case DEFAULT_FACTORY:
            typed_python(d);
            value = PyObject_CallObject(field->fallback, NULL);
            break;
        case DEFAULT_ABSENT:
            continue;
        }
        if (!value)
            return false;
        d->values[base + (size_t)i] = value;
    }
    return true;
}

/* The object of the values from base on, which stay owned by the stack but for those that are moved. */
static PyObject *typed_build(TypedDecoder *d, const TypedNode *node, size_t base)
{
    const Py_ssize_t n = node->fields_count;
    PyObject **values = d->values + base;
    if (LIKELY(node->build == BUILD_SET)) {
        PyTypeObject *type = (PyTypeObject *)node->cls;
        /* object.__new__ also sets up what keeps attributes without a dict */
        const bool slots = n && node->fields[0].offset >= 0;
        PyObject *o = slots ? type->tp_alloc(type, 0) : PyBaseObject_Type.tp_new(type, S.empty_tuple, NULL);
        if (!o)
            return NULL;
        const bool hide = TYPED_HIDE && !slots && PyObject_IS_GC(o);
        if (hide)
            PyObject_GC_UnTrack(o);
        for (Py_ssize_t i = 0; i < n; i++) {
            const TypedField *field = &node->fields[i];
            if (LIKELY(field->offset >= 0)) {
                slot_init(o, field->offset, values[i]);
                values[i] = NULL;
            }
            else if (values[i] && UNLIKELY(PyObject_GenericSetAttr(o, field->name, values[i]) < 0)) {
                Py_DECREF(o);
                return NULL;
            }
        }
        if (hide)
            PyObject_GC_Track(o);
        if (node->post_init) {
            typed_python(d);
            PyObject *done = PyObject_CallMethodObjArgs(o, node->post_init, NULL);
            Py_XDECREF(done);
            if (!done)
                Py_CLEAR(o);
        }
        return o;
    }
    if (node->build == BUILD_DICT) {
        PyObject *dict = dict_new(n);
        for (Py_ssize_t i = 0; dict && i < n; i++)
            if (values[i] && PyDict_SetItem(dict, node->fields[i].name, values[i]) < 0)
                Py_CLEAR(dict);
        return dict;
    }
    typed_python(d);
    if (node->build == BUILD_POSITION)
        return PyObject_Vectorcall(node->cls, values, (size_t)n, NULL);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!values[i]) { /* the constructor makes some defaults itself */
            PyObject *keywords = PyDict_New(), *o = NULL;
            for (i = 0; keywords && i < n; i++)
                if (values[i] && PyDict_SetItem(keywords, PyTuple_GET_ITEM(node->keywords, i), values[i]) < 0)
                    Py_CLEAR(keywords);
            if (keywords)
                o = PyObject_Call(node->cls, S.empty_tuple, keywords);
            Py_XDECREF(keywords);
            return o;
        }
    return PyObject_Vectorcall(node->cls, values, 0, node->keywords);
}

static PyObject *typed_object(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    uint64_t left;
    size_t base;
    if (UNLIKELY(!typed_may_nest(d, depth)) || UNLIKELY(!MAP_LENGTH(d, &left)))
        return typed_mismatch(d);
    const Py_ssize_t count = node->fields_count;
    const TypedField *const fields = node->fields;
    if (UNLIKELY(!typed_push(d, count, &base)))
        return NULL;
    PyObject *o = NULL;
    Py_ssize_t next = 0;
    for (; left; left--) {
        Py_ssize_t i = next;
        if (LIKELY(i < count) && LIKELY(typed_key_is(d, &fields[i])))
            d->p += fields[i].packed_size;
        else {
            i = typed_find(d, node);
            if (UNLIKELY(i < 0)) {
                if (i == -2 || node->forbid) {
                    typed_mismatch(d);
                    goto done;
                }
                if (!typed_skip(d))
                    goto done;
                continue;
            }
        }
        PyObject *value = typed_quick(d, fields[i].node, depth - 1);
        if (UNLIKELY(!value))
            goto done;
        PyObject *before = d->values[base + (size_t)i];
        d->values[base + (size_t)i] = value;
        Py_XDECREF(before);
        next = i + 1;
    }
    if (typed_defaults(d, node, base))
        o = typed_build(d, node, base);
done:
    typed_pop(d, base);
    return o;
}

static PyObject *typed_row(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    uint64_t n;
    size_t base;
    const uint64_t most = (uint64_t)node->fields_count;
    if (!typed_may_nest(d, depth) || !ARRAY_LENGTH(d, &n) || n < (uint64_t)node->required || (node->forbid && n > most))
        return typed_mismatch(d);
    if (!typed_push(d, node->fields_count, &base))
        return NULL;
    PyObject *o = NULL;
    for (uint64_t i = 0; i < n; i++) {
        if (i >= most) {
            if (!typed_skip(d))
                goto done;
            continue;
        }
        PyObject *value = typed_quick(d, node->fields[i].node, depth - 1);
        if (!value)
            goto done;
        d->values[base + i] = value;
    }
    if (typed_defaults(d, node, base))
        o = typed_build(d, node, base);
done:
    typed_pop(d, base);
    return o;
}

/* ---- choices ---- */

static PyObject *typed_choice(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const unsigned char *start = d->p;
    const bool number = *start < 0x80 || *start >= 0xe0 || (*start >= 0xcc && *start <= 0xd3);
    PyObject *table = number ? node->by_int : node->by_str;
    if (!table)
        return typed_slow(d, node, depth);
    PyObject *key = number ? typed_int(d) : typed_key_str(d);
    if (!key)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(table, key);
    Py_DECREF(key);
    if (LIKELY(found != NULL))
        return new_ref(found);
    if (PyErr_Occurred())
        return NULL;
    d->p = start;
    return typed_slow(d, node, depth);
}

static const TypedNode *typed_object_of(TypedDecoder *d, const TypedNode *node)
{
    PyObject *number = NULL;
    const Py_ssize_t left = d->end - d->p;
    if (node->tag && left > node->tag_size + 2 && *d->p > 0x80 &&
        memcmp(d->p + 1, node->tag, (size_t)node->tag_size) == 0) {
        const unsigned char *value = d->p + 1 + node->tag_size;
        const Py_ssize_t size = *value & 0x1f;
        if ((*value & 0xe0) == 0xa0 && left > 2 + node->tag_size + size) {
            PyObject *text = key_new(value + 1, (size_t)size);
            number = text ? PyDict_GetItemWithError(node->tag_values, text) : NULL;
            Py_XINCREF(number);
            Py_XDECREF(text);
        }
    }
    if (!number && !PyErr_Occurred() && node->choose) {
        typed_python(d);
        number = PyObject_CallFunction(node->choose, "On", d->source, (Py_ssize_t)(d->p - d->data));
    }
    const Py_ssize_t index = number ? PyLong_AsSsize_t(number) : -1;
    Py_XDECREF(number);
    if (index >= 0 && index < node->parts_count)
        return node->parts[index];
    if (!PyErr_Occurred())
        typed_mismatch(d);
    return NULL;
}

static PyObject *typed_union(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const unsigned char which = node->by_byte[*d->p];
    if (which < UNION_OBJECTS)
        return typed_quick(d, node->parts[which], depth);
    if (which == UNION_NOTHING)
        return typed_mismatch(d);
    if (which == UNION_SLOW)
        return typed_slow(d, node, depth);
    const TypedNode *part = typed_object_of(d, node);
    return part ? typed_quick(d, part, depth) : NULL;
}

static NEVER_INLINE PyObject *typed_value(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    switch ((enum typed_kind)node->kind) {
    case TYPED_OBJECT:
        return typed_object(d, node, depth);
    case TYPED_LIST:
    case TYPED_SET:
    case TYPED_FROZENSET:
    case TYPED_TUPLE:
        return typed_array(d, node, depth);
    case TYPED_DICT:
        return typed_dict(d, node, depth);
    case TYPED_FIXED_TUPLE:
        return typed_fixed_tuple(d, node, depth);
    case TYPED_ROW:
        return typed_row(d, node, depth);
    case TYPED_CHOICE:
        return typed_choice(d, node, depth);
    case TYPED_UNION:
        return typed_union(d, node, depth);
    case TYPED_ANY:
        return typed_any(d, depth);
    case TYPED_BYTES:
        return typed_bytes(d, node);
    case TYPED_DATETIME:
        return typed_datetime(d, node, depth);
    case TYPED_NONE:
        if (*d->p != 0xc0)
            return typed_mismatch(d);
        d->p++;
        return new_ref(Py_None);
    default:
        return typed_slow(d, node, depth);
    }
}

/* decode(data, max_depth): the object of the one message in a bytes object. Raises `mismatch` for any message that is not of
   the type or damaged, and what hooks and constructors raise. */
static PyObject *typed_decode(PyObject *o, PyObject *const *args, Py_ssize_t n_args)
{
    TypedTable *self = (TypedTable *)o;
    TypedDecoder d;
    ArenasAhead ahead;
    if (n_args != 2 || !PyBytes_CheckExact(args[0]) || !self->keep) {
        PyErr_SetString(PyExc_TypeError, "decode takes bytes and a depth");
        return NULL;
    }
    d.max_depth = PyLong_AsSsize_t(args[1]);
    if (d.max_depth == -1 && PyErr_Occurred())
        return NULL;
    const Py_ssize_t size = PyBytes_GET_SIZE(args[0]);
    d.source = args[0];
    d.table = self;
    d.data = d.p = (const unsigned char *)PyBytes_AS_STRING(args[0]);
    d.end = d.data + size;
    d.ticks = 0;
    d.floor = 0;
    d.reserved = 0;
    d.values = d.inline_values;
    d.top = 0;
    d.capacity = TYPED_VALUES;
    d.gc_held = gc_hold(size);
    arenas_hold(&ahead, size);
    PyObject *value = typed_quick(&d, &self->nodes[0], d.max_depth);
    arenas_release(&ahead);
    if (d.values != d.inline_values)
        PyMem_Free(d.values);
    if (d.gc_held)
        gc_resume(true);
    if (UNLIKELY(value && d.p != d.end)) {
        Py_CLEAR(value);
        typed_mismatch(&d);
    }
    return value;
}

static PyMethodDef typed_table_methods[] = {
    {"decode", AS_METHOD(typed_decode), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

DECLARE_TYPE(typed_table, "cpkg._native.msgpack.cpython.TypedTable", TypedTable, Py_TPFLAGS_HAVE_GC,
             {Py_tp_new, typed_table_new}, COLLECTED_SLOTS(typed_table), {Py_tp_methods, typed_table_methods})
