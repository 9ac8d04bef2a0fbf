/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack lists, tuples and dicts as arrays and maps.
 *
 * The header of a container is written first, with its size. Packing an item may run Python code, or wait for a lock,
 * and then other code may change the container (compat.c). So the functions here hold a reference to the container, and
 * compare its size after each item. The container may lose the item meanwhile, so the functions that run Python code or
 * wait (encode_str, encode_big_int, encode_bytearray, otherwise encode_value) hold a reference to the item.
 */
#ifndef CPKG_MSGPACK_PACK_OBJECTS
#include "objects.c" /* includes this file, because functions of both files call each other */
#elif !defined(CPKG_MSGPACK_PACK_CONTAINERS)
#define CPKG_MSGPACK_PACK_CONTAINERS

#include "../common/interpreter.c"
#include "encoder.c"
#include "writer.c"

/* Pack one item of a list or dict: frequent scalars inline, all others by a call. */
static ALWAYS_INLINE unsigned char *encode_element(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
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

/* Pack a list or tuple, or an instance of a subclass with the same iterator. Its items may nest `depth` more levels. */
static ALWAYS_INLINE unsigned char *encode_items(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth,
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
        if (UNLIKELY(!(p = encode_element(c, p, item, depth))))
            return NULL;
    }
    if (is_list && UNLIKELY(PyList_GET_SIZE(o) != n))
        return size_changed(c, p, "list");
    return p;
}

static ALWAYS_INLINE unsigned char *encode_pairs_of_dict(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
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
        if (LIKELY(Py_TYPE(key) == &PyUnicode_Type) && LIKELY(c->plain_str) && !UTF8_NEEDS_LOCK(key)) {
            if (UNLIKELY(!(p = encode_exact_str(c, p, key)) || !(p = encode_element(c, p, value, depth))))
                return NULL;
        }
        else {
            /* while the key is packed, other code may remove the pair from the dict */
            Py_INCREF(key);
            Py_INCREF(value);
            p = encode_element(c, p, key, depth);
            if (p)
                p = encode_element(c, p, value, depth);
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
    size_t start, key_size, size; /* `start` is the offset of a packed pair from the first pair */
    const unsigned char *base;
} PackedPair;

/* Compare pairs by their packed keys, and pairs with equal keys (b"a" and "a" without use_bin_type) by their packed
   values. */
static int packed_pair_compare(const void *left, const void *right)
{
    const PackedPair *a = left, *b = right;
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

/* Pack a map from n pairs, each a sequence of key and value: for dict subclasses, pack_map_pairs and sort_keys. */
static unsigned char *encode_pairs(Encoder *c, unsigned char *p, PyObject *pairs, Py_ssize_t n, Py_ssize_t depth)
{
    const bool sorted = c->options->sort_keys;
    PackedPair *order = NULL;
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
        p = encode_element(c, p, PyTuple_GET_ITEM(two, 0), depth);
        if (p) {
            size_t value_start = (size_t)(p - c->w.start) - first;
            p = encode_element(c, p, PyTuple_GET_ITEM(two, 1), depth);
            if (p && order)
                order[i] = (PackedPair){start, value_start - start, (size_t)(p - c->w.start) - first - start, NULL};
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

/* Pack the result of a mapping's items(), which a subclass may override. */
static NEVER_INLINE unsigned char *encode_mapping(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
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

/* Pack an instance of a list or tuple subclass that overrides the iterator. */
static NEVER_INLINE unsigned char *encode_iterated(Encoder *c, unsigned char *p, PyObject *o, Py_ssize_t depth)
{
    PyObject *items = PySequence_List(o);
    if (!items)
        return NULL;
    p = encode_items(c, p, items, depth, true);
    Py_DECREF(items);
    return p;
}

#endif
