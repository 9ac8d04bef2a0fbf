/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding to types: containers, and what is in them. Lists and tuples that are being filled are not tracked by the
 * collector: nobody can find them.
 */
#ifndef CPKG_MSGPACK_TYPED_DECODE
#include "decode.c" /* which includes this file: the functions of both call each other */
#elif !defined(CPKG_MSGPACK_TYPED_CONTAINERS)
#define CPKG_MSGPACK_TYPED_CONTAINERS

#include "values.c"

static PyObject *typed_value(TypedDecoder *d, const TypedNode *node, Py_ssize_t depth);

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

#endif
