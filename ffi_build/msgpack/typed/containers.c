/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode containers and their items. While a list or tuple is filled, the garbage collector does not track it, so that
 * other code cannot find it.
 */
#ifndef CPKG_MSGPACK_TYPED_DECODE
#include "decode.c" /* includes this file, because functions of both files call each other */
#elif !defined(CPKG_MSGPACK_TYPED_CONTAINERS)
#define CPKG_MSGPACK_TYPED_CONTAINERS

#include "values.c"

static PyObject *typed_value(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth);

/* Decode a value, without a call if its kind is frequent. */
static ALWAYS_INLINE PyObject *typed_quick(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    PyObject *value;
    if (UNLIKELY(d->p == d->end))
        return typed_mismatch(d);
    const unsigned byte = *d->p;
    const Py_ssize_t offset = typed_offset(d);
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
        return typed_check(d, node, value, offset);
    return value;
}

/* Prepare an item or key that is neither str nor bytes for the set or dict `made`: convert untyped lists to tuples, and
   count the probes. `made` is open at a depth, was created for `room` items, and still receives `more`. Return false
   with an exception set on failure. */
static NEVER_INLINE bool typed_hash(TypedDecoder *d, const TypedNode *node, PyObject *made, PyObject **key,
                                    Py_ssize_t offset, Py_ssize_t depth, Py_ssize_t room, uint64_t more)
{
    if (node->runs_python)
        typed_python(d);
    const size_t present = (size_t)(PyDict_Check(made) ? PyDict_GET_SIZE(made) : PySet_GET_SIZE(made));
    if (key_meter_passes(&d->meters, d->max_depth - depth, *key, present, present + more))
        return true;
    Py_hash_t hash = PyObject_Hash(*key);
    const bool items = node->as_tuples && (PyList_CheckExact(*key) || PyTuple_CheckExact(*key));
    if (hash == -1 && items && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyObject *tuples = PyObject_CallFunctionObjArgs(node->as_tuples, *key, NULL);
        if (!tuples)
            return typed_refused(d, offset, "hash", NULL) != NULL;
        Py_SETREF(*key, tuples);
        hash = PyObject_Hash(*key);
    }
    if (hash == -1)
        return typed_refused(d, offset, "hash", *key) != NULL;
    if (present + more < METERED_PAIRS)
        return true;
    const int counted = key_meter_add(&d->meters, d->max_depth - depth, room, made, *key, hash);
    if (counted < 0)
        return typed_refused(d, offset, "hash", *key) != NULL;
    if (!counted) {
        d->stopped = true;
        if (PyErr_ExceptionMatches(S.LimitError)) {
            PyErr_SetString(S.LimitError, "too many keys with colliding hashes");
            error_set_offset((uint64_t)offset);
        }
    }
    return counted;
}

/* Return whether a key, or an item of a set, needs no typed_hash(). The header of its container declares `pairs`. */
static ALWAYS_INLINE bool typed_is_harmless(PyObject *key, uint64_t pairs)
{
    return PyUnicode_CheckExact(key) || PyBytes_CheckExact(key) || (pairs < METERED_NUMBERS && key_is_number(key));
}

/* Drop the key meter of a set or dict that is complete. */
static ALWAYS_INLINE void typed_hashed(TypedDecoder *d, Py_ssize_t depth)
{
    if (UNLIKELY(d->meters.innermost != NULL) && d->meters.innermost->level == d->max_depth - depth)
        key_meter_drop(&d->meters);
}

/* Call the type's function that creates a container from its items, which are stolen. */
static NEVER_INLINE PyObject *typed_made(TypedDecoder *d, const TypedNode *node, PyObject *items, Py_ssize_t offset)
{
    typed_python(d);
    PyObject *result = PyObject_CallFunctionObjArgs(node->made, items, NULL);
    Py_DECREF(items);
    return result ? result : typed_refused(d, offset, "build", NULL);
}

/* Return how many of n declared items to allocate in advance, like parser_reserve(): all open containers together get
   no more items than the message has bytes. */
static ALWAYS_INLINE Py_ssize_t typed_reserve(TypedDecoder *d, uint64_t n)
{
    const uint64_t left = (uint64_t)(d->end - d->p), all = (uint64_t)(d->end - d->data);
    const uint64_t room = all > d->reserved ? all - d->reserved : 0;
    n = n < left ? n : left;
    n = n < room ? n : room;
    d->reserved += n;
    return (Py_ssize_t)n;
}

/* Open an array, or a map if `map` is true: move past its header and set *n to the declared length. Return false with
   an exception set on failure. */
static ALWAYS_INLINE bool typed_open(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth, const bool map,
                                     uint64_t *n)
{
    const Py_ssize_t offset = typed_offset(d);
    if (UNLIKELY(!typed_may_nest(d, depth)))
        return false;
    if (UNLIKELY(!(map ? MAP_LENGTH(d, n) : ARRAY_LENGTH(d, n))))
        return typed_mismatch(d) != NULL;
    return LIKELY(!node->extra_item) || typed_weigh(d, node->extra_item * (int64_t)*n, offset);
}

static NEVER_INLINE PyObject *typed_set(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    uint64_t n;
    if (UNLIKELY(!typed_open(d, node, depth, false, &n)))
        return NULL;
    const Py_ssize_t reserved = typed_reserve(d, n);
    PyObject *set = node->kind == TYPED_SET ? PySet_New(NULL) : PyFrozenSet_New(NULL);
    for (const uint64_t all = n; set && n; n--) {
        const Py_ssize_t begin = typed_offset(d);
        PyObject *value = typed_tick(d) ? typed_quick(d, node->item, depth - 1) : NULL;
        if (!value || (!typed_is_harmless(value, all) && !typed_hash(d, node, set, &value, begin, depth, 0, n)))
            Py_CLEAR(set);
        else if (PySet_Add(set, value) < 0) {
            typed_refused(d, begin, "hash", value);
            Py_CLEAR(set);
        }
        Py_XDECREF(value);
    }
    d->reserved -= (uint64_t)reserved;
    typed_hashed(d, depth);
    return set;
}

static NEVER_INLINE PyObject *typed_array(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const Py_ssize_t offset = typed_offset(d);
    uint64_t n;
    if (UNLIKELY(!typed_open(d, node, depth, false, &n)))
        return NULL;
    const TypedNode *item = node->item;
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
    for (uint64_t i = (uint64_t)reserved; i < n; i++) { /* the rest was not allocated in advance, so the list grows */
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
    if (UNLIKELY(node->made != NULL))
        return typed_made(d, node, made, offset);
    if (UNLIKELY(node->kind == TYPED_TUPLE && !tuple))
        Py_SETREF(made, PyList_AsTuple(made));
    return made;
}

static NEVER_INLINE PyObject *typed_fixed_tuple(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    uint64_t n;
    if (!typed_open(d, node, depth, false, &n))
        return NULL;
    if (n != (uint64_t)node->parts_count)
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

static NEVER_INLINE PyObject *typed_dict(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth)
{
    const Py_ssize_t offset = typed_offset(d);
    uint64_t n;
    if (UNLIKELY(!typed_open(d, node, depth, true, &n)))
        return NULL;
    const bool text = node->key->kind == TYPED_STR && !node->key->checked && !node->key->nullable;
    const Py_ssize_t reserved = typed_reserve(d, n);
    PyObject *made = dict_new(reserved / 2);
    for (const uint64_t all = n; made && n; n--) {
        const Py_ssize_t begin = typed_offset(d);
        PyObject *key = d->p == d->end ? typed_mismatch(d)
                        : text         ? typed_key_str(d)
                                       : typed_quick(d, node->key, depth - 1);
        bool sound = key && (text || typed_is_harmless(key, all) ||
                             typed_hash(d, node, made, &key, begin, depth, reserved / 2, n));
        PyObject *value = sound && typed_tick(d) ? typed_quick(d, node->item, depth - 1) : NULL;
        if (value && node->runs_python)
            typed_python(d);
        sound = value != NULL;
        if (sound && PyDict_SetItem(made, key, value) < 0)
            sound = typed_refused(d, begin, "hash", key) != NULL;
        if (!sound)
            Py_CLEAR(made);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    d->reserved -= (uint64_t)reserved;
    typed_hashed(d, depth);
    if (made && node->made)
        return typed_made(d, node, made, offset);
    return made;
}

#endif
